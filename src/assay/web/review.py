"""The reviewer's page, and what it sends and gets."""

import json
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from assay.campaign.campaign import Campaign
from assay.errors import PredictionsError
from assay.web.auth import Person, needs
from assay.web.guidelines import guideline_blocks
from assay.web.options import Options
from assay.web.pages import render
from assay.web.queue import Counter
from assay.web.requests import number_in, read_document, submits_in
from assay.web.shown import item_json

_MOST_ITEMS = 20
_NO_MORE_ITEMS = "there are no more items just now; the owner has been told"


@needs("reviewer")
async def show_page(request: Request) -> Response:
    """Return the page. It holds no item yet: to give one out is a change, which a GET never is."""
    counter: Counter = request.app.state.counter
    options: Options = request.app.state.options
    identity, settings = await counter.call(lambda campaign: (campaign.identity, campaign.settings))
    return render(
        request,
        "review.html",
        campaign_id=identity,
        question=settings.question,
        budget=settings.goal.budget,
        blocks=guideline_blocks(options.guidelines),
        lease=options.lease,
    )


@needs("reviewer")
async def take_turn(request: Request) -> Response:
    """Record answers, renew what the page holds, and give out what to show next."""
    counter: Counter = request.app.state.counter
    options: Options = request.app.state.options
    person: Person = request.state.person
    document = await read_document(request)
    want = number_in(document, "want", default=0, at_least=0, at_most=_MOST_ITEMS)

    def turn(campaign: Campaign) -> dict[str, Any]:
        _refuse_mistaken(document, campaign, person)
        submits = submits_in(document, campaign.settings)
        try:
            turn = campaign.review(submits, reviewer=person.name, want=want, lease=options.lease)
        except PredictionsError:
            # Its words tell of the predictions; the owner's page has them (`Campaign.trouble`).
            raise HTTPException(503, _NO_MORE_ITEMS) from None
        return {
            "receipts": [asdict(receipt) for receipt in turn.receipts],
            "items": [item_json(item, campaign, options) for item in turn.items],
            "state": turn.state,
            "yours": turn.yours,
            "team": turn.team,
        }

    # Escaped to ASCII: an item may hold half a surrogate pair, which UTF-8 cannot.
    return Response(json.dumps(await counter.call(turn)), media_type="application/json")


def _refuse_mistaken(document: Mapping[str, Any], campaign: Campaign, person: Person) -> None:
    """Raise where a page speaks for somebody else, or to another campaign, than it thinks.

    A page stays open when another person logs in beside it, and when another campaign is served
    at the same address, perhaps of the same name; what waits in it must not be taken for theirs.
    """
    for name, value, what in (
        ("campaign", campaign.name, "campaign"),
        ("campaign_id", campaign.identity, "campaign"),
        ("reviewer", person.name, "reviewer"),
    ):
        if document.get(name, value) != value:
            raise HTTPException(
                409, f"this page was opened for another {what}; nothing was recorded: reload it"
            )


routes = [
    Route("/review", show_page, methods=["GET"]),
    Route("/api/review", take_turn, methods=["POST"]),
]
