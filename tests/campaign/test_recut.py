"""Strata cut anew during a campaign, by what second opinions turn out to tell."""

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
from assay.errors import DesignError
from assay.labelling import find_campaign, listed_names
from assay.predictions import Opinionated, fold_of, read_predictions

Table = dict[str, list[object]]


def population(size: int = 20_000, seed: int = 0) -> tuple[Table, dict[object, bool]]:
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


def run(table: object, truth: dict[object, bool], **options: Any) -> tuple[assay.Campaign, int]:
    """Label until a campaign is done; return it, and how many labels people gave."""
    settings = {"metric": "accuracy", "within": 0.03, "threshold": 0.5, **options}
    campaign = assay.create_campaign(table, id="url", score="p", **settings)
    asked = 0
    while not campaign.done:
        batch = campaign.ask(20)
        asked += len(batch)
        campaign.tell({item.id: truth[item.id] for item in batch})
    return campaign, asked


def test_a_good_judge_saves_labels_and_the_answer_is_right(tmp_path: Path) -> None:
    table, truth = population()
    said = np.array(table["p"], dtype=np.float64) >= 0.5
    right = np.array(list(truth.values())) == said
    _, without = run(table, truth)
    campaign, asked = run(table, truth, aux=["judge", "lang", "ok"])
    assert campaign.settings.source.model is not None
    assert asked < 0.7 * without
    estimate = campaign.estimate()
    assert estimate.low <= right.mean() <= estimate.high
    assert estimate.half_width <= 0.03
    assert len(campaign.events()) == asked
    assert not campaign.events()[0].comment
    campaign.bundle(tmp_path / "audit.zip")
    assert verify_bundle(tmp_path / "audit.zip").clean
    assert "a model of the outcome that" in campaign.report().markdown


@pytest.mark.parametrize("several", [False, True])
def test_a_report_of_a_campaign_with_second_opinions_follows_from_the_log(
    tmp_path: Path, *, several: bool
) -> None:
    """The strata by the score are kept with those that took their place.

    Of several metrics what was saved is told by ranks among all items, which the log does not have:
    it is not checked, and that is said.
    """
    table, truth = population(4_000)
    storage, file = f"sqlite:///{tmp_path}/labels.db", tmp_path / "report.json"
    options = {"metrics": ["accuracy", "prevalence"], "metric": ""} if several else {}
    campaign, _ = run(table, truth, aux=["judge", "ok"], within=0.045, storage=storage, **options)
    assert campaign.savings() is not None
    campaign.report().save(file)
    assert campaign.report().to_dict()["saved"]
    found = assay.verify_campaign(storage=storage, report=file)
    assert found.clean
    assert ("what second opinions saved is not checked" in str(found)) == several
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
        monkeypatch.setattr("assay.core.savings._QUARTER", quarter)
    table, truth = population(4_000)
    ids = [str(url) for url in table["url"]]
    score = np.array(table["p"], dtype=np.float64)
    yes = score >= 0.5
    right = np.array(list(truth.values())) == yes
    plain = read_predictions(table, id="url", score="p", threshold=0.5, aux=["judge"])
    assert isinstance(plain, Opinionated)
    told, true = [], []
    for seed in range(4):
        campaign, _ = run(table, truth, aux=["judge"], seed=seed, within=0.045)
        savings, model = campaign.savings(), campaign.settings.source.model
        assert savings is not None
        assert model is not None
        placed = plain.with_model(model).find(ids, variable="score", scale="margin")
        odds = np.array([each.value for each in placed if each is not None])
        with campaign.store.read() as session:
            first = find_campaign(session, session.names()[0])[1].strata
        told.append(savings.share)
        true.append(
            least(campaign.settings.strata, odds, yes, right) / least(first, score, yes, right)
        )
        assert savings.low < savings.share < savings.high
        assert savings.sentence in campaign.report().markdown
        assert savings.sentence[1:-1] in savings.words
    assert (0.75 < sum(told) / sum(true) < 1.4) == (quarter is None)


def test_noise_changes_nothing() -> None:
    table, truth = population()
    campaign, asked = run(table, truth, aux=["noise"])
    assert campaign.settings.source.model is None
    assert asked == run(table, truth, seed=campaign.settings.seed)[1]


def test_a_campaign_goes_on_in_another_process(tmp_path: Path) -> None:
    """A file on disk, DuckDB and memory, and a new `load_campaign` for each batch: one draw."""
    table, truth = population(2_000)
    file = tmp_path / "predictions.csv"
    rows = zip(*table.values(), strict=True)
    lines = [",".join("" if value is None else str(value) for value in row) for row in rows]
    file.write_text("\n".join([",".join(table), *lines]))
    drawn = []
    for engine in ("memory", "duckdb"):
        storage = f"sqlite:///{tmp_path}/{engine}.db"
        scan = assay.Scan(str(file), engine=engine)
        assay.create_campaign(
            scan, id="url", score="p", threshold=0.5, aux=["judge", "lang", "ok"], storage=storage,
            metric="accuracy", within=0.06,
        )  # fmt: skip
        asked: list[object] = []
        while not (campaign := assay.load_campaign(storage=storage)).done:
            batch = campaign.ask(50)
            campaign.tell({item.id: truth[item.id] for item in batch})
            asked += [item.id for item in batch]
        assert campaign.settings.source.model is not None
        assert assay.verify_campaign(storage=storage).clean
        drawn.append(asked)
    assert drawn[0] == drawn[1]


def started(tmp_path: Path, **options: Any) -> tuple[str, dict[object, bool]]:
    """Return the storage of a campaign with a judge in a file, and the truth."""
    table, truth = population(3_000)
    file = tmp_path / "predictions.parquet"
    pq.write_table(pa.table({name: table[name] for name in ("url", "p", "judge")}), file)
    storage = f"sqlite:///{tmp_path}/two.db"
    settings = {"metric": "accuracy", "within": 0.04, **options}
    assay.create_campaign(
        str(file), id="url", score="p", threshold=0.5, aux=["judge"], storage=storage, **settings
    )
    return storage, truth


def test_two_who_label_at_once_go_on_when_one_has_cut_the_strata_anew(tmp_path: Path) -> None:
    storage, truth = started(tmp_path)
    both = [assay.load_campaign(storage=storage) for _ in range(2)]
    asked = 0
    while not both[0].done:
        batches = [
            campaign.ask(20, reviewer=name) for campaign, name in zip(both, "ab", strict=True)
        ]
        for campaign, batch, name in zip(both, batches, "ab", strict=True):
            campaign.tell({item.id: truth[item.id] for item in batch}, reviewer=name)
            asked += len(batch)
        assert all(campaign.is_current for campaign in both)
    assert both[1].done
    assert [campaign.settings.source.model is not None for campaign in both] == [True, True]
    assert both[0].estimate() == both[1].estimate()
    assert len(both[0].events()) == asked
    assert assay.verify_campaign(storage=storage).clean
    with both[0].store.read() as session:
        assert len(session.names()) > 1
        assert listed_names(session) == ["campaign"]


def test_who_has_an_item_before_the_strata_are_cut_anew_may_answer_after_it(tmp_path: Path) -> None:
    storage, truth = started(tmp_path)
    campaign, other = (assay.load_campaign(storage=storage) for _ in range(2))
    while len(campaign.answers()) < 100:
        campaign.tell({item.id: truth[item.id] for item in campaign.ask(50)})
    campaign.put_off_recut()  # as where a page's server does it, meanwhile
    batch = campaign.ask(50)
    assert campaign.settings.source.model is None
    assert other.recut()
    campaign.tell({item.id: truth[item.id] for item in batch[:20]})
    assert campaign.settings == other.settings
    file = assay.Label(str(batch[20].id), "yes", "ann")
    assert other.record([file]).new == 1
    with pytest.raises(assay.LabelError, match="not asked for"):
        other.tell({next(url for url in truth if url not in {i.id for i in batch}): True})
    assert len(other.events()) == len(campaign.answers()) + len(campaign.waiting_answers()) == 121


def test_the_first_labels_teach_whenever_somebody_looks(tmp_path: Path) -> None:
    storage, truth = started(tmp_path)
    campaign = assay.load_campaign(storage=storage)
    models: list[Model | None] = []
    for _ in range(4):  # 50, 100, 150 and 190 labels
        batch = campaign.ask(50 if len(campaign.answers()) < 150 else 40)
        campaign.tell({item.id: truth[item.id] for item in batch})
        campaign.put_off_recut()
        backup = tmp_path / f"copy {len(models)}.db"
        assay.backup_storage(backup, storage=storage)
        copy = assay.load_campaign(storage=f"sqlite:///{backup}")
        assert copy.recut() is (len(campaign.answers()) >= 100)
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
    settings: dict[str, Any] = {
        "id": "url",
        "score": "p",
        "threshold": 0.5,
        "metric": "accuracy",
        "budget": 500,
    }
    first = {item.id for item in assay.create_campaign(told, **settings, seed=7).ask(100)}
    for _ in range(2):  # once more, by one who tries again with what came of it
        taught = [float(truth[url]) if url in first else 0.5 for url in told["url"]]
        judged = {**told, "judge": taught}
        next_ = assay.create_campaign(judged, **settings, seed=7, aux=["judge"])
        drawn = {item.id for item in next_.ask(100)}
        assert len(first & drawn) < 20
        first = drawn


def test_predictions_that_have_changed_do_not_cut_the_strata(tmp_path: Path) -> None:
    storage, truth = started(tmp_path)
    campaign = assay.load_campaign(storage=storage)
    while len(campaign.answers()) < 100:
        campaign.tell({item.id: truth[item.id] for item in campaign.ask(50)})
    file = tmp_path / "predictions.parquet"
    table = pq.read_table(file)
    judged = pa.array([0.5, *table["judge"].to_pylist()[1:]])
    for other, why in (
        (table.slice(0, 2_900), "is not what campaign"),
        (table.set_column(2, "judge", judged), "columns judge of .* have changed"),
    ):
        pq.write_table(other, file)
        campaign = assay.load_campaign(storage=storage)
        with pytest.warns(assay.AssayWarning, match=f"not cut anew: .*{why}"):
            batch = campaign.ask(20)
        assert len(batch) == 20
        assert campaign.settings.source.model is None
        campaign.tell({item.id: truth[item.id] for item in batch})


def test_a_budget_is_what_people_are_asked_in_all() -> None:
    table, truth = population()
    campaign, asked = run(table, truth, aux=["judge"], within=None, budget=300)
    assert campaign.settings.source.model is not None
    assert asked == 300
    assert len(campaign.answers()) + len(campaign.waiting_answers()) == 300
    assert campaign.estimate().stopped == "the budget is spent"


def test_reviewers_do_not_see_second_opinions() -> None:
    table, _ = population(100)
    campaign = assay.create_campaign(
        table, id="url", score="p", threshold=0.5, aux=["judge"], show=["judge", "lang"], budget=5
    )
    assert "judge" in campaign.settings.source.judgements


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"sample_weight": "noise"}, "have weights"),
        ({"design": assay.Design.kumar_raj()}, "cuts by confidence"),
    ],
)
def test_where_a_model_cannot_be_used_it_says_why(options: dict[str, Any], why: str) -> None:
    table, _ = population(100)
    table["noise"] = [1.0] * 100
    with pytest.raises(DesignError, match=why):
        assay.create_campaign(
            table,
            id="url",
            score="p",
            threshold=0.5,
            aux=["judge"],
            budget=9,
            **options,
        )


def test_a_column_that_is_not_there_is_told() -> None:
    table, _ = population(10)
    with pytest.raises(assay.PredictionsError, match="column 'juge' not found"):
        assay.create_campaign(table, id="url", score="p", threshold=0.5, aux=["juge"], budget=3)


def test_folds_are_of_equal_size() -> None:
    assert abs(np.mean([fold_of(f"u{i}", 3) for i in range(10_000)]) - 0.5) < 0.025


def test_opinions_are_by_id() -> None:
    table, _ = population(50)
    found = read_predictions(table, id="url", score="p", threshold=0.5, aux=["judge", "lang"])
    assert isinstance(found, Opinionated)
    told = found.opinions(["u7", "u3"])
    assert told["lang"] == [table["lang"][7], table["lang"][3]]
    assert list(told["p"]) == [table["p"][7], table["p"][3]]
