"""Authentication: who is asking, and whether they may. `needs` guards every handler."""

import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import wraps
from typing import Literal

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import Route

from assay.web import Options, digest_of, is_same
from assay.web.http import read_document, render, text_in
from assay.web.middleware import cookie_name

# Requests that a page elsewhere made the browser send: they must change nothing.

SAFE_METHODS = frozenset({"GET", "HEAD"})


def refuse_other_sites(request: Request) -> None:
    """Raise where a request that may change something does not show that our own page sent it."""
    if request.method not in SAFE_METHODS and not _is_ours(request):
        raise HTTPException(403, "this was sent by a page of another site, and changed nothing")


def _is_ours(request: Request) -> bool:
    # Browsers set these two headers themselves; the first only where the address is one that they
    # trust (https, or this machine). A proxy may have changed the scheme that the second names.
    site = request.headers.get("sec-fetch-site")
    if site is not None:
        return site == "same-origin"
    own = f"{request.url.scheme}://{request.headers.get('host', '')}"
    return request.headers.get("origin", "").lower() == own.lower()


LOCAL_OWNER = "owner"  # the name under which whoever started the server reviews

Role = Literal["owner", "reviewer"]
Handler = Callable[[Request], Awaitable[Response]]

_needed: dict[Handler, Role] = {}


@dataclass(frozen=True)
class Person:
    """Somebody with a valid token."""

    name: str
    role: Role


_A_MOMENT = 0.5  # seconds for which a look at a token is good


def needs(role: Role) -> Callable[[Handler], Handler]:
    """Let only people with this role call a handler; an owner may do all that a reviewer may.

    Inside, ``request.state.person`` is who asks.
    """

    def guard(handler: Handler) -> Handler:
        @wraps(handler)
        async def guarded(request: Request) -> Response:
            began = time.monotonic()
            person = await _person_asking(request)
            if person.role not in ("owner", role):
                raise HTTPException(403, f"only the {role} may do this")
            if request.method not in SAFE_METHODS:
                await request.body()
                if time.monotonic() - began > _A_MOMENT:  # their token may be revoked since
                    person = await _person_asking(request)
            request.state.person = person
            return await handler(request)

        _needed[guarded] = role
        return guarded

    return guard


def role_needed(handler: Handler) -> Role | None:
    """Return the role that a handler needs; None where it was not guarded."""
    return _needed.get(handler)


def cookie_of(request: Request) -> str:
    """Return what the cookie is called that holds the token."""
    return cookie_name(request.headers.get("host", ""))


async def find_person(request: Request, token: str) -> Person | None:
    """Return whose token it is, unless it is nobody's or was revoked."""
    options: Options = request.app.state.options
    if options.local_token is not None and is_same(token, options.local_token):
        return Person(LOCAL_OWNER, "owner")
    row = await request.app.state.counter.find_token(digest_of(token))
    if row is None or row.revoked_at is not None:
        return None
    return Person(row.name, "owner" if row.role == "owner" else "reviewer")


async def _person_asking(request: Request) -> Person:
    scheme, _, token = request.headers.get("authorization", "").partition(" ")
    # Only a program can send this header: no page elsewhere makes a browser do it. Other schemes
    # are the business of a proxy with passwords of its own, which browsers then send to us, too.
    by_header = scheme.lower() == "bearer"
    token = token.strip() if by_header else request.cookies.get(cookie_of(request), "")
    person = await find_person(request, token) if token else None
    if person is None:
        raise HTTPException(
            401, "log in with a token that is valid", headers={"WWW-Authenticate": "Bearer"}
        )
    if not by_header:
        refuse_other_sites(request)
    return person


# Logging in: a token is exchanged for a cookie that scripts cannot read.

_SEE_OTHER = 303
_LONGEST_TOKEN = 200
_A_MONTH = 30 * 86_400  # seconds; a token that is revoked opens nothing from then on, cookie or not


async def show(request: Request) -> Response:
    """Show the form; a script also sends what stands behind # in the address."""
    return render(request, "login.html")


async def log_in(request: Request) -> Response:
    """Set the cookie, where the token is valid."""
    refuse_other_sites(request)
    token = text_in(await read_document(request), "token", at_most=_LONGEST_TOKEN)
    person = await find_person(request, token)
    if person is None:
        raise HTTPException(401, "this token is not valid here, or was revoked")
    response = JSONResponse({"next": _home(person)})
    response.set_cookie(
        cookie_of(request),
        token,
        max_age=_A_MONTH,
        path="/",
        secure=request.url.scheme == "https",
        httponly=True,
        samesite="strict",
    )
    return response


@needs("reviewer")
async def log_out(request: Request) -> Response:
    """Forget the cookie."""
    response = RedirectResponse("/login", _SEE_OTHER)
    response.delete_cookie(cookie_of(request), path="/", httponly=True, samesite="strict")
    return response


@needs("reviewer")
async def home(request: Request) -> Response:
    """Go where this person works."""
    return RedirectResponse(_home(request.state.person), _SEE_OTHER)


def _home(person: Person) -> str:
    return "/owner" if person.role == "owner" else "/review"


routes = [
    Route("/", home),
    Route("/login", show),
    Route("/login", log_in, methods=["POST"]),
    Route("/logout", log_out, methods=["POST"]),
]
