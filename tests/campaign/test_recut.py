"""Strata cut anew during a campaign, by what second opinions turn out to tell."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy.special import expit

import assay
from assay.audit import verify_bundle
from assay.core.error_model import Model
from assay.core.strata import Strata
from assay.core.types import Bools, Floats
from assay.errors import PredictionsError
from assay.labelling import find_campaign, listed_names, waiting_in
from assay.predictions import fold_of, read_predictions
from tests.kinds import finish

Table = dict[str, list[object]]
Truth = dict[object, bool]


def population(size: int = 20_000, seed: int = 0) -> tuple[Table, Truth]:
    """Return predictions whose judge knows more than the score, and the truth."""
    rng = np.random.default_rng(seed)
    hidden = rng.normal(size=size)
    score = hidden + 1.5 * rng.normal(size=size)
    judge = hidden + 0.2 * rng.normal(size=size)
    truth = rng.random(size) < expit(6 * hidden)
    there = rng.random(size) < 0.95
    table: Table = {
        "url": [f"u{i}" for i in range(size)],
        "p": expit(score).tolist(),
        "judge": [float(j) if t else None for j, t in zip(judge, there, strict=True)],
        "lang": rng.choice(["de", "en", "nl"], size).tolist(),
        "noise": rng.normal(size=size).tolist(),
        "ok": (rng.random(size) < 0.5).tolist(),
    }
    return table, dict(zip(table["url"], truth.tolist(), strict=True))


def population_of_two(size: int = 4_000, seed: int = 0) -> tuple[Table, Truth]:
    """Return the scores of two classifiers, a judge that knows more than both, and the truth."""
    rng = np.random.default_rng(seed)
    hidden = rng.normal(size=size)
    table: Table = {
        "url": [f"u{i}" for i in range(size)],
        "p_a": expit(hidden + 1.5 * rng.normal(size=size)).tolist(),
        "p_b": expit(hidden + 1.2 * rng.normal(size=size)).tolist(),
        "judge": (hidden + 0.2 * rng.normal(size=size)).tolist(),
        "noise": rng.normal(size=size).tolist(),
        "lang": rng.choice(["de", "en"], size).tolist(),
    }
    truth = rng.random(size) < expit(6 * hidden)
    return table, dict(zip(table["url"], truth.tolist(), strict=True))


CLASSIFIERS: dict[str, Any] = {"a": ("p_a", 0.5), "b": ("p_b", 0.5)}
ONE: dict[str, Any] = {"score": "p", "threshold": 0.5, "metric": "accuracy"}
KINDS: dict[str, tuple[Callable[..., tuple[Table, Truth]], dict[str, Any]]] = {
    "one": (population, ONE),
    "guaranteed": (population, {**ONE, "design": assay.Design.guaranteed()}),
    "several": (population_of_two, {"classifiers": CLASSIFIERS, "metrics": ["accuracy"]}),
}


def create(kind: str, predictions: object, **options: Any) -> assay.Campaign:
    given = {"aux": ["judge"], "within": 0.04, **KINDS[kind][1], **options}
    return assay.create_campaign(predictions, id="url", **given)


def accuracy(table: Table, column: str, truth: Truth) -> float:
    said = np.array(table[column], dtype=np.float64) >= 0.5
    return float((said == np.array(list(truth.values()))).mean())


@pytest.mark.parametrize("kind", KINDS)
def test_a_good_judge_saves_labels_and_all_of_it_can_be_checked(
    kind: str, storage: str, tmp_path: Path
) -> None:
    table, truth = KINDS[kind][0](20_000)
    within = 0.04 if kind == "several" else 0.03
    without = len(finish(create(kind, table, aux=[], within=within), truth, 20))
    campaign = create(kind, table, storage=storage, aux=["judge", "lang"], within=within, seed=3)
    asked = finish(campaign, truth, 20)
    assert len(asked) == len({*asked}) == len(campaign.events()) < 0.7 * without
    assert campaign.settings.source.model is not None
    for name, estimate in campaign.estimates().items():
        right = accuracy(table, f"p_{name[-1]}" if kind == "several" else "p", truth)
        assert estimate.low <= right <= estimate.high
        assert estimate.half_width <= within
    told = campaign.estimates().to_dict()
    assert assay.load_campaign(storage=storage).estimates().to_dict() == told
    campaign.report().save(tmp_path / "report.json")
    assert assay.verify_campaign(storage=storage, report=tmp_path / "report.json").clean
    campaign.bundle(tmp_path / "audit.zip")
    assert verify_bundle(tmp_path / "audit.zip").clean
    assert "a model of the outcome that" in campaign.report().markdown


@pytest.mark.parametrize("several", [False, True])
def test_a_report_of_a_campaign_with_second_opinions_follows_from_the_log(
    storage: str, tmp_path: Path, *, several: bool
) -> None:
    """The strata by the score are kept with those that took their place.

    Of several metrics what was saved is told by ranks among all items, which the log does not have:
    it is not checked, and that is said.
    """
    table, truth = population(4_000)
    options: dict[str, Any] = {"metrics": ["accuracy", "prevalence"]} if several else {}
    options |= {"metric": ""} if several else {}
    options |= {"aux": ["judge", "ok"], "within": 0.045, "storage": storage}
    campaign, file = create("one", table, **options), tmp_path / "report.json"
    finish(campaign, truth, 20)
    assert campaign.savings() is not None
    campaign.report().save(file)
    assert campaign.report().to_dict()["saved"]
    found = assay.verify_campaign(storage=storage, report=file)
    assert found.clean
    assert ("savings by second opinions are not checked" in str(found)) == several
    file.write_text(file.read_text().replace("sensitivity", "specificity"))
    assert not assay.verify_campaign(storage=storage, report=file).clean


def least(strata: Strata, by: Floats, yes: Bools, right: Bools) -> float:
    """Return the best allocation's variance, with the rates of all items."""
    stratum, sizes = strata.assign(by, yes), strata.sizes.astype(np.float64)
    outcome = right if strata.straddles else right == yes
    rate = np.bincount(stratum, outcome, minlength=sizes.size) / sizes
    return float((sizes * np.sqrt(rate * (1 - rate))).sum() ** 2)


@pytest.mark.parametrize("quarter", [None, 1e-9])
def test_what_second_opinions_save_is_told(
    quarter: float | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On average it is the truth: both strata with the rates of all items.

    Over ten seeds the ratio had a mean of 1.14 and a standard deviation of 0.2, and of 0.64 with
    rates that lack the quarter of an item: strata that few labels know look cheap then.
    """
    if quarter is not None:
        monkeypatch.setattr("assay.core.forecast._QUARTER", quarter)
    table, truth = population(4_000)
    ids = [str(url) for url in table["url"]]
    score = np.array(table["p"], dtype=np.float64)
    yes = score >= 0.5
    right = np.array(list(truth.values())) == yes
    plain = read_predictions(table, id="url", score="p", threshold=0.5, aux=["judge"])
    told, true = [], []
    for seed in range(4):
        campaign = create("one", table, seed=seed, within=0.045)
        finish(campaign, truth, 20)
        savings, model = campaign.savings(), campaign.settings.source.model
        assert savings is not None
        assert model is not None
        placed = plain.with_model(model).find(ids, variable="score", scale="margin")
        odds = np.array([each.value for each in placed if each is not None])
        with campaign.desk.store.read() as session:
            first = find_campaign(session, session.names()[0])[1].strata
        told.append(savings.share)
        true.append(
            least(campaign.settings.strata, odds, yes, right) / least(first, score, yes, right)
        )
        assert savings.low < savings.share < savings.high
        assert savings.sentence in campaign.report().markdown
        assert savings.sentence[1:-1] in savings.words
    assert (0.75 < sum(told) / sum(true) < 1.4) == (quarter is None)


@pytest.mark.parametrize("kind", ["one", "several"])
def test_a_budget_is_what_people_are_asked_in_all(kind: str) -> None:
    table, truth = KINDS[kind][0](4_000)
    campaign = create(kind, table, within=None, budget=240)
    assert len(finish(campaign, truth, 20)) == 240
    assert campaign.settings.source.model is not None
    assert len(campaign.answers()) + len(waiting_in(campaign.desk.current())) == 240
    assert campaign.estimate().stopped == "the budget is used up"
    assert campaign.savings() is not None


OF_A: dict[str, Any] = {"metrics": ["precision:a", "recall:a"], "within": 0.09}
SLICED: dict[str, Any] = {**OF_A, "metrics": [*OF_A["metrics"], "precision:b[lang=de]"]}


@pytest.mark.parametrize(
    ("kind", "more"),
    [
        ("one", {"within": 0.06}),
        ("guaranteed", {"within": 0.06}),
        ("several", OF_A),
        ("several", SLICED),
        ("several", {**OF_A, "classifiers": {"a": CLASSIFIERS["a"]}}),
    ],
)
def test_strata_are_cut_anew_the_same_in_another_process_and_where_an_engine_reads(
    kind: str, more: dict[str, Any], tmp_path: Path
) -> None:
    """The model, the strata, every item and every number, from the first label to the last."""
    table, truth = KINDS[kind][0](2_000)
    file = tmp_path / "predictions.parquet"
    pq.write_table(pa.table(table), file, row_group_size=700)
    told: list[list[object]] = []
    for scan in (assay.Scan(str(file)), assay.Scan(str(file), engine="duckdb")):
        storage = f"sqlite:///{tmp_path}/{len(told)}.db"
        campaign = create(kind, scan, aux=["judge", "lang"], storage=storage, **more)
        asked: list[object] = []
        while not campaign.done:
            campaign = assay.load_campaign(storage=storage)
            asked += finish(campaign, truth, 50, most=50)
        settings = campaign.settings
        assert settings.source.model is not None
        assert assay.verify_campaign(storage=storage).clean
        fingerprints = [part.fingerprint for part in settings.source.parts]
        told.append([settings.source.model, settings.strata, settings.epochs, fingerprints])
        told[-1] += [asked, repr(campaign.estimates())]
    assert told[0] == told[1]


def started(kind: str, folder: Path, storage: str, size: int = 3_000) -> Truth:
    """Make a campaign with a judge in a file, and return the truth."""
    table, truth = KINDS[kind][0](size)
    file = folder / "predictions.parquet"
    pq.write_table(pa.table(table), file)
    create(kind, str(file), storage=storage)
    return truth


@pytest.mark.parametrize("kind", ["one", "several"])
def test_two_who_label_at_once_go_on_when_one_has_cut_the_strata_anew(
    kind: str, tmp_path: Path, storage: str
) -> None:
    truth = started(kind, tmp_path, storage)
    both = [assay.load_campaign(storage=storage) for _ in range(2)]
    asked = 0
    while not both[0].done:
        batches = [
            campaign.ask(20, reviewer=name) for campaign, name in zip(both, "ab", strict=True)
        ]
        for campaign, batch, name in zip(both, batches, "ab", strict=True):
            campaign.tell({item.id: truth[item.id] for item in batch}, reviewer=name)
            asked += len(batch)
        assert all(campaign.desk.is_current for campaign in both)
    assert both[1].done
    assert both[0].settings == both[1].settings
    assert both[0].settings.source.model is not None
    assert both[0].estimates().to_dict() == both[1].estimates().to_dict()
    assert len(both[0].events()) == asked
    assert assay.verify_campaign(storage=storage).clean
    with both[0].desk.store.read() as session:
        assert len(session.names()) > 1
        assert listed_names(session) == ["campaign"]


def test_who_has_an_item_before_the_strata_are_cut_anew_may_answer_after_it(
    tmp_path: Path, storage: str
) -> None:
    truth = started("one", tmp_path, storage)
    campaign, other = (assay.load_campaign(storage=storage) for _ in range(2))
    finish(campaign, truth, most=100)
    campaign.desk.put_off_recut()  # as where a page's server does it, meanwhile
    batch = campaign.ask(50)
    assert campaign.settings.source.model is None
    assert other.desk.recut()
    campaign.tell({item.id: truth[item.id] for item in batch[:20]})
    assert campaign.settings == other.settings
    file = assay.Label(str(batch[20].id), "yes", "ann")
    assert other.desk.record([file]).new == 1
    with pytest.raises(assay.LabelError, match="was not drawn"):
        other.tell({next(url for url in truth if url not in {i.id for i in batch}): True})
    assert (
        len(other.events())
        == len(campaign.answers()) + len(waiting_in(campaign.desk.current()))
        == 121
    )


def test_the_first_labels_teach_whenever_somebody_looks(tmp_path: Path, storage: str) -> None:
    truth = started("one", tmp_path, storage)
    campaign = assay.load_campaign(storage=storage)
    models: list[Model | None] = []
    for batch in (50, 50, 50, 40):
        finish(campaign, truth, batch, most=batch)
        campaign.desk.put_off_recut()
        backup = tmp_path / f"copy {len(models)}.db"
        assay.backup_storage(backup, storage=storage)
        copy = assay.load_campaign(storage=f"sqlite:///{backup}")
        assert copy.desk.recut() is (len(campaign.answers()) >= 100)
        models.append(copy.settings.source.model)
    assert models[0] is None
    assert models[1] is not None
    assert models[1].labels == 100
    assert models[1] == models[2] == models[3]


def test_whoever_makes_a_column_cannot_know_which_items_come_first() -> None:
    """A judge that was taught by the first items is right about no more of the next than others.

    100 of 3,000 items: two unrelated draws have 20 or more in common with a chance of 1e-9.
    """
    table, truth = population(3_000)
    told = {name: table[name] for name in ("url", "p")}
    settings: dict[str, Any] = {"within": None, "budget": 500, "seed": 7}
    first = {item.id for item in create("one", told, aux=[], **settings).ask(100)}
    for _ in range(2):  # once more, by one who tries again with what came of it
        taught = [float(truth[url]) if url in first else 0.5 for url in told["url"]]
        drawn = {item.id for item in create("one", {**told, "judge": taught}, **settings).ask(100)}
        assert len(first & drawn) < 20
        first = drawn


@pytest.mark.parametrize("kind", ["one", "several"])
def test_predictions_that_have_changed_do_not_cut_the_strata(
    kind: str, tmp_path: Path, storage: str
) -> None:
    truth = started(kind, tmp_path, storage)
    finish(assay.load_campaign(storage=storage), truth, most=100)
    file = tmp_path / "predictions.parquet"
    table = pq.read_table(file)
    judged = pa.array([0.5, *table["judge"].to_pylist()[1:]])
    changed = table.set_column(table.column_names.index("judge"), "judge", judged)
    for other, why in (
        (table.slice(0, 2_900), "differs from the predictions of campaign"),
        (changed, "columns judge of .* have changed"),
    ):
        pq.write_table(other, file)
        campaign = assay.load_campaign(storage=storage)
        with pytest.warns(assay.AssayWarning, match=f"not cut anew: .*{why}"):
            batch = campaign.ask(20)
        assert len(batch) == 20
        assert campaign.settings.source.model is None
        campaign.tell({item.id: truth[item.id] for item in batch})
    pq.write_table(table, file)
    assert assay.load_campaign(storage=storage).desk.recut()
    with pytest.raises(PredictionsError, match="differs from the predictions of campaign"):
        assay.load_campaign(storage=storage, predictions=changed)


def test_reviewers_do_not_see_second_opinions() -> None:
    table, _ = population(100)
    campaign = create("one", table, show=["judge", "lang"])
    assert "judge" in campaign.settings.source.judgements


def test_folds_are_of_equal_size() -> None:
    assert abs(np.mean([fold_of(f"u{i}", 3) for i in range(10_000)]) - 0.5) < 0.025
