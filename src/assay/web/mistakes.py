"""Labelled items, for the owner: those that were predicted wrongly, or all; tags, and files."""

import json
from collections import Counter as Tally
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from typing import Any
from urllib.parse import urlencode

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from assay.campaign import MISTAKE_FORMATS, Campaign, Written, write_mistakes
from assay.errors import counted
from assay.labelling import mistakes_of
from assay.predictions import slice_text
from assay.results import KINDS, RIGHT, Item, Mistake, Mistakes, printable, sentence
from assay.web import Options
from assay.web.auth import needs
from assay.web.http import item_in, read_document, refuse, render
from assay.web.items import item_json
from assay.web.owner import file_response
from assay.web.queue import Counter

_A_PAGE = 50  # items on one page
_MOST_VALUES = 100  # of a slice, to choose from
_FEW = 12  # kinds in an error
_EXCERPT = 300  # characters of an item in its row
_MOST_TAGS = 20  # of an item
_LONGEST_TAG = 50  # characters
_VERDICTS = {"wrong": "predicted wrongly", "right": "predicted rightly", "all": "all"}

# How rows are sorted; equal ones stay in the order of the classifier's confidence.
_ORDERS: dict[str, Callable[[Mistake], Any]] = {
    "confidence": lambda row: (row.confidence is None, -(row.confidence or 0.0)),
    "item": lambda row: str(row.id),
    "verdict": lambda row: row.kind,
    "predicted": lambda row: row.predicted,
    "answer": lambda row: row.answer,
    "score": lambda row: (row.score is None, row.score),
    "reviewer": lambda row: row.reviewers,
    "tags": lambda row: (not row.tags, row.tags),
}


@dataclass(frozen=True)
class Filters:
    """Filters of a page, and its order."""

    verdict: str
    kind: str
    classifier: str
    reviewer: str
    tag: str
    order: str
    slices: Mapping[str, str]

    def query(self, **more: object) -> str:
        """Query string with the same filters, but for what is given."""
        own = ("verdict", "kind", "classifier", "reviewer", "tag", "order")
        asked = {name: getattr(self, name) for name in own} | more
        pairs = [("slice", f"{column}={value}") for column, value in self.slices.items()]
        return urlencode([(name, value) for name, value in (*asked.items(), *pairs) if value])

    def mistakes(self, campaign: Campaign) -> Mistakes:
        """Items that pass the filters of the campaign, right and wrong."""
        return mistakes_of(
            campaign.desk.current(),
            kind=self.kind or None,
            where=self.slices,
            classifier=self.classifier or None,
            right=self.verdict != "wrong",
        )

    def rows(self, mistakes: Mistakes) -> tuple[Mistake, ...]:
        """Items that pass all filters, in order."""
        passed = [
            row
            for row in mistakes
            if (self.verdict != "right" or row.kind == RIGHT)
            and (not self.reviewer or self.reviewer in row.reviewers)
            and (not self.tag or self.tag in row.tags)
        ]
        return tuple(sorted(passed, key=_ORDERS[self.order or "confidence"]))


def _filters(request: Request, campaign: Campaign) -> Filters:
    """Parse the filters of a request; stored columns only: pages do not read predictions."""
    names, columns = campaign.settings.strata.classifiers, campaign.settings.source.slices
    asked = request.query_params.get
    slices = {}
    for text in request.query_params.getlist("slice"):
        if text:
            column = next((each for each in columns if text.startswith(f"{each}=")), None)
            if column is None:
                refuse("'slice' must be COLUMN=VALUE, with a column that the campaign stores")
            slices[column] = text.removeprefix(f"{column}=")
    return Filters(
        verdict=_known("verdict", asked("verdict", ""), _VERDICTS) or "wrong",
        kind=_known("kind", asked("kind", ""), _kinds(campaign)),
        classifier=_known("classifier", asked("classifier", ""), names) or names[-1],
        reviewer=asked("reviewer", ""),
        tag=asked("tag", ""),
        order=_known("order", asked("order", ""), _ORDERS),
        slices=slices,
    )


def _known(name: str, word: str, words: Collection[str]) -> str:
    if word and word not in words:
        refuse(f"{name!r} must be one of: {', '.join(islice(words, _FEW))}")
    return word


@needs("owner")
async def show_mistakes(request: Request) -> Response:
    """Page with some of the items, from the requested place."""
    counter: Counter = request.app.state.counter
    options: Options = request.app.state.options
    asked = request.query_params.get("from", "")
    first = int(asked) if asked.isascii() and asked.isdecimal() and len(asked) < 9 else 1

    def look(campaign: Campaign) -> dict[str, Any]:
        filters = _filters(request, campaign)
        mistakes = filters.mistakes(campaign)
        rows = filters.rows(mistakes)
        start = max(min(first, len(rows)), 1) - 1
        shown, after = rows[start : start + _A_PAGE], start + _A_PAGE
        return {
            "headline": printable(mistakes.headline),
            "remarks": [sentence(printable(each)) for each in mistakes.remarks],
            "filters": filters,
            "choices": _choices(campaign, filters),
            "slices": campaign.settings.source.slices,
            "rows": [_values(row, campaign, options) for row in shown],
            "at": start + 1,
            "last": start + len(shown),
            "count": len(rows),
            "before": filters.query(**{"from": max(start + 1 - _A_PAGE, 1)}) if start else None,
            "after": filters.query(**{"from": after + 1}) if after < len(rows) else None,
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

    def write(campaign: Campaign) -> Written:
        filters = _filters(request, campaign)
        found = filters.mistakes(campaign)
        return write_mistakes(replace(found, rows=filters.rows(found)), format=format)

    written = await counter.aside(write)
    return file_response(written, f"{counter.name} errors")


@needs("owner")
async def set_tags(request: Request) -> Response:
    """Give an item these tags, and no others."""
    counter: Counter = request.app.state.counter
    document = await read_document(request)
    tags = document.get("tags")
    if not isinstance(tags, list) or not all(isinstance(each, str) for each in tags):
        refuse("'tags' must be a list of texts")
    kept = sorted({" ".join(tag.split()) for tag in tags} - {""})
    if len(kept) > _MOST_TAGS or max(map(len, kept), default=0) > _LONGEST_TAG:
        refuse(f"an item has at most {_MOST_TAGS} tags, of {_LONGEST_TAG} characters each")

    def write(campaign: Campaign) -> None:
        item = str(item_in(document, campaign.settings))
        with campaign.desk.store.write() as session:
            session.set_tags(campaign.name, item, kept)

    await counter.call(write)
    return JSONResponse({"tags": kept})


def _kinds(campaign: Campaign) -> dict[str, str]:
    """Kinds of mistakes: query values and words for people."""
    if campaign.settings.is_binary:
        return {"fp": "false positives", "fn": "false negatives"}
    return {name: printable(name) for name in campaign.settings.classes.names}


def _choices(campaign: Campaign, filters: Filters) -> dict[str, dict[str, str]]:
    """Choices of each filter, with words for people; a filter without a choice is left out."""
    every = mistakes_of(campaign.desk.current(), classifier=filters.classifier, right=True)
    named = {
        "verdict": _VERDICTS,
        "kind": _kinds(campaign),
        "classifier": {name: name for name in campaign.settings.strata.classifiers if name},
        "reviewer": {name: name for row in every for name in row.reviewers if name},
        "tag": _with_errors(every, lambda row: row.tags),
    }
    for column in campaign.settings.source.slices:
        values = _with_errors(every, partial(_slice_of, column))
        named[f"slice {column}"] = {f"{column}={value}": text for value, text in values.items()}
    enough = {"tag": 1}
    return {
        name: {value: printable(words) for value, words in values.items()}
        for name, values in named.items()
        if len(values) >= enough.get(name, 2)
    }


def _slice_of(column: str, row: Mistake) -> tuple[str]:
    return (slice_text(row.shown.get(column)),)


def _with_errors(rows: Mistakes, values_of: Callable[[Mistake], Sequence[str]]) -> dict[str, str]:
    """Values of some items, with the number of errors that have each; those with most first."""
    errors = Tally({value: 0 for row in rows for value in values_of(row)})
    errors.update(value for row in rows if row.kind != RIGHT for value in values_of(row))
    return {
        value: f"{value} ({counted(number, 'error')})"
        for value, number in errors.most_common(_MOST_VALUES)
    }


def _values(row: Mistake, campaign: Campaign, options: Options) -> dict[str, Any]:
    """Values of an item for the page."""
    texts = [str(value) for value in row.shown.values() if value not in (None, "")]
    told = {
        "id": printable(str(row.id)),
        "verdict": row.kind if row.kind in (RIGHT, *KINDS) else "wrong",
        "predicted": printable(row.predicted),
        "answer": printable(row.answer),
        "score": "" if row.score is None else f"{row.score:.4g}",
        "who": printable(", ".join(name or "(nobody named)" for name in row.reviewers)),
        "tags": row.tags,
        "stratum": printable(row.stratum),
        "weight": row.weight_text,
        "comment": printable(row.comment),
    }
    whole = item_json(Item(row.id, row.shown), campaign, options)
    return {
        **told,
        "tone": {"false positive": "bad", RIGHT: "good"}.get(row.kind, "warn"),
        "slices": [
            printable(slice_text(row.shown.get(each))) for each in campaign.settings.source.slices
        ],
        "excerpt": printable(" · ".join(texts)[:_EXCERPT]),
        # Escaped to ASCII: an item may hold half a surrogate pair, which UTF-8 cannot.
        "json": json.dumps({**told, "key": str(row.id), "fields": whole["fields"]}),
    }


routes = [
    Route("/owner/errors", show_mistakes, methods=["GET"]),
    Route("/owner/errors/export", export_mistakes, methods=["GET"]),
    Route("/api/tags", set_tags, methods=["POST"]),
]
