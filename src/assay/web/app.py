"""The application: every route, behind the layers that guard all of them."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.routing import BaseRoute, Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp

from assay.campaign import Campaign
from assay.web import Options, owner, review
from assay.web import auth as login
from assay.web.auth import role_needed
from assay.web.errors import EXCEPTION_HANDLERS
from assay.web.middleware import STATIC, BodyLimit, HostList, RequestLog, SecurityHeaders
from assay.web.pages import make_templates
from assay.web.queue import Counter

PUBLIC = frozenset({"/login", STATIC})  # what answers without a token


ROUTES: tuple[Route | Mount, ...] = (
    *login.routes,
    *review.routes,
    *owner.routes,
    Mount(STATIC, StaticFiles(directory=Path(__file__).parent / "static")),
)


def make_app(
    campaign: Campaign, options: Options, routes: Sequence[Route | Mount] = ROUTES
) -> ASGIApp:
    """Return the page of a campaign as an ASGI application."""
    refuse_unguarded(routes)

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        yield
        app.state.counter.close()

    app = Starlette(
        routes=list[BaseRoute](routes),
        middleware=[Middleware(HostList, hosts=options.hosts), Middleware(BodyLimit)],
        exception_handlers=dict(EXCEPTION_HANDLERS),
        lifespan=lifespan,
    )
    app.router.redirect_slashes = False
    app.state.counter = Counter(campaign)
    app.state.options = options
    app.state.templates = make_templates()
    templates = {
        route.endpoint if isinstance(route, Route) else route.app: route.path for route in routes
    }
    return SecurityHeaders(RequestLog(app, templates), images=bool(options.images))


def refuse_unguarded(routes: Sequence[Route | Mount]) -> None:
    """Raise where somebody has added a route and forgotten to say who may use it."""
    for route in routes:
        guarded = isinstance(route, Route) and role_needed(route.endpoint) is not None
        if not guarded and route.path not in PUBLIC:
            raise TypeError(f"{route.path} has neither @needs nor a place in PUBLIC")
