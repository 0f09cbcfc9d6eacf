"""Owner's pages: state of the campaign, disputes that wait for a ruling, label files."""

import io
import json
import re
import zipfile
from collections import Counter as Tally
from collections.abc import Callable, Mapping
from dataclasses import asdict
from typing import Any
from zlib import crc32

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from assay.campaign import Campaign, Written, import_labels, write_batch, write_labels
from assay.core.answers import Answer
from assay.errors import AssayError
from assay.exchange import FORMATS
from assay.files import LimitError
from assay.labelling import LONGEST_COMMENT, Settings
from assay.report import SUFFIXES, blocks_of, curve_part
from assay.results import Dispute, ThresholdCurve, printable
from assay.web import Options
from assay.web.auth import Person, needs
from assay.web.dashboard import Dashboard, dashboard_of, details_of, heading_of
from assay.web.http import (
    Form,
    comment_in,
    item_in,
    plain_name,
    read_document,
    refuse,
    render,
    text_in,
    word_in,
)
from assay.web.items import item_json
from assay.web.queue import Counter
from assay.web.review import BROKEN, chosen_among

_ERRORS = 5  # on the dashboard


@needs("owner")
async def show_dashboard(request: Request) -> Response:
    """Dashboard page; its live part is also at /owner/live."""
    counter: Counter = request.app.state.counter
    heading, version, now = await counter.call(
        lambda campaign: (heading_of(campaign), _version(campaign), dashboard_of(campaign))
    )
    details = await counter.aside(details_of)
    return render(
        request,
        "owner.html",
        heading=heading,
        version=version,
        now=now,
        details=details,
        errors_shown=_ERRORS,
        writes_labels=[name for name, each in FORMATS.items() if each.write_labels],
        writes_batch=[name for name, each in FORMATS.items() if each.write_batch],
        reads=list(FORMATS),
    )


@needs("owner")
async def show_details(request: Request) -> Response:
    """Details, below the first screen of the dashboard."""
    counter: Counter = request.app.state.counter
    details = await counter.aside(details_of)
    return render(request, "owner_details.html", details=details, errors_shown=_ERRORS)


def _version(campaign: Campaign) -> str:
    """Text that changes whenever the dashboard does."""
    trouble = campaign.desk.labelling.trouble.encode("utf-8", "surrogatepass")
    return f"{campaign.desk.version}-{crc32(trouble):08x}"


@needs("owner")
async def show_live(request: Request) -> Response:
    """Live part of the dashboard; empty if unchanged since the named version.

    The page asks every few seconds: without new answers, that costs next to nothing.
    """
    counter: Counter = request.app.state.counter
    shown_version = request.headers.get("if-none-match", "").removeprefix("W/").strip('"')

    def look(campaign: Campaign) -> tuple[str, Dashboard | None]:
        version = _version(campaign)
        return version, None if version == shown_version else dashboard_of(campaign)

    version, now = await counter.call(look)
    tag = {"ETag": f'"{version}"'}
    if now is None:
        return Response(status_code=304, headers=tag)
    response = render(request, "owner_live.html", now=now)
    response.headers.update(tag)
    return response


@needs("owner")
async def show_disputes(request: Request) -> Response:
    """Page with one dispute, or with a labelled item that the owner judges again, blind."""
    counter: Counter = request.app.state.counter
    options: Options = request.app.state.options
    asked = request.query_params.get("at", "")
    place = int(asked) if asked.isascii() and asked.isdecimal() and len(asked) < 9 else 1

    again = request.query_params.get("item", "")

    def look(campaign: Campaign) -> dict[str, Any]:
        disputes = campaign.disputes()
        if again:
            item = campaign.desk.assignments.answered(again)
            disputes = [] if item is None else [Dispute(item, {})]
        at = max(min(place, len(disputes)), 1)
        shown = _dispute_values(disputes[at - 1], campaign, options) if disputes else None
        return {
            "question": campaign.settings.question,
            "campaign_id": campaign.desk.identity,
            "several": campaign.settings.reviewing.per_item > 1,
            "count": len(disputes),
            "again": bool(again),
            "at": at,
            "dispute": shown,
            **chosen_among(campaign.settings, options.guidelines),
        }

    values = await counter.call(look)
    values |= {"choices": [*values["choices"], BROKEN], "longest_comment": LONGEST_COMMENT}
    if request.query_params.get("part") == "case":  # the page already has the classes
        values["typed"] = ""
    return render(request, "disputes.html", **values)


def _dispute_values(dispute: Dispute, campaign: Campaign, options: Options) -> Mapping[str, Any]:
    tally, labels = Tally(dispute.answers.values()), dispute.labels.values()
    return {
        # Escaped to ASCII: an item may hold half a surrogate pair, which UTF-8 cannot.
        "item": json.dumps(item_json(dispute.item, campaign, options)),
        "id": str(dispute.item.id),
        "answers": [
            (each.value, tally[each]) for each in sorted(tally, key=_place(campaign.settings))
        ],
        "by": sorted((each.reviewer, each.answer, each.comment) for each in labels),
        "comments": sorted((each.answer, each.comment) for each in labels if each.comment),
    }


def _place(settings: Settings) -> Callable[[Answer], tuple[int, str]]:
    """Sort key of answers: their order on the page, then their text."""
    places = {answer: place for place, answer in enumerate(settings.answers)}
    return lambda answer: (places.get(answer, len(places)), answer)


@needs("owner")
async def take_ruling(request: Request) -> Response:
    """Record the ruling of a dispute."""
    counter: Counter = request.app.state.counter
    person: Person = request.state.person
    document = await read_document(request)
    key, comment = text_in(document, "key"), comment_in(document)

    def rule(campaign: Campaign) -> dict[str, Any]:
        item = item_in(document, campaign.settings)
        answer = word_in(document, "answer", campaign.settings.answer_words)
        receipt = campaign.rule(item, answer, reviewer=person.name, key=key, comment=comment)
        return {"receipt": asdict(receipt), "left": len(campaign.disputes())}

    return JSONResponse(await counter.call(rule))


# Labels in and out through the owner's page.

_MOST_ITEMS = 10_000
_MOST_HOURS = 24 * 30
_CHARACTERS = 60  # of a file's name
_REPORTS = {
    ".html": "text/html; charset=utf-8",
    ".json": "application/json",
    ".md": "text/markdown; charset=utf-8",
}


@needs("owner")
async def export_labels(request: Request) -> Response:
    """Labels as a file."""
    counter: Counter = request.app.state.counter
    chosen = _known_format(request.query_params.get("format", "csv"))
    written = await counter.aside(lambda campaign: write_labels(campaign, format=chosen))
    return file_response(written, f"{counter.name} labels")


@needs("owner")
async def export_report(request: Request) -> Response:
    """Report as a file; reviewers are numbered in it, because it may be sent on."""
    counter: Counter = request.app.state.counter
    suffix = f".{request.query_params.get('format', 'html')}"
    if suffix not in _REPORTS:
        refuse(f"'format' must be one of: {', '.join(each[1:] for each in _REPORTS)}")
    made = await counter.aside(lambda campaign: campaign.report())
    content = getattr(made, SUFFIXES[suffix]).encode()
    return _download(content, f"{counter.name} report", suffix, _REPORTS[suffix])


@needs("owner")
async def export_batch(request: Request) -> Response:
    """Next items as a file; not by GET, because new items may be dealt for it."""
    counter: Counter = request.app.state.counter
    form = Form(await request.body())
    chosen = _known_format(form.text("format", "csv"))
    size = form.whole("size", 20, _MOST_ITEMS)
    reviewer = form.text("reviewer", "") or None
    seconds = 3600.0 * form.whole("hours", 24, _MOST_HOURS)

    def write(campaign: Campaign) -> Written:
        return write_batch(campaign, size, format=chosen, reviewer=reviewer, lease=seconds)

    return file_response(await counter.call(write), f"{counter.name} batch")


@needs("owner")
async def take_answers(request: Request) -> Response:
    """Record the answers of a file, all of them or none."""
    counter: Counter = request.app.state.counter
    person: Person = request.state.person
    asked = request.query_params.get("format", "")
    chosen = _known_format(asked) if asked else None
    reviewer = plain_name(request.query_params.get("reviewer", "")) or person.name
    revise = request.query_params.get("revise", "") == "yes"
    body = await request.body()
    try:
        imported = await counter.aside(
            lambda campaign: import_labels(
                campaign, body, format=chosen, reviewer=reviewer, revise=revise
            )
        )
    except LimitError as error:
        raise HTTPException(413, error.problem) from None
    return JSONResponse(asdict(imported))


def _known_format(name: str) -> str:
    if name not in FORMATS:
        refuse(f"'format' must be one of: {', '.join(FORMATS)}")
    return name


def file_response(written: Written, name: str) -> Response:
    """File for the browser to save, zipped with its configuration if it has one."""
    if written.config is None:
        response = _download(written.content, name, written.suffix, written.media_type)
    else:
        content = _zip(_safe(name), written, written.config)
        response = _download(content, name, ".zip", "application/zip")
    response.headers["X-Assay-Count"] = str(written.count)
    return response


def _download(content: bytes, name: str, suffix: str, media_type: str) -> Response:
    disposition = f'attachment; filename="{_safe(name)}{suffix}"'
    return Response(content, media_type=media_type, headers={"Content-Disposition": disposition})


def _safe(name: str) -> str:
    """File name that is valid on any disk, and safe in a header."""
    return re.sub(r"[^A-Za-z0-9._-]+", "-", name)[:_CHARACTERS].strip("-.") or "assay"


def _zip(name: str, written: Written, config: bytes) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(f"{name}{written.suffix}", written.content)
        archive.writestr(f"{name}{written.config_suffix}", config)
    return file.getvalue()


# The curve of the score, for the owner: a page on which the threshold can be moved.


@needs("owner")
async def show_curve(request: Request) -> Response:
    """Page of the curve; without a curve, it gives the reason.

    All scores are counted for it, so it is kept until the next label.
    """
    counter: Counter = request.app.state.counter
    kept: dict[str, dict[str, Any]] = request.app.state.curves

    def look(campaign: Campaign) -> dict[str, Any]:
        version = f"{campaign.name} {campaign.desk.version}"
        if version not in kept:
            page = _page(campaign)
            kept.clear()
            kept[version] = page
        return kept[version]

    return render(request, "curve.html", **await counter.aside(look))


def _page(campaign: Campaign) -> dict[str, Any]:
    """Values for the page."""
    try:
        curve = campaign.curve()
    except AssayError as error:
        return {"trouble": printable(str(error)), "curve": None}
    return {"trouble": "", "curve": _values(curve)}


def _values(curve: ThresholdCurve) -> dict[str, Any]:
    return {
        "headline": printable(curve.headline),
        "part": curve_part(curve),
        "table": blocks_of(curve.document().blocks, "dashboard"),
    }


routes = [
    Route("/owner", show_dashboard, methods=["GET"]),
    Route("/owner/live", show_live, methods=["GET"]),
    Route("/owner/details", show_details, methods=["GET"]),
    Route("/owner/disputes", show_disputes, methods=["GET"]),
    Route("/api/ruling", take_ruling, methods=["POST"]),
    Route("/owner/export", export_labels, methods=["GET"]),
    Route("/owner/curve", show_curve, methods=["GET"]),
    Route("/owner/report", export_report, methods=["GET"]),
    Route("/api/batch", export_batch, methods=["POST"]),
    Route("/api/import", take_answers, methods=["POST"]),
]
