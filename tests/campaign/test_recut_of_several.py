"""Second opinions on several classifiers, several metrics and comparisons."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy.special import expit

import assay
from assay.audit import verify_bundle
from assay.core.error_model import RANK, Input, Model
from assay.core.types import Bools, Floats
from assay.errors import DesignError, PredictionsError
from assay.labelling import find_campaign
from assay.predictions import Opinionated, read_compared, read_predictions
from assay.predictions.scan import Engine

Table = dict[str, list[object]]
CLASSIFIERS: dict[str, Any] = {"a": ("p_a", 0.5), "b": ("p_b", 0.5)}


def population(size: int = 4_000, seed: int = 0) -> tuple[Table, dict[object, bool]]:
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


def label(campaign: assay.Campaign, truth: dict[object, bool]) -> int:
    """Label until a campaign is done; return how many labels people gave."""
    asked = 0
    while not campaign.done:
        batch = campaign.ask(20)
        asked += len(batch)
        campaign.tell({item.id: truth[item.id] for item in batch})
    return asked


def create(table: object, **options: Any) -> assay.Campaign:
    settings = {"classifiers": CLASSIFIERS, "metrics": ["accuracy"], "within": 0.04, **options}
    return assay.create_campaign(table, id="url", **settings)


def accuracy(table: Table, column: str, truth: dict[object, bool]) -> float:
    said = np.array(table[column], dtype=np.float64) >= 0.5
    return float((said == np.array(list(truth.values()))).mean())


def test_a_judge_saves_labels_of_two_classifiers(tmp_path: Path) -> None:
    table, truth = population(20_000)
    without = label(create(table), truth)
    campaign = create(table, aux=["judge", "lang"])
    asked = label(campaign, truth)
    model, strata = campaign.settings.source.model, campaign.settings.strata
    assert model is not None
    assert model.columns == ("a's score", "b's score", "judge", "lang")
    assert asked < 0.7 * without
    for name, estimate in campaign.estimates().items():
        exact = accuracy(table, f"p_{name[-1]}", truth)
        assert estimate.low <= exact <= estimate.high
        assert estimate.half_width <= 0.04
    # The cells are what they were; within them the cut is by the model.
    assert {code for heap in strata.heaps for code in heap.codes} == {0, 1, 2, 3}
    assert all(len(heap.codes) == 1 for heap in strata.heaps)
    assert any("log odds" in row.stratum for row in campaign.strata())
    campaign.bundle(tmp_path / "audit.zip")
    assert verify_bundle(tmp_path / "audit.zip").clean
    written = campaign.report().markdown
    assert "a model of the outcome that" in written
    savings = campaign.savings()
    assert savings is not None
    assert savings.low < savings.share < savings.high < 1
    assert savings.sentence in written


def test_noise_changes_nothing() -> None:
    """Held-out labels let noise pass in some 3% of looks; not here."""
    table, truth = population(seed=1)
    campaign = create(table, aux=["noise"])
    asked = label(campaign, truth)
    assert campaign.settings.source.model is None
    assert asked == label(create(table, seed=campaign.settings.seed), truth)


def test_a_campaign_goes_on_in_another_process(tmp_path: Path) -> None:
    """A table in memory and a file, with a new `load_campaign` for each batch: one draw."""
    table, truth = population()
    file = tmp_path / "predictions.parquet"
    pq.write_table(pa.table(table), file)
    storage = f"sqlite:///{tmp_path}/labels.db"
    there = create(table, aux=["judge"])
    create(str(file), aux=["judge"], storage=storage)
    asked: list[list[object]] = []
    while not (campaign := assay.load_campaign(storage=storage)).done:
        batches = [each.ask(40) for each in (there, campaign)]
        for each, batch in zip((there, campaign), batches, strict=True):
            each.tell({item.id: truth[item.id] for item in batch})
        asked.append([item.id for item in batches[0]])
        assert asked[-1] == [item.id for item in batches[1]]
    assert there.done
    assert campaign.settings.source.model is not None
    assert campaign.settings.source.model == there.settings.source.model
    assert campaign.estimates().to_dict() == there.estimates().to_dict()
    told = [each.savings() for each in (campaign, there)]
    assert told[0] is not None
    assert told[1] is not None
    assert told[0].share == pytest.approx(told[1].share)
    assert assay.verify_campaign(storage=storage).clean


def test_two_who_label_at_once_follow_each_other(tmp_path: Path) -> None:
    table, truth = population()
    file = tmp_path / "predictions.parquet"
    pq.write_table(pa.table(table), file)
    storage = f"sqlite:///{tmp_path}/two.db"
    create(str(file), aux=["judge"], storage=storage)
    both = [assay.load_campaign(storage=storage) for _ in range(2)]
    while not both[0].done:
        for campaign, name in zip(both, "ab", strict=True):
            batch = campaign.ask(20, reviewer=name)
            campaign.tell({item.id: truth[item.id] for item in batch}, reviewer=name)
    assert both[1].done
    assert both[0].settings == both[1].settings
    assert both[0].settings.source.model is not None
    assert both[0].estimates().to_dict() == both[1].estimates().to_dict()


def test_columns_that_have_changed_do_not_cut_the_strata_nor_deal(tmp_path: Path) -> None:
    table, truth = population()
    file = tmp_path / "predictions.parquet"
    pq.write_table(pa.table(table), file)
    storage = f"sqlite:///{tmp_path}/labels.db"
    campaign = create(str(file), aux=["judge"], storage=storage)
    while len(campaign.answers()) < 100:
        campaign.tell({item.id: truth[item.id] for item in campaign.ask(50)})
    changed = {**table, "judge": [0.5, *table["judge"][1:]]}
    pq.write_table(pa.table(changed), file)
    campaign = assay.load_campaign(storage=storage)
    with pytest.warns(assay.AssayWarning, match="columns judge of .* have changed"):
        batch = campaign.ask(20)
    campaign.tell({item.id: truth[item.id] for item in batch})
    pq.write_table(pa.table(table), file)
    campaign = assay.load_campaign(storage=storage)
    assert campaign.recut()
    with pytest.raises(PredictionsError, match="is not what campaign"):
        assay.load_campaign(storage=storage, predictions=changed)


def test_a_budget_is_what_people_are_asked_in_all() -> None:
    table, truth = population()
    campaign = create(table, aux=["judge"], within=None, budget=240)
    assert label(campaign, truth) == 240
    assert campaign.settings.source.model is not None
    assert len(campaign.answers()) + len(campaign.waiting_answers()) == 240
    assert campaign.savings() is not None


@pytest.mark.parametrize(
    "targets",
    [
        {"metrics": ["precision", "recall"], "score": "p_a", "threshold": 0.5},
        {"metrics": ["accuracy[lang=de]", "accuracy"], "score": "p_a", "threshold": 0.5},
        {"metrics": ["accuracy:b - accuracy:a"], "classifiers": CLASSIFIERS},
    ],
)
def test_metrics_of_one_classifier_of_slices_and_differences(targets: dict[str, Any]) -> None:
    table, truth = population(8_000)
    options = {"classifiers": None, "within": 0.045, **targets}
    without = label(create(table, **options), truth)
    campaign = create(table, aux=["judge"], **options)
    assert label(campaign, truth) < without
    assert campaign.settings.source.model is not None
    assert campaign.savings() is not None


def weeks(table: Table) -> tuple[Table, Table]:
    """Return two sets of predictions: some items are in one of them alone."""
    late = {name: values[500:] for name, values in table.items()}
    early = {name: values[:3_500] for name, values in table.items()}
    return (
        {**early, "p": early["p_a"], "judge": [*early["judge"][:-9], *[None] * 9]},
        {**late, "p": late["p_b"]},
    )


def test_a_comparison_uses_it_too(tmp_path: Path) -> None:
    table, truth = population()
    old, new = weeks(table)
    files = [str(tmp_path / name) for name in ("old.parquet", "new.parquet")]
    for each, file in zip((old, new), files, strict=True):
        pq.write_table(pa.table(each), file)
    options: dict[str, Any] = {
        "id": "url", "score": "p", "threshold": 0.5, "metric": "accuracy", "within": 0.05,
        "level_within": 0.05,
    }  # fmt: skip
    without = label(assay.compare_campaign(*files, **options), truth)
    storage = f"sqlite:///{tmp_path}/labels.db"
    in_place = [assay.Scan(file, engine="duckdb") for file in files]
    there = assay.compare_campaign(*in_place, **options, aux=["judge"])
    assay.compare_campaign(*files, **options, aux=["judge"], storage=storage)
    asked = 0
    while not (campaign := assay.load_campaign("comparison", storage=storage)).done:
        batch = campaign.ask(20)
        assert [item.id for item in there.ask(20)] == [item.id for item in batch]
        asked += len(batch)
        for one in (campaign, there):
            one.tell({item.id: truth[item.id] for item in batch})
    assert there.done
    assert there.settings.strata == campaign.settings.strata
    assert there.settings.source.model == campaign.settings.source.model
    assert there.settings.source.fingerprint == campaign.settings.source.fingerprint
    assert there.estimates().to_dict() == campaign.estimates().to_dict()
    model = campaign.settings.source.model
    assert model is not None
    assert {"judge", "old's score", "new's score"} == set(model.columns)
    assert asked < 0.8 * without
    estimate = campaign.estimate("accuracy:new")
    right = accuracy(new, "p", {url: truth[url] for url in new["url"]})
    assert estimate.low <= right <= estimate.high
    assert campaign.savings() is not None
    assert assay.verify_campaign("comparison", storage=storage).clean
    with pytest.raises(DesignError, match="beside labels of campaign 'comparison'"):
        assay.compare_campaign(
            *files, **options, aux=["judge"], storage=storage, labels_from="comparison", name="next"
        )


def test_of_an_item_in_both_the_later_opinion_counts() -> None:
    table, _ = population()
    old, new = weeks(table)
    old["judge"][600], new["judge"][100] = 7.0, 8.0  # the same item
    new["judge"][101] = None
    columns = {"score": "p", "threshold": 0.5}
    both = read_compared(
        [old, new], classifiers={"old": columns, "new": columns}, id="url", aux=["judge"]
    )
    said = both.opinions(["u600", "u601", "u3", "u3999"])
    assert list(said["judge"]) == [8.0, *(table["judge"][row] for row in (601, 3, 3_999))]
    np.testing.assert_array_equal(
        said["old's score"], [table["p_a"][600], table["p_a"][601], table["p_a"][3], np.nan]
    )
    assert np.isnan(np.asarray(said["new's score"], dtype=np.float64)[2])


def mean_rank(columns: list[Floats]) -> Floats:
    """Return the mean over columns of the share of values that are smaller, ties by half."""
    ranks = []
    for column in columns:
        smaller = np.searchsorted(np.sort(column), column)
        same = np.searchsorted(np.sort(column), column, side="right") - smaller
        ranks.append((smaller + same / 2) / column.size)
    return np.asarray(np.mean(ranks, axis=0))


def test_the_rank_that_strata_were_cut_by_is_kept_beside_the_model() -> None:
    table, truth = population()
    found = read_predictions(table, id="url", classifiers=CLASSIFIERS, aux=["judge"])
    assert isinstance(found, Opinionated)
    ids = [str(url) for url in table["url"]]
    scores = [np.array(table[name], dtype=np.float64) for name in ("p_a", "p_b")]
    expected = mean_rank(scores)
    np.testing.assert_allclose(np.asarray(found.opinions(ids)[RANK]), expected, atol=2e-3)
    campaign = create(table, aux=["judge"])
    label(campaign, truth)
    model = campaign.settings.source.model
    assert model is not None
    placed = found.with_model(model)
    assert isinstance(placed, Opinionated)
    np.testing.assert_allclose(np.asarray(placed.opinions(ids)[RANK]), expected, atol=2e-3)
    again = read_predictions(
        table, id="url", classifiers=CLASSIFIERS, aux=["judge"], model=model.to_dict()
    )
    assert again.fingerprint() == placed.fingerprint() != found.fingerprint()


def least_labels(campaign: assay.Campaign, ids: list[str], truth: Bools) -> tuple[float, float]:
    """Return the fewest labels of the strata now and of those before, by the rates of all items."""
    found = campaign._labelling.predictions()
    assert isinstance(found, Opinionated)
    cards = [each for each in found.find(ids, variable="rank", scale="margin") if each is not None]
    codes = np.array([each.card.predicted for each in cards])
    with campaign.store.read() as session:
        first = find_campaign(session, session.names()[0])[1]
    told = []
    for settings, by in (
        (campaign.settings, np.array([each.value for each in cards])),
        (first, np.asarray(found.opinions(ids)[RANK])),
    ):
        stratum, sizes = settings.strata.assign(by, codes), settings.strata.sizes
        rate = np.bincount(stratum, truth, minlength=sizes.size) / sizes
        told.append(settings.evaluation().fewest(rate, np.sqrt(rate * (1 - rate))))
    return told[0], told[1]


def test_what_second_opinions_save_is_told() -> None:
    """On average it is the truth: both strata with the rates of all items."""
    table, truth = population()
    ids, positive = [str(url) for url in table["url"]], np.array(list(truth.values()))
    told, true = [], []
    for seed in range(4):
        campaign = create(table, aux=["judge"], seed=seed)
        label(campaign, truth)
        savings = campaign.savings()
        assert savings is not None
        now, before = least_labels(campaign, ids, positive)
        told.append(savings.share)
        true.append(now / before)
    assert 0.7 < sum(told) / sum(true) < 1.4


def test_a_judge_is_asked_about_a_part_of_the_items_of_several() -> None:
    table, truth = population()
    table["judge"] = [value if row % 2 else None for row, value in enumerate(table["judge"])]
    campaign = create(table, aux=["judge"])
    first = campaign.unjudged(30)
    assert all(int(str(item.id)[1:]) % 2 == 0 for item in first)
    label(campaign, truth)
    assert campaign.unjudged(30) == first


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"sample_weight": "noise"}, "have weights"),
        ({"design": assay.Design.guaranteed()}, "several targets cannot be served"),
        ({"design": assay.Design.kumar_raj()}, "cuts by confidence"),
    ],
)
def test_where_a_model_cannot_be_used_it_says_why(options: dict[str, Any], why: str) -> None:
    table, _ = population(100)
    table["noise"] = [1.0] * 100
    with pytest.raises(DesignError, match=why):
        create(table, aux=["judge"], **options)


@pytest.mark.parametrize(
    ("names", "of_slices", "engine"),
    [
        (("a", "b"), (), "duckdb"),
        (("a", "b"), ("precision:b[lang=de]",), "duckdb"),
        (("a",), (), "duckdb"),
        (("a", "b"), ("precision:b[lang=de]",), "spark"),
    ],
)
def test_strata_are_cut_anew_the_same_where_an_engine_reads(
    names: tuple[str, ...],
    of_slices: tuple[str, ...],
    engine: Engine,
    tmp_path: Path,
    request: pytest.FixtureRequest,
) -> None:
    """The model, the strata, every item and every number, from the first label to the last."""
    table, truth = population(1_500)
    file = tmp_path / "predictions.parquet"
    pq.write_table(pa.table(table), file, row_group_size=700)
    spark = request.getfixturevalue("spark") if engine == "spark" else None
    options: dict[str, Any] = {"classifiers": {name: CLASSIFIERS[name] for name in names}}
    options |= {"metrics": ["precision:a", "recall:a", *of_slices], "within": 0.09}
    told: list[list[object]] = []
    for scan in (assay.Scan(str(file)), assay.Scan(str(file), engine=engine, spark=spark)):
        campaign = create(scan, aux=["judge", "lang"], **options)
        asked: list[object] = []
        while not campaign.done:
            batch = campaign.ask(100)
            asked += [item.id for item in batch]
            campaign.tell({item.id: truth[item.id] for item in batch})
        settings = campaign.settings
        assert settings.source.model is not None
        fingerprints = [part.fingerprint for part in settings.source.parts]
        told.append([settings.source.model, settings.strata, fingerprints])
        told[-1] += [asked, repr(campaign.estimates())]
    assert told[0] == told[1]


@pytest.mark.parametrize("names", [("a", "b"), ("a",)])
def test_another_judge_is_told_apart_where_duckdb_reads(
    names: tuple[str, ...], tmp_path: Path
) -> None:
    """It is no part of the fingerprint, but of the seed, and it places items otherwise."""
    table, _ = population(300)
    judge = [*table["judge"][1:], table["judge"][0]]
    model = Model((Input("judge", "number"),), ((), (0,)), ((0.0, 1.0), (0.5, 2.0)), 100)
    both: list[tuple[object, ...]] = []
    for each in (table, {**table, "judge": judge}):
        pq.write_table(pa.table(each), tmp_path / "predictions.parquet")
        found = read_predictions(
            assay.Scan(tmp_path / "predictions.parquet", engine="duckdb"),
            id="url",
            classifiers={name: CLASSIFIERS[name] for name in names},
            aux=["judge", "lang"],
        )
        assert isinstance(found, Opinionated)
        placed = found.with_model(model)
        both.append((found.fingerprint(), found.opinions_digest(), placed.fingerprint()))
    (fingerprint, *before), (other, *changed) = both
    assert fingerprint == other
    assert all(one != another for one, another in zip(before, changed, strict=True))


def test_a_column_that_is_not_there_is_told(tmp_path: Path) -> None:
    table, _ = population(100)
    file = tmp_path / "predictions.parquet"
    pq.write_table(pa.table(table), file)
    for given in (str(file), assay.Scan(str(file), engine="duckdb")):
        with pytest.raises(PredictionsError, match="column 'juge' not found"):
            create(given, aux=["juge"])
