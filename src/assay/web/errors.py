"""Errors as responses: JSON to programs, a page to people."""

import logging
import sqlite3
from http import HTTPStatus

from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.types import ExceptionHandler

from assay.errors import AssayError, LabelConflictError, StorageError
from assay.web.pages import render

log = logging.getLogger("assay.web")

_WORDS = {
    404: "there is nothing at this address",
    405: "this address cannot be used in this way",
    500: "something went wrong in the server; what was saved before is safe",
}


def respond(
    request: Request, status: int, problem: str, *, details: str = "", hint: str = ""
) -> Response:
    """Return an error as whoever asks can read it; without a valid token, where to log in.

    Parameters
    ----------
    request : Request
    status : int
        Of HTTP.
    problem, details, hint : str
        As `AssayError` has them.
    """
    told = {"error": problem, "details": details, "hint": hint}
    # A file's text that is quoted may hold half a surrogate pair, which cannot be sent.
    told = {name: text.encode("utf-8", "backslashreplace").decode() for name, text in told.items()}
    if _wants_json(request):
        response: Response = JSONResponse(told, status)
    elif status == HTTPStatus.UNAUTHORIZED:
        response = render(request, "login.html", status=status)
    else:
        response = render(request, "error.html", status=status, **told)
    if status == HTTPStatus.UNAUTHORIZED:
        response.headers["WWW-Authenticate"] = "Bearer"
    return response


def _wants_json(request: Request) -> bool:
    sent = request.headers.get("content-type", "")
    return request.scope["path"].startswith("/api/") or sent.startswith("application/json")


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
    # What a database says may quote what it was given, so only SQLite's fixed words are logged.
    cause = getattr(error.__cause__, "orig", None) or error.__cause__ or error
    words = f": {cause}" if isinstance(cause, sqlite3.Error) else ""
    log.error("storage trouble: %s%s", type(cause).__name__, words)
    person = getattr(request.state, "person", None)
    problem = "the storage does not do its work just now; what was saved before is safe"
    hint = "try again in a moment"
    if isinstance(error, StorageError) and person is not None and person.role == "owner":
        problem, hint = error.problem, error.hint
    return respond(request, 503, problem, hint=hint)


async def _crash(request: Request, _error: Exception) -> Response:
    return respond(request, 500, _WORDS[500])


async def _hung_up(_request: Request, _error: Exception) -> Response:
    return Response(status_code=400)  # nobody will read it; it is for the log


EXCEPTION_HANDLERS: dict[type[Exception], ExceptionHandler] = {
    HTTPException: _http_error,
    ClientDisconnect: _hung_up,
    StorageError: _storage_error,
    AssayError: _assay_error,
    Exception: _crash,
}
