"""A new campaign in the browser: a file, what its columns are for, what it will take, and go."""

import os
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from sqlalchemy import make_url
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from assay.campaign import create_campaign
from assay.core.metrics import METRICS
from assay.errors import AssayError
from assay.labelling import listed_names
from assay.predictions import as_command, propose
from assay.simulation import plan
from assay.web.auth import LOCAL_OWNER, needs
from assay.web.http import read_document, refuse, render, text_in
from assay.web.hub import pages_address

_REPLICATIONS = 12  # of a forecast, which people wait for

# What a form may say of a campaign, and how it is typed; all else is refused.
_TEXTS = ("id", "score", "predicted", "positive", "metric", "question", "name")
_NUMBERS = ("threshold", "within", "confidence")
_FORECAST = ("id", "score", "predicted", "positive", "threshold", "metric", "within", "confidence")


@dataclass(frozen=True)
class Wanted:
    """Campaign that a form describes: where its predictions are, and the options."""

    path: str
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
        return cls(text_in(document, "path", at_most=10_000), {**options, "show": show})

    @property
    def command(self) -> str:
        """The same campaign, typed."""
        return as_command(_short(self.path), self.options)

    @property
    def python(self) -> str:
        """The same campaign, in Python."""
        given = "".join(f"    {name}={value!r},\n" for name, value in self.options.items() if value)
        return f"import assay\n\nassay.create_campaign(\n    {_short(self.path)!r},\n{given})"


def _short(path: str) -> str:
    """Path as it is typed in the current folder."""
    here = str(Path.cwd())
    return path.removeprefix(f"{here}{os.sep}")


@needs("owner")
async def show_form(request: Request) -> Response:
    """Page on which a campaign is made."""
    metrics = [name for name in METRICS if name in ("precision", "recall", "accuracy", "f1")]
    return render(request, "new.html", metrics=metrics)


@needs("owner", streams=True)
async def take_file(request: Request) -> Response:
    """Keep a file in the storage's folder, and propose what its columns are for."""
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
    _refuse_others(request)
    document = await read_document(request)
    path = text_in(document, "path", at_most=10_000)
    return JSONResponse(await run_in_threadpool(_proposed, path))


def _proposed(path: str) -> dict[str, Any]:
    return {"path": path, "short": _short(path), **asdict(propose(path))}


@needs("owner")
async def forecast(request: Request) -> Response:
    """How many labels a campaign will take, or why that is unknown; and how to type it."""
    _refuse_others(request)
    wanted = Wanted.of(await read_document(request))
    options = {name: wanted.options[name] for name in _FORECAST if name in wanted.options}

    def labels() -> dict[str, Any]:
        try:
            planned = plan(wanted.path, **options, replications=_REPLICATIONS).to_dict()
        except AssayError as error:  # nobody has to know it: the campaign may start nevertheless
            return {"trouble": str(error)}
        reading = planned["readings"][0]
        return {"items": planned["items"], "labels": reading["labels"], "random": reading["random"]}

    typed = {"command": wanted.command, "python": wanted.python}
    return JSONResponse({**typed, **await run_in_threadpool(labels)})


@needs("owner")
async def start(request: Request) -> Response:
    """Make a campaign, and return the address of its pages."""
    _refuse_others(request)
    wanted = Wanted.of(await read_document(request))
    state = request.app.state

    def make() -> str:
        with state.store.read() as session:
            taken = listed_names(session)
        name = str(wanted.options.get("name") or _free_name(Path(wanted.path).stem, taken))
        options = {**wanted.options, "name": name}
        create_campaign(wanted.path, **options, storage=state.url)
        return name

    name = await run_in_threadpool(make)
    state.each.forget(name)
    return JSONResponse({"name": name, "next": pages_address(name)})


def _refuse_others(request: Request) -> None:
    """Raise unless the person started this server: files are read with the rights of its user."""
    if request.state.person.name != LOCAL_OWNER:
        raise HTTPException(403, "only the person who started this server may read files")


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
    Route("/api/new/forecast", forecast, methods=["POST"]),
    Route("/api/new/start", start, methods=["POST"]),
]
