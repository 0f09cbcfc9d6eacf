"""Application of a campaign, and its server: address, host names, and access."""

import errno
import gc
import html
import ipaddress
import re
import socket
import sys
import tempfile
import webbrowser
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from threading import Event, Thread

import uvicorn
from starlette.applications import Starlette
from starlette.routing import BaseRoute, Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp

from assay.campaign import Campaign
from assay.errors import InputError
from assay.storage import open_store
from assay.web import (
    LOOPBACK_HOSTS,
    Options,
    auth,
    campaigns,
    hub,
    images,
    invite,
    mistakes,
    new,
    owner,
    review,
)
from assay.web.connections import Limits, Listener, protocol_of
from assay.web.http import EXCEPTION_HANDLERS, make_templates
from assay.web.middleware import (
    STATIC,
    BodyLimit,
    HostList,
    RequestLog,
    SecurityHeaders,
    host_name,
    log_to_terminal,
)
from assay.web.queue import Counter

# Application: every route, behind the layers that guard all of them.

PUBLIC = frozenset({"/login", STATIC})  # paths that need no token

STATIC_FILES = Mount(
    STATIC,
    StaticFiles(directory=Path(__file__).parent / "static", packages=[("assay.report", "static")]),
)
ROUTES: tuple[Route | Mount, ...] = (
    *auth.routes,
    *review.routes,
    *owner.routes,
    *mistakes.routes,
    *invite.routes,
    *images.routes,
    *campaigns.routes,
    STATIC_FILES,
)


def make_app(
    campaign: Campaign, options: Options, routes: Sequence[Route | Mount] = ROUTES
) -> ASGIApp:
    """ASGI application of a campaign."""
    counter = Counter(campaign)
    return _guarded(_pages(options, routes, counter.close, counter=counter), options, routes)


def make_hub(url: str, options: Options) -> ASGIApp:
    """ASGI application of all campaigns of the storage at a URL, and of new ones."""
    store = open_store(url)

    def pages_of(campaign: Campaign) -> Starlette:
        counter = Counter(campaign)
        return _pages(options, ROUTES, counter.close, counter=counter)

    each = hub.EachCampaign(store, pages_of)
    own: tuple[Route | Mount, ...] = (*hub.routes, *new.routes, *auth.routes, STATIC_FILES)
    refuse_unguarded(own)
    routes = (*own, Mount(hub.BELOW, each))
    app = _pages(options, routes, each.close, counter=None, store=store, url=url, each=each)
    return _guarded(app, options, (*own, *ROUTES))


def _pages(
    options: Options, routes: Sequence[Route | Mount], close: Callable[[], None], **state: object
) -> Starlette:
    """Pages that share a state, without the layers that guard them."""

    @asynccontextmanager
    async def lifespan(_app: Starlette) -> AsyncIterator[None]:
        yield
        close()

    app = Starlette(
        routes=list[BaseRoute](routes),
        exception_handlers=dict(EXCEPTION_HANDLERS),
        lifespan=lifespan,
    )
    app.router.redirect_slashes = False
    shared = {"options": options, "curves": {}, "templates": make_templates(), **state}
    for name, value in shared.items():
        setattr(app.state, name, value)
    return app


def _guarded(app: Starlette, options: Options, routes: Sequence[Route | Mount]) -> ASGIApp:
    """Application behind the layers that guard all of its routes."""
    refuse_unguarded(routes)
    app.add_middleware(HostList, hosts=options.hosts)
    app.add_middleware(BodyLimit)
    templates = {
        route.endpoint if isinstance(route, Route) else route.app: route.path for route in routes
    }
    return SecurityHeaders(
        RequestLog(app, templates), images=bool(options.images), hosts=options.image_hosts
    )


def refuse_unguarded(routes: Sequence[Route | Mount]) -> None:
    """Raise if a route has no access rule."""
    for route in routes:
        guarded = isinstance(route, Route) and auth.role_needed(route.endpoint) is not None
        if not guarded and route.path not in PUBLIC:
            raise TypeError(f"{route.path} has neither @needs nor a place in PUBLIC")


# Addresses, and the server.

_DEFER_SECONDS = 5
_NAME = re.compile(r"[a-z0-9_.-]+")
_TROUBLE = {
    errno.EADDRINUSE: ("is in use", "choose another with --port; --port 0 takes any that is free"),
    errno.EACCES: ("may not be used", "ports below 1024 are for administrators: choose another"),
    errno.EADDRNOTAVAIL: ("is not an address of this machine", "leave out --host to serve only it"),
}


def is_loopback(host: str) -> bool:
    """Whether an address can be reached from this machine only.

    >>> is_loopback("127.0.0.1"), is_loopback("::1"), is_loopback("localhost")
    (True, True, True)
    >>> is_loopback("0.0.0.0"), is_loopback("10.0.0.7"), is_loopback("localhost.example.org")
    (False, False, False)
    """
    address = _address(host)
    return host.lower() == "localhost" if address is None else address.is_loopback


def allowed_hosts(host: str, also: Sequence[str]) -> frozenset[str]:
    """Names by which browsers may call a server at an address.

    >>> sorted(allowed_hosts("10.0.0.7", ["Labels.example.org:8000"]))
    ['10.0.0.7', 'labels.example.org']
    """
    address = _address(host)
    if address is not None and address.is_unspecified and not also:
        raise InputError(
            f"{host} stands for every address of this machine, and a browser needs a name",
            hint="give the name that people will type, such as --allow-host labels.local",
        )
    own = LOOPBACK_HOSTS if is_loopback(host) else frozenset({host.lower()})
    return own | {_name(each) for each in also}


def listen(host: str, port: int, limits: Limits | None = None) -> Listener:
    """Open the listening socket; port 0 is any that is free."""
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        listening = socket.create_server((host, port), family=family)
    except socket.gaierror:
        raise InputError(
            f"the address {host!r} does not exist", hint="leave out --host to serve this machine"
        ) from None
    except OSError as error:
        what, hint = _TROUBLE.get(error.errno or 0, (f"cannot be used: {error.strerror}", ""))
        raise InputError(f"{host}, port {port}, {what}", hint=hint) from None
    # Connections inherit it. asyncio sets it only on sockets known as TCP, and those of
    # `create_server` are not; without it every answer waits for the browser's delayed ACK.
    listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    if sys.platform == "linux":
        # The system holds clients that connect and send nothing, which costs no file. Accepted
        # clients have sent their request, before others can take their place.
        listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_DEFER_ACCEPT, _DEFER_SECONDS)
    return Listener.of(listening, limits)


def address_of(listening: socket.socket, host: str, also: Sequence[str] = ()) -> str:
    """Address to type into a browser; if `host` is unspecified, by the first other name."""
    address = _address(host)
    called = _name(also[0]) if also and address is not None and address.is_unspecified else host
    name = f"[{called}]" if ":" in called else called
    return f"http://{name}:{listening.getsockname()[1]}"


def hears_proxy(host: str, proxy: str | None) -> bool:
    """Whether a proxy in front of an address would be trusted, as far as can be known.

    >>> hears_proxy("127.0.0.1", "127.0.0.1"), hears_proxy("0.0.0.0", "10.0.0.7")
    (True, True)
    >>> hears_proxy("127.0.0.1", None), hears_proxy("127.0.0.1", "10.0.0.7")
    (False, False)
    """
    named = [] if proxy is None else [each.strip() for each in proxy.split(",")]
    if is_loopback(host):  # only a proxy on this machine can reach it
        return any(each == "*" or is_loopback(each) for each in named)
    return bool(named)


def run(app: ASGIApp, listening: Listener, *, proxy: str | None = None) -> None:
    """Serve until interrupted, and log to the terminal."""
    log_to_terminal()
    server = make_server(app, listening, proxy=proxy)
    with collecting_when_idle(lambda: server.server_state.total_requests):
        server.run(sockets=[listening])


_IDLE_SECONDS = 5.0
_SELDOM = 1_000  # collections of young objects between two of all, if it is never idle
_SWITCH_SECONDS = 0.001  # how long a request may wait for a thread that reads a file


@contextmanager
def collecting_when_idle(requests: Callable[[], int]) -> Iterator[None]:
    """Collect garbage while no requests come: with a hundred thousand labels it takes a second.

    `requests`: returns the number of requests so far.
    """
    over, before, switching = Event(), gc.get_threshold(), sys.getswitchinterval()

    def collect() -> None:
        seen = -1
        while not over.wait(_IDLE_SECONDS):
            last, seen = seen, requests()
            if seen == last and gc.get_count()[2] > before[2]:
                gc.collect()

    gc.set_threshold(*before[:2], _SELDOM)
    sys.setswitchinterval(_SWITCH_SECONDS)
    collector = Thread(target=collect, daemon=True)
    collector.start()
    try:
        yield
    finally:
        over.set()
        collector.join()
        gc.set_threshold(*before)
        sys.setswitchinterval(switching)


def make_server(app: ASGIApp, listening: Listener, *, proxy: str | None) -> uvicorn.Server:
    """Server for a listening socket."""
    config = uvicorn.Config(
        app,
        http=protocol_of(listening.connections),
        loop="asyncio",  # it accepts connections through `Listener.accept`
        log_config=None,
        access_log=False,
        server_header=False,
        ws="none",
        lifespan="on",
        proxy_headers=proxy is not None,
        forwarded_allow_ips=proxy,
        timeout_graceful_shutdown=5,
    )
    return uvicorn.Server(config)


@contextmanager
def in_browser(link: str) -> Iterator[None]:
    """Open a link in the browser.

    By way of a file that only its owner can read: a command line, and the token in it, is visible
    to everybody on this machine.
    """
    with tempfile.TemporaryDirectory(prefix="assay-") as folder:
        page = Path(folder) / "open.html"
        target = html.escape(link)
        page.write_text(f'<meta http-equiv="refresh" content="0; url={target}">', encoding="utf-8")
        webbrowser.open(page.as_uri())
        yield


def _name(given: str) -> str:
    """Host name without its port, as `HostList` compares it."""
    if _address(given) is not None:
        return given.lower()
    name = host_name(given.strip())
    if _address(name) is None and not _NAME.fullmatch(name):
        raise InputError(
            f"{given!r} is not the name of a server",
            hint="give the part between http:// and the next / or :, such as labels.example.org",
        )
    return name


def _address(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(host)
    except ValueError:
        return None
