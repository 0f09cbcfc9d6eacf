"""The line on a terminal that says that a command works, until the command says something."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager

_TEXT = "working …"


class _Line:
    """The last line of a terminal, as far as it says that a command works."""

    def __init__(self) -> None:
        self._wanted = self._there = False

    def want(self, wanted: bool) -> None:
        """Say it from now on, or no more."""
        self._wanted = wanted
        self.show(there=wanted)

    def show(self, *, there: bool) -> None:
        """Write the text if it is wanted, or take it away."""
        there = there and self._wanted and sys.stderr.isatty()
        if there != self._there:
            sys.stderr.write(_TEXT if there else f"\r{' ' * len(_TEXT)}\r")
            sys.stderr.flush()
            self._there = there


_line = _Line()


@contextmanager
def answering() -> Iterator[None]:
    """Say that a command works as long as it says nothing itself."""
    _line.want(True)
    try:
        yield
    finally:
        _line.want(False)


def speaking() -> None:
    """Take away that a command works: it has something to say."""
    _line.want(False)


@contextmanager
def saying_more() -> Iterator[None]:
    """Take away that a command works while it says what it works at."""
    _line.show(there=False)
    try:
        yield
    finally:
        _line.show(there=True)
