"""Problems and numbers in words."""

from collections.abc import Sequence

_SHOW_AT_MOST = 3  # examples in an error
_LONGEST = 300  # characters of one, as a stranger's label may have a million


def first(problems: Sequence[str]) -> str:
    """Return the first few problems, and how many more there are."""
    more = len(problems) - _SHOW_AT_MOST
    shown = [shorten(problem) for problem in problems[:_SHOW_AT_MOST]]
    return "\n".join([*shown, *([f"and {more:,} more"] if more > 0 else [])])


def shorten(text: str) -> str:
    """Return a text that is not too long for an error: of a long one, how it begins and ends.

    Examples
    --------
    >>> shorten("brief"), len(shorten("long" * 1000))
    ('brief', 305)
    """
    half = _LONGEST // 2
    return text if len(text) <= _LONGEST else f"{text[:half]} ... {text[-half:]}"


def count(things: Sequence[object], name: str) -> str:
    """Return a number of things in words.

    Examples
    --------
    >>> count([1, 2], "row")
    '2 rows'
    """
    return f"{len(things):,} {name}{'' if len(things) == 1 else 's'}"
