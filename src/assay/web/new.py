"""A new campaign in the browser: a file, what its columns are for, what it will take, and go."""

import json
import os
import re
from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from sqlalchemy import make_url
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from assay.campaign import Campaign, create_campaign, replacing
from assay.core.design import Design
from assay.core.goal import Goal
from assay.core.targets import Target
from assay.errors import AssayError, DesignError
from assay.labelling import Reviewing, Settings, find_campaign, listed_names
from assay.predictions import Scan, as_command, propose
from assay.results import sentence
from assay.simulation import forecast
from assay.storage import Store
from assay.web.auth import LOCAL_OWNER, needs, refuse_others
from assay.web.http import read_document, refuse, render, text_in
from assay.web.hub import pages_address

# What a form may say of a campaign, and how it is typed; all else is refused.
_TEXTS = ("id", "score", "predicted", "positive", "metric", "question", "name")
_NUMBERS = ("threshold", "within", "confidence")
_METRICS = ("precision", "recall", "accuracy", "f1", "macro_f1")


@dataclass(frozen=True)
class Wanted:
    """Campaign that a form describes: where its predictions are, and the options."""

    path: str
    table: str  # of a database; empty for a file
    replaces: str  # name of the campaign in whose place it is made, while that has no answers
    options: Mapping[str, Any]

    @classmethod
    def of(cls, document: Mapping[str, Any]) -> "Wanted":
        """Read a form."""
        options: dict[str, Any] = {
            name: text_in(document, name, at_most=1_000) for name in _TEXTS if document.get(name)
        }
        for name in _NUMBERS:
            value = document.get(name)
            if isinstance(value, bool) or not isinstance(value, int | float | None):
                refuse(f"{name!r} must be a number")
            if value is not None:
                options[name] = value
        show = document.get("show", [])
        if not isinstance(show, list) or not all(isinstance(each, str) for each in show):
            refuse("'show' must be a list of columns")
        path = text_in(document, "path", at_most=10_000)
        table, replaces = (str(document.get(name) or "")[:1_000] for name in ("table", "replaces"))
        return cls(path, table, replaces, {**options, "show": show})

    @property
    def command(self) -> str:
        """The same campaign, typed."""
        table = {"table": self.table} if self.table else {}
        return as_command(_short(self.path), {**table, **self.options})

    @property
    def python(self) -> str:
        """The same campaign, in Python."""
        given = "".join(f"    {name}={value!r},\n" for name, value in self.options.items() if value)
        source = repr(_short(self.path))
        if self.table:
            source = f"assay.Scan({source}, table={self.table!r})"
        return f"import assay\n\nassay.create_campaign(\n    {source},\n{given})"

    def made(self, name: str, storage: str | None) -> Campaign:
        """Make the campaign, with its forecast; without a storage, in memory."""
        options = {**self.options, "name": name, "storage": storage}
        return forecast(create_campaign(_scan(self.path, self.table), **options))


def _scan(path: str, table: str) -> Scan:
    return Scan(path, table=table or None)


def _short(path: str) -> str:
    """Path as it is typed in the current folder."""
    here = str(Path.cwd())
    return path.removeprefix(f"{here}{os.sep}")


@needs("owner")
async def show_form(request: Request) -> Response:
    """Page on which a campaign is made."""
    refuse_others(request)
    state, changes = request.app.state, request.query_params.get("change", "")
    before = await run_in_threadpool(_before, state.store, changes) if changes else None
    return render(request, "new.html", metrics=_METRICS, before=before and json.dumps(before))


def _before(store: Store, name: str) -> dict[str, Any]:
    """Fields of the form for a campaign that nobody has answered yet."""
    with store.read() as session:
        settings = find_campaign(session, name)[1]
    found = change_of(settings)
    if found is None:
        raise DesignError(
            f"campaign {name!r} has options that this page does not know",
            hint="create it again: `assay create` with --replace",
        )
    return found


def change_of(settings: Settings) -> dict[str, Any] | None:
    """Fields of the form for a campaign; None if they cannot say all of it."""
    source, goal = settings.source, settings.goal
    (target, *others), (part, *more) = goal.targets, source.parts
    scan = dict(part.scan or {})
    if target.within is None:
        return None
    plain = replace(
        settings,
        design=Design(bins=settings.design.bins),  # fewer for few items
        goal=Goal(targets=(Target(target.metric, within=target.within),)),
        reviewing=Reviewing(settings.reviewing.question),
        before=None,
        series=None,
        prior=None,
    )
    told = {"path": scan.pop("source", None), "table": scan.pop("table", None) or ""}
    if plain != settings or others or more or scan or source.slices or not told["path"]:
        return None
    columns = {name: source.columns.get(name) for name in (*_TEXTS[:4], "threshold", "show")}
    if not settings.is_binary or set(source.columns) > {*columns}:
        return None
    return {
        **told,
        **columns,
        "metric": target.metric,
        "within": target.within,
        "question": settings.reviewing.question,
        "name": settings.name,
    }


@needs("owner", streams=True)
async def take_file(request: Request) -> Response:
    """Keep a file in the storage's folder, and propose what its columns are for."""
    refuse_others(request)
    name = Path(request.query_params.get("name", "")).name
    if not re.fullmatch(r"[^\x00-\x1f/\\]{1,200}", name) or name.startswith("."):
        refuse("'name' must be the name of a file")
    path = _free(_folder(request.app.state.url) / name)
    try:
        with path.open("xb") as file:
            async for piece in request.stream():
                await run_in_threadpool(file.write, piece)
        return JSONResponse(await run_in_threadpool(_proposed, str(path)))
    except BaseException:
        path.unlink(missing_ok=True)  # whoever drops it again must not find it twice
        raise


@needs("owner")
async def look(request: Request) -> Response:
    """Propose what the columns of a file on this machine, or of a query, are for."""
    refuse_others(request)
    document = await read_document(request)
    path = text_in(document, "path", at_most=10_000)
    table = str(document.get("table") or "")
    return JSONResponse(await run_in_threadpool(_proposed, path, table))


def _proposed(path: str, table: str = "") -> dict[str, Any]:
    found = asdict(propose(_scan(path, table)))
    return {"path": path, "table": table, "short": _short(path), **found}


@needs("owner")
async def foresee(request: Request) -> Response:
    """Forecast of a campaign's labels with its cautions, or what is wrong; and how to type it."""
    refuse_others(request)
    wanted = Wanted.of(await read_document(request))

    def look() -> dict[str, Any]:
        try:
            settings = wanted.made("not stored", None).settings
        except AssayError as error:  # what is missing may come with the next key
            return {"trouble": str(error)}
        cautions = [sentence(each) for each in settings.source.doubts]
        told = {"items": settings.items, "cautions": cautions}
        if settings.forecast is None:
            return told
        cautions += [sentence(each) for each in settings.forecast.cautions]
        return {**told, "labels": settings.forecast.labels, "random": settings.forecast.random}

    typed = {"command": wanted.command, "python": wanted.python}
    return JSONResponse({**typed, **await run_in_threadpool(look)})


@needs("owner")
async def start(request: Request) -> Response:
    """Make a campaign, and return the address of its pages."""
    refuse_others(request)
    wanted = Wanted.of(await read_document(request))
    state = request.app.state

    def make() -> str:
        with state.store.read() as session:
            taken = listed_names(session)
        name = str(wanted.options.get("name") or _free_name(Path(wanted.path).stem, taken))
        instead = (
            replacing(state.store, wanted.replaces, asked_by=LOCAL_OWNER)
            if wanted.replaces
            else nullcontext()
        )
        with instead:
            wanted.made(name, state.url)
        return name

    name = await run_in_threadpool(make)
    for gone in {name, wanted.replaces}:
        state.each.forget(gone)
    return JSONResponse({"name": name, "next": pages_address(name)})


def _folder(storage: str) -> Path:
    """Folder for files: beside a storage that is a file, otherwise in the current folder."""
    url = make_url(storage)
    is_file = url.get_backend_name() == "sqlite" and url.database
    beside = Path(url.database if is_file and url.database else "assay.db")
    folder = beside.absolute().with_name(f"{beside.stem}-files")
    folder.mkdir(exist_ok=True)
    return folder


def _free(path: Path) -> Path:
    """Path with a number, if there is such a file."""
    free, number = path, 1
    while free.exists():
        number += 1
        free = path.with_name(f"{path.name.partition('.')[0]}-{number}{''.join(path.suffixes)}")
    return free


def _free_name(stem: str, taken: list[str]) -> str:
    name, number = stem or "campaign", 1
    while name in taken:
        number += 1
        name = f"{stem}-{number}"
    return name


routes = [
    Route("/new", show_form, methods=["GET"]),
    Route("/api/new/file", take_file, methods=["POST"]),
    Route("/api/new/look", look, methods=["POST"]),
    Route("/api/new/forecast", foresee, methods=["POST"]),
    Route("/api/new/start", start, methods=["POST"]),
]
