"""All campaigns of a storage on one page, for owners if the server allows it."""

from dataclasses import dataclass

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from assay.campaign import Campaign
from assay.errors import AssayError
from assay.labelling import find_campaign, listed_names
from assay.results import (
    Estimate,
    done_words,
    ends_text,
    metric_name,
    printable,
    state_text,
    value_text,
)
from assay.storage import Store
from assay.web import Options
from assay.web.auth import needs
from assay.web.http import render, root_of
from assay.web.queue import Counter

_MOST = 100  # the newest; `assay status --all` lists all


@dataclass(frozen=True)
class Metric:
    """Metric of a campaign, for people."""

    name: str
    value: str
    interval: str
    state: str


@dataclass(frozen=True)
class Row:
    """State of a campaign; `problem` is the reason if it is unknown."""

    name: str
    question: str = ""
    labels: int = 0
    stopped: str = ""
    metrics: tuple[Metric, ...] = ()
    problem: str = ""


@needs("owner")
async def show_campaigns(request: Request) -> Response:
    """Page of the campaigns; only this one if the server does not show others."""
    options: Options = request.app.state.options
    counter: Counter = request.app.state.counter
    only = None if options.sees_all else counter.name
    rows, count = await counter.aside(lambda campaign: rows_of(campaign.desk.store, only))
    links = {printable(counter.name): f"{root_of(request)}/owner"}
    return render(request, "campaigns.html", rows=rows, count=count, links=links, can_create=False)


def rows_of(store: Store, only: str | None = None) -> tuple[list[Row], int]:
    """States of the newest campaigns, or of a single one; and the number of campaigns."""
    with store.read() as session:
        names = listed_names(session) if only is None else [only]
    return [_row(store, name) for name in names[::-1][:_MOST]], len(names)


def _row(store: Store, name: str) -> Row:
    try:
        with store.read() as session:
            campaign = Campaign(store, *find_campaign(session, name), None)
        estimates = campaign.estimates()
        answers = len(campaign.answers())
    except AssayError as error:
        return Row(printable(name), problem=printable(error.problem))
    stopped = done_words(estimates.values())
    metrics = tuple(_metric(each) for each in estimates.values())
    question = printable(campaign.settings.question)
    return Row(printable(name), question, answers, stopped, metrics)


def _metric(estimate: Estimate) -> Metric:
    known = estimate.value is not None
    interval = "[{}, {}]".format(*ends_text(estimate)) if known else ""
    name = printable(metric_name(estimate.metric))
    return Metric(name, value_text(estimate), interval, state_text(estimate)[0])


routes = [Route("/owner/campaigns", show_campaigns, methods=["GET"])]
