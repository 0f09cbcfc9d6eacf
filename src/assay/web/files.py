"""Labels in and out through the owner's page."""

import io
import re
import zipfile
from dataclasses import asdict
from urllib.parse import parse_qs

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from assay.campaign import Campaign, Written, import_labels, write_batch, write_labels
from assay.errors import is_storable
from assay.exchange import FORMATS, LimitError
from assay.report import SUFFIXES
from assay.web.auth import Person, needs
from assay.web.queue import Counter
from assay.web.requests import refuse

_MOST_ITEMS = 10_000
_MOST_HOURS = 24 * 30
_LONGEST_NAME = 100
_CHARACTERS = 60  # of a file's name
_REPORTS = {
    ".html": "text/html; charset=utf-8",
    ".json": "application/json",
    ".md": "text/markdown; charset=utf-8",
}


@needs("owner")
async def export_labels(request: Request) -> Response:
    """Return the labels as a file."""
    counter: Counter = request.app.state.counter
    chosen = _known_format(request.query_params.get("format", "csv"))
    written = await counter.call(lambda campaign: write_labels(campaign, format=chosen))
    return _file(written, f"{counter.name} labels")


@needs("owner")
async def export_report(request: Request) -> Response:
    """Return the report as a file; reviewers are numbered in it, as it is made to be sent on."""
    counter: Counter = request.app.state.counter
    suffix = f".{request.query_params.get('format', 'html')}"
    if suffix not in _REPORTS:
        refuse(f"'format' must be one of: {', '.join(each[1:] for each in _REPORTS)}")
    made = await counter.call(lambda campaign: campaign.report())
    content = getattr(made, SUFFIXES[suffix]).encode()
    return _download(content, f"{counter.name} report", suffix, _REPORTS[suffix])


@needs("owner")
async def export_batch(request: Request) -> Response:
    """Return the next items as a file; no GET, because new items may be dealt for it."""
    counter: Counter = request.app.state.counter
    form = _Form(await request.body())
    chosen = _known_format(form.text("format", "csv"))
    size = form.whole("size", 20, _MOST_ITEMS)
    reviewer = form.text("reviewer", "") or None
    seconds = 3600.0 * form.whole("hours", 24, _MOST_HOURS)

    def write(campaign: Campaign) -> Written:
        return write_batch(campaign, size, format=chosen, reviewer=reviewer, lease=seconds)

    return _file(await counter.call(write), f"{counter.name} batch")


@needs("owner")
async def take_answers(request: Request) -> Response:
    """Record the answers of a file, all of them or none."""
    counter: Counter = request.app.state.counter
    person: Person = request.state.person
    asked = request.query_params.get("format", "")
    chosen = _known_format(asked) if asked else None
    reviewer = _name(request.query_params.get("reviewer", "")) or person.name
    revise = request.query_params.get("revise", "") == "yes"
    body = await request.body()
    try:
        imported = await counter.call(
            lambda campaign: import_labels(
                campaign, body, format=chosen, reviewer=reviewer, revise=revise
            )
        )
    except LimitError as error:
        raise HTTPException(413, error.problem) from None
    return JSONResponse(asdict(imported))


class _Form:
    """What a form of the page has sent."""

    def __init__(self, body: bytes) -> None:
        try:
            self._values = parse_qs(body.decode(), max_num_fields=20, errors="strict")
        except ValueError:
            refuse("the request is not a form that can be read")

    def text(self, name: str, default: str) -> str:
        return _name(self._values.get(name, [default])[-1])

    def whole(self, name: str, default: int, at_most: int) -> int:
        text = self.text(name, str(default))
        if not (text.isascii() and text.isdecimal() and len(text) < 10):
            refuse(f"{name!r} must be a whole number")
        if not 1 <= int(text) <= at_most:
            refuse(f"{name!r} must be from 1 to {at_most:,}")
        return int(text)


def _name(text: str) -> str:
    if len(text) > _LONGEST_NAME or not is_storable(text):
        refuse(f"a text of at most {_LONGEST_NAME} characters is expected")
    return text.strip()


def _known_format(name: str) -> str:
    if name not in FORMATS:
        refuse(f"'format' must be one of: {', '.join(FORMATS)}")
    return name


def _file(written: Written, name: str) -> Response:
    """Return a file for the browser to save; what another tool needs beside it goes with it."""
    content, suffix, media_type = written.content, written.suffix, written.media_type
    if written.config is not None:
        content = _zip(_safe(name), written, written.config)
        suffix, media_type = ".zip", "application/zip"
    response = _download(content, name, suffix, media_type)
    response.headers["X-Assay-Count"] = str(written.count)
    return response


def _download(content: bytes, name: str, suffix: str, media_type: str) -> Response:
    disposition = f'attachment; filename="{_safe(name)}{suffix}"'
    return Response(content, media_type=media_type, headers={"Content-Disposition": disposition})


def _safe(name: str) -> str:
    """Return a name that any disk takes, and that cannot break out of a header."""
    return re.sub(r"[^A-Za-z0-9._-]+", "-", name)[:_CHARACTERS].strip("-.") or "assay"


def _zip(name: str, written: Written, config: bytes) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(f"{name}{written.suffix}", written.content)
        archive.writestr(f"{name}.config.xml", config)
    return file.getvalue()


routes = [
    Route("/owner/export", export_labels, methods=["GET"]),
    Route("/owner/report", export_report, methods=["GET"]),
    Route("/api/batch", export_batch, methods=["POST"]),
    Route("/api/import", take_answers, methods=["POST"]),
]
