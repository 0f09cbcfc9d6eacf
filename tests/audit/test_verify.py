"""The books of real campaigns are clean, and whatever is tampered with is found."""

import json
import re
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sqlalchemy as sa
from typer.testing import CliRunner

import assay
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
from assay.storage import open_store, schema
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


Tamper = Callable[[sa.Connection], None]


def altered(table: sa.Table, values: dict[str, Any], *where: sa.ColumnElement[bool]) -> Tamper:
    def tamper(connection: sa.Connection) -> None:
        assert connection.execute(table.update().where(*where).values(values)).rowcount

    return tamper


def deleted(table: sa.Table, *where: sa.ColumnElement[bool]) -> Tamper:
    def tamper(connection: sa.Connection) -> None:
        assert connection.execute(table.delete().where(*where)).rowcount

    return tamper


def two_cards_swapped(connection: sa.Connection) -> None:
    place = schema.item.c.position
    for old, new in ((0, 10**6), (1, 0), (10**6, 1)):
        altered(schema.item, {"position": new}, schema.item.c.stratum == 0, place == old)(
            connection
        )


def another_seed(connection: sa.Connection) -> None:
    text = connection.scalar(sa.select(schema.campaign.c.settings))
    altered(schema.campaign, {"settings": json.dumps({**json.loads(text or ""), "seed": 7})})(
        connection
    )


def first_event(connection: sa.Connection) -> Any:
    return connection.scalar(sa.select(sa.func.min(schema.label_event.c.id)))


def event_altered(**values: Any) -> Tamper:
    def tamper(connection: sa.Connection) -> None:
        which = schema.label_event.c.id == first_event(connection)
        altered(schema.label_event, values, which)(connection)

    return tamper


def first_deleted(connection: sa.Connection) -> None:
    deleted(schema.label_event, schema.label_event.c.id == first_event(connection))(connection)


def a_claim_on_nothing(connection: sa.Connection) -> None:
    (key,) = connection.scalars(sa.select(schema.campaign.c.id))
    row = {"campaign_id": key, "item_id": "x", "reviewer": "eve", "since": 1.0, "until": 2.0}
    connection.execute(schema.claim.insert(), row)


CARD, ROUND, STRATUM = schema.item.c, schema.round_.c, schema.stratum.c
TAMPERED: dict[str, tuple[Tamper, str]] = {
    "a size": (altered(schema.stratum, {"size": 1}, STRATUM.number == 0), "stratum 0 has 1 items"),
    "a stratum": (deleted(schema.stratum, STRATUM.number == 2), "stratum 2 has None items"),
    "two cards": (two_cards_swapped, "of stratum 0 comes after its turn"),
    "the seed": (another_seed, "comes after its turn"),
    "a card gone": (
        deleted(schema.item, CARD.stratum == 1, CARD.position == 2),
        "place 2 is empty",
    ),
    "cards gone": (deleted(schema.item, CARD.position > 0), "were dealt, and 1 are there"),
    "a card's stratum": (
        altered(schema.item, {"stratum": 99}, CARD.stratum == 1, CARD.position == 0),
        "lies in stratum 99, which there is not",
    ),
    "a prediction": (
        altered(schema.item, {"predicted": 0}, CARD.stratum == 1, CARD.position == 0),
        "cannot lie in stratum 1: 0 was predicted",
    ),
    "what is shown": (
        altered(schema.item, {"shown": "{"}, CARD.stratum == 1, CARD.position == 0),
        "what it shows, cannot be read",
    ),
    "a round": (deleted(schema.round_, ROUND.number == 0), "round 0 is missing"),
    "a round's cards": (
        altered(schema.round_, {"counts": "[1, 2]"}, ROUND.number == 1),
        r"round 1 is of \[1, 2\]",
    ),
    "a round's text": (altered(schema.round_, {"counts": "{"}), "round 0 is of {"),
    "the last round": (deleted(schema.round_, ROUND.number == 1), "nobody was asked about it"),
    "an answer": (event_altered(answer="maybe"), "says 'maybe', which is no answer"),
    "an item": (event_altered(item_id="9999"), "of item '9999': nobody was asked"),
    "a time": (event_altered(told_at="noon"), "told at 'noon', which is no time"),
    "a ruling": (event_altered(answer="skip", ruling=True), "a ruling that says nothing"),
    "an answer for another": (
        event_altered(answer="no"),
        "label 1 .* does not follow from the camp",
    ),
    "a comment": (
        event_altered(comment="no"),
        "label 1 .* does not follow from the campaign's set",
    ),
    "the first label": (first_deleted, "label 2 .* does not follow from the campaign's settings"),
    "a link": (event_altered(chain="0" * 64), "label 2 .* does not follow from label 1"),
    "a claim": (a_claim_on_nothing, "the claim of 'eve' on item 'x', which was never dealt"),
}


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("verify") / "original.db"
    label(create(f"sqlite:///{path}"))
    return path


def tampered(url: str, tamper: Tamper) -> tuple[str, ...]:
    with open_store(url).write() as session:
        tamper(session._connection)
    return assay.verify_campaign(storage=url).findings


def copied(original: Path, folder: Path) -> str:
    source, target = sa.create_engine(f"sqlite:///{original}"), folder / "copy.db"
    with source.connect() as connection:
        connection.exec_driver_sql("VACUUM INTO ?", (str(target),))
    source.dispose()
    return f"sqlite:///{target}"


@pytest.mark.parametrize("name", TAMPERED)
def test_what_was_tampered_with_is_found(name: str, original: Path, tmp_path: Path) -> None:
    tamper, right = TAMPERED[name]
    url = copied(original, tmp_path)
    assert assay.verify_campaign(storage=url).clean
    findings = tampered(url, tamper)
    assert findings
    assert any(re.search(right, each) for each in findings), findings


@pytest.mark.parametrize("which", ["min", "max"], ids=["first", "last"])
def test_a_label_that_was_deleted_is_missed(which: str, original: Path, tmp_path: Path) -> None:
    url, log = copied(original, tmp_path), schema.label_event
    number = sa.select(getattr(sa.func, which)(log.c.id)).scalar_subquery()
    findings = tampered(url, deleted(log, log.c.id == number))
    assert findings[0].startswith("no label is gone: label ")
    # What stood last is missed by its number alone: nothing follows it.
    assert len(findings) == (2 if which == "min" else 1)


@pytest.mark.parametrize("answer", ["no", None], ids=["altered", "deleted"])
def test_labels_from_before_a_rebase_are_compared(storage_url: str, answer: str | None) -> None:
    rebased(storage_url)
    with open_store(storage_url).read() as session:
        former, _ = session.find(session.names()[0])
    log = schema.label_event
    which = log.c.campaign_id == former, log.c.answer == "yes"
    tamper = deleted(log, *which) if answer is None else altered(log, {"answer": answer}, *which)
    findings = tampered(storage_url, tamper)
    assert any("from before is not as it was" in each for each in findings)


def test_what_the_database_itself_refuses_would_be_found(original: Path) -> None:
    with open_store(f"sqlite:///{original}").read() as session:
        key, settings = find_campaign(session, "campaign")
        books = bookkeeping.read_books(session, key, settings)
    twice = replace(books, cards=[*books.cards, {**books.cards[0], "stratum": 1, "position": 99}])
    assert any("lies in 2 places" in each for each in check_cards(twice).findings)
    sent = [{**row, "key": "a"} for row in books.events]
    (finding,) = check_events(replace(books, events=sent)).findings
    assert finding == f"{len(sent)} labels were sent as 'a'"


def test_a_clock_that_went_back_is_only_worth_a_note(original: Path) -> None:
    with open_store(f"sqlite:///{original}").read() as session:
        books = bookkeeping.read_books(session, *find_campaign(session, "campaign"))
    first, *others = books.events
    late = {**first, "told_at": "2999-01-01T00:00:00.000+00:00"}
    found = check_events(replace(books, events=[late, *others]))
    assert found.findings == ()
    assert found.notes == ("the clock was set back 1 times between labels",)


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
    liar: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    where, name, wrong, finding = LIARS[liar]
    url = f"sqlite:///{tmp_path / 'a.db'}"
    team(url)
    monkeypatch.setattr(where, name, wrong)
    findings = assay.verify_campaign(storage=url).findings
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


def test_the_command_tells_and_ends_with_0_or_1(original: Path, tmp_path: Path) -> None:
    url = copied(original, tmp_path)
    command = ["verify", "campaign", "--storage", url]
    clean = CliRunner().invoke(app, command)
    assert clean.exit_code == 0
    assert "the estimates follow from the log" in clean.stdout
    document = json.loads(CliRunner().invoke(app, [*command, "--json"]).stdout)
    assert (document["clean"], len(document["checks"])) == (True, 15)
    tampered(url, TAMPERED["an answer"][0])
    wrong = CliRunner().invoke(app, command)
    assert wrong.exit_code == 1
    assert "says 'maybe', which is no answer" in wrong.stdout
    told = CliRunner().invoke(app, [*command, "--json"])
    assert told.exit_code == 1
    assert json.loads(told.stdout)["clean"] is False
    missing = CliRunner().invoke(app, ["verify", "nobody", "--storage", url])
    assert missing.exit_code == 1
    assert "there is no campaign named 'nobody'" in missing.stderr


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


REPORTS: dict[str, tuple[str, str, str]] = {
    "a value": (
        r'"value": 0\.\d+',
        '"value": 0.99',
        "report.json, metrics, precision, value: 0.99 is",
    ),
    "a count": (
        r'"late": \d+',
        '"late": 7',
        "report.json, reviewers, number 1, late: 7 is written",
    ),
    "a word": (r'"question": "Is', '"question": "Was', "report.json, campaign, question: 'Was it"),
    "a stratum": (r'"size": \d+', '"size": 3', "report.json, strata, number 1, size: 3 is written"),
}


@pytest.mark.parametrize("name", REPORTS)
def test_a_field_of_a_report_that_was_changed_is_named(
    name: str, original: Path, tmp_path: Path
) -> None:
    old, new, right = REPORTS[name]
    url, file = f"sqlite:///{original}", tmp_path / "report.json"
    assay.load_campaign(storage=url).report().save(file)
    text, changes = re.subn(old, new, file.read_text(), count=1)
    assert changes
    file.write_text(text)
    (finding, *_) = assay.verify_campaign(storage=url, report=file).findings
    assert f"the report follows from the log: {right}" in finding


@pytest.mark.parametrize("text", ["{", "[]", "{}", '{"campaign": {}}', "[" * 100_000])
def test_what_is_no_report_is_refused(text: str, original: Path, tmp_path: Path) -> None:
    file = tmp_path / "report.json"
    file.write_text(text)
    with pytest.raises(assay.InputError, match="is no report of Assay in JSON"):
        assay.verify_campaign(storage=f"sqlite:///{original}", report=file)


def test_a_report_that_is_missing_is_told_as_missing(original: Path, tmp_path: Path) -> None:
    with pytest.raises(assay.InputError, match=r"report\.json cannot be read: No such file"):
        assay.verify_campaign(storage=f"sqlite:///{original}", report=tmp_path / "report.json")


def test_the_command_compares_a_report(original: Path, tmp_path: Path) -> None:
    url, file = f"sqlite:///{original}", tmp_path / "report.json"
    assay.load_campaign(storage=url).report().save(file)
    command = ["verify", "campaign", "--storage", url, "--report", str(file)]
    clean = CliRunner().invoke(app, command)
    assert (clean.exit_code, "the report follows from the log" in clean.stdout) == (0, True)
    file.write_text(file.read_text().replace('"seed": 6', '"seed": 7'))
    wrong = CliRunner().invoke(app, command)
    assert wrong.exit_code == 1
    assert "report.json, how, seed: 7 is written, and 6 follows" in wrong.stdout
