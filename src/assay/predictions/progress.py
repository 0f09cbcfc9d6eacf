"""How far a pass over the data is, for whoever wants to show it."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from threading import Event, Thread

Tell = Callable[[float], None]

_tell: ContextVar[Tell | None] = ContextVar("assay_progress", default=None)

_SECONDS = 0.1  # between two looks


@contextmanager
def telling_progress(tell: Tell | None) -> Iterator[None]:
    """Let passes over the data that are made meanwhile tell how far they are, from 0 to 1.

    Each pass begins at 0 again. It is told from another thread.

    Examples
    --------
    >>> with telling_progress(print), polled(lambda: 0.5):
    ...     pass
    1.0
    """
    token = _tell.set(tell)
    try:
        yield
    finally:
        _tell.reset(token)


@contextmanager
def polled(share_done: Callable[[], float]) -> Iterator[None]:
    """Ask a long piece of work, from another thread, how much of it is done, and pass it on.

    Parameters
    ----------
    share_done : callable
        Returns the share, from 0 to 1; below 0 where it cannot tell yet.
    """
    tell = _tell.get()
    if tell is None:
        yield
        return
    ended = Event()

    def look() -> None:
        while not ended.wait(_SECONDS):
            share = share_done()
            if share >= 0.0:
                tell(min(share, 1.0))

    watcher = Thread(target=look, daemon=True)
    watcher.start()
    try:
        yield
        tell(1.0)
    finally:
        ended.set()
        watcher.join()
