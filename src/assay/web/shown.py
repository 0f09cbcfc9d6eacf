"""What of an item and its campaign a reviewer may see: nothing that would sway them."""

from collections.abc import Mapping
from typing import Any, Literal
from urllib.parse import urlsplit

from assay.campaign.campaign import Campaign
from assay.campaign.exchange import shown_columns
from assay.exchange.rows import as_text
from assay.results.estimates import Item
from assay.web.options import Options

Kind = Literal["text", "link", "image"]


def item_json(item: Item, campaign: Campaign, options: Options) -> dict[str, Any]:
    """Return an item as the pages get it: every value is a text, and how to show it."""
    return {
        "id": str(item.id),
        "fields": [
            _field(name, item.shown, options)
            for name in shown_columns(campaign)
            if name in item.shown
        ],
    }


def _field(name: str, shown: Mapping[str, Any], options: Options) -> dict[str, str]:
    text = as_text(shown[name])
    return {"name": name, "kind": _kind(name, text, options), "value": text}


def _kind(name: str, text: str, options: Options) -> Kind:
    if not _is_https(text):
        return "text"
    if name in options.images:
        return "image"
    return "link" if name in options.links else "text"


def _is_https(text: str) -> bool:
    """Tell whether a text is an https address, written so that nobody can take it for another.

    Examples
    --------
    >>> [_is_https(text) for text in ("https://a.example/x", "http://a.example", "https://u@a.b")]
    [True, False, False]
    """
    if not text.isprintable() or any(sign.isspace() or sign == "\\" for sign in text):
        return False
    try:
        parts = urlsplit(text)
        return parts.scheme == "https" and bool(parts.hostname) and "@" not in parts.netloc
    except ValueError:
        return False
