"""Items as the pages get them: every value is a text, with a way to show it."""

import json
from collections.abc import Mapping
from typing import Any

from assay.campaign import Campaign
from assay.exchange import as_text
from assay.results import Item
from assay.web import Options
from assay.web.images import image_address, is_https

_LONGEST_RICH = 200_000  # characters; longer texts are shown unchanged
_TURN_KEYS = (("role", "content"), ("from", "value"))


def item_json(item: Item, campaign: Campaign, options: Options) -> dict[str, Any]:
    """Item for a page, without anything that would sway a reviewer."""
    return {
        "id": str(item.id),
        "fields": [
            _field(name, item.shown, options)
            for name in campaign.settings.source.seen
            if name in item.shown
        ],
    }


def _field(name: str, shown: Mapping[str, Any], options: Options) -> dict[str, str]:
    text = as_text(shown[name])
    field = {"name": name, "kind": kind_of(name, text, options), "value": text}
    if field["kind"] == "image":
        field["address"] = image_address(text, options) or ""
    return field


def kind_of(name: str, text: str, options: Options) -> str:
    """Display kind of a column's text: the owner's choice, or inferred from the text.

    >>> kind_of("log", '[{"role": "user", "content": "Hi"}]', Options())
    'conversation'
    >>> kind_of("log", '{"a": 1}', Options()), kind_of("log", "a: 1", Options())
    ('json', 'text')
    >>> kind_of("log", '{"a": 1}', Options(kinds={"log": "text"}))
    'text'
    """
    if name in options.images:
        return "text" if image_address(text, options) is None else "image"
    if name in options.links:
        return "link" if is_https(text) else "text"
    kind = options.kinds.get(name, "")
    if kind in ("text", "markdown", "code"):
        return "text" if len(text) > _LONGEST_RICH else kind
    value = _read(text)
    if value is None:
        return "text"
    return "conversation" if kind != "json" and is_conversation(value) else "json"


def _read(text: str) -> object:
    """JSON object or list in a text; None if it is neither."""
    if not text.lstrip().startswith(("{", "[")) or len(text) > _LONGEST_RICH:
        return None
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value or None


def is_conversation(value: object) -> bool:
    """Whether a value is a list of turns, each with a role and content.

    >>> is_conversation([{"role": "user", "content": "Hi"}]), is_conversation([{"role": "user"}])
    (True, False)
    """
    if not isinstance(value, list) or not value:
        return False
    return any(
        all(
            isinstance(turn, dict)
            and isinstance(turn.get(who), str)
            and isinstance(turn.get(content), str)
            for turn in value
        )
        for who, content in _TURN_KEYS
    )
