"""Logging in: a token is exchanged for a cookie that scripts cannot read."""

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import Route

from assay.web.auth import Person, cookie_of, find_person, needs
from assay.web.origins import refuse_other_sites
from assay.web.pages import render
from assay.web.requests import read_document, text_in

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
