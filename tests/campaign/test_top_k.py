"""Top-k accuracy in a campaign: of one classifier and of two, beside other metrics, and resumed."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sklearn.metrics import accuracy_score, top_k_accuracy_score

import assay
from assay.core.stratify import cell_strata
from assay.labelling.reserve import read_again
from assay.predictions import as_scan, from_arrays
from assay.simulation import Population
from tests.kinds import finish

N, K = 300, 6
NAMES = [f"class {k}" for k in range(K)]


def population(seed: int = 0) -> tuple[Any, Any, Any]:
    """Return the true classes, and the probabilities of two classifiers, with ties in them."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, K, N)
    better, worse = rng.dirichlet(np.full(K, 0.5), (2, N))
    better[np.arange(N), truth] += rng.random(N)
    worse[np.arange(N), truth] += 0.5 * rng.random(N)
    return truth, better.round(1), worse.round(1)


TRUTH, NEW, OLD = population()
TABLE: dict[str, Any] = {"id": np.arange(N), "new": NEW, "old": OLD}
BOTH: dict[str, Any] = {"new": {"probabilities": "new"}, "old": {"probabilities": "old"}}


def created(table: Any = TABLE, **asked: Any) -> assay.Campaign:
    return assay.create_campaign(table, id="id", **{"classes": NAMES, "budget": N, **asked})


def answered(campaign: assay.Campaign, at_once: int = 100) -> assay.Campaign:
    finish(campaign, lambda id: NAMES[TRUTH[id]], at_once)
    return campaign


def top(p: Any, k: int) -> float:
    return float(top_k_accuracy_score(TRUTH, p, k=k))


def test_at_full_labelling_it_is_that_of_scikit_learn_beside_any_other_metric() -> None:
    metrics = ["top_2_accuracy", "top-3-accuracy", "accuracy", "macro_f1", "recall:class 2"]
    campaign = created(probabilities="new", metrics=metrics)
    found = answered(campaign).estimates()
    for k in (2, 3):
        its = found[f"top_{k}_accuracy"]
        assert its.value == its.low == its.high == pytest.approx(top(NEW, k), abs=1e-12)
    assert found["accuracy"].value == pytest.approx(accuracy_score(TRUTH, NEW.argmax(axis=1)))
    assert campaign.report().html


def test_two_classifiers_and_their_difference() -> None:
    metrics = ["top_2_accuracy:new - top_2_accuracy:old", "top_2_accuracy", "accuracy:old"]
    campaign = created(classifiers=BOTH, metrics=metrics)
    found = answered(campaign).estimates()
    gap = found["top_2_accuracy:new - top_2_accuracy:old"]
    assert gap.value == pytest.approx(top(NEW, 2) - top(OLD, 2), abs=1e-12)
    assert found["top_2_accuracy:old"].value == pytest.approx(top(OLD, 2), abs=1e-12)
    assert "new is better than old" in campaign.report().html


def test_no_class_and_what_nobody_can_judge() -> None:
    """An item of no class is among no k; what cannot be judged counts for nothing."""
    campaign = created(probabilities="new", metric="top_2_accuracy")
    nothing, unclear = np.arange(N) % 7 == 1, np.arange(N) % 7 == 2
    words = np.where(nothing, "none of these", np.where(unclear, "?", np.array(NAMES)[TRUTH]))
    finish(campaign, words, 100)
    order = np.argsort(NEW, axis=1, kind="stable")[:, ::-1][:, :2]
    right = (order == TRUTH[:, None]).any(axis=1) & ~nothing
    estimate = campaign.estimate()
    assert estimate.cannot_judge == unclear.sum()
    assert estimate.worst_case is not None
    least, most = estimate.worst_case
    assert least <= (right & ~unclear).sum() / N <= most


@pytest.mark.parametrize(
    ("metrics", "k"),
    [(["top_2_accuracy"], 2), (["top3", "top_2_accuracy"], 2), (["top_2_accuracy", "accuracy"], 1)],
)
def test_strata_are_by_the_outcome_that_holds_least_often(
    metrics: list[str], k: int, tmp_path: Path
) -> None:
    """In memory, in DuckDB and simulated; read again as they were, also by campaigns of 0.1.0."""
    path = tmp_path / "p.parquet"
    columns = {f"p_{name}": NEW[:, place] for place, name in enumerate(NAMES)}
    pq.write_table(pa.table({"id": np.arange(N), "is": np.array(NAMES)[TRUTH], **columns}), path)
    asked: dict[str, Any] = {"probabilities": "p_*", "metrics": metrics}
    begun = assay.create_campaign(path, id="id", **asked, budget=N)
    heaps, source = begun.settings.strata.heaps, begun.settings.source
    scan = assay.Scan(path, engine="duckdb")
    in_place = assay.create_campaign(scan, id="id", **asked, budget=N)
    assert in_place.settings.strata.heaps == heaps
    known = Population.read(path, label="is", **asked)
    goal = begun.settings.goal
    assert cell_strata(known, goal, begun.settings.design).heaps == heaps
    by_other = [
        cell_strata(from_arrays(y_prob=NEW, classes=NAMES, top=other), goal, begun.settings.design)
        for other in (k, 3 - k, None)
    ]
    assert [each.heaps == heaps for each in by_other] == [True, False, False]
    assert read_again([as_scan(path)], begun.settings).fingerprint() == source.fingerprint
    before = {name: {"probabilities": "p_*"} for name in source.columns["classifiers"]}
    columns_before = {**source.columns, "classifiers": before}
    old = replace(begun.settings, source=replace(source, columns=columns_before))
    as_it_was = from_arrays(y_prob=NEW, classes=NAMES, top=None).fingerprint()
    assert read_again([as_scan(path)], old).fingerprint() == as_it_was != source.fingerprint
