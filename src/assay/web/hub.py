"""All campaigns of a storage behind one address: a list, and the pages of each below its name."""

from collections.abc import Callable
from threading import Lock
from urllib.parse import quote, unquote

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from assay.campaign import Campaign, delete_campaign, rename_campaign
from assay.labelling import find_campaign
from assay.storage import Store
from assay.web.auth import LOCAL_OWNER, Person, needs, refuse_others
from assay.web.campaigns import rows_of
from assay.web.http import Form, refuse, render

BELOW = "/c/{campaign}"
_LONGEST_NAME = 200  # of a campaign


def pages_address(name: str) -> str:
    """Address of a campaign's pages, of letters that no proxy decodes.

    >>> pages_address("spam"), pages_address("weekly/3"), pages_address("..")
    ('/c/spam/', '/c/weekly~2F3/', '/c/~2E~2E/')
    """
    escaped = quote(name, safe="").replace("~", "%7E").replace("%", "~")
    return f"/c/{escaped if name.strip('.') else '~2E' * len(name)}/"


def _name_at(place: str) -> str:
    return unquote(place.replace("~", "%"))


class EachCampaign:
    """Pages of each campaign, made when they are first asked for."""

    def __init__(self, store: Store, pages_of: Callable[[Campaign], Starlette]) -> None:
        self._store, self._pages_of = store, pages_of
        self._pages: dict[str, Starlette] = {}
        self._opening = Lock()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let the campaign's own pages handle a request."""
        pages = await run_in_threadpool(self._open, _name_at(scope["path_params"]["campaign"]))
        await pages(scope, receive, send)

    def _open(self, name: str) -> Starlette:
        with self._opening:
            if name not in self._pages:
                with self._store.read() as session:
                    if name not in session.names():
                        raise HTTPException(404)
                    campaign = Campaign(self._store, *find_campaign(session, name), None)
                self._pages[name] = self._pages_of(campaign)
            return self._pages[name]

    def forget(self, name: str) -> None:
        """Open the campaign of this name anew when it is next asked for."""
        with self._opening:
            if (pages := self._pages.pop(name, None)) is not None:
                pages.state.counter.close()

    def close(self) -> None:
        """Let all workers end after their current work."""
        for name in [*self._pages]:
            self.forget(name)


@needs("reviewer")
async def show_all(request: Request) -> Response:
    """Page of all campaigns, each with a link to its own pages; without any, that of a new one.

    A token is for one campaign: a reviewer goes there at once, and an owner has no other link.
    """
    person: Person = request.state.person
    if person.role != "owner":
        return RedirectResponse(pages_address(person.campaign), 303)
    rows, count = await run_in_threadpool(rows_of, request.app.state.store)
    is_local = person.name == LOCAL_OWNER
    if not count and is_local:
        return RedirectResponse("/new", 303)
    opened = [row.name for row in rows if is_local or row.name == person.campaign]
    links = {name: pages_address(name) for name in opened}
    return render(
        request, "campaigns.html", rows=rows, count=count, links=links, can_create=is_local
    )


@needs("owner")
async def rename(request: Request) -> Response:
    """Give a campaign another name."""
    refuse_others(request)
    form, state = Form(await request.body()), request.app.state
    name, new = (form.text(each, at_most=_LONGEST_NAME) for each in ("name", "new"))
    await run_in_threadpool(rename_campaign, state.store, name, new, asked_by=LOCAL_OWNER)
    for each in (name, new):
        state.each.forget(each)
    return RedirectResponse("/", 303)


@needs("owner")
async def delete(request: Request) -> Response:
    """Delete a campaign with its labels, if its name is typed once more."""
    refuse_others(request)
    form, state = Form(await request.body()), request.app.state
    name, typed = (form.text(each, at_most=_LONGEST_NAME) for each in ("name", "typed"))
    if typed != name:
        refuse(f"to delete {name!r} with all its labels, type its name")
    await run_in_threadpool(delete_campaign, state.store, name, asked_by=LOCAL_OWNER)
    state.each.forget(name)
    return RedirectResponse("/", 303)


routes = [
    Route("/", show_all, methods=["GET"]),
    Route("/rename", rename, methods=["POST"]),
    Route("/delete", delete, methods=["POST"]),
]
