"""The scale that an interval is drawn on, in a terminal and in a notebook."""

from math import floor


def stretch(low: float, high: float) -> tuple[float, float]:
    """Return where the narrowest round stretch of [0, 1] that holds an interval starts, its length.

    A difference may need one of [-1, 1].

    Examples
    --------
    >>> stretch(0.913, 0.948)
    (0.9, 0.05)
    >>> stretch(-0.7, 0.6)
    (-1.0, 2.0)
    """
    for span in (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0):
        half = span / 2
        start = min(floor(low / half) * half, 1.0 - span)
        if high <= start + span:
            return round(start, 3), span
    return -1.0, 2.0
