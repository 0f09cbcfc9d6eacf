"""Authentication and authorisation. `needs` guards every handler."""

import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import wraps
from typing import Literal

from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import Route

from assay.storage import Store, TokenRow
from assay.web import Options, digest_of, is_same
from assay.web.http import read_document, render, root_of, text_in
from assay.web.middleware import cookie_name

# Requests that another site can make a browser send: they must change nothing.

SAFE_METHODS = frozenset({"GET", "HEAD"})


def refuse_other_sites(request: Request) -> None:
    """Raise if a request that may change something was not sent by our own page."""
    if request.method not in SAFE_METHODS and not _is_ours(request):
        raise HTTPException(
            403, "this request came from a page of another site, and changed nothing"
        )


def _is_ours(request: Request) -> bool:
    # Browsers set these two headers themselves; the first only for addresses that they trust
    # (https, or this machine). A proxy may have changed the scheme that the second names.
    site = request.headers.get("sec-fetch-site")
    if site is not None:
        return site == "same-origin"
    own = f"{request.url.scheme}://{request.headers.get('host', '')}"
    return request.headers.get("origin", "").lower() == own.lower()


LOCAL_OWNER = "owner"  # name under which the starter of the server reviews


def refuse_others(request: Request) -> None:
    """Raise unless whoever started this server asks: files are read with the rights of its user."""
    if request.state.person.name != LOCAL_OWNER:
        raise HTTPException(403, "only the person who started this server may do this")


Role = Literal["owner", "reviewer"]
Handler = Callable[[Request], Awaitable[Response]]

_needed: dict[Handler, Role] = {}


@dataclass(frozen=True)
class Person:
    """Person with a valid token."""

    name: str
    role: Role
    campaign: str = ""  # the only one that the token opens, among those of a server of all


_A_MOMENT = 0.5  # seconds for which a check of a token is valid


def needs(role: Role, *, streams: bool = False) -> Callable[[Handler], Handler]:
    """Let only people with this role call a handler; an owner has all rights of a reviewer.

    The handler finds the person in ``request.state.person``. With `streams`, it reads a body by
    itself that is too large for memory.
    """

    def guard(handler: Handler) -> Handler:
        @wraps(handler)
        async def guarded(request: Request) -> Response:
            began = time.monotonic()
            person = await _person_asking(request)
            if person.role not in ("owner", role):
                raise HTTPException(403, f"only the {role} may do this")
            if request.method not in SAFE_METHODS and not streams:
                await request.body()
                if time.monotonic() - began > _A_MOMENT:  # their token may have been revoked since
                    person = await _person_asking(request)
            request.state.person = person
            return await handler(request)

        _needed[guarded] = role
        return guarded

    return guard


def role_needed(handler: Handler) -> Role | None:
    """Role that a handler needs; None if it is not guarded."""
    return _needed.get(handler)


def cookie_of(request: Request) -> str:
    """Name of the cookie that holds the token."""
    return cookie_name(request.headers.get("host", ""))


async def find_person(request: Request, token: str) -> Person | None:
    """Owner of a token; None if it is unknown or was revoked."""
    options: Options = request.app.state.options
    if options.local_token is not None and is_same(token, options.local_token):
        return Person(LOCAL_OWNER, "owner")
    counter, campaign = request.app.state.counter, ""
    if counter is None:  # a page of no campaign
        found = await run_in_threadpool(_holder_of, request.app.state.store, digest_of(token))
        campaign, row = ("", None) if found is None else found
    else:
        row = await counter.find_token(digest_of(token))
    if row is None or row.revoked_at is not None:
        return None
    return Person(row.name, "owner" if row.role == "owner" else "reviewer", campaign)


def _holder_of(store: Store, digest: str) -> tuple[str, TokenRow] | None:
    with store.read() as session:
        return session.holder_of(digest)


async def _person_asking(request: Request) -> Person:
    scheme, _, token = request.headers.get("authorization", "").partition(" ")
    # Only a program can send this header: no other site makes a browser do it. Other schemes belong
    # to a proxy with passwords of its own, which browsers then send to us, too.
    by_header = scheme.lower() == "bearer"
    token = token.strip() if by_header else request.cookies.get(cookie_of(request), "")
    person = await find_person(request, token) if token else None
    if person is None:
        raise HTTPException(
            401, "log in with a valid token", headers={"WWW-Authenticate": "Bearer"}
        )
    if not by_header:
        refuse_other_sites(request)
    return person


# Logging in: a token is exchanged for a cookie that scripts cannot read.

_SEE_OTHER = 303
_LONGEST_TOKEN = 200
_A_MONTH = 30 * 86_400  # seconds; a revoked token opens nothing from then on, cookie or not


async def show(request: Request) -> Response:
    """Show the form; a script also sends the fragment (#) of the address."""
    return render(request, "login.html")


async def log_in(request: Request) -> Response:
    """Set the cookie, if the token is valid."""
    refuse_other_sites(request)
    token = text_in(await read_document(request), "token", at_most=_LONGEST_TOKEN)
    person = await find_person(request, token)
    if person is None:
        raise HTTPException(401, "this token is not valid here, or was revoked")
    response = JSONResponse({"next": _home(request, person)})
    response.set_cookie(
        cookie_of(request),
        token,
        max_age=_A_MONTH,
        path="/" if person.name == LOCAL_OWNER else f"{root_of(request)}/",
        secure=request.url.scheme == "https",
        httponly=True,
        samesite="strict",
    )
    return response


@needs("reviewer")
async def log_out(request: Request) -> Response:
    """Forget the cookie."""
    response = RedirectResponse(f"{root_of(request)}/login", _SEE_OTHER)
    for path in {"/", f"{root_of(request)}/"}:
        response.delete_cookie(cookie_of(request), path=path, httponly=True, samesite="strict")
    return response


@needs("reviewer")
async def home(request: Request) -> Response:
    """Redirect to the person's own page."""
    return RedirectResponse(_home(request, request.state.person), _SEE_OTHER)


def _home(request: Request, person: Person) -> str:
    page = "/owner" if person.role == "owner" else "/review"
    return "/" if request.app.state.counter is None else f"{root_of(request)}{page}"


routes = [
    Route("/", home),
    Route("/login", show),
    Route("/login", log_in, methods=["POST"]),
    Route("/logout", log_out, methods=["POST"]),
]
