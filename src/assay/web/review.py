"""The reviewer's page, and its requests and replies."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from assay.campaign import Campaign
from assay.core.answers import Answer
from assay.core.vocabulary import Vocabulary
from assay.errors import PredictionsError
from assay.labelling import LONGEST_COMMENT, Settings, TurnRequest, checked_request
from assay.results import Turn
from assay.web import Options
from assay.web.auth import Person, needs
from assay.web.http import labels_in, number_in, read_document, render
from assay.web.items import item_json
from assay.web.queue import Counter

# Choices of a reviewer.

_MOST_BUTTONS = 9  # classes with a button and a key each, 1 to 9; with more, a name is typed


@dataclass(frozen=True)
class Choice:
    """Answer with a button and a key.

    `of_item`: whether it describes the item.
    """

    key: str
    words: str
    answer: Answer
    meaning: str
    of_item: bool = True


_NONE = Choice(
    "0", "None of these", Answer.NONE_OF_THESE, "the item belongs to none of the classes", False
)
_CANNOT = Choice(
    "c", "Cannot judge", Answer.CANNOT_JUDGE, "you have read it, but the answer is unclear", False
)
BROKEN = Choice("b", "Broken item", Answer.BROKEN, "it cannot be seen", False)


def choices_of(settings: Settings) -> list[Choice]:
    """Answers with buttons, in their order.

    The order is the vocabulary's, whatever a classifier says of an item.
    """
    classes = settings.classes
    if classes.is_yes_or_no:
        yes, no = settings.reviewing.answers or ("Yes", "No")
        return [
            Choice("y", yes, Answer.YES, "the question's answer is yes"),
            Choice("n", no, Answer.NO, "it is no"),
            _CANNOT,
        ]
    if len(classes) > _MOST_BUTTONS:
        return [_NONE, _CANNOT]
    named = [
        Choice(str(number), name, Answer(name), _meaning(classes, name))
        for number, name in enumerate(classes.names, 1)
    ]
    return [*named, _NONE, _CANNOT]


def chosen_among(settings: Settings, guidelines: str) -> dict[str, Any]:
    """Values for the templates of a page with choices."""
    classes, texts = settings.classes, [guidelines]
    typed = len(classes) > _MOST_BUTTONS
    if not typed:
        for name, text in classes.guidelines.items():
            texts.append(f"# {name}\n{text}")
    aliases: dict[str, list[str]] = {name: [] for name in classes.names}
    for alias, name in classes.aliases.items():
        aliases[name].append(alias)
    listed = [[name, aliases[name], classes.guidelines.get(name, "")] for name in classes.names]
    return {
        "choices": choices_of(settings),
        "called": settings.called,
        "of_classes": not classes.is_yes_or_no,
        "typed": json.dumps(listed) if typed else "",
        "several": json.dumps(classes.names) if classes.multilabel else "",
        "guidelines": "\n\n".join(filter(None, texts)),
    }


def _meaning(classes: Vocabulary, name: str) -> str:
    """Text about a class, beside its key."""
    return next(iter(classes.guidelines.get(name, "").strip().splitlines()), "") or classes.chosen


_MOST_ITEMS = 20
_NO_MORE_ITEMS = "there are no more items now; the owner has been notified"


@needs("reviewer")
async def show_page(request: Request) -> Response:
    """Review page. It holds no item yet: giving one out is a change, which a GET never makes."""
    counter: Counter = request.app.state.counter
    options: Options = request.app.state.options
    settings = await counter.call(lambda campaign: campaign.settings)
    return render(
        request,
        "review.html",
        campaign_id=counter.identity,
        question=settings.question,
        budget=settings.goal.budget,
        lease=options.lease,
        longest_comment=LONGEST_COMMENT,
        **chosen_among(settings, options.guidelines),
    )


@needs("reviewer")
async def take_turn(request: Request) -> Response:
    """Record answers, renew the page's items, and give out the next ones."""
    counter: Counter = request.app.state.counter
    options: Options = request.app.state.options
    person: Person = request.state.person
    document = await read_document(request)
    want = number_in(document, "want", default=0, at_least=0, at_most=_MOST_ITEMS)

    _refuse_mistaken(document, counter, person)

    def asked(campaign: Campaign) -> TurnRequest:
        settings = campaign.settings
        labels = labels_in(document, settings)
        blind = person.role != "owner"
        return checked_request(labels, person.name, want, options.lease, settings, blind=blind)

    def content_of(campaign: Campaign, turn: Turn) -> dict[str, Any]:
        return {
            "receipts": [asdict(receipt) for receipt in turn.receipts],
            "items": [item_json(item, campaign, options) for item in turn.items],
            "state": turn.state,
            "yours": turn.yours,
            "team": turn.team,
        }

    try:
        content = await counter.turn(asked, content_of)
    except PredictionsError:
        # Its words describe the predictions; the owner's page shows them (`Labelling.trouble`).
        raise HTTPException(503, _NO_MORE_ITEMS) from None
    # Escaped to ASCII: an item may hold half a surrogate pair, which UTF-8 cannot.
    return Response(json.dumps(content), media_type="application/json")


def _refuse_mistaken(document: Mapping[str, Any], counter: Counter, person: Person) -> None:
    """Raise if a page was opened by another person, or for another campaign.

    A page stays open when another person logs in beside it, and when another campaign is served at
    the same address, perhaps with the same name; its unsent answers must not be recorded there.
    """
    for name, value, what in (
        ("campaign", counter.name, "campaign"),
        ("campaign_id", counter.identity, "campaign"),
        ("reviewer", person.name, "reviewer"),
    ):
        if document.get(name, value) != value:
            raise HTTPException(
                409, f"this page belongs to another {what}, and nothing was recorded; reload it"
            )


routes = [
    Route("/review", show_page, methods=["GET"]),
    Route("/api/review", take_turn, methods=["POST"]),
]
