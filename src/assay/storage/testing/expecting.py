"""What the checks of a store are made of."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Protocol

from assay.errors import StorageError
from assay.storage import Store

Opener = Callable[[], Store]
Fresh = Callable[[], Opener]


class Check(Protocol):
    """One thing that a store must do."""

    __name__: str

    def __call__(self, opened: Opener, /) -> None:
        """Raise `AssertionError` where it does not."""


def expect(what: str, found: object, right: object) -> None:
    """Raise where something was found that is not right."""
    if found != right:
        raise AssertionError(f"{what}: found {found!r}, and {right!r} is right")


@contextmanager
def refusing(what: str) -> Iterator[None]:
    """Raise where something is not refused with a `StorageError`."""
    try:
        yield
    except StorageError:
        return
    raise AssertionError(f"{what} was not refused")
