"""Checks of a bundle: its store, and every other file compared with one derived from it."""

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from os import PathLike
from typing import Any, TypeVar

from assay.audit.books import Books, Checked, Row, Verification, checked, counts_of, read_books
from assay.audit.bundle import REPORT, members_of
from assay.audit.checks import (
    check_cards,
    check_commitment,
    check_order,
    check_rounds,
    check_strata,
    listed_numbers,
    unlisted,
)
from assay.audit.differences import differences
from assay.audit.log_checks import check_chain, check_events
from assay.audit.members import (
    CAMPAIGNS,
    FORMAT,
    FORMAT_VERSION,
    MANIFEST,
    MOST_VALUES,
    STORE,
    manifest_of,
    versions,
)
from assay.audit.recount import check_all
from assay.audit.snapshot import KEY, Snapshot, check_draws, take
from assay.core.strata import Strata
from assay.core.types import read_json
from assay.errors import NAME, AssayError, InputError
from assay.files import Content, is_zip, unzip
from assay.labelling import Labelling, Settings
from assay.storage import Store, open_store, stored_rows

# It appears in a command of README.txt, and must not inject another one.
_VERSION = re.compile(r"[0-9][0-9A-Za-z.+]{0,40}")


@dataclass(frozen=True)
class Sealed:
    """A sealed bundle: its files by name, its manifest, and names that several files have."""

    members: Mapping[str, bytes]
    manifest: Mapping[str, Any]
    twice: tuple[str, ...]

    @property
    def made_by(self) -> str:
        """Version of Assay that wrote it, as stated; this version if none is stated."""
        made = self.manifest.get("versions")
        version = made.get("assay") if isinstance(made, dict) else None
        return (
            version
            if isinstance(version, str) and _VERSION.fullmatch(version)
            else versions()["assay"]
        )


def unseal(content: Content) -> Sealed:
    """Content of a bundle; raise if this Assay cannot read it."""
    if not is_zip(content):
        raise InputError(f"{content.name} is not a zip file", hint="Campaign.bundle writes one")
    files = unzip(content, "")
    often = Counter(name for name, _ in files)
    members = {name: file.data() for name, file in files}
    manifest = json_of(members, MANIFEST) if MANIFEST in members else None
    if not isinstance(manifest, dict) or manifest.get("format") != FORMAT:
        raise InputError(
            f"{content.name} is not an audit bundle of Assay",
            details=f"it has no {MANIFEST} of one",
            hint="Campaign.bundle writes one",
        )
    version = manifest.get("format_version")
    sealed = Sealed(members, manifest, tuple(name for name in often if often[name] > 1))
    if version != FORMAT_VERSION:
        raise InputError(
            f"{content.name} has format version {version!r}, and this Assay reads version "
            f"{FORMAT_VERSION}",
            hint="check it with the Assay that made it (pip install "
            f"{NAME}=={sealed.made_by}), or write the bundle again from its campaign",
        )
    return sealed


def check_seal(sealed: Sealed) -> Checked:
    """Compare every file with its digest."""
    stated = sealed.manifest.get("sha256")
    digests = stated if isinstance(stated, dict) else {}
    actual = {
        name: sha256(content).hexdigest()
        for name, content in sealed.members.items()
        if name != MANIFEST
    }
    findings = [f"{name} occurs more than once" for name in sealed.twice]
    for name in dict.fromkeys((*digests, *actual)):
        if name not in actual:
            findings.append(f"{name} is missing")
        elif name not in digests:
            findings.append(f"{name} is not in {MANIFEST}")
        elif digests[name] != actual[name]:
            findings.append(f"{name} has another SHA-256 than {MANIFEST} says")
    return checked("files are as they were sealed", len(actual), findings, _version_notes(sealed))


def _version_notes(sealed: Sealed) -> Iterator[str]:
    made, current = sealed.manifest.get("versions"), versions()
    if made != current:
        yield (
            f"it was made with {_listed(made)}, and is checked with {_listed(current)}: "
            "this may explain different words, or a figure that differs in its last "
            "digits"
        )


def _listed(packages: object) -> str:
    each = packages.items() if isinstance(packages, dict) else ()
    return ", ".join(f"{name} {version}" for name, version in each)


# Errors that forged files may cause, beside our own.
_MADE_UP = (
    *(AssayError, ValueError, TypeError, LookupError, ArithmeticError, AttributeError),
    *(RecursionError, MemoryError),
)


def verify_bundle(path: str | PathLike[str], *, commitment: str | None = None) -> Verification:
    """Check an audit bundle, without any other data.

    The campaign's store in it is read by column, and checked as any store is. Labels are counted
    again, all other files are written again, and every figure is compared to the last bit. A bundle
    forged completely, from the first label to the last digest, cannot be detected this way, but the
    SHA-256 returned by `Campaign.bundle` detects it.

    Parameters
    ----------
    path : path
        Of the zip that `Campaign.bundle` wrote.
    commitment : str, optional
        What was published before the labelling (`assay create` shows it): that of the bundle's
        settings must be the same.

    Raises
    ------
    InputError
        Where it is no bundle that this version of Assay can read.

    Examples
    --------
    >>> import assay, tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> campaign = assay.create_campaign(
    ...     {"p": [0.9, 0.8, 0.7]}, score="p", threshold=0.5, budget=2)
    >>> estimate = campaign.tell({item.id: True for item in campaign.ask(2)})
    >>> bundle = campaign.bundle(f"{folder.name}/audit.zip")
    >>> assay.verify_bundle(bundle.path).findings
    ()
    >>> folder.cleanup()
    """
    sealed = unseal(Content(path))
    checks = [check_seal(sealed)]
    try:
        checks += _checks(sealed, commitment)
    except _MADE_UP as error:
        problem = error.problem if isinstance(error, AssayError) else _unexpected(error)
        checks.append(checked("files can be read", len(sealed.members), [problem]))
    return Verification(str(sealed.manifest.get("campaign")), tuple(checks))


def _unexpected(error: Exception) -> str:
    """Describe an unexpected error."""
    if isinstance(error, MemoryError):
        return "to check them takes more memory than there is"
    return f"their contents do not fit together: {repr(error)[:200]}"


def _checks(sealed: Sealed, commitment: str | None) -> Iterator[Checked]:
    store, books = contained(sealed.members)
    settings, campaigns = books.settings, campaigns_in(sealed.members)
    yield check_commitment(settings, commitment, campaigns)
    labelling = yield from check_all(books, store, KEY, _CHECKS_OF_ROWS)
    if labelling is None:
        return
    with labelling.read() as session:
        snapshot = take(session, KEY, settings, names=True, shown=True, comments=True)
    snapshot = replace(
        snapshot,
        names=value_of(sealed.manifest, "names", bool, MANIFEST),
        shown=value_of(sealed.manifest, "shown", bool, MANIFEST),
        campaigns=campaigns,
    )
    yield _check_content(sealed, snapshot, labelling)


def _check_drawn(books: Books) -> Checked:
    """Check that the bundle has only dealt cards."""
    counts = [counts_of(row) or () for row in books.rounds]
    dealt = [sum(each) for each in zip(*counts, strict=True)]
    findings = (
        f"item {card['item_id']!r} lies at place {card['position']} of stratum {stratum}, of which "
        f"{most} were dealt"
        for stratum, most in enumerate(dealt)
        for card in books.decks.get(stratum, ())
        if card["position"] >= most
    )
    return checked("cards are those that were dealt", len(books.cards), findings)


_CHECKS_OF_ROWS = (
    *(_check_drawn, check_strata, check_cards, check_order, check_rounds, check_events),
    check_chain,
)


def _check_content(sealed: Sealed, snapshot: Snapshot, labelling: Labelling) -> Checked:
    """Write every file derived from the store again, and compare."""
    again = members_of(snapshot, labelling, by=sealed.made_by)
    # Digests have been compared already; versions may differ.
    follows = json.loads(manifest_of(snapshot, again))
    own = {name: sealed.manifest.get(name) for name in ("versions", "sha256")}
    again[MANIFEST] = _json({**follows, **own})
    members = {**sealed.members, MANIFEST: _json(sealed.manifest)}
    del members[STORE]
    findings = [f"{name} does not belong to it" for name in members if name not in again]
    findings += _campaign_findings(snapshot)
    for name, content in again.items():
        if name not in members:
            findings.append(f"{name} is missing")
        else:
            # Claiming another version must not weaken the comparison.
            words = sealed.made_by == versions()["assay"] or name != REPORT
            findings += differences(name, members[name], content, words=words)
    return checked("files follow from the store", len(again), findings)


def _campaign_findings(snapshot: Snapshot) -> Iterator[str]:
    """Yield errors in the list of campaigns, of which the store knows only its own."""
    listed = snapshot.campaigns or {}
    every, gone = listed["over_the_same_predictions"], listed.get("gone") or []
    own = {
        "number": listed["number"],
        "created_at": snapshot.created_at,
        "labels": len(snapshot.events),
        "commitment": snapshot.settings.commitment,
    }
    if own not in every:
        yield f"{CAMPAIGNS} does not list this campaign as its store has it"
    numbers = [each["number"] for each in every]
    if numbers != sorted(set(numbers)):
        yield f"{CAMPAIGNS} lists a campaign twice, or campaigns out of order"
    if any(number in numbers for number in gone):
        yield f"{CAMPAIGNS} lists a campaign that it says is gone"
    elif listed["gone"] is not None and (missing := unlisted(listed)):
        yield f"{CAMPAIGNS} leaves out {listed_numbers(missing)} of its storage"


def _json(document: Mapping[str, Any]) -> bytes:
    return json.dumps(document).encode()


# The store in a bundle: the rows of `campaign.db`, checked and copied into a new storage.
#
# Bundles are untrusted. Errors name the file, the table, the row and the field.

_NOT_AS_WRITTEN = (KeyError, TypeError, ValueError, AttributeError, OverflowError, RecursionError)
_EMPTY_ROUNDS = 2  # two rounds hold earlier knowledge, and may be empty
_LARGEST = 2**63 - 1  # largest integer in a database
_DIGITS = 24  # of a count, with its separator
_NOT_OURS = ("claim", "token")  # claims on items, and access to pages
_T = TypeVar("_T")


def contained(members: Mapping[str, bytes]) -> tuple[Store, Books]:
    """Campaign of a bundle in a storage in memory, and its rows as in the bundle."""
    if STORE not in members:
        raise InputError(f"{STORE} is missing")
    rows = stored_rows(members[STORE], STORE)
    for table in _NOT_OURS:
        if rows[table]:
            raise InputError(
                f"{STORE} has rows of table {table}, which does not belong in a bundle"
            )
    settings = _settings(rows["campaign"])
    _check_rounds(rows["round"], settings.strata)
    for place, row in enumerate(rows["item"], start=1):
        _read_json(row["shown"], f"{STORE}, item, row {place}, shown")
    store, events = open_store(None), rows["label_event"]
    if [(row["id"], row["key"]) for row in events] != [(n + 1, None) for n in range(len(events))]:
        raise InputError(f"{STORE}: labels are not numbered from 1 on, or have keys")
    with store.write() as session:
        for table in ("campaign", "stratum", "item", "round", "label_event"):
            session.put_rows(table, rows[table])
    with store.read() as session:
        books = read_books(session, KEY, settings)
    # The bundle does not have who was asked before a rebase.
    asked = {row["item_id"] for row in events} if settings.before is not None else frozenset()
    return store, replace(books, events=events, asked_before=asked)


def _settings(rows: Sequence[Row]) -> Settings:
    if len(rows) != 1 or rows[0]["id"] != KEY:
        raise InputError(f"{STORE} has {len(rows):,} campaigns; a bundle has one")
    text = rows[0]["settings"]
    values = _read_json(text, f"{STORE}, campaign, settings")
    try:
        settings = Settings.from_dict(values)
        written = json.dumps(settings.to_dict())
    except (AssayError, *_NOT_AS_WRITTEN) as error:
        cause = f"{type(error).__name__}: {str(error)[:200]}"
        raise InputError(f"the settings in {STORE} cannot be read: {cause}") from None
    if not -_LARGEST <= settings.seed <= _LARGEST:
        raise InputError(f"the seed in {STORE} is not a whole number of 64 bits")
    if written != text or settings.name != rows[0]["name"]:
        raise InputError(
            f"the settings in {STORE} differ from those that this version of Assay writes"
        )
    return settings


def _check_rounds(rows: Sequence[Row], strata: Strata) -> None:
    """Raise if rounds are invalid, or have too many draws to check."""
    rounds = []
    for place, row in enumerate(rows):
        written = len(row["counts"]) <= _DIGITS * (strata.n_strata + 1)  # else it fills the memory
        counts = counts_of(row) if written else None
        if row["number"] != place or counts is None or len(counts) != strata.n_strata:
            raise InputError(
                f"{STORE}, round {place} has the counts {row['counts'][:80]}",
                details=f"a round is a list of {strata.n_strata} counts, one for each stratum",
            )
        rounds.append(counts)
    if (empty := sum(not any(counts) for counts in rounds)) > _EMPTY_ROUNDS:
        raise InputError(f"{STORE} has {empty:,} rounds that deal nothing")
    check_draws(rounds, strata)


def campaigns_in(members: Mapping[str, bytes]) -> dict[str, Any]:
    """Campaigns over the same predictions, as listed in a bundle."""
    document = json_of(members, CAMPAIGNS)
    every = document.get("over_the_same_predictions") if isinstance(document, dict) else None
    if not isinstance(every, list) or not all(isinstance(each, dict) for each in every):
        raise InputError(f"{CAMPAIGNS} has no list of campaigns")
    for place, each in enumerate(every, start=1):
        for field, kind in (("number", int), ("labels", int), ("created_at", str)):
            value_of(each, field, kind, f"{CAMPAIGNS}, campaign {place}")
    value_of(document, "number", int, CAMPAIGNS)
    for field in ("over_others", *(("gone",) if document.get("gone") is not None else ())):
        if any(type(each) is not int for each in value_of(document, field, list, CAMPAIGNS)):
            raise InputError(f"{CAMPAIGNS}: {field} has more than numbers")
    return {name: value for name, value in document.items() if name != "commitment"}


def json_of(members: Mapping[str, bytes], name: str) -> Any:
    """Document in a file of JSON."""
    if name not in members:
        raise InputError(f"{name} is missing")
    try:
        return _read_json(members[name].decode(), name)
    except UnicodeDecodeError as error:
        raise InputError(f"{name} is not UTF-8 text: byte {error.start}") from None


def _read_json(text: str, where: str) -> Any:
    try:
        return read_json(text, at_most=MOST_VALUES)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{where} is not JSON: {str(error)[:200]}") from None


def value_of(values: Mapping[str, Any], field: str, kind: type[_T], where: str) -> _T:
    """Value in a document, of exactly this type: true is not a number."""
    value = values.get(field)
    if type(value) is not kind:
        raise InputError(f"{where}: {field} is {str(value)[:40]!r}, not of type {kind.__name__}")
    return value
