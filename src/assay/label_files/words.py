"""Problems and numbers in words."""

from collections.abc import Sequence

__all__ = ["count", "first"]

_SHOW_AT_MOST = 3  # examples in an error


def first(problems: Sequence[str]) -> str:
    """Return the first few problems, and how many more there are."""
    more = len(problems) - _SHOW_AT_MOST
    return "\n".join([*problems[:_SHOW_AT_MOST], *([f"and {more:,} more"] if more > 0 else [])])


def count(things: Sequence[object], name: str) -> str:
    """Return a number of things in words.

    Examples
    --------
    >>> count([1, 2], "row")
    '2 rows'
    """
    return f"{len(things):,} {name}{'' if len(things) == 1 else 's'}"
