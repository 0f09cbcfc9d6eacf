"""Weeks that stay where they are: comparisons and series that go as they do in memory."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import assay
from assay.predictions.scan import as_scan
from tests.kinds import shallow

SIZE = 6_000
RNG = np.random.default_rng(23)
SCORE = RNG.beta(0.4, 0.4, SIZE)
LATER = np.clip(SCORE + RNG.normal(0, 0.08, SIZE), 0, 1)
TRUTH = RNG.random(SIZE) < 0.1 + 0.8 * SCORE
COLUMNS: dict[str, Any] = {"id": "url", "score": "p", "threshold": 0.5}

Where = Callable[[str], object]


def _table(name: str) -> "pa.Table":
    """Return a week: 1 and 2 share half of their items, 3 has new ones, 2b is 2 without some."""
    first, last, score = {
        "1": (0, 3_000, SCORE),
        "2": (1_500, 4_500, LATER),
        "2b": (1_700, 4_500, LATER),
        "3": (4_500, 6_000, SCORE),
    }[name]
    rows = np.random.default_rng(7).permutation(np.arange(first, last))
    texts = [f"item {row} in week {name}" for row in rows.tolist()]
    return pa.table({"url": [f"u{row}" for row in rows], "p": score[rows], "text": texts})


def _answer(campaign: assay.Campaign, most: int = 10**6) -> list[Any]:
    asked: list[Any] = []
    while len(asked) < most and (batch := campaign.ask(50)):
        campaign.tell({item.id: bool(TRUTH[int(str(item.id)[1:])]) for item in batch})
        asked += [(item.id, dict(item.shown)) for item in batch]
    return asked


def compared(where: Where, storage: str) -> list[Any]:
    """Compare two weeks with labels of the first, and rebase on a second week that has changed."""
    more: dict[str, Any] = {**COLUMNS, "show": ["text"], "storage": storage, "seed": 3}
    before = assay.create_campaign(where("1"), **more, budget=150, name="first")
    told: list[Any] = [_answer(before)]
    both = assay.compare_campaign(
        where("1"), where("2"), **more, within=0.05, labels_from="first", name="both"
    )
    told += [both.settings.before, both.settings.strata, both.settings.source.fingerprint]
    told += [_answer(both), both.estimate()]
    again = assay.rebase_campaign("both", storage=storage, predictions=[where("1"), where("2b")])
    told += [again.settings.before and again.settings.before.gone, _answer(again)]
    return [*told, again.estimate()]


def followed(where: Where, storage: str) -> list[Any]:
    """Follow two weeks; the first is found where it was, or given again."""
    more: dict[str, Any] = {"series": "spam", "storage": storage}
    first = assay.follow_campaign(
        where("1"), period="w1", **more, **COLUMNS, show=["text"], within=0.06
    )
    told: list[Any] = [_answer(first, 100)]
    # What another process can read is found where it was.
    given = None if as_scan(where("1")).is_lasting else where("1")
    with pytest.warns(assay.AssayWarning, match="period 'w1' is in progress"):
        second = assay.follow_campaign(where("2"), period="w2", previous=given, **more)
    told += [second.settings.prior, second.settings.before, second.settings.strata]
    return [*told, _answer(second), second.estimate()]


def extended(where: Where, storage: str) -> list[Any]:
    """Let new items join those of a campaign."""
    more: dict[str, Any] = {**COLUMNS, "show": ["text"], "storage": storage, "seed": 3}
    told: list[Any] = [_answer(assay.create_campaign(where("1"), **more, budget=120))]
    campaign = assay.extend_campaign(where("3"), storage=storage)
    return [*told, campaign.settings.strata, _answer(campaign), campaign.estimate()]


WORKS = {"compare": compared, "follow": followed, "extend": extended}


@pytest.fixture(scope="module")
def meant(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[Any]]:
    """What each work gives in memory."""
    folder = tmp_path_factory.mktemp("memory")
    return {name: work(_table, f"sqlite:///{folder}/{name}.db") for name, work in WORKS.items()}


@pytest.fixture
def files(tmp_path: Path) -> Callable[[str], Path]:
    def path(name: str) -> Path:
        path = tmp_path / f"week-{name}.parquet"
        pq.write_table(_table(name), path, row_group_size=1_000)
        return path

    return path


@pytest.mark.parametrize("work", WORKS)
def test_in_duckdb_it_goes_as_in_memory(
    work: str, meant: dict[str, list[Any]], files: Callable[[str], Path], tmp_path: Path
) -> None:
    found = WORKS[work](
        lambda name: assay.Scan(files(name), engine="duckdb"), f"sqlite:///{tmp_path}/labels.db"
    )
    assert found == meant[work]


def test_more_cards_are_read_from_both_and_a_file_that_changed_is_refused(
    files: Callable[[str], Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, storage: str
) -> None:
    shallow(monkeypatch, 5, "carry_over")
    old, new = (assay.Scan(files(name), engine="duckdb") for name in ("1", "2"))
    campaign = assay.compare_campaign(old, new, **COLUMNS, budget=700, storage=storage)
    _answer(campaign, 50)
    again = assay.load_campaign("comparison", storage=storage)
    assert len(_answer(again, 300)) >= 300  # the reserve had five of each stratum
    pq.write_table(_table("2b"), tmp_path / "week-2.parquet")
    with pytest.raises(assay.AssayError, match=r"week-2.parquet differs from the predictions"):
        _answer(assay.load_campaign("comparison", storage=storage))


def test_nothing_is_kept_of_scores_where_that_takes_another_pass(
    files: Callable[[str], Path],
) -> None:
    scans = [assay.Scan(files(name), engine="duckdb") for name in ("1", "2")]
    in_place = assay.compare_campaign(*scans, **COLUMNS, budget=50)
    assert in_place.settings.source.scores == ()
    held = assay.compare_campaign(_table("1"), _table("2"), **COLUMNS, budget=50)
    assert held.settings.source.scores == ("p",)
    asked = in_place.ask(40)
    assert [item.id for item in asked] == [item.id for item in held.ask(40)]
    assert {len(item.shown) for item in asked} == {0}
