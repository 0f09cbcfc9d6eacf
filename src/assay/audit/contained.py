"""The store in a bundle: the rows of `campaign.db`, checked and put into a storage of our own.

A bundle comes from a stranger. Errors name the file, the table, the row and the field.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from assay.audit.books import Books, Row, counts_of, read_books
from assay.audit.members import CAMPAIGNS, MOST_VALUES, STORE
from assay.audit.snapshot import KEY, check_draws
from assay.core.strata import Strata
from assay.core.types import read_json
from assay.errors import AssayError, InputError
from assay.labelling import Settings
from assay.storage import Store, open_store, stored_rows

_NOT_AS_WRITTEN = (KeyError, TypeError, ValueError, AttributeError, OverflowError, RecursionError)
_EMPTY_ROUNDS = 2  # what was known before a campaign stands in two rounds, which may be empty
_LARGEST = 2**63 - 1  # what a database holds
_DIGITS = 24  # of a count, with what stands between two
_NOT_OURS = ("claim", "token")  # they say who had which item, and who may use a page
_T = TypeVar("_T")


def contained(members: Mapping[str, bytes]) -> tuple[Store, Books]:
    """Campaign of a bundle in a storage in memory, and its rows as the bundle has them."""
    if STORE not in members:
        raise InputError(f"{STORE} is missing")
    rows = stored_rows(members[STORE], STORE)
    for table in _NOT_OURS:
        if rows[table]:
            raise InputError(f"{STORE} has rows of table {table}, which no bundle has")
    settings = _settings(rows["campaign"])
    _check_rounds(rows["round"], settings.strata)
    for place, row in enumerate(rows["item"], start=1):
        _json(row["shown"], f"{STORE}, item, row {place}, shown")
    store, events = open_store(None), rows["label_event"]
    if [(row["id"], row["key"]) for row in events] != [(n + 1, None) for n in range(len(events))]:
        raise InputError(f"{STORE}: labels are not numbered from 1 on, or have keys")
    with store.write() as session:
        for table in ("campaign", "stratum", "item", "round", "label_event"):
            session.put_rows(table, rows[table])
    with store.read() as session:
        books = read_books(session, KEY, settings)
    # Who was asked about what before a rebase is not in the bundle.
    asked = {row["item_id"] for row in events} if settings.before is not None else frozenset()
    return store, replace(books, events=events, asked_before=asked)


def _settings(rows: Sequence[Row]) -> Settings:
    if len(rows) != 1 or rows[0]["id"] != KEY:
        raise InputError(f"{STORE} has {len(rows):,} campaigns, and a bundle is of one")
    text = rows[0]["settings"]
    values = _json(text, f"{STORE}, campaign, settings")
    try:
        settings = Settings.from_dict(values)
        written = json.dumps(settings.to_dict())
    except (AssayError, *_NOT_AS_WRITTEN) as error:
        told = f"{type(error).__name__}: {str(error)[:200]}"
        raise InputError(f"the settings in {STORE} cannot be read: {told}") from None
    if not -_LARGEST <= settings.seed <= _LARGEST:
        raise InputError(f"the seed in {STORE} is no whole number of 64 bits")
    if written != text or settings.name != rows[0]["name"]:
        raise InputError(f"the settings in {STORE} are not as this version of Assay writes them")
    return settings


def _check_rounds(rows: Sequence[Row], strata: Strata) -> None:
    """Raise where rounds cannot be dealt, or where so many were that nobody could check them."""
    rounds = []
    for place, row in enumerate(rows):
        written = len(row["counts"]) <= _DIGITS * (strata.n_strata + 1)  # else it fills the memory
        counts = counts_of(row) if written else None
        if row["number"] != place or counts is None or len(counts) != strata.n_strata:
            raise InputError(
                f"{STORE}, round {place} is of {row['counts'][:80]}",
                details=f"a round is a list of {strata.n_strata} counts, one for each stratum",
            )
        rounds.append(counts)
    if (empty := sum(not any(counts) for counts in rounds)) > _EMPTY_ROUNDS:
        raise InputError(f"{STORE} has {empty:,} rounds that deal nothing")
    check_draws(rounds, strata)


def campaigns_in(members: Mapping[str, bytes]) -> dict[str, Any]:
    """Campaigns over the same predictions, as a bundle tells of them."""
    told = json_of(members, CAMPAIGNS)
    every = told.get("over_the_same_predictions") if isinstance(told, dict) else None
    if not isinstance(every, list) or not all(isinstance(each, dict) for each in every):
        raise InputError(f"{CAMPAIGNS} holds no list of campaigns")
    for place, each in enumerate(every, start=1):
        for field, kind in (("number", int), ("labels", int), ("created_at", str)):
            value_of(each, field, kind, f"{CAMPAIGNS}, campaign {place}")
    value_of(told, "number", int, CAMPAIGNS)
    return {name: value for name, value in told.items() if name != "commitment"}


def json_of(members: Mapping[str, bytes], name: str) -> Any:
    """Document in a file of JSON."""
    if name not in members:
        raise InputError(f"{name} is missing")
    try:
        return _json(members[name].decode(), name)
    except UnicodeDecodeError as error:
        raise InputError(f"{name} is not UTF-8 text: byte {error.start}") from None


def _json(text: str, where: str) -> Any:
    try:
        return read_json(text, at_most=MOST_VALUES)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{where} is no JSON: {str(error)[:200]}") from None


def value_of(values: Mapping[str, Any], field: str, kind: type[_T], where: str) -> _T:
    """Value in a document, of just this type: true is no number."""
    value = values.get(field)
    if type(value) is not kind:
        raise InputError(f"{where}: {field} is {str(value)[:40]!r}, which is no {kind.__name__}")
    return value
