"""Cells that a spreadsheet leaves alone.

A spreadsheet runs a cell that begins like a formula, and whoever wrote the item may have wanted
that. Such cells are written with an apostrophe before them, which spreadsheets take for "this is
text", and read without it; cells that begin with an apostrophe get a second one, so that every
text comes back as it was.
"""

_GUARDED = ("=", "+", "-", "@", "\t", "\r", "'")


def guard(text: str) -> str:
    """Return a cell's text as a spreadsheet may have it.

    Examples
    --------
    >>> guard("=1+1"), guard("plain")
    ("'=1+1", 'plain')
    """
    return f"'{text}" if text.startswith(_GUARDED) else text


def unguard(text: str) -> str:
    """Return the text that `guard` was given.

    Examples
    --------
    >>> unguard("'=1+1"), unguard("'tis plain")
    ('=1+1', "'tis plain")
    """
    return text[1:] if text.startswith("'") and text[1:].startswith(_GUARDED) else text
