"""HTML that is escaped unless it says that it is HTML already."""

from collections.abc import Iterable
from html import escape

from assay.results.text import printable

_VOID = ("meta", "link", "br")


class Html(str):
    """A text that is HTML, and goes into a page as it is."""

    __slots__ = ()


def element(name: str, /, *inner: str, **attributes: str) -> Html:
    r"""Return an element; what is not `Html` inside is text, and is escaped.

    Signs that would change how the page is read, such as those that turn the direction of writing,
    are written out (`printable`).

    Parameters
    ----------
    name : str
    *inner : str
        What it holds.
    **attributes : str
        A ``_`` at the end is left out, and is a ``-`` elsewhere: ``class_``, ``aria_label``.

    Examples
    --------
    >>> element("p", "1 < 2 ", element("b", "so"), class_='"big"')
    '<p class="&quot;big&quot;">1 &lt; 2 <b>so</b></p>'
    """
    given = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{_escaped(value)}"'
        for key, value in attributes.items()
    )
    if name in _VOID:
        return Html(f"<{name}{given}>")
    return Html(f"<{name}{given}>{joined(inner)}</{name}>")


def joined(parts: Iterable[str]) -> Html:
    """Return parts one after the other; what is not `Html` is escaped."""
    return Html("".join(part if isinstance(part, Html) else _escaped(part) for part in parts))


def _escaped(text: str) -> str:
    return escape(printable(text))
