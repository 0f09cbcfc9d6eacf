"""Guaranteed campaigns whose strata are cut anew: bets go on, and all of it can be checked."""

import asyncio
import csv
import json
import sqlite3
import zipfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import assay
from assay.audit import recompute
from assay.core.deck import numbers
from assay.labelling import TurnRequest, epoch_seed, history_in, more_cards
from assay.results import Turn
from assay.web.queue import Counter
from tests.campaign.test_recut import Truth, create, population
from tests.kinds import finish

Cut = tuple[assay.Campaign, Truth, str]


def file_of(folder: Path, size: int = 3_000) -> tuple[Path, Truth]:
    """Return a file of predictions with a judge, and the truth."""
    table, truth = population(size)
    names = ("url", "p", "judge", "lang")
    pq.write_table(pa.table({name: table[name] for name in names}), folder / "items.parquet")
    return folder / "items.parquet", truth


def make(predictions: object, storage: str | None = None, **options: Any) -> assay.Campaign:
    return create("guaranteed", predictions, storage=storage, **{"within": 0.06, **options})


def label(campaign: assay.Campaign, truth: Truth, until: int = 10**9) -> list[Any]:
    """Label until so many items are judged, or it is done; return the items that were asked for."""
    return finish(campaign, truth, 20, most=until - len(campaign.answers()))


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Truth]:
    """A storage with a campaign just after its strata were cut anew twice, and the truth."""
    folder = tmp_path_factory.mktemp("cut")
    file, truth = file_of(folder)
    campaign = make(str(file), f"sqlite:///{folder}/cut.db", within=0.03, slices=["lang"])
    label(campaign, truth, until=200)
    assert campaign.desk.recut()
    assert [epoch.judged for epoch in campaign.settings.epochs] == [100, 200]
    return folder / "cut.db", truth


@pytest.fixture
def cut(made: tuple[Path, Truth], storage: str) -> Cut:
    """Return the campaign in a storage of the test's own, the truth, and the storage."""
    assay.backup_storage(storage.removeprefix("sqlite:///"), storage=f"sqlite:///{made[0]}")
    return assay.load_campaign(storage=storage), made[1], storage


def test_the_chances_of_its_cards_are_in_the_bundle(cut: Cut, tmp_path: Path) -> None:
    campaign, truth, _ = cut
    label(campaign, truth)
    campaign.bundle(tmp_path / "audit.zip")
    with zipfile.ZipFile(tmp_path / "audit.zip") as bundle:
        bundle.extractall(tmp_path / "bundle")
    assert recompute.main(tmp_path / "bundle") == 0
    with (tmp_path / "bundle" / "cards.csv").open(newline="") as file:
        chances = [float(card["probability"]) for card in csv.DictReader(file)]
    judged = campaign.settings.epochs[-1].judged
    assert chances.count(1.0) == judged >= 200
    assert sum(1 / chance for chance in chances) == pytest.approx(len(truth))
    labels = [point.labels for point in history_in(campaign.desk.current())["accuracy"]]
    assert labels == sorted(labels)
    assert labels[0] == 20
    assert f"a model of the outcome that {judged} labels taught" in campaign.report().markdown


@pytest.mark.parametrize("fresh", [True, False])
def test_the_items_after_a_cut_come_in_another_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, fresh: bool
) -> None:
    """Their permanent numbers are like everyone's, not the smallest that are left.

    The mean rank of 100 items is 0.5 with a standard deviation of 0.029: below 0.38 with 2e-5.
    """
    if not fresh:
        monkeypatch.setattr("assay.labelling.settings.epoch_seed", lambda seed, _: seed)
    file, truth = file_of(tmp_path)
    campaign = make(str(file), within=0.03)
    label(campaign, truth, until=100)
    asked = label(campaign, truth, until=200)
    assert len(campaign.settings.epochs) == 1
    every = numbers([str(url) for url in truth], campaign.settings.seed)
    place = dict(zip(truth, every.argsort().argsort() / len(truth), strict=True))
    assert (float(np.mean([place[item] for item in asked])) < 0.38) != fresh


def test_an_answer_from_before_the_cut_can_be_revised(cut: Cut) -> None:
    """Bets are settled again from the first card on, as if it had been said at once."""
    campaign, truth, storage = cut
    before = campaign.estimate()
    wrong = list(campaign.answers())[:30]
    for place, item in enumerate(wrong):
        campaign.rule(item, not truth[item], reviewer="owner", key=f"k{place}")
    after = campaign.estimate()
    assert (after.low, after.high) != (before.low, before.high)
    assert assay.load_campaign(storage=storage).estimate() == after
    assert assay.verify_campaign(storage=storage).clean
    for place, item in enumerate(wrong):
        campaign.rule(item, truth[item], reviewer="owner", key=f"again {place}")
    again = campaign.estimate()
    assert (again.value, again.low, again.high) == (before.value, before.low, before.high)
    withdrawn = [str(item) for item in wrong[:1]]
    campaign.rule(withdrawn[0], "withdrawn", reviewer="owner", key="back")
    campaign.tell({item.id: truth[item.id] for item in campaign.ask(20)})
    assert assay.verify_campaign(storage=storage).clean


def test_items_that_cannot_be_judged_stay_so_over_a_cut(tmp_path: Path, storage: str) -> None:
    file, truth = file_of(tmp_path)
    campaign = make(str(file), storage)
    while not campaign.done and len(campaign.answers()) < 240:
        batch = campaign.ask(20)
        campaign.tell(
            {each.id: truth[each.id] for each in batch[1:]} | {batch[0].id: "cannot judge"}
        )
    assert len(campaign.settings.epochs) == 2
    estimate = campaign.estimate()
    assert estimate.cannot_judge == len(campaign.answers()) / 20
    assert estimate.low < (estimate.value or 0.0) < estimate.high
    assert assay.verify_campaign(storage=storage).clean


def test_strata_are_cut_between_rounds_only(tmp_path: Path) -> None:
    file, truth = file_of(tmp_path)
    campaign = make(str(file))
    label(campaign, truth, until=100)
    campaign.desk.put_off_recut()
    batch = campaign.ask(20)
    assert not campaign.desk.recut()
    assert not campaign.settings.epochs
    campaign.tell({item.id: truth[item.id] for item in batch})
    assert campaign.desk.recut()
    assert campaign.settings.epochs[0].judged == 120


def test_a_cut_that_somebody_outruns_is_not_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, storage: str
) -> None:
    """Another process deals a round while this one reads the predictions."""
    file, truth = file_of(tmp_path)
    campaign = make(str(file), storage)
    label(campaign, truth, until=100)
    other = assay.load_campaign(storage=storage)
    other.desk.put_off_recut()

    def while_another_asks(*given: Any) -> Any:
        other.ask(20)
        return more_cards(*given)

    monkeypatch.setattr("assay.campaign.recut.more_cards", while_another_asks)
    assert not campaign.desk.recut()
    monkeypatch.undo()
    assert len(campaign.ask(20)) == 20
    assert campaign.desk.recut_is_due
    label(campaign, truth, until=140)
    assert campaign.settings.epochs[0].judged == 120
    assert assay.verify_campaign(storage=storage).clean


def test_a_page_deals_no_round_until_the_strata_are_cut(tmp_path: Path, storage: str) -> None:
    """Reviewers wait for it a moment, and then go on with what has taken the campaign's place."""
    file, truth = file_of(tmp_path)
    counter, said = Counter(make(str(file), storage)), ("no", "yes")

    async def judge() -> None:
        labels: list[assay.Label] = []

        def request(_: assay.Campaign) -> TurnRequest:
            return TurnRequest(labels, "ann", 3, 60.0)

        def finish(_: assay.Campaign, turn: Turn) -> Turn:
            return turn

        for number in range(10_000):
            turn = await counter.turn(request, finish)
            labels = [
                assay.Label(str(item.id), said[truth[item.id]], "ann", key=f"{number} {item.id}")
                for item in turn.items[:1]
            ]
            if turn.state == "done" or turn.yours >= 240:
                return
            if not turn.items:
                await asyncio.sleep(0.05)

    with ThreadPoolExecutor(1) as aside:  # a browser of tests before has a loop in this thread
        aside.submit(asyncio.run, judge()).result()
    counter.close()
    campaign = assay.load_campaign(storage=storage)
    assert len(campaign.settings.epochs) >= 1
    assert campaign.settings.epochs[0].judged >= 100
    assert assay.verify_campaign(storage=storage).clean


def test_slices_and_the_judge_are_told_from_what_is_known_and_a_sample_of_the_rest(
    cut: Cut,
) -> None:
    """Each label from before the cut stands for itself, the others for the rest of their stratum.

    With all labels for random samples of their strata, as they are without a guarantee, it would
    be another value.
    """
    campaign, truth, _ = cut
    assert campaign.slices("lang").rows[0].value is None  # nothing has been drawn since the cut
    label(campaign, truth, until=320)
    rows = campaign.to_frame(backend="polars").to_dicts()
    weights = [row["weight"] for row in rows]
    assert weights.count(1.0) >= 200
    assert sum(weights) == pytest.approx(3_000)
    told = {row.slice: row for row in campaign.slices("lang").rows}
    right = {row["id"]: row["positive"] == row["predicted"] for row in rows}
    for lang in ("de", "en", "nl"):
        its = [row for row in rows if row["lang"] == lang]
        total = sum(row["weight"] for row in its)
        value = sum(row["weight"] * right[row["id"]] for row in its) / total
        assert told[lang].value == pytest.approx(value, rel=1e-9)
        plain = sum(right[row["id"]] for row in its) / len(its)
        assert told[lang].value != pytest.approx(plain, abs=0.01)
        assert told[lang].low < value < told[lang].high
    judge = campaign.judge("judge", at=0.0)
    agreement = next(row for row in judge.rows if row.figure == "agreement")
    assert (agreement.value or 0.0) > 0.8
    assert "by lang" in campaign.report().markdown.lower()


@pytest.mark.parametrize("what", ["item", "strata", "epoch", "twice"])
def test_a_changed_epoch_is_found(cut: Cut, what: str) -> None:
    """The wealth that bets began with rests on it."""
    storage = cut[2]
    with sqlite3.connect(storage.removeprefix("sqlite:///")) as file:
        rows = file.execute("SELECT id, settings FROM campaign ORDER BY id DESC").fetchall()
        number, settings = rows[0][0], json.loads(rows[0][1])
        epoch = settings["epochs"][0]
        if what == "item":
            epoch["rounds"][0][0][0] = 1 - min(epoch["rounds"][0][0][0], 1)
        elif what == "strata":
            epoch["strata"] = settings["epochs"][1]["strata"]
        elif what == "twice":
            epoch["rounds"].append(epoch["rounds"][0])
        else:
            del settings["epochs"][0]
        text = json.dumps(settings)
        file.execute("UPDATE campaign SET settings = ? WHERE id = ?", (text, number))
    found = assay.verify_campaign(storage=storage).findings
    assert any(each.startswith(("draws from before", "decks are in")) for each in found)


def test_every_epoch_has_a_seed_of_its_own(cut: Cut) -> None:
    settings = cut[0].settings
    first, second = settings.epochs
    seeds = {epoch_seed(settings.seed, each) for each in ((), (first,), (second,), (first, second))}
    assert len(seeds) == 4
    assert settings.draw_seed == epoch_seed(settings.seed, (first, second))


def test_a_rebase_begins_again_with_strata_by_the_score(cut: Cut) -> None:
    campaign = assay.rebase_campaign(storage=cut[2])
    assert not campaign.settings.epochs
    assert campaign.settings.source.model is None
    assert campaign.settings.source.aux == ("judge",)
