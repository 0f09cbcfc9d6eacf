"""Second opinions on several classifiers, several metrics and comparisons."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import assay
from assay.core.error_model import RANK
from assay.core.types import Floats
from assay.errors import DesignError
from assay.predictions import read_compared, read_predictions
from tests.campaign.test_recut import CLASSIFIERS, Table, accuracy, create, population_of_two
from tests.kinds import finish


def of_two(table: object, **options: Any) -> assay.Campaign:
    return create("several", table, **options)


def weeks(table: Table) -> tuple[Table, Table]:
    """Return two sets of predictions: some items are in one of them alone."""
    late = {name: values[500:] for name, values in table.items()}
    early = {name: values[:3_500] for name, values in table.items()}
    return (
        {**early, "p": early["p_a"], "judge": [*early["judge"][:-9], *[None] * 9]},
        {**late, "p": late["p_b"]},
    )


def test_a_comparison_uses_it_too(tmp_path: Path, storage: str) -> None:
    table, truth = population_of_two()
    old, new = weeks(table)
    files = [str(tmp_path / name) for name in ("old.parquet", "new.parquet")]
    for each, file in zip((old, new), files, strict=True):
        pq.write_table(pa.table(each), file)
    options: dict[str, Any] = {
        "id": "url", "score": "p", "threshold": 0.5, "metric": "accuracy", "within": 0.05,
        "level_within": 0.05,
    }  # fmt: skip
    without = len(finish(assay.compare_campaign(*files, **options), truth, 20))
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
    with pytest.raises(DesignError, match="combined with labels of campaign 'comparison'"):
        assay.compare_campaign(
            *files, **options, aux=["judge"], storage=storage, labels_from="comparison", name="next"
        )


def test_of_an_item_in_both_the_later_opinion_counts() -> None:
    table, _ = population_of_two()
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
    table, truth = population_of_two()
    found = read_predictions(table, id="url", classifiers=CLASSIFIERS, aux=["judge"])
    ids = [str(url) for url in table["url"]]
    scores = [np.array(table[name], dtype=np.float64) for name in ("p_a", "p_b")]
    expected = mean_rank(scores)
    np.testing.assert_allclose(np.asarray(found.opinions(ids)[RANK]), expected, atol=2e-3)
    campaign = of_two(table)
    finish(campaign, truth, 20)
    model, strata = campaign.settings.source.model, campaign.settings.strata
    assert model is not None
    assert model.columns == ("a's score", "b's score", "judge")
    # The cells are what they were; within them the cut is by the model.
    assert {code for heap in strata.heaps for code in heap.codes} == {0, 1, 2, 3}
    assert all(len(heap.codes) == 1 for heap in strata.heaps)
    assert any("log odds" in row.stratum for row in campaign.strata())
    placed = found.with_model(model)
    np.testing.assert_allclose(np.asarray(placed.opinions(ids)[RANK]), expected, atol=2e-3)
    again = read_predictions(
        table, id="url", classifiers=CLASSIFIERS, aux=["judge"], model=model.to_dict()
    )
    assert again.fingerprint() == placed.fingerprint() != found.fingerprint()
