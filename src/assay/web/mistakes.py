"""Mistakes of the classifier, for the owner: a page with filters, and files."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from assay.campaign import MISTAKE_FORMATS, Campaign, write_mistakes
from assay.predictions import slice_text
from assay.results import Mistake, Mistakes, printable
from assay.web.auth import needs
from assay.web.http import refuse, render
from assay.web.owner import file_response
from assay.web.queue import Counter

_A_PAGE = 50  # mistakes on one page
_MOST_VALUES = 100  # of a slice, to choose from
_FEW = 12  # kinds in an error
_LONGEST = 2_000  # characters of a shown value


@dataclass(frozen=True)
class Filters:
    """Filters of a page."""

    kind: str
    classifier: str
    slices: Mapping[str, str]

    def query(self, **more: object) -> str:
        """Query string with the same filters."""
        asked: list[tuple[str, object]] = [("kind", self.kind), ("classifier", self.classifier)]
        asked += [("slice", f"{column}={value}") for column, value in self.slices.items()]
        return urlencode([(name, value) for name, value in (*asked, *more.items()) if value])

    def mistakes(self, campaign: Campaign) -> Mistakes:
        """Mistakes that pass the filters."""
        return campaign.errors(
            kind=self.kind or None, where=self.slices, classifier=self.classifier or None
        )


def _filters(request: Request, campaign: Campaign) -> Filters:
    """Parse the filters of a request; stored columns only: pages do not read predictions."""
    names, columns = campaign.settings.strata.classifiers, campaign.settings.source.slices
    kind = request.query_params.get("kind", "")
    if kind and kind not in _kinds(campaign):
        refuse(f"'kind' must be one of: {', '.join([*_kinds(campaign)][:_FEW])}")
    classifier = request.query_params.get("classifier", "") or names[-1]
    if classifier not in names:
        refuse(f"'classifier' must be one of: {', '.join(names)}")
    slices = {}
    for text in request.query_params.getlist("slice"):
        if text:
            column = next((each for each in columns if text.startswith(f"{each}=")), None)
            if column is None:
                refuse("'slice' must be COLUMN=VALUE, with a column that the campaign stores")
            slices[column] = text.removeprefix(f"{column}=")
    return Filters(kind, classifier, slices)


@needs("owner")
async def show_mistakes(request: Request) -> Response:
    """Page with some of the mistakes, from the requested place."""
    counter: Counter = request.app.state.counter
    asked = request.query_params.get("from", "")
    first = int(asked) if asked.isascii() and asked.isdecimal() and len(asked) < 9 else 1

    def look(campaign: Campaign) -> dict[str, Any]:
        filters = _filters(request, campaign)
        mistakes = filters.mistakes(campaign)
        start = max(min(first, len(mistakes)), 1) - 1
        rows, after = mistakes[start : start + _A_PAGE], start + _A_PAGE
        settings = campaign.settings
        return {
            "question": settings.question,
            "headline": printable(mistakes.headline),
            "remarks": [printable(each) for each in mistakes.remarks],
            "filters": filters,
            "kinds": _kinds(campaign),
            "of_classes": not settings.is_binary,
            "classifiers": [name for name in settings.strata.classifiers if name],
            "slices": _choices(campaign, filters),
            "rows": [_values(row) for row in rows],
            "at": start + 1,
            "last": start + len(rows),
            "count": len(mistakes),
            "before": filters.query(**{"from": max(start + 1 - _A_PAGE, 1)}) if start else None,
            "after": filters.query(**{"from": after + 1}) if after < len(mistakes) else None,
            "query": filters.query(),
            "formats": MISTAKE_FORMATS,
        }

    return render(request, "mistakes.html", **await counter.aside(look))


@needs("owner")
async def export_mistakes(request: Request) -> Response:
    """Mistakes as a file."""
    counter: Counter = request.app.state.counter
    format = request.query_params.get("format", "csv")
    if format not in MISTAKE_FORMATS:
        refuse(f"'format' must be one of: {', '.join(MISTAKE_FORMATS)}")
    written = await counter.aside(
        lambda campaign: write_mistakes(
            _filters(request, campaign).mistakes(campaign), format=format
        )
    )
    return file_response(written, f"{counter.name} mistakes")


def _kinds(campaign: Campaign) -> dict[str, str]:
    """Kinds of mistakes: query values and words for people."""
    if campaign.settings.is_binary:
        return {"fp": "false positives", "fn": "false negatives"}
    return {name: printable(name) for name in campaign.settings.classes.names}


def _choices(campaign: Campaign, filters: Filters) -> dict[str, list[str]]:
    """Values of every slice that some mistake has."""
    every = campaign.errors(classifier=filters.classifier or None)
    columns = campaign.settings.source.slices
    return {
        column: sorted({slice_text(row.shown.get(column)) for row in every})[:_MOST_VALUES]
        for column in columns
    }


def _values(row: Mistake) -> dict[str, Any]:
    """Values of a mistake for the page: short texts that UTF-8 can encode."""
    return {
        "id": printable(str(row.id)),
        "kind": row.kind,
        "score": None if row.score is None else f"{row.score:.4g}",
        "stratum": printable(row.stratum),
        "weight": f"{row.weight:,.0f}" if row.weight >= 100 else f"{row.weight:.3g}",
        "who": printable(", ".join(name or "(nobody named)" for name in row.reviewers)),
        "comment": printable(row.comment),
        "shown": [(printable(name), _text(value)) for name, value in row.shown.items()],
    }


def _text(value: object) -> str:
    text = "" if value is None else str(value)
    return printable(text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…")


routes = [
    Route("/owner/errors", show_mistakes, methods=["GET"]),
    Route("/owner/errors/export", export_mistakes, methods=["GET"]),
]
