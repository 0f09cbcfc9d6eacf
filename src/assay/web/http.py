"""Requests and responses: checked JSON, pages and errors."""

import logging
import sqlite3
from collections.abc import Collection, Mapping
from http import HTTPStatus
from itertools import islice
from typing import Any, NoReturn
from urllib.parse import parse_qs, quote

from jinja2 import Environment, PackageLoader, StrictUndefined
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.types import ExceptionHandler

from assay.core.deck import Id
from assay.core.types import read_json
from assay.errors import (
    AssayError,
    LabelConflictError,
    StorageError,
    is_storable,
    printable,
    texts_in,
)
from assay.labelling import LONGEST_COMMENT, Settings
from assay.storage import Label
from assay.web import Options

# JSON requests, checked before anything else reads them.

_MOST_SUBMITS = 100
_LONGEST_KEY = 100
_LONGEST_NAME = 100  # of a person
_LONGEST_ID = 10_000
_LISTED = 12  # words in an error


async def read_document(request: Request) -> Mapping[str, Any]:
    """Read a request's JSON object; its texts can be stored everywhere."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json":
        raise HTTPException(415, "send JSON, with the header Content-Type: application/json")
    try:
        document = read_json((await request.body()).decode(), parse_constant=_no_number)
    except (ValueError, RecursionError) as error:
        refuse(f"the request is not valid JSON: {str(error)[:200]}")
    if not isinstance(document, dict):
        refuse(f"expected a JSON object, got {type(document).__name__}")
    for text in texts_in(document):
        if not is_storable(text):
            refuse("a text contains a NUL or half a surrogate pair, which cannot be stored")
    return document


def refuse(problem: str) -> NoReturn:
    """Refuse a request, naming the problem."""
    raise HTTPException(422, problem)


def text_in(document: Mapping[str, Any], name: str, *, at_most: int = _LONGEST_KEY) -> str:
    """Non-empty text of the document."""
    value = document.get(name)
    if not isinstance(value, str) or not 1 <= len(value) <= at_most:
        refuse(f"{name!r} must be a text of 1 to {at_most:,} characters")
    return value


def number_in(
    document: Mapping[str, Any], name: str, *, default: int, at_least: int, at_most: int
) -> int:
    """Whole number of the document; default: `default`.

    `document`: the request's JSON.
    """
    value = document.get(name, default)
    if isinstance(value, bool) or not isinstance(value, int) or not at_least <= value <= at_most:
        refuse(f"{name!r} must be a whole number from {at_least} to {at_most}")
    return value


def word_in(document: Mapping[str, Any], name: str, words: Collection[str]) -> str:
    """One of the known words."""
    value = document.get(name)
    if not isinstance(value, str) or value not in words:
        more = ", ..." if len(words) > _LISTED else ""
        refuse(f"{name!r} must be one of: {', '.join(islice(words, _LISTED))}{more}")
    return value


def item_in(document: Mapping[str, Any], settings: Settings) -> Id:
    """Id of the document's item."""
    text = text_in(document, "item", at_most=_LONGEST_ID)
    try:
        item = settings.item_id(text)
    except ValueError:
        refuse("'item' must be the id of an item, as Assay sent it")
    if str(item) != text:  # "07" and "7" are different items, even if ids are integers
        refuse("'item' must be the id of an item, as Assay sent it")
    return item


def comment_in(document: Mapping[str, Any]) -> str:
    """Comment on an answer; empty if there is none."""
    value = document.get("comment", "")
    if not isinstance(value, str) or len(value) > LONGEST_COMMENT:
        refuse(f"'comment' must be a text of at most {LONGEST_COMMENT:,} characters")
    return value


def labels_in(document: Mapping[str, Any], settings: Settings) -> list[Label]:
    """Answers sent by a page."""
    given = document.get("submits", [])
    if not isinstance(given, list) or not all(isinstance(each, dict) for each in given):
        refuse("'submits' must be a list of objects with key, item, answer and perhaps comment")
    if len(given) > _MOST_SUBMITS:
        raise HTTPException(413, f"at most {_MOST_SUBMITS} answers at once, got {len(given):,}")
    return [
        Label(
            str(item_in(each, settings)),
            word_in(each, "answer", settings.words),
            key=text_in(each, "key"),
            comment=comment_in(each),
        )
        for each in given
    ]


class Form:
    """Fields of a form of a page."""

    def __init__(self, body: bytes) -> None:
        try:
            self._values = parse_qs(body.decode(), max_num_fields=20, errors="strict")
        except ValueError:
            refuse("the request is not a valid form")

    def text(self, name: str, default: str = "", *, at_most: int = _LONGEST_NAME) -> str:
        """Text of a field, without spaces around it."""
        return plain_name(self._values.get(name, [default])[-1], at_most)

    def whole(self, name: str, default: int, at_most: int) -> int:
        """Whole number of a field, from 1."""
        text = self.text(name, str(default))
        if not (text.isascii() and text.isdecimal() and len(text) < 10):
            refuse(f"{name!r} must be a whole number")
        if not 1 <= int(text) <= at_most:
            refuse(f"{name!r} must be from 1 to {at_most:,}")
        return int(text)


def plain_name(text: str, at_most: int = _LONGEST_NAME) -> str:
    """Text that is short enough for a name, without spaces around it."""
    if len(text) > at_most or not is_storable(text):
        refuse(f"expected a text of at most {at_most} characters")
    return text.strip()


def _no_number(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON number")


# Pages: templates with every value escaped.


def make_templates() -> Environment:
    """Templates; a missing value is an error, not an empty text."""
    environment = Environment(
        loader=PackageLoader("assay.web"), autoescape=True, undefined=StrictUndefined
    )
    environment.filters["printable"] = printable
    return environment


def render(request: Request, template: str, *, status: int = 200, **values: object) -> Response:
    """Response with a page.

    Every template has `request`, `person` (None before logging in) and `campaign_name` (also None
    before logging in: a name may tell what a campaign is about).
    """
    person = getattr(request.state, "person", None)
    request.state.person = person
    counter = request.app.state.counter  # None on a page of no campaign
    known = person is not None and counter is not None
    templates: Environment = request.app.state.templates
    options: Options = request.app.state.options
    root = root_of(request)
    context = {
        "request": request,
        "person": person,
        "root": root,
        "here": request.scope["path"].removeprefix(request.scope.get("root_path", "")),
        "campaign_name": counter.name if known else None,
        "all_campaigns": options.sees_all,
        "has_curve": known and counter.has_curve,
        "home": "/" if options.every else f"{root}/",
        "campaigns_page": "/" if options.every else f"{root}/owner/campaigns",
        **values,
    }
    page = templates.get_template(template).render(context)
    # A value may contain half a surrogate pair, which UTF-8 cannot encode.
    return HTMLResponse(page.encode("utf-8", "backslashreplace"), status)


# Errors as responses: JSON to programs, a page to people.

log = logging.getLogger("assay.web")

_WORDS = {
    404: "there is nothing at this address",
    405: "this address cannot be used in this way",
    500: "something went wrong in the server; what was saved before is safe",
}


def root_of(request: Request) -> str:
    """Address below which the campaign's pages are; empty if the server has no others."""
    return quote(request.scope.get("root_path", ""))


def respond(
    request: Request, status: int, problem: str, *, details: str = "", hint: str = ""
) -> Response:
    """Error as JSON or page; without a valid token, a link to the login."""
    error = {"error": problem, "details": details, "hint": hint}
    # Quoted text of a file may contain half a surrogate pair, which cannot be sent.
    error = {
        name: text.encode("utf-8", "backslashreplace").decode() for name, text in error.items()
    }
    if _wants_json(request):
        response: Response = JSONResponse(error, status)
    elif status == HTTPStatus.UNAUTHORIZED:
        response = render(request, "login.html", status=status)
    else:
        response = render(request, "error.html", status=status, **error)
    if status == HTTPStatus.UNAUTHORIZED:
        response.headers["WWW-Authenticate"] = "Bearer"
    return response


def _wants_json(request: Request) -> bool:
    sent = request.headers.get("content-type", "")
    return "/api/" in request.scope["path"] or sent.startswith("application/json")


async def _http_error(request: Request, error: Exception) -> Response:
    status, problem, headers = 500, "", None
    if isinstance(error, HTTPException):
        status, problem, headers = error.status_code, error.detail, error.headers
    if problem == HTTPStatus(status).phrase:
        problem = _WORDS.get(status, problem.lower())
    response = respond(request, status, problem)
    response.headers.update(headers or {})
    return response


async def _assay_error(request: Request, error: Exception) -> Response:
    if not isinstance(error, AssayError):
        raise error
    status = 409 if isinstance(error, LabelConflictError) else 422
    return respond(request, status, error.problem, details=error.details, hint=error.hint)


async def _storage_error(request: Request, error: Exception) -> Response:
    # A database's message may quote its input, so only SQLite's fixed words are logged.
    cause = getattr(error.__cause__, "orig", None) or error.__cause__ or error
    words = f": {cause}" if isinstance(cause, sqlite3.Error) else ""
    log.error("storage trouble: %s%s", type(cause).__name__, words)
    person = getattr(request.state, "person", None)
    problem = "the storage is failing at the moment; what was saved before is safe"
    hint = "try again in a moment"
    if isinstance(error, StorageError) and person is not None and person.role == "owner":
        problem, hint = error.problem, error.hint
    return respond(request, 503, problem, hint=hint)


async def _crash(request: Request, _error: Exception) -> Response:
    return respond(request, 500, _WORDS[500])


async def _hung_up(_request: Request, _error: Exception) -> Response:
    return Response(status_code=400)  # not read by anybody; it is for the log


EXCEPTION_HANDLERS: dict[type[Exception], ExceptionHandler] = {
    HTTPException: _http_error,
    ClientDisconnect: _hung_up,
    StorageError: _storage_error,
    AssayError: _assay_error,
    Exception: _crash,
}
