"""Texts that come from outside."""


def is_storable(text: str) -> bool:
    r"""Tell whether a text can be stored and sent.

    Examples
    --------
    >>> is_storable("naïve 🜚"), is_storable("\x00"), is_storable("\ud800")
    (True, False, False)
    """
    return "\0" not in text and not any("\ud800" <= sign <= "\udfff" for sign in text)
