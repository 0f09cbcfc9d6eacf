"""JSON requests, checked before anything else sees them."""

import json
from collections.abc import Iterator, Mapping
from typing import Any, NoReturn

from starlette.exceptions import HTTPException
from starlette.requests import Request

from assay.core.deck import Id
from assay.errors import is_storable
from assay.labelling import LONGEST_COMMENT, WORDS, Settings
from assay.storage import Label

_MOST_SUBMITS = 100
_LONGEST_KEY = 100
_LONGEST_ID = 10_000


async def read_document(request: Request) -> Mapping[str, Any]:
    """Return the JSON object that a request holds, in texts that every storage can keep."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json":
        raise HTTPException(415, "send JSON, with the header Content-Type: application/json")
    try:
        document = json.loads((await request.body()).decode(), parse_constant=_no_number)
    except (ValueError, RecursionError):
        refuse("the request is not JSON that can be read")
    if not isinstance(document, dict):
        refuse(f"a JSON object is expected, got {type(document).__name__}")
    for text in _texts(document):
        if not is_storable(text):
            refuse("a text holds a NUL or half a surrogate pair, which no storage keeps")
    return document


def refuse(problem: str) -> NoReturn:
    """Say what is wrong with what a request holds."""
    raise HTTPException(422, problem)


def text_in(document: Mapping[str, Any], name: str, *, at_most: int = _LONGEST_KEY) -> str:
    """Return a text of the document that is not empty."""
    value = document.get(name)
    if not isinstance(value, str) or not 1 <= len(value) <= at_most:
        refuse(f"{name!r} must be a text of 1 to {at_most:,} characters")
    return value


def number_in(
    document: Mapping[str, Any], name: str, *, default: int, at_least: int, at_most: int
) -> int:
    """Return a whole number of the document, or the default where there is none.

    Parameters
    ----------
    document : mapping
        The request's JSON.
    name : str
    default, at_least, at_most : int
        The number where there is none, and what it must lie between.
    """
    value = document.get(name, default)
    if isinstance(value, bool) or not isinstance(value, int) or not at_least <= value <= at_most:
        refuse(f"{name!r} must be a whole number from {at_least} to {at_most}")
    return value


def word_in(document: Mapping[str, Any], name: str, words: tuple[str, ...]) -> str:
    """Return one of the known words."""
    value = document.get(name)
    if not isinstance(value, str) or value not in words:
        refuse(f"{name!r} must be one of: {', '.join(words)}")
    return value


def item_in(document: Mapping[str, Any], settings: Settings) -> Id:
    """Return the id of the item that the document is about."""
    text = text_in(document, "item", at_most=_LONGEST_ID)
    try:
        item = settings.item_id(text)
    except ValueError:
        refuse("'item' must be the id of an item, as it was sent")
    if str(item) != text:  # "07" and "7" are different items, even where ids are integers
        refuse("'item' must be the id of an item, as it was sent")
    return item


def comment_in(document: Mapping[str, Any]) -> str:
    """Return what was written beside an answer; empty where nothing."""
    value = document.get("comment", "")
    if not isinstance(value, str) or len(value) > LONGEST_COMMENT:
        refuse(f"'comment' must be a text of at most {LONGEST_COMMENT:,} characters")
    return value


def labels_in(document: Mapping[str, Any], settings: Settings) -> list[Label]:
    """Return the answers that a page has sent."""
    given = document.get("submits", [])
    if not isinstance(given, list) or not all(isinstance(each, dict) for each in given):
        refuse("'submits' must be a list of objects with key, item, answer and perhaps comment")
    if len(given) > _MOST_SUBMITS:
        raise HTTPException(413, f"at most {_MOST_SUBMITS} answers at once, got {len(given):,}")
    return [
        Label(
            str(item_in(each, settings)),
            word_in(each, "answer", WORDS),
            key=text_in(each, "key"),
            comment=comment_in(each),
        )
        for each in given
    ]


def _no_number(_name: str) -> NoReturn:
    raise ValueError


def _texts(value: object) -> Iterator[str]:
    """Yield every text in a document, names too; not by recursion, as it may be deep."""
    waiting = [value]
    while waiting:
        match waiting.pop():
            case str() as text:
                yield text
            case dict() as mapping:
                waiting += [*mapping.keys(), *mapping.values()]
            case list() as values:
                waiting += values
