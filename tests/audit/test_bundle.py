"""A bundle holds all that estimates rest on, and no more; seeds cannot be shopped for."""

import csv
import io
import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import assay
from assay.audit.recompute import Form, Stratum, left_of, quoted
from assay.audit.recompute import main as recompute
from assay.cli import app
from assay.core.deck import number
from assay.core.differences import Gap, subtract
from assay.core.estimate import quoted_value
from assay.core.forms import Metric, Ratio, ratio
from assay.core.metrics import METRICS
from assay.core.tallies import Tallies
from assay.core.types import Bools, Floats
from assay.labelling import Settings
from tests.audit.zips import files_of, members, store_of, verified
from tests.kinds import create, label, team


def test_cards_say_how_they_were_drawn(tmp_path: Path) -> None:
    campaign = label(create(f"sqlite:///{tmp_path / 'a.db'}"))
    files = files_of(campaign, tmp_path)
    cards = list(csv.DictReader(io.StringIO(files["cards.csv"].decode(), newline="")))
    answers = {str(item): answer.value for item, answer in campaign.answers().items()}
    assert {card["item"]: card["answer"] for card in cards if card["answer"]} == answers
    rows = campaign.strata()
    for stratum, row in enumerate(rows):
        deck = [card for card in cards if card["stratum"] == str(stratum)]
        places = [int(card["number"]) for card in deck]
        assert places == sorted(number(card["item"], seed=6) for card in deck)
        assert {card["probability"] for card in deck} <= {repr(len(deck) / row.size)}
    rounds = json.loads(files["rounds.json"])
    for place, counts in enumerate(rounds):
        for stratum, count in enumerate(counts):
            which = {"stratum": str(stratum), "round": str(place)}
            assert sum(which.items() <= card.items() for card in cards) == count


@pytest.mark.parametrize("metric", METRICS)
def test_the_program_inside_gives_the_value_with_python_alone(metric: str, tmp_path: Path) -> None:
    files = files_of(label(create("sqlite://", metric=metric)), tmp_path)
    for name, content in files.items():
        (tmp_path / name).write_bytes(content)
    assert recompute(tmp_path) == 0
    size = json.loads(files["settings.json"])["strata"]["layers"][0]["sizes"][0]
    wrong = files["strata.csv"].replace(f",{size},".encode(), f",{size + 40},".encode())
    assert wrong != files["strata.csv"]
    (tmp_path / "strata.csv").write_bytes(wrong)
    assert recompute(tmp_path) == 1


def test_a_stranger_with_the_zip_alone(tmp_path: Path) -> None:
    """Another process, in an empty folder, with an empty home and an empty environment."""
    storage = tmp_path / "storage.db"
    campaign = label(create(f"sqlite:///{storage}"))
    home = tmp_path / "home"
    home.mkdir()
    campaign.bundle(home / "audit.zip")
    right = campaign.estimate()
    campaign.desk.store.close()
    storage.unlink()
    script = (
        "import assay, json, zipfile; print(assay.verify_bundle('audit.zip').clean); "
        "z = zipfile.ZipFile('audit.zip'); z.extract('recompute.py'); z.extractall(); "
        "print(json.loads(z.read('estimate.json'))['precision']['hex']['value'])"
    )
    clean = {"HOME": str(home), "PATH": os.defpath}

    def run(*command: str) -> str:
        done = subprocess.run(
            [sys.executable, "-I", *command],
            cwd=home,
            env=clean,
            capture_output=True,
            text=True,
            check=True,
            timeout=60,
        )
        return done.stdout

    assert right.value is not None
    assert run("-c", script).split() == ["True", right.value.hex()]
    assert repr(right.value) in run("recompute.py")


def test_names_and_what_was_shown_stay_at_home(tmp_path: Path) -> None:
    path = tmp_path / "private-folder" / "predictions.csv"
    path.parent.mkdir()
    path.write_text("id,p,text\n" + "".join(f"{n},0.{n},secret words\n" for n in range(5, 10)))
    campaign = assay.create_campaign(
        path, id="id", score="p", threshold=0.4, show=["text"], budget=4
    )
    for who in ("zoe", "quentin"):
        campaign.tell({item.id: True for item in campaign.ask(2, reviewer=who)}, reviewer=who)
    secrets = (b"zoe", b"quentin", b"secret words")
    campaign.bundle(tmp_path / "a.zip")
    files = members(tmp_path / "a.zip")  # the store's bytes among them
    assert not any(secret in content for secret in secrets for content in files.values())
    with store_of(files) as store:
        ((kept,),) = store.execute("SELECT settings FROM campaign")
    assert json.loads(kept)["source"]["parts"][0]["scan"] is None
    # How to read the predictions again is kept at home; what they were called is told.
    (part,) = json.loads(members(tmp_path / "a.zip")["settings.json"])["source"]["parts"]
    assert (part["scan"], part["description"]) == (None, str(path))
    log = members(tmp_path / "a.zip")["events.jsonl"].decode().splitlines()
    assert [json.loads(line)["reviewer"] for line in log] == ["reviewer 01"] * 2 + [
        "reviewer 02"
    ] * 2
    campaign.bundle(tmp_path / "b.zip", names=True, shown=True)
    everything = b"".join(members(tmp_path / "b.zip").values())
    assert all(secret in everything for secret in secrets)
    for name in ("a.zip", "b.zip"):
        assert assay.verify_bundle(tmp_path / name).clean


def test_a_later_log_goes_on_from_an_earlier_one(tmp_path: Path) -> None:
    campaign = label(create("sqlite://"), 1)
    campaign.bundle(tmp_path / "one.zip")
    label(campaign, 1).bundle(tmp_path / "two.zip")
    link = json.loads(members(tmp_path / "one.zip")["manifest.json"])["log"]["last_link"]
    log = [json.loads(line) for line in members(tmp_path / "two.zip")["events.jsonl"].splitlines()]
    assert [event["number"] for event in log if event["chain"] == link] == [15]
    campaign.tell({log[0]["item"]: "yes"}, reviewer="ann", revise=True)
    campaign.bundle(tmp_path / "three.zip")
    assert link.encode() in members(tmp_path / "three.zip")["events.jsonl"]


def test_the_same_state_gives_the_same_bytes_and_another_does_not(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'a.db'}"
    team(url)
    one = assay.load_campaign(storage=url).bundle(tmp_path / "one.zip")
    two = assay.load_campaign(storage=url).bundle(tmp_path / "two.zip")
    assert (tmp_path / "one.zip").read_bytes() == (tmp_path / "two.zip").read_bytes()
    assert (one.sha256, one.size) == (two.sha256, (tmp_path / "two.zip").stat().st_size)
    campaign = assay.load_campaign(storage=url)
    (item, *_) = campaign.answers()
    campaign.tell({item: "broken"}, reviewer="owner", revise=True)
    assert campaign.bundle(tmp_path / "three.zip").sha256 != one.sha256


def test_what_a_report_says_is_in_the_bundle(tmp_path: Path) -> None:
    campaign = label(create("sqlite://", slices=["language"], show=["q"]))
    files = files_of(campaign, tmp_path)
    assert files["report.json"].decode() == campaign.report().json
    # Slices are what estimates are told by; what reviewers saw is theirs.
    columns = [json.loads(line)["columns"] for line in files["columns.jsonl"].splitlines()]
    assert {tuple(each) for each in columns} == {("language",)}


@pytest.mark.parametrize(
    "ids", [["=1+1", "'a", "-3", "a\rb", 'x"y,z', "é\n"], [-5, 2**63 - 1, 0, 7]]
)
def test_ids_of_every_kind_come_back(ids: list[int | str], tmp_path: Path) -> None:
    given = {"id": ids, "p": [0.9] * len(ids)}
    campaign = assay.create_campaign(given, id="id", score="p", threshold=0.5, budget=len(ids))
    campaign.tell({item.id: True for item in campaign.ask(len(ids))})
    campaign.bundle(tmp_path / "audit.zip")
    assert assay.verify_bundle(tmp_path / "audit.zip").clean


def test_only_a_zip_that_can_be_written_is_replaced(tmp_path: Path) -> None:
    storage = tmp_path / "assay.db"
    campaign = label(create(f"sqlite:///{storage}"), 1)
    with pytest.raises(assay.InputError, match=r"(?s)assay\.db'.*ends in \.zip"):
        campaign.bundle(storage)
    assert assay.verify_campaign(storage=f"sqlite:///{storage}").clean
    assert campaign.bundle(tmp_path / "audit.ZIP").size
    with pytest.raises(assay.InputError, match=r"audit\.zip' cannot be written: No such file"):
        campaign.bundle(tmp_path / "nowhere" / "audit.zip")


def test_a_report_beside_a_bundle_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "audit.zip"
    create("sqlite://").bundle(path)
    assert assay.verify_bundle(path).clean  # without a label, too
    told = CliRunner().invoke(app, ["verify", str(path), "--report", "r.json", "--json"])
    assert told.exit_code == 1
    assert "has all that it is checked against" in json.loads(told.stderr)["error"]["problem"]


FIELDS = ["number", "item", "answer", "reviewer", "time", "late", "ruling", "chain"]


@pytest.fixture
def campaign() -> assay.Campaign:
    """A campaign with a comment on every other label."""
    made = assay.create_campaign(
        {"p": [0.5 + i / 12 for i in range(6)]}, score="p", threshold=0.5, budget=5, seed=2
    )
    batch = made.ask(4)
    texts = {item.id: f"=1+{item.id} 😀\nis what ann saw" for item in batch[::2]}
    made.tell({item.id: True for item in batch}, comments=texts, reviewer="ann")
    return made


def events(files: dict[str, bytes]) -> list[dict[str, Any]]:
    return [json.loads(line) for line in files["events.jsonl"].decode().splitlines()]


def test_a_bundle_without_them_says_nothing_of_them(
    campaign: assay.Campaign, tmp_path: Path
) -> None:
    files = files_of(campaign, tmp_path, names=True, shown=True)
    assert [list(event) for event in events(files)] == [FIELDS] * 4
    assert b"ann saw" not in b"".join(files.values())
    assert assay.verify_bundle(tmp_path / "audit.zip").findings == ()


def test_a_bundle_with_them_verifies_and_a_changed_one_is_found(
    campaign: assay.Campaign, tmp_path: Path
) -> None:
    files = files_of(campaign, tmp_path, comments=True)
    told = [event.get("comment", "") for event in events(files)]
    assert told == [label.comment for label in campaign.events()]
    assert sum(map(bool, told)) == 2
    assert "What they wrote is in events.jsonl." in files["README.txt"].decode()
    assert verified(files, tmp_path).findings == ()
    log = files["events.jsonl"].replace(b"is what", b"is not what", 1)
    (found,) = verified({**files, "events.jsonl": log}, tmp_path).findings
    assert "is not what" in found


STRATA = 8


def draw(rng: np.random.Generator) -> tuple[Tallies, Bools]:
    """Draw strata of which some are clean, some without a label, some known to the last item."""
    N = rng.integers(5, 2000, STRATA).astype(np.float64)
    n = np.minimum(rng.integers(0, 60, STRATA), N)
    n[0] = N[0]
    x = np.floor(n * rng.choice([0.0, 0.02, 0.3, 0.9, 1.0], STRATA))
    x[1] = np.floor(n[1] / 2)
    return Tallies(N=N, n=n, x=x), np.arange(STRATA) % 2 == 0


def plain(metric: Metric) -> list[Form]:
    parts = (metric.first, metric.second) if isinstance(metric, Gap) else (metric,)
    return [
        Form(float(part.a0), part.a.tolist(), float(part.b0), part.b.tolist(), *classes(part))
        for part in parts
        if isinstance(part, Ratio)
    ]


def classes(part: Ratio) -> tuple[float, ...]:
    return () if part.both is None else (part.both.items, part.both.power, part.both.shift)


def strata_of(tallies: Tallies) -> list[Stratum]:
    each = zip(tallies.N.tolist(), tallies.n.tolist(), tallies.x.tolist(), strict=True)
    return [Stratum(N, n, x, left_of(N, n)) for N, n, x in each]


def metrics_of(N: Floats, yes: Bools) -> dict[str, Metric]:
    other = np.roll(yes, 3) | (np.arange(STRATA) < 3)
    found: dict[str, Metric] = {name: ratio(name, N, yes) for name in METRICS}
    for name in ("precision", "recall", "f1", "balanced_accuracy", "matthews_correlation"):
        found[f"{name} - {name}"] = subtract(ratio(name, N, yes), ratio(name, N, other))
    return found


@pytest.mark.parametrize("explored", [True, False])
@pytest.mark.parametrize("stops", [True, False])
def test_plain_sums_give_the_value_that_is_quoted(explored: bool, stops: bool) -> None:
    for seed in range(40):
        tallies, yes = draw(np.random.default_rng(seed))
        for name, metric in metrics_of(tallies.N, yes).items():
            right = quoted_value(tallies, metric, replacement=False, explored=explored, stops=stops)
            values = quoted(plain(metric), strata_of(tallies), explored=explored, stops=stops)
            assert min(abs(value - right) for value in values) < 1e-12, (seed, name)


def test_it_follows_from_all_that_fixes_the_draws_and_from_nothing_else(tmp_path: Path) -> None:
    settings = create(f"sqlite:///{tmp_path / 'a.db'}").settings
    again = Settings.from_dict(json.loads(json.dumps(settings.to_dict())))
    assert again.commitment == settings.commitment
    assert replace(settings, name="spam until today").commitment == settings.commitment
    part = replace(settings.source.parts[0], fingerprint="other")
    others: list[dict[str, Any]] = [
        {"seed": 7},
        {"goal": assay.Goal("precision", budget=61)},
        {"design": assay.Design(bins=15)},
        {"source": replace(settings.source, parts=(part,))},
        {"strata": create("sqlite://", slice(0, 250)).settings.strata},
    ]
    every = [replace(settings, **other).commitment for other in others]
    assert len({settings.commitment, *every}) == 6


def test_a_bundle_is_held_against_what_was_published(tmp_path: Path) -> None:
    campaign = label(create("sqlite://"))
    published, path = campaign.settings.commitment, tmp_path / "audit.zip"
    campaign.bundle(path)
    assert json.loads(members(path)["campaigns.json"])["commitment"] == published
    assert assay.verify_bundle(path, commitment=published.upper()).clean
    # Another seed, tried after the first labels were seen.
    other = label(create("sqlite://", seed=7))
    other.bundle(path)
    assert assay.verify_bundle(path).clean
    (finding,) = assay.verify_bundle(path, commitment=published).findings
    assert f", not {published}" in finding
    run = CliRunner().invoke(app, ["verify", str(path), "--commitment", published])
    assert run.exit_code == 1


def test_other_campaigns_over_the_same_predictions_are_told(tmp_path: Path) -> None:
    url, path = f"sqlite:///{tmp_path / 'a.db'}", tmp_path / "audit.zip"
    label(create(url, name="first", seed=1), 1)
    create(url, slice(0, 250), name="another population")
    shown = label(create(url, name="shown", seed=2))
    create(url, name="third", seed=3)
    shown.bundle(path)
    told = json.loads(members(path)["campaigns.json"])
    assert told["number"] == 3
    every = told["over_the_same_predictions"]
    assert [(each["number"], each["labels"]) for each in every] == [(1, 15), (3, 30), (4, 0)]
    assert len({each["commitment"] for each in every}) == 3
    notes = [note for each in assay.verify_bundle(path).checks for note in each.notes]
    assert notes == [
        "its storage had 1 more campaigns over the same predictions made before this one, with 15 "
        "labels: see campaigns.json",
        "its storage had 1 more campaigns over the same predictions made after this one, with 0 "
        "labels: see campaigns.json",
        "its storage had 1 more campaigns over other predictions",
    ]


def test_campaigns_that_are_left_out_of_the_list_are_a_finding(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'a.db'}"
    for name in ("first", "second"):
        create(url, name=name)
    files = files_of(label(create(url, name="third", seed=2)), tmp_path)
    listed = json.loads(files["campaigns.json"])
    *_, own = listed["over_the_same_predictions"]
    for gone, expected in (([], "leaves out campaigns 1, 2 of"), (None, "nothing is known of")):
        changed = {**listed, "over_the_same_predictions": [own], "gone": gone}
        again = {**files, "campaigns.json": json.dumps(changed, indent=1).encode() + b"\n"}
        assert expected in str(verified(again, tmp_path))


def test_campaigns_that_are_gone_leave_a_gap(tmp_path: Path) -> None:
    url, path = f"sqlite:///{tmp_path / 'a.db'}", tmp_path / "audit.zip"
    create(url, name="tried", seed=1)
    shown = label(create(url, name="shown", seed=2))
    with shown.desk.store.write() as session:
        for table in ("item", "stratum", "round", "label_event"):
            session._connection.exec_driver_sql(f"DELETE FROM {table} WHERE campaign_id = 1")
        session._connection.exec_driver_sql("DELETE FROM campaign WHERE id = 1")
    shown.bundle(path)
    notes = [note for each in assay.verify_bundle(path).checks for note in each.notes]
    assert notes == ["1 campaigns of its storage are gone"]


def test_a_list_that_is_none_or_left_out_is_a_finding(tmp_path: Path) -> None:
    files = files_of(label(create("sqlite://")), tmp_path)
    other = {**json.loads(files["campaigns.json"]), "commitment": "0" * 64}
    lists: list[object] = [{}, [], {"over_the_same_predictions": [{"number": 1}]}, other]
    for told in lists:
        changed = {**files, "campaigns.json": json.dumps(told).encode()}
        found = verified(changed, tmp_path).findings
        assert any("campaigns.json" in each for each in found)
    del files["campaigns.json"]
    assert not verified(files, tmp_path).clean


@pytest.mark.parametrize(
    "change",
    [
        {"labels": 29},
        {"commitment": "0" * 64},
        {"created_at": "2020-01-01T00:00:00.000000Z"},
        {"number": 2},
    ],
)
def test_a_list_that_says_otherwise_of_its_own_campaign_is_a_finding(
    change: dict[str, object], tmp_path: Path
) -> None:
    files = files_of(label(create("sqlite://")), tmp_path)
    listed = json.loads(files["campaigns.json"])
    (own,) = listed["over_the_same_predictions"]
    for every in ([{**own, **change}], [own, own], []):
        told = {**listed, "over_the_same_predictions": every}
        changed = {**files, "campaigns.json": json.dumps(told, indent=1).encode() + b"\n"}
        found = verified(changed, tmp_path).findings
        assert any("campaigns.json" in each for each in found), every
