"""Contract of a store, as checks that anybody can run on their own.

A check takes a function that opens one database, empty at first, and raises `AssertionError` where
the store falls short. `ALONE` are for every store; `TOGETHER` are for those that several processes
may open at once, and call the function more than once.
"""

from assay.storage.testing.alone import ALONE, Check, Fresh, Opener
from assay.storage.testing.together import TOGETHER

__all__ = ["ALONE", "TOGETHER", "Check", "Fresh", "Opener", "check_store"]


def check_store(fresh: Fresh, *, together: bool = True) -> list[str]:
    """Run every check, each on a database of its own, and return their names.

    Parameters
    ----------
    fresh : callable
        Makes an empty database, and returns a function that opens it: a `Store` each time.
    together : bool
        Whether several processes may open the database at once.

    Examples
    --------
    >>> from assay.storage import open_store
    >>> def in_memory():
    ...     store = open_store(None)
    ...     return lambda: store
    >>> len(check_store(in_memory, together=False)) == len(ALONE)
    True
    """
    checks = (*ALONE, *TOGETHER) if together else ALONE
    for check in checks:
        check(fresh())
    return [check.__name__ for check in checks]
