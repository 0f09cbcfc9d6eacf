"""Parser of a bundle's files; errors name the file, the row and the field."""

import csv
import io
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields
from typing import Any, TypeVar

from assay.audit.members import CAMPAIGNS, CARD_COLUMNS, CHAIN, MANIFEST, MOST_VALUES, event_columns
from assay.audit.snapshot import Snapshot, check_draws
from assay.core.strata import Strata
from assay.core.types import read_json
from assay.errors import AssayError, InputError
from assay.exchange import unguard
from assay.labelling import Settings
from assay.storage import CardRow, StoredLabel

_STORED = tuple(field for field in fields(CardRow) if field.name != "shown")
_KINDS: dict[str, Any] = {field.name: field.type for field in fields(StoredLabel)}
_NOT_AS_WRITTEN = (KeyError, TypeError, ValueError, AttributeError, OverflowError, RecursionError)
_EMPTY_ROUNDS = 2  # what was known before a campaign stands in two rounds, which may be empty
_LARGEST = 2**63 - 1  # what a database holds
_T = TypeVar("_T")


def snapshot_of(members: Mapping[str, bytes]) -> Snapshot:
    """Return the campaign that a bundle's files hold; raise where they cannot be read."""
    created_at, settings = _settings(members)
    manifest = json_of(members, MANIFEST)
    shown = _shown(members)
    cards = [
        _card(cells, where, shown.get(place, "{}"))
        for place, (where, cells) in enumerate(_rows(members, "cards.csv", CARD_COLUMNS))
    ]
    id_kind = int if settings.id_kind == "integer" else str
    events = [
        _label(told, where, number, id_kind)
        for number, (where, told) in enumerate(_records(members, "events.jsonl"), start=1)
    ]
    return Snapshot(
        settings=settings,
        created_at=created_at,
        sizes=[
            _whole(cells["size"], where, "size")
            for where, cells in _rows(members, "strata.csv", ["size"])
        ],
        cards=sorted(cards, key=lambda card: (card.stratum, card.position)),
        rounds=_rounds(members, settings.strata),
        events=events,
        names=_of(manifest, "names", bool, MANIFEST),
        shown=_of(manifest, "shown", bool, MANIFEST),
        campaigns=_campaigns(members),
    )


def _campaigns(members: Mapping[str, bytes]) -> dict[str, Any] | None:
    """Return the campaigns over the same predictions, as far as a bundle tells of them."""
    if CAMPAIGNS not in members:
        return None
    told = json_of(members, CAMPAIGNS)
    every = told.get("over_the_same_predictions") if isinstance(told, dict) else None
    if not isinstance(every, list) or not all(isinstance(each, dict) for each in every):
        raise InputError(f"{CAMPAIGNS} holds no list of campaigns")
    for place, each in enumerate(every, start=1):
        for field, kind in (("number", int), ("labels", int), ("created_at", str)):
            _of(each, field, kind, f"{CAMPAIGNS}, campaign {place}")
    _of(told, "number", int, CAMPAIGNS)
    return {name: value for name, value in told.items() if name != "commitment"}


def json_of(members: Mapping[str, bytes], name: str) -> Any:
    """Return what a file of JSON holds."""
    return _json(_text(members, name), name)


def _settings(members: Mapping[str, bytes]) -> tuple[str, Settings]:
    name = "settings.json"
    values = json_of(members, name)
    try:
        settings = Settings.from_dict(values)
        _whole(settings.seed, name, "seed")
        settings.to_dict()
        return _of(values, "created_at", str, name), settings
    except AssayError as error:
        raise InputError(f"{name} cannot be read: {error.problem}") from None
    except _NOT_AS_WRITTEN as error:
        raise InputError(
            f"{name} cannot be read: {type(error).__name__}: {str(error)[:200]}"
        ) from None


def _card(cells: Mapping[str, str], where: str, shown: str) -> CardRow:
    values: dict[str, Any] = {"shown": shown}
    for field, column in zip(_STORED, CARD_COLUMNS, strict=True):
        text = cells[column]
        if field.type is str:
            values[field.name] = unguard(text)
        elif text or field.type is int:
            values[field.name] = _whole(text, where, column)
    return CardRow(**values)


def _label(
    told: Mapping[str, Any], where: str, number: int, id_kind: type[int | str]
) -> StoredLabel:
    columns = event_columns(told)
    wanted = (*columns.values(), CHAIN)
    if tuple(told) != wanted:
        raise InputError(
            f"{where} has the fields {', '.join(told) or 'none'}",
            details=f"its fields are {', '.join(wanted)}, in this order",
        )
    kinds = {**_KINDS, "item_id": id_kind}
    values = {
        name: _of(told, column, kinds[name], where)
        for name, column in columns.items()
        if name != "id"
    }
    return StoredLabel(id=number, **values)


def _rounds(members: Mapping[str, bytes], strata: Strata) -> list[list[int]]:
    name, n_strata = "rounds.json", strata.n_strata
    rounds = json_of(members, name)
    if not isinstance(rounds, list):
        raise InputError(f"{name} holds no list of rounds")
    for place, counts in enumerate(rounds):
        right = isinstance(counts, list) and all(type(count) is int for count in counts)
        if not right or len(counts) != n_strata or min(counts) < 0:
            raise InputError(
                f"{name}, round {place} is of {str(counts)[:80]}",
                details=f"a round is a list of {n_strata} counts, one for each stratum",
            )
    if (empty := sum(not any(counts) for counts in rounds)) > _EMPTY_ROUNDS:
        raise InputError(f"{name} has {empty:,} rounds that deal nothing")
    check_draws(rounds, strata)
    return rounds


def _shown(members: Mapping[str, bytes]) -> dict[int, str]:
    """Return the columns that are kept with the cards, by their rows; few bundles have any."""
    name = "columns.jsonl"
    records = enumerate(_records(members, name) if name in members else ())
    return {
        place: json.dumps(_of(told, "columns", dict, where)) for place, (where, told) in records
    }


def _rows(
    members: Mapping[str, bytes], name: str, wanted: Sequence[str]
) -> Iterator[tuple[str, dict[str, str]]]:
    reader = csv.DictReader(io.StringIO(_text(members, name), newline=""), strict=True)
    try:
        missing = [column for column in wanted if column not in (reader.fieldnames or ())]
        if missing:
            raise InputError(f"{name} has no column {missing[0]!r}")
        for place, cells in enumerate(reader, start=1):
            if None in cells or None in cells.values():
                raise InputError(f"{name}, row {place} has more or fewer cells than the header")
            yield f"{name}, row {place}", cells
    except csv.Error as error:
        raise InputError(f"{name} is no CSV: {error}") from None


def _records(members: Mapping[str, bytes], name: str) -> Iterator[tuple[str, dict[str, Any]]]:
    for number, line in enumerate(_text(members, name).split("\n")[:-1], start=1):
        where = f"{name}, line {number}"
        record = _json(line, where)
        if not isinstance(record, dict):
            raise InputError(f"{where} is no JSON object")
        yield where, record


def _text(members: Mapping[str, bytes], name: str) -> str:
    if name not in members:
        raise InputError(f"{name} is missing")
    try:
        return members[name].decode()
    except UnicodeDecodeError as error:
        raise InputError(f"{name} is not UTF-8 text: byte {error.start}") from None


def _json(text: str, where: str) -> Any:
    try:
        return read_json(text, at_most=MOST_VALUES)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{where} is no JSON: {str(error)[:200]}") from None


def _whole(value: object, where: str, field: str) -> int:
    text = str(value)
    if re.fullmatch(r"-?[0-9]{1,19}", text) and abs(int(text)) <= _LARGEST:
        return int(text)
    raise InputError(f"{where}: {field} is {text[:40]!r}, which is no whole number of 64 bits")


def _of(values: Mapping[str, Any], field: str, kind: type[_T], where: str) -> _T:
    value = values.get(field)
    if type(value) is not kind:  # true is no number
        raise InputError(f"{where}: {field} is {str(value)[:40]!r}, which is no {kind.__name__}")
    return value
