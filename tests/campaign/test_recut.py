"""Strata cut anew during a campaign, by what second opinions turn out to tell."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.special import expit

import assay
from assay.audit import verify_bundle
from assay.errors import DesignError
from assay.predictions import Opinionated, fold_of

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
    assert campaign.settings.recut is not None
    assert asked < 0.7 * without
    estimate = campaign.estimate()
    assert estimate.low <= right.mean() <= estimate.high
    assert estimate.half_width <= 0.03
    assert len(campaign.events()) == asked
    assert not campaign.events()[0].comment
    campaign.bundle(tmp_path / "audit.zip")
    assert verify_bundle(tmp_path / "audit.zip").clean
    assert "a model of the outcome that" in campaign.report().markdown


def test_noise_changes_nothing() -> None:
    table, truth = population()
    _, without = run(table, truth)
    campaign, asked = run(table, truth, aux=["noise"])
    assert campaign.settings.recut is None
    assert asked == without


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
        assert campaign.settings.recut is not None
        assert assay.verify_campaign(storage=storage).clean
        drawn.append(asked)
    assert drawn[0] == drawn[1]


def test_a_budget_is_what_people_are_asked_in_all() -> None:
    table, truth = population()
    campaign, asked = run(table, truth, aux=["judge"], within=None, budget=300)
    assert campaign.settings.recut is not None
    assert 240 <= asked <= 300


def test_reviewers_do_not_see_second_opinions() -> None:
    table, _ = population(100)
    campaign = assay.create_campaign(
        table, id="url", score="p", threshold=0.5, aux=["judge"], show=["judge", "lang"], budget=5
    )
    assert "judge" in campaign.settings.source.judgements


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"metrics": ["precision", "recall"]}, "one metric of one classifier"),
        ({"sample_weight": "noise"}, "have weights"),
        ({"design": assay.Design.guaranteed()}, "guaranteed"),
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
    from assay.predictions import read_predictions

    found = read_predictions(table, id="url", score="p", threshold=0.5, aux=["judge", "lang"])
    assert isinstance(found, Opinionated)
    told = found.opinions(["u7", "u3"])
    assert told["lang"] == [table["lang"][7], table["lang"][3]]
    assert list(told["p"]) == [table["p"][7], table["p"][3]]
