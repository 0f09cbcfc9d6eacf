"""The books of real campaigns are clean; whatever is tampered with, or spare, is found."""

import json
import re
import sqlite3
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sqlalchemy as sa
from typer.testing import CliRunner

import assay
from assay import Label
from assay.audit import books as bookkeeping
from assay.audit import recount
from assay.audit.checks import check_cards
from assay.audit.log_checks import check_events
from assay.cli import app
from assay.core.answers import Answer
from assay.labelling.estimates import estimates_of
from assay.labelling.review_rule import Review
from assay.labelling.settings import find_campaign
from assay.labelling.state import Labelling
from assay.storage import Claim, Session, open_store
from tests.audit.zips import check_same_bits
from tests.kinds import KINDS, create, label, rebased, team


@pytest.mark.filterwarnings("ignore::assay.AssayWarning")
@pytest.mark.parametrize("make", KINDS, ids=lambda make: make.__name__)
def test_campaigns_of_every_kind_are_clean_and_their_bundles_too(
    storage_url: str, make: Callable[[str], None], tmp_path: Path
) -> None:
    make(storage_url)
    with open_store(storage_url).read() as session:
        names = session.names()
    for name in names:
        found = assay.verify_campaign(name, storage=storage_url)
        assert found.findings == ()
        assert len(found.checks) == 15
        assert all(each.looked_at for each in found.checks[-3:])
        check_same_bits(assay.load_campaign(name, storage=storage_url), tmp_path)


FIRST = "stratum = 1 AND position = 0"
TAMPERED: dict[str, tuple[tuple[str, ...], str]] = {
    "a size": (("UPDATE stratum SET size = 1 WHERE number = 0",), "stratum 0 has 1 items"),
    "a stratum": (("DELETE FROM stratum WHERE number = 2",), "stratum 2 has None items"),
    "two cards": (
        tuple(
            f"UPDATE item SET position = {new} WHERE stratum = 0 AND position = {old}"
            for old, new in ((0, -1), (1, 0), (-1, 1))
        ),
        "of stratum 0 comes after its turn",
    ),
    "the seed": (
        ("UPDATE campaign SET settings = replace(settings, '\"seed\": 6', '\"seed\": 7')",),
        "comes after its turn",
    ),
    "a card gone": (("DELETE FROM item WHERE position = 0",), "place 0 is empty"),
    "cards gone": (("DELETE FROM item WHERE position > 0",), "were dealt, and 1 exist"),
    "a card's stratum": (
        (f"UPDATE item SET stratum = 99 WHERE {FIRST}",),
        "lies in stratum 99, which does not exist",
    ),
    "a prediction": (
        (f"UPDATE item SET predicted = 0 WHERE {FIRST}",),
        "cannot lie in stratum 1: its predicted label is 0",
    ),
    "what is shown": (
        (f"UPDATE item SET shown = '[]' WHERE {FIRST}",),
        "or what it shows, cannot be",
    ),
    "a round": (("DELETE FROM round WHERE number = 0",), "round 0 (is missing|has the counts)"),
    "a round's cards": (
        ("UPDATE round SET counts = '[1, 2]' WHERE number = 1",),
        r"round 1 has the counts \[1, 2\]",
    ),
    "a round's text": (("UPDATE round SET counts = '{'",), "round 0 has the counts {"),
    "the last round": (("DELETE FROM round WHERE number = 1",), "never given to a reviewer"),
    "an answer": (("UPDATE label_event SET answer = 'maybe' WHERE id = 1",), "is not an answer"),
    "an item": (
        ("UPDATE label_event SET item_id = '9999' WHERE id = 1",),
        "of item '9999': the item was never given",
    ),
    "a time": (("UPDATE label_event SET told_at = 'noon' WHERE id = 1",), "which is not a time"),
    "a ruling": (
        ("UPDATE label_event SET answer = 'skip', ruling = 1 WHERE id = 1",),
        "a ruling without an answer",
    ),
    "an answer for another": (
        ("UPDATE label_event SET answer = iif(answer = 'no', 'yes', 'no') WHERE id = 1",),
        "label 1 .* does not follow from the camp",
    ),
    "a comment": (
        ("UPDATE label_event SET comment = 'no' WHERE id = 1",),
        "label 1 .* does not follow from the campaign's set",
    ),
    "the first label": (
        ("DELETE FROM label_event WHERE id = 1",),
        "label 2 .* does not follow from the campaign's settings|not numbered from 1 on",
    ),
    "a link": (
        (f"UPDATE label_event SET chain = '{'0' * 64}' WHERE id = 1",),
        "label 2 .* does not follow from label 1",
    ),
}
"""What is changed in a storage, or in that of a bundle, and what is said of it."""

CLAIM = (
    "INSERT INTO claim (campaign_id, item_id, reviewer, since, until) VALUES (1, 'x', 'eve', 1, 2)"
)


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("verify") / "original.db"
    label(create(f"sqlite:///{path}"))
    return path


def tampered(url: str, *statements: str) -> tuple[str, ...]:
    with closing(sqlite3.connect(url.removeprefix("sqlite:///"))) as file, file:
        for statement in statements:
            assert file.execute(statement).rowcount
    return assay.verify_campaign(storage=url).findings


def copied(original: Path, folder: Path) -> str:
    source, target = sa.create_engine(f"sqlite:///{original}"), folder / "copy.db"
    with source.connect() as connection:
        connection.exec_driver_sql("VACUUM INTO ?", (str(target),))
    source.dispose()
    return f"sqlite:///{target}"


@pytest.mark.parametrize("name", [*TAMPERED, "a claim"])
def test_what_was_tampered_with_is_found(name: str, original: Path, tmp_path: Path) -> None:
    claimed = ((CLAIM,), "the claim of 'eve' on item 'x', which was never dealt")
    statements, right = {**TAMPERED, "a claim": claimed}[name]
    url = copied(original, tmp_path)
    assert assay.verify_campaign(storage=url).clean
    findings = tampered(url, *statements)
    assert any(re.search(right, each) for each in findings), findings


@pytest.mark.parametrize("which", ["min", "max"], ids=["first", "last"])
def test_a_label_that_was_deleted_is_missed(which: str, original: Path, tmp_path: Path) -> None:
    of_all = f"(SELECT {which}(id) FROM label_event)"
    url = copied(original, tmp_path)
    findings = tampered(url, f"DELETE FROM label_event WHERE id = {of_all}")
    assert findings[0].startswith("no label is gone: label ")
    # What stood last is missed by its number alone: nothing follows it.
    assert len(findings) == (2 if which == "min" else 1)


@pytest.mark.parametrize(
    "change", ["UPDATE label_event SET answer = 'no'", "DELETE FROM label_event"]
)
def test_labels_from_before_a_rebase_are_compared(storage: str, change: str) -> None:
    rebased(storage)
    with open_store(storage).read() as session:
        former, _ = session.find(session.names()[0])
    findings = tampered(storage, f"{change} WHERE campaign_id = {former} AND answer = 'yes'")
    assert any("from before has changed" in each for each in findings)


def test_what_the_database_itself_refuses_would_be_found(original: Path) -> None:
    with open_store(f"sqlite:///{original}").read() as session:
        key, settings = find_campaign(session, "campaign")
        books = bookkeeping.read_books(session, key, settings)
    twice = replace(books, cards=[*books.cards, {**books.cards[0], "stratum": 1, "position": 99}])
    assert any("lies in 2 places" in each for each in check_cards(twice).findings)
    sent = [{**row, "key": "a"} for row in books.events[:2]]
    (finding,) = check_events(replace(books, events=[*sent, *books.events[2:]])).findings
    assert finding == "2 labels have the key 'a'"


def test_a_clock_that_went_back_is_only_worth_a_note(original: Path) -> None:
    with open_store(f"sqlite:///{original}").read() as session:
        books = bookkeeping.read_books(session, *find_campaign(session, "campaign"))
    first, second, *others = books.events
    late = {**first, "told_at": "2999-01-01T00:00:00.000+00:00", "key": "a"}
    found = check_events(replace(books, events=[late, {**second, "key": "b"}, *others]))
    assert found.findings == ()
    assert found.notes == ("the clock was set back between labels",)
    # The labels of a file have the time at which it was read: others were stored meanwhile.
    of_file = {**late, "key": None}
    assert not check_events(replace(books, events=[of_file, second, *others])).notes


def last_word(review: Review) -> Answer | None:
    return next(reversed(review.answers.values()), None)


def nearly(labelling: Labelling) -> assay.Estimates:
    found = estimates_of(labelling)
    return assay.Estimates(
        {name: replace(each, low=float(np.nextafter(each.low, -1))) for name, each in found.items()}
    )


def biased(labelling: Labelling) -> assay.Estimates:
    return assay.Estimates(
        {
            name: replace(each, value=(each.value or 0) + 1e-9)
            for name, each in estimates_of(labelling).items()
        }
    )


LIARS: dict[str, tuple[object, str, object, str]] = {
    "another rule": (Review, "settled", property(last_word), "answers follow from the log: item"),
    "another value": (recount, "estimates_of", biased, "from the counts: precision is"),
    "another bit": (recount, "estimates_of", nearly, "to the last bit: precision: low is"),
}


@pytest.mark.parametrize("liar", LIARS)
def test_a_campaign_that_says_something_else_is_found_out(
    liar: str, storage: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    where, name, wrong, finding = LIARS[liar]
    team(storage)
    monkeypatch.setattr(where, name, wrong)
    findings = assay.verify_campaign(storage=storage).findings
    assert any(finding in each for each in findings), findings


def test_people_may_go_on_judging_meanwhile(
    storage_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All is read at one moment: labels that come between two reads make no difference."""
    campaign, right = label(create(storage_url)), bookkeeping.read_books

    def reading(*given: Any) -> Any:
        books = right(*given)
        label(campaign, 1)
        return books

    monkeypatch.setattr("assay.audit.verify.read_books", reading)
    assert assay.verify_campaign(storage=storage_url).clean


def test_the_command_ends_with_1_where_something_is_found(original: Path, tmp_path: Path) -> None:
    url, file = copied(original, tmp_path), tmp_path / "report.json"
    assay.load_campaign(storage=url).report().save(file)
    command = ["verify", "campaign", "--storage", url, "--report", str(file)]
    clean = CliRunner().invoke(app, command)
    assert (clean.exit_code, "the report follows from the log" in clean.stdout) == (0, True)
    file.write_text(file.read_text().replace('"seed": 6', '"seed": 7'))
    wrong = CliRunner().invoke(app, command)
    assert wrong.exit_code == 1
    assert "report.json, how, seed: 7 is written, and 6 follows" in wrong.stdout
    tampered(url, *TAMPERED["an answer"][0])
    told = CliRunner().invoke(app, [*command[:-2], "--json"])
    assert (told.exit_code, json.loads(told.stdout)["clean"]) == (1, False)
    assert "has 'maybe', which is not an answer" in told.stdout


@pytest.mark.parametrize("names", [False, True], ids=["numbered", "named"])
def test_a_report_is_worked_out_again_as_it_was_then(
    storage_url: str, names: bool, tmp_path: Path
) -> None:
    campaign, file = label(create(storage_url)), tmp_path / "report.json"
    campaign.report(names=names).save(file)
    assert assay.verify_campaign(storage=storage_url, report=file).clean
    time.sleep(0.002)  # labels are told by the millisecond
    label(campaign, 1)
    found = assay.verify_campaign(storage=storage_url, report=file)
    assert found.clean
    assert found.checks[-1].notes == ("15 labels came after the report was made",)
    # What was revised since is another matter than what was made up.
    (first, *_) = campaign.answers()
    campaign.tell({first: "broken"}, reviewer="ann", revise=True)
    assert assay.verify_campaign(storage=storage_url, report=file).clean


@pytest.mark.parametrize("text", ["{", "[]", "{}", '{"campaign": {}}', "[" * 100_000])
def test_what_is_no_report_is_refused(text: str, original: Path, tmp_path: Path) -> None:
    file = tmp_path / "report.json"
    file.write_text(text)
    with pytest.raises(assay.InputError, match="is not a JSON report of Assay"):
        assay.verify_campaign(storage=f"sqlite:///{original}", report=file)


def test_a_report_that_is_missing_is_told_as_missing(original: Path, tmp_path: Path) -> None:
    with pytest.raises(assay.InputError, match=r"report\.json cannot be read: No such file"):
        assay.verify_campaign(storage=f"sqlite:///{original}", report=tmp_path / "report.json")


CHECK = "no item was given to more than it is for"


def made(storage: str) -> assay.Campaign:
    scores = {"p": [0.9, 0.8, 0.7, 0.6]}
    return assay.create_campaign(scores, score="p", threshold=0.5, budget=4, storage=storage)


def found(campaign: assay.Campaign) -> tuple[tuple[str, ...], tuple[str, ...]]:
    verified = assay.verify_campaign(storage=campaign.desk.store.name)
    (check,) = (each for each in verified.checks if each.check == CHECK)
    return check.findings, check.notes


def turn(campaign: assay.Campaign, reviewer: str, *said: str, lease: float = 60.0) -> Any:
    """Send answers to the items that a reviewer has before them, and return the next ones."""
    items = campaign.review([], reviewer=reviewer, want=len(said) or 1, lease=lease).items
    labels = [
        Label(str(item.id), answer, key=f"{reviewer} {item.id} {answer}")
        for item, answer in zip(items, said, strict=False)
    ]
    campaign.review(labels, reviewer=reviewer, lease=lease)
    return items


def test_answers_of_reviewers_who_did_not_see_each_others_claims(
    storage: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a writer with a snapshot from before its lock does to claims."""
    campaign = made(storage)
    right = Session.live_claims
    mine = ["ann"]

    def own(self: Session, key: int, *asked: Any) -> dict[Claim, float]:
        live = right(self, key, *asked)
        return {claim: end for claim, end in live.items() if claim.reviewer in mine}

    monkeypatch.setattr(Session, "live_claims", own)
    (item,) = campaign.review([], reviewer="ann", want=1).items
    mine[:] = ["bob"]
    (same,) = campaign.review([], reviewer="bob", want=1).items
    assert item == same
    for name in ("ann", "bob"):
        mine[:] = [name]
        campaign.review([Label(str(item.id), "yes", key=name)], reviewer=name)
    findings, _ = found(campaign)
    assert findings == (f"label 2 of item '{item.id}' is answer 2 in time, and the item needs 1",)


def test_spare_answers_that_take_no_lease_are_not_wrong(
    storage: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    campaign = made(storage)
    (item,) = campaign.review([], reviewer="late", want=1, lease=0.01).items
    monkeypatch.setattr(Session, "live_claims", lambda *_: {})  # time has passed
    (same,) = campaign.review([], reviewer="next", want=1).items
    assert item == same
    campaign.review([Label(str(item.id), "no", key="late")], reviewer="late")
    monkeypatch.undo()
    campaign.review([Label(str(item.id), "yes", key="next")], reviewer="next")
    campaign.desk.record([Label(str(item.id), "yes", "from a file")])
    campaign.rule(item.id, "no", reviewer="eve", key="ruling")
    labels = campaign.events()
    assert [label.late for label in labels] == [True, False, False, False]
    assert [label.ruling for label in labels] == [False, False, False, True]
    (other,) = turn(campaign, "ann", "yes")
    campaign.review([Label(str(other.id), "withdrawn", key="a")], reviewer="ann")
    campaign.review([Label(str(other.id), "skip", key="b")], reviewer="ann")
    turn(campaign, "bob", "yes")
    assert found(campaign) == ((), ())
