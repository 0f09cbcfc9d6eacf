"""The tables and documents of a bundle: one function each, with reproducible bytes."""

import csv
import io
import json
import platform
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from functools import cache
from hashlib import sha256
from importlib.metadata import version
from typing import Any

from assay.audit.snapshot import Snapshot
from assay.core.deck import number
from assay.errors import VERSION
from assay.exchange import guard
from assay.labelling import Labelling, estimates_of, strata_in
from assay.results import Estimate, StratumRow
from assay.storage import CardRow, Label, StoredLabel, next_link

_FLOATS = ("value", "low", "high", "standard_error", "confidence")
# Words that another version may phrase differently.
_WORDS = ("interval", "notes", "stopped", "holds", "random_labels", "bound")
# Names of fields in files that differ from those in the storage.
_KEPT = {"id": "number", "item_id": "item", "told_at": "time"}
_STORED = tuple(field.name for field in fields(CardRow) if field.name != "shown")
_CARD = tuple(_KEPT.get(name, name) for name in _STORED)
_CARD_FOLLOWS = ("number", "round", "drawn", "size", "probability", "answer")
_STRATUM = (
    *("number", "stratum", "predicted", "size", "weight", "drawn"),
    *("labels", "yes", "cannot_judge"),
)
_CHAIN = "chain"
_FIRST = ("id", "item_id", "answer", "reviewer", "told_at", "late", "ruling")
# Rare fields are present only where they have a value.
_LATER = [(each.name, each.default) for each in fields(Label) if each.name not in (*_FIRST, "key")]


def tables_of(snapshot: Snapshot, labelling: Labelling) -> dict[str, bytes]:
    """Files by their names; `labelling` has dealt the snapshot's cards."""
    made = {
        "settings.json": _json({"created_at": snapshot.created_at, **snapshot.settings.to_dict()}),
        "strata.csv": _strata(snapshot, strata_in(labelling)),
        "cards.csv": _cards(snapshot, labelling),
        "rounds.json": _rounds(snapshot),
        "events.jsonl": _lines(_events(snapshot)),
        "estimate.json": _json(
            {name: _figures(estimate) for name, estimate in estimates_of(labelling).items()}
        ),
    }
    if snapshot.campaigns is not None:
        made[CAMPAIGNS] = _json({"commitment": snapshot.settings.commitment, **snapshot.campaigns})
    if any(card.shown != "{}" for card in snapshot.cards):
        made["columns.jsonl"] = _lines(_columns(snapshot))
    return made


def last_link(snapshot: Snapshot) -> str:
    """End of the log's chain: it depends on the whole log."""
    link = ""
    for event in snapshot.events:
        link = next_link(link, _event_fields(snapshot, event))
    return link


def _strata(snapshot: Snapshot, rows: Sequence[StratumRow]) -> bytes:
    strata, none = snapshot.settings.strata, [""] * len(rows)
    says_yes = strata.says_yes
    predicted = none if says_yes is None else [int(says) for says in says_yes.tolist()]
    cells = zip(
        range(len(rows)),
        (guard(row.stratum) for row in rows),
        predicted,
        snapshot.sizes,
        _weights(snapshot) or none,
        snapshot.drawn,
        ((row.labels, row.positives, row.cannot_judge) for row in rows),
        strict=True,
    )
    return _csv(_STRATUM, ((*row, *counts) for *row, counts in cells))


def _cards(snapshot: Snapshot, labelling: Labelling) -> bytes:
    settings, drawn, weights = snapshot.settings, snapshot.drawn, _weights(snapshot)
    rounds = enumerate(labelling.items_of_rounds)
    dealt_in = {item_id: place for place, ids in reversed(list(rounds)) for item_id in ids}

    # Items labelled before the strata of a guaranteed campaign changed are certainly included.
    certain_draws = snapshot.rounds[0] if settings.epochs and snapshot.rounds else [0] * len(drawn)

    def probability(card: CardRow) -> float:
        certain = certain_draws[card.stratum]
        if card.position < certain:
            return 1.0
        return (drawn[card.stratum] - certain) / (snapshot.sizes[card.stratum] - certain)

    def row(card: CardRow) -> Iterable[object]:
        size, answer = snapshot.sizes[card.stratum], labelling.rounds.answers.get(card.item_id)
        yield from (_cell(getattr(card, name)) for name in _STORED)
        yield number(settings.item_id(card.item_id), settings.draw_seed)
        yield dealt_in.get(card.item_id, "")
        yield from (drawn[card.stratum], size)
        yield (card.weight or 0) / weights[card.stratum] if weights else probability(card)
        yield "" if answer is None else answer.value

    return _csv((*_CARD, *_CARD_FOLLOWS), map(row, snapshot.cards))


def _weights(snapshot: Snapshot) -> list[int]:
    """Weight of each stratum; empty if items are only counted."""
    strata = snapshot.settings.strata
    return strata.weights.tolist() if strata.weighted else []


def _rounds(snapshot: Snapshot) -> bytes:
    """One line per round."""
    lines = ",\n".join(json.dumps(list(counts)) for counts in snapshot.rounds)
    return f"[\n{lines}\n]\n".encode()


def _events(snapshot: Snapshot) -> Iterable[Mapping[str, Any]]:
    link = ""
    for event in snapshot.events:
        fields = _event_fields(snapshot, event)
        link = next_link(link, fields)
        yield {**fields, _CHAIN: link}


def _event_fields(snapshot: Snapshot, event: StoredLabel) -> dict[str, Any]:
    names = (*_FIRST, *(name for name, default in _LATER if getattr(event, name) != default))
    fields = {_KEPT.get(name, name): getattr(event, name) for name in names}
    return {**fields, _KEPT["item_id"]: snapshot.settings.item_id(event.item_id)}


def _columns(snapshot: Snapshot) -> Iterable[Mapping[str, Any]]:
    for card in snapshot.cards:
        id = snapshot.settings.item_id(card.item_id)
        yield {"item": id, "columns": json.loads(card.shown)}


def _figures(estimate: Estimate) -> dict[str, Any]:
    values = estimate.to_dict()
    figures = {name: value for name, value in values.items() if name not in _WORDS}
    bits = {name: values[name].hex() for name in _FLOATS if values[name] is not None}
    return {**figures, "done": estimate.stopped is not None, "hex": bits}


def _cell(value: object) -> object:
    """Cell that is safe in a spreadsheet and restores the same value."""
    if isinstance(value, str):
        return guard(value)
    return "" if value is None else value


def _csv(header: Sequence[str], rows: Iterable[Iterable[object]]) -> bytes:
    text = io.StringIO(newline="")
    # All texts are quoted: default quoting differs between versions of Python.
    writer = csv.writer(text, lineterminator="\n", quoting=csv.QUOTE_NONNUMERIC)
    writer.writerow(header)
    writer.writerows(rows)
    return text.getvalue().encode()


def _json(value: object) -> bytes:
    return json.dumps(value, indent=1).encode() + b"\n"


def _lines(records: Iterable[Mapping[str, Any]]) -> bytes:
    return b"".join(json.dumps(record).encode() + b"\n" for record in records)


# A bundle's description of itself: its format, its versions, and a digest of each of its files.

MANIFEST = "manifest.json"
# Limit for one document; in a real one almost all are counts of rounds by stratum. A hundred
# kilobytes of a zip may be a hundred megabytes of JSON.
MOST_VALUES = 3_000_000
FORMAT = "assay audit bundle"
CAMPAIGNS = "campaigns.json"
STORE = "campaign.db"
FORMAT_VERSION = 4  # the first with the campaign's store


def manifest_of(snapshot: Snapshot, members: Mapping[str, bytes]) -> bytes:
    """Manifest of a bundle with these files."""
    settings, events = snapshot.settings, snapshot.events
    document: dict[str, Any] = {
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        "versions": dict(versions()),
        "campaign": settings.name,
        "predictions": {"fingerprint": settings.source.fingerprint, "rows": settings.source.rows},
        "log": {
            "labels": len(events),
            "last_at": events[-1].told_at if events else None,
            "last_link": last_link(snapshot),
        },
        "names": snapshot.names,
        "shown": snapshot.shown,
        "sha256": {name: sha256(content).hexdigest() for name, content in members.items()},
    }
    return json.dumps(document, indent=1).encode() + b"\n"


@cache
def versions() -> Mapping[str, str]:
    """Versions of the software that computed the figures."""
    packages = {"assay": VERSION, **{name: version(name) for name in ("numpy", "scipy")}}
    return {"python": platform.python_version(), **packages}
