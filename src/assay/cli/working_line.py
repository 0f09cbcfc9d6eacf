"""Line on a terminal which shows that a command works, until its first output."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager

_TEXT = "working …"


class _Line:
    """Last line of a terminal, which says that a command works."""

    def __init__(self) -> None:
        self._is_wanted = self._is_shown = False

    def request(self, is_wanted: bool) -> None:
        """Show the line from now on, or no more."""
        self._is_wanted = is_wanted
        self.show(visible=is_wanted)

    def show(self, *, visible: bool) -> None:
        """Write the text if it is wanted, or erase it."""
        visible = visible and self._is_wanted and sys.stderr.isatty()
        if visible != self._is_shown:
            sys.stderr.write(_TEXT if visible else f"\r{' ' * len(_TEXT)}\r")
            sys.stderr.flush()
            self._is_shown = visible


_line = _Line()


@contextmanager
def showing_work() -> Iterator[None]:
    """Show that a command works until its first output."""
    _line.request(True)
    try:
        yield
    finally:
        _line.request(False)


def hide_working_line() -> None:
    """Erase the line: the command has output."""
    _line.request(False)


@contextmanager
def without_working_line() -> Iterator[None]:
    """Erase the line while the command describes its work."""
    _line.show(visible=False)
    try:
        yield
    finally:
        _line.show(visible=True)
