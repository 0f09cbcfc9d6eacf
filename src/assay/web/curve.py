"""The curve of the score, for the owner: a page on which the threshold can be moved."""

from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from assay.campaign import Campaign
from assay.errors import AssayError
from assay.report import blocks_of, curve_part
from assay.results import ThresholdCurve, printable
from assay.web.auth import needs
from assay.web.http import render
from assay.web.nodes import nodes_of
from assay.web.queue import Counter


@needs("owner")
async def show_curve(request: Request) -> Response:
    """Return the page; where there is no curve, it says why.

    All scores are counted for it, so that it is kept until the next label.
    """
    counter: Counter = request.app.state.counter
    kept: dict[str, dict[str, Any]] = request.app.state.curves

    def look(campaign: Campaign) -> dict[str, Any]:
        version = f"{campaign.name} {campaign.desk.version}"
        if version not in kept:
            found = _page(campaign)
            kept.clear()
            kept[version] = found
        return kept[version]

    return render(request, "curve.html", **await counter.aside(look))


def _page(campaign: Campaign) -> dict[str, Any]:
    """Return what the page shows."""
    try:
        curve = campaign.curve()
    except AssayError as error:
        return {"trouble": printable(str(error)), "curve": None}
    return {"trouble": "", "curve": _values(curve)}


def _values(curve: ThresholdCurve) -> dict[str, Any]:
    return {
        "headline": printable(curve.headline),
        "part": nodes_of(curve_part(curve)),
        "table": nodes_of(blocks_of(curve.document().blocks, "dashboard")),
    }


routes = [Route("/owner/curve", show_curve, methods=["GET"])]
