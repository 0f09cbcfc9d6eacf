"""Weights in comparisons and series: a label counts by the weight of its item in each week."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import assay
from assay.errors import DesignError, PredictionsError
from assay.predictions.scan import Engine
from tests.kinds import finish
from tests.sklearn_metrics import SKLEARN

RNG = np.random.default_rng(23)
SIZE = 160
LATENT = RNG.random(SIZE)
TRUTH = RNG.random(SIZE) < LATENT
# What is wrong is seen more often, and least by those who see the first items.
VIEWS = np.exp(RNG.standard_normal(SIZE)) * np.where(TRUTH, 1, 0.3 + np.arange(SIZE) / 20)
VIEWS = np.round(VIEWS, 2)
VIEWS[::19] = 0  # these are not there
METRICS = ("precision", "recall", "f1", "accuracy")
COLUMNS: dict[str, Any] = {"id": "url", "score": "p", "threshold": 0.5, "sample_weight": "views"}


def week(first: int, last: int, noise: float, *, drift: float = 0.0) -> dict[str, Any]:
    """Return the predictions of some items; with drift, weights of the week's own."""
    items = np.arange(first, last)
    rng = np.random.default_rng(first)
    score = np.clip(LATENT[items] + noise * rng.standard_normal(items.size), 0, 1)
    views = VIEWS[items] * np.exp(drift * rng.standard_normal(items.size))
    return {"url": [f"u{item}" for item in items], "p": score, "views": views}


def judged(rows: dict[str, Any]) -> list[bool]:
    return [bool(TRUTH[int(url[1:])]) for url in rows["url"]]


def value(metric: str, rows: dict[str, Any], *, by_weight: bool = True) -> float:
    """Return scikit-learn's value over all items."""
    weight = rows["views"] if by_weight else (rows["views"] > 0).astype(float)
    found = SKLEARN[metric](judged(rows), rows["p"] >= 0.5, sample_weight=weight)
    return float(found)


def label(campaign: assay.Campaign) -> list[Any]:
    return finish(campaign, lambda url: bool(TRUTH[int(url[1:])]), 80)


OLD, NEW = week(0, 120, 0.4), week(40, 160, 0.1)

Where = Callable[[str, dict[str, Any]], object]


@pytest.fixture
def where(request: pytest.FixtureRequest, tmp_path: Path) -> Where:
    """Return what puts a week, under a name, where an engine reads it."""
    engine: Engine = request.param
    spark = request.getfixturevalue("spark") if engine == "spark" else None

    def put(name: str, rows: dict[str, Any]) -> object:
        if engine == "memory":
            return rows
        path = tmp_path / f"{name}.parquet"
        pq.write_table(pa.table(rows), path)
        return assay.Scan(str(path), engine=None if spark else engine, spark=spark)

    return put


@pytest.mark.parametrize(
    ("where", "metric"),
    [*(("memory", metric) for metric in METRICS), ("duckdb", "f1")],
    indirect=["where"],
)
def test_a_difference_by_weight_is_scikit_learns_at_full_labelling(
    where: Where, metric: str
) -> None:
    weeks = where("old", OLD), where("new", NEW)
    campaign = assay.compare_campaign(
        *weeks, **COLUMNS, metric=metric, within=1e-9, level_within=1e-9, seed=2
    )
    label(campaign)
    difference, level = campaign.estimates().values()
    meant = value(metric, NEW) - value(metric, OLD)
    assert difference.value == pytest.approx(meant, abs=1e-9)
    assert level.value == pytest.approx(value(metric, NEW), abs=1e-9)
    # Each item once is another number, by far.
    plain = value(metric, NEW, by_weight=False) - value(metric, OLD, by_weight=False)
    assert abs(plain - meant) > 0.02


@pytest.mark.parametrize("where", ["memory", "duckdb", "spark"], indirect=True)
def test_an_item_in_both_has_one_weight(where: Where) -> None:
    old, changed = where("old", OLD), np.isin(np.arange(120), [7, 12])
    other = {**NEW, "views": NEW["views"] * np.where(changed, 3, 1)}
    with pytest.raises(PredictionsError) as told:
        assay.compare_campaign(old, where("other", other), **COLUMNS, budget=20)
    then, now = (f"{OLD['views'][47] * times:g}" for times in (1, 3))
    assert told.value.problem.startswith(f"item 'u47' has weight {then} in ")
    assert f" and {now} in " in told.value.problem
    in_both = np.count_nonzero(OLD["views"][40:])
    assert told.value.details.startswith(f"2 of the {in_both} items in both have two weights")
    assert "follow" in told.value.hint


@pytest.mark.parametrize("where", ["memory", "duckdb"], indirect=True)
def test_another_weight_where_the_other_week_has_none_is_no_other_weight(where: Where) -> None:
    gone = {**NEW, "views": np.where(np.arange(120) == 7, 0, NEW["views"])}
    both = assay.compare_campaign(where("old", OLD), where("gone", gone), **COLUMNS, budget=20)
    assert both.settings.strata.weighted


def test_two_weights_that_are_nearly_one_are_told_apart() -> None:
    old = {"url": ["a"], "p": [0.7], "views": [1 / 3]}
    new = {**old, "views": [np.nextafter(1 / 3, 1)]}
    with pytest.raises(
        PredictionsError, match=r"0\.3333333333333333 in .* 0\.33333333333333337 in"
    ):
        assay.compare_campaign(old, new, **COLUMNS, budget=1)


@pytest.mark.parametrize("where", ["memory", "duckdb"], indirect=True)
def test_labels_of_a_weighted_campaign_count_again_in_a_comparison(
    where: Where, storage: str
) -> None:
    old, new = where("old", OLD), where("new", NEW)
    first = assay.create_campaign(old, **COLUMNS, budget=60, storage=storage, seed=4)
    label(first)
    campaign = assay.compare_campaign(
        old, new, **COLUMNS, within=1e-9, labels_from="campaign", storage=storage
    )
    assert not {*label(campaign)} & first.answers().keys()
    (found,) = campaign.estimates().values()
    assert found.value == pytest.approx(value("precision", NEW) - value("precision", OLD))


WEEKS = [week(0, 120, 0.4), week(20, 140, 0.3, drift=0.3), week(40, 160, 0.1, drift=0.3)]


@pytest.mark.parametrize("where", ["memory", "duckdb"], indirect=True)
def test_each_period_counts_by_its_own_weights(where: Where, storage: str) -> None:
    columns: dict[str, Any] = {**COLUMNS, "metric": ["precision", "recall"], "within": 1e-9}
    for number, rows in enumerate(WEEKS):
        period = f"w{number}"
        campaign = assay.follow_campaign(
            where(period, rows), series="spam", period=period, storage=storage, **columns
        )
        asked = len(label(campaign))
        # Nobody is asked again: the items that join each week are 20, and one in 19 is not there.
        assert asked > 100 if number == 0 else asked <= 20
        columns = {}
    for metric in ("precision", "recall"):
        found = assay.trend("spam", metric=metric, storage=storage)
        for row, rows in zip(found.rows, WEEKS, strict=True):
            assert row.estimate.value == pytest.approx(value(metric, rows), abs=1e-9)
        last = found.latest
        assert last.change is not None and last.reused > 80
        meant = value(metric, WEEKS[2]) - value(metric, WEEKS[1])
        assert last.change.value == pytest.approx(meant, abs=1e-9)
        assert "as if they were independent" in last.change.interval


def test_a_series_is_weighted_from_the_first_period_on(storage: str) -> None:
    plain = {name: column for name, column in COLUMNS.items() if name != "sample_weight"}
    begin: dict[str, Any] = {"series": "s", "storage": storage}
    with pytest.raises(DesignError, match=r"change_within=0\.02 cannot be combined with sample_"):
        assay.follow_campaign(WEEKS[0], period="a", **begin, **COLUMNS, change_within=0.02)
    assay.follow_campaign(WEEKS[0], period="a", **begin, **plain, budget=30)
    with pytest.raises(DesignError, match=r"'s' has no sample_weight=, and 'views' is requested"):
        assay.follow_campaign(WEEKS[1], period="b", **begin, sample_weight="views")
