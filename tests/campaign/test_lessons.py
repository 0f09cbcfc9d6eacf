"""Campaigns that begin with what last week's labels say of second opinions."""

from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import assay
from assay.core.error_model import Model
from assay.errors import AssayWarning, DesignError
from assay.labelling import find_campaign
from assay.predictions import fold_of
from tests.campaign.test_recut import population
from tests.kinds import finish

AUX = ["judge", "lang", "ok"]
COMMON: dict[str, Any] = {"id": "url", "score": "p", "threshold": 0.5}


def week(number: int, *, size: int = 8_000) -> tuple[dict[str, list[object]], dict[object, bool]]:
    """Return the items of a week, and the truth."""
    table, truth = population(size, seed=number)
    table["url"] = [f"{number}-{url}" for url in table["url"]]
    return table, {f"{number}-{url}": yes for url, yes in truth.items()}


def learn(table: object, storage: str, name: str, **more: Any) -> assay.Campaign:
    """Make a campaign that begins with what the one of the first week has learned."""
    given = {**COMMON, "aux": AUX, "learned_from": "w0", "within": 0.1, **more}
    return assay.create_campaign(table, **given, name=name, storage=storage)


@pytest.fixture
def storage(tmp_path: Path) -> str:
    """A storage with a campaign of the first week that is done, on a file."""
    url = f"sqlite:///{tmp_path}/labels.db"
    table, truth = week(0)
    pq.write_table(pa.table(table), tmp_path / "week-0.parquet")
    campaign = assay.create_campaign(
        tmp_path / "week-0.parquet", **COMMON, aux=AUX, metric="accuracy", within=0.05, name="w0",
        storage=url,
    )  # fmt: skip
    finish(campaign, truth, 20)
    return url


def test_the_first_strata_are_by_last_weeks_model_and_folds_stay(
    storage: str, tmp_path: Path
) -> None:
    """The same draw in memory and with DuckDB, in an order of its own; and books that are right."""
    table, truth = week(1)
    pq.write_table(pa.table(table), tmp_path / "week-1.parquet")
    last = assay.load_campaign("w0", storage=storage)
    drawn = []
    for engine in ("memory", "duckdb"):
        scan = assay.Scan(str(tmp_path / "week-1.parquet"), engine=engine)
        campaign = learn(scan, storage, engine, metric="accuracy", within=0.05)
        source = campaign.settings.source
        assert source.lessons is not None
        assert source.lessons.campaign == "w0"
        assert source.model is not None
        assert source.model == source.model_before
        assert source.model.labels == 0  # of this campaign's own
        assert "judge" in source.model.columns
        assert last.settings.source.model is not None
        assert source.model.seed == last.settings.source.model.seed
        assert "log odds" in campaign.settings.strata_words[0]
        drawn.append(finish(campaign, truth, 20))
        now = campaign.settings.source.model
        assert now is not None
        assert now.seed == source.model.seed
        assert (campaign.savings() is None) == (engine == "duckdb")  # which keeps no scores
        assert campaign.savings() == assay.load_campaign(engine, storage=storage).savings()
        assert assay.verify_campaign(engine, storage=storage).clean
        campaign.bundle(tmp_path / f"{engine}.zip")
        estimate = campaign.estimate()
        said = np.array(table["p"], dtype=np.float64) >= 0.5
        assert estimate.low <= (np.array(list(truth.values())) == said).mean() <= estimate.high
    assert drawn[0] == drawn[1]
    plain = assay.create_campaign(table, **COMMON, aux=AUX, metric="accuracy", within=0.05)
    assert plain.settings.seed != campaign.settings.seed  # the order knows nothing of the labels


def test_all_labels_teach_where_the_predictions_are_there_and_else_what_it_went_by(
    storage: str, tmp_path: Path
) -> None:
    last = assay.load_campaign("w0", storage=storage)
    own = last.settings.source.model
    assert own is not None
    assert own.labels == 100 < len(last.answers())
    table, _ = week(1, size=1_000)
    with_file = learn(table, storage, "with")
    (tmp_path / "week-0.parquet").unlink()
    without = learn(table, storage, "without")
    weights = [_model_of(each).weights for each in (with_file, without)]
    assert weights[0] != own.weights == weights[1]


def _model_of(campaign: assay.Campaign) -> Model:
    model = campaign.settings.source.model
    assert model is not None
    return model


def test_an_item_of_both_weeks_is_placed_by_the_fold_that_its_label_did_not_teach(
    storage: str,
) -> None:
    """The same items again: turning an item's label last week does not move it this week.

    It moves items of the other fold; by folds of another key, it would move itself in every second
    case.
    """
    with assay.load_campaign("w0", storage=storage).desk.store.read() as session:
        settings = find_campaign(session, "w0")[1]
    table, _ = week(0)
    last = assay.load_campaign("w0", storage=storage)
    again = learn(table, storage, "again")
    judged = list(last.answers())
    seed = _model_of(again).seed
    assert seed == settings.seed ^ 3
    assert again.settings.seed ^ 3 != seed
    folds = [fold_of(id, seed) for id in judged]
    assert 0.3 < np.mean(folds) < 0.7
    assert folds != [fold_of(id, again.settings.seed ^ 3) for id in judged]
    moved: dict[bool, set[bool]] = {True: set(), False: set()}
    for place, id in enumerate(judged[:4]):
        before = _model_of(again)
        last.tell({id: last.answers()[id].value != "yes"}, revise=True)
        turned = learn(table, storage, f"turned{place}")
        for own in (True, False):
            fold = folds[place] if own else not folds[place]
            moved[own].add(_model_of(turned).weights[fold] != before.weights[fold])
        again = turned
    assert moved == {True: {False}, False: {True}}


def test_a_rebase_keeps_the_lessons(storage: str) -> None:
    table, _ = week(1, size=1_000)
    learn(table, storage, "w1")
    rebased = assay.rebase_campaign("w1", storage=storage, predictions=table)
    assert rebased.settings.source.model_before == _model_of(rebased)
    other = assay.rebase_campaign("w1", storage=storage, predictions=table, aux=["lang"])
    assert other.settings.source.model is None
    assert other.settings.source.lessons is None


def test_a_series_with_second_opinions_goes_on_from_what_it_has_learned(tmp_path: Path) -> None:
    """Three weeks; the third has no judge, and begins by the score."""
    url, truths = f"sqlite:///{tmp_path}/series.db", []
    for number in range(3):
        table, truth = week(number)
        said = np.array(table["p"], dtype=np.float64) >= 0.5
        truths.append(float((np.array(list(truth.values())) == said).mean()))
        options: dict[str, Any] = {}
        if number == 0:
            options = {**COMMON, "aux": AUX, "metric": "accuracy", "within": 0.05, "seed": 3}
        if number == 2:
            table["grade"] = table.pop("judge")
            options = {"aux": ["grade", "lang"]}
        pq.write_table(pa.table(table), tmp_path / f"week-{number}.parquet")
        warned = pytest.warns(AssayWarning, match="columns that are not there now: judge")
        with warned if number == 2 else nullcontext():
            campaign = assay.follow_campaign(
                tmp_path / f"week-{number}.parquet", series="s", period=f"w{number}", storage=url,
                **options,
            )  # fmt: skip
        lessons = campaign.settings.source.lessons
        assert (None if lessons is None else lessons.campaign) == [None, "s/w0", None][number]
        finish(campaign, truth, 20)
    found = assay.trend("s", storage=url)
    assert [row.reused for row in found.rows] == [0, 0, 0]
    assert found.rows[0].change is None
    values = [row.estimate.value or 0.0 for row in found.rows]
    changes = [row.change and row.change.value for row in found.rows]
    assert changes[1:] == pytest.approx(np.diff(values).tolist())
    for row, then, now in zip(found.rows[1:], truths[:-1], truths[1:], strict=True):
        assert row.change is not None
        assert row.change.low <= now - then <= row.change.high
        assert 0.05 < row.change.half_width < 0.09  # sqrt(2) of 0.05
    file = tmp_path / "week-2.parquet"
    with pytest.raises(DesignError, match="has aux="):
        assay.follow_campaign(file, series="s", period="w3", storage=url, aux=[])
    with pytest.raises(DesignError, match="change_within"):
        assay.follow_campaign(file, series="s", period="w3", storage=url, change_within=0.02)
