"""Who is asking, and whether they may: `needs` guards every handler but the public ones."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import wraps
from typing import Literal

from anyio import to_thread
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from assay.web.hosts import cookie_name
from assay.web.options import Options
from assay.web.origins import refuse_other_sites
from assay.web.tokens import digest_of, is_same

LOCAL_OWNER = "owner"  # the name under which whoever started the server reviews

Role = Literal["owner", "reviewer"]
Handler = Callable[[Request], Awaitable[Response]]

_needed: dict[Handler, Role] = {}


@dataclass(frozen=True)
class Person:
    """Somebody with a valid token."""

    name: str
    role: Role


def needs(role: Role) -> Callable[[Handler], Handler]:
    """Let only people with this role call a handler; an owner may do all that a reviewer may.

    Inside, ``request.state.person`` is who asks.
    """

    def guard(handler: Handler) -> Handler:
        @wraps(handler)
        async def guarded(request: Request) -> Response:
            request.state.person = await _person_asking(request)
            if request.state.person.role not in ("owner", role):
                raise HTTPException(403, f"only the {role} may do this")
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
    counter = request.app.state.counter

    def look_up() -> Person | None:
        with counter.store.read() as session:
            row = session.token(counter.name, digest_of(token))
        if row is None or row.revoked_at is not None:
            return None
        return Person(row.name, "owner" if row.role == "owner" else "reviewer")

    return await to_thread.run_sync(look_up)


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
