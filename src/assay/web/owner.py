"""The owner's pages: how the campaign stands, and the disputes that wait for a ruling."""

import json
from collections import Counter as Tally
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any
from zlib import crc32

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from assay.campaign import Campaign
from assay.core.answers import Answer
from assay.exchange import FORMATS
from assay.labelling import LONGEST_COMMENT
from assay.results import Dispute
from assay.web import Options
from assay.web import files as owner_files
from assay.web.auth import Person, needs
from assay.web.dashboard import Dashboard, dashboard_of, heading_of
from assay.web.pages import render
from assay.web.queue import Counter
from assay.web.requests import comment_in, item_in, read_document, text_in, word_in
from assay.web.review import guideline_blocks, item_json

_ANSWERS = tuple(answer.value for answer in Answer)


@needs("owner")
async def show_dashboard(request: Request) -> Response:
    """Return the page; what changes on it is also at /owner/live."""
    counter: Counter = request.app.state.counter
    heading, version, now = await counter.call(
        lambda campaign: (heading_of(campaign), _version(campaign), dashboard_of(campaign))
    )
    return render(
        request,
        "owner.html",
        heading=heading,
        version=version,
        now=now,
        writes_labels=[name for name, each in FORMATS.items() if each.write_labels],
        writes_batch=[name for name, each in FORMATS.items() if each.write_batch],
        reads=list(FORMATS),
    )


def _version(campaign: Campaign) -> str:
    """Return a text that changes whenever the dashboard does."""
    return f"{campaign.version}-{crc32(campaign.trouble.encode('utf-8', 'surrogatepass')):08x}"


@needs("owner")
async def show_live(request: Request) -> Response:
    """Return what changes; or nothing, where nothing has changed since the version that is named.

    The page asks every few seconds: while nobody answers, that costs next to nothing.
    """
    counter: Counter = request.app.state.counter
    known = request.headers.get("if-none-match", "").removeprefix("W/").strip('"')

    def look(campaign: Campaign) -> tuple[str, Dashboard | None]:
        version = _version(campaign)
        return version, None if version == known else dashboard_of(campaign)

    version, now = await counter.call(look)
    tag = {"ETag": f'"{version}"'}
    if now is None:
        return Response(status_code=304, headers=tag)
    response = render(request, "owner_live.html", now=now)
    response.headers.update(tag)
    return response


@needs("owner")
async def show_disputes(request: Request) -> Response:
    """Return the page with one dispute: the first, or the one at the place that is asked for."""
    counter: Counter = request.app.state.counter
    options: Options = request.app.state.options
    asked = request.query_params.get("at", "")
    place = int(asked) if asked.isascii() and asked.isdecimal() and len(asked) < 9 else 1

    def look(campaign: Campaign) -> dict[str, Any]:
        disputes = campaign.disputes()
        at = max(min(place, len(disputes)), 1)
        shown = _dispute_values(disputes[at - 1], campaign, options) if disputes else None
        return {
            "question": campaign.settings.question,
            "several": campaign.settings.reviewing.per_item > 1,
            "count": len(disputes),
            "at": at,
            "dispute": shown,
        }

    values = await counter.call(look)
    values |= {"blocks": guideline_blocks(options.guidelines), "longest_comment": LONGEST_COMMENT}
    return render(request, "disputes.html", **values)


def _dispute_values(dispute: Dispute, campaign: Campaign, options: Options) -> Mapping[str, Any]:
    said, labels = Tally(dispute.answers.values()), dispute.labels.values()
    return {
        # Escaped to ASCII: an item may hold half a surrogate pair, which UTF-8 cannot.
        "item": json.dumps(item_json(dispute.item, campaign, options)),
        "id": str(dispute.item.id),
        "said": [(answer.value, said[answer]) for answer in Answer if said[answer]],
        "by": sorted((each.reviewer, each.answer, each.comment) for each in labels),
        "comments": sorted((each.answer, each.comment) for each in labels if each.comment),
    }


@needs("owner")
async def take_ruling(request: Request) -> Response:
    """Record how a dispute is decided."""
    counter: Counter = request.app.state.counter
    person: Person = request.state.person
    document = await read_document(request)
    answer, key = word_in(document, "answer", _ANSWERS), text_in(document, "key")
    comment = comment_in(document)

    def rule(campaign: Campaign) -> dict[str, Any]:
        item = item_in(document, campaign.settings)
        receipt = campaign.rule(item, answer, reviewer=person.name, key=key, comment=comment)
        return {"receipt": asdict(receipt), "left": len(campaign.disputes())}

    return JSONResponse(await counter.call(rule))


routes = [
    Route("/owner", show_dashboard, methods=["GET"]),
    Route("/owner/live", show_live, methods=["GET"]),
    Route("/owner/disputes", show_disputes, methods=["GET"]),
    Route("/api/ruling", take_ruling, methods=["POST"]),
    *owner_files.routes,
]
