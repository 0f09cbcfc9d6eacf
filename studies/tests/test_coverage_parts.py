"""The study's parts: which cells each has, and what the unusual ones measure."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sklearn import metrics as sk

from assay.core.design import Design
from assay.core.forms import Metric
from assay.core.goal import Goal
from assay.core.state import State
from assay.core.tallies import Tallies
from assay.core.types import Floats
from assay.core.unjudged import swing
from assay.errors import InputError
from assay.simulation import Population
from studies.coverage import cell_kinds
from studies.coverage.cell_kinds import Several, Unjudged, UnjudgedTask
from studies.coverage.cells import Cell, Single, needed
from studies.coverage.extent import FULL, QUICK, LeftOut, Part, Scope
from studies.coverage.pairs import rare_pairs
from studies.coverage.plan import Plan
from studies.coverage.populations import (
    classifiers,
    of_classifier,
    of_shape,
    random_classifier,
    rare_classes,
)
from studies.coverage.rows import INTERVAL, WORST_CASE, measured


def cells_of(part: Part, **changes: Any) -> tuple[list[Cell], list[LeftOut]]:
    scope = Scope("default", replace(FULL, **changes), None, 1)
    return Plan(scope).cells(part, [])


def test_every_metric_of_every_classifier_at_every_goal_is_run_or_left_out() -> None:
    cells, left_out = cells_of(Part.REAL)
    rows = [cell.rows[0] for cell in cells]
    assert len(rows) + len(left_out) == 3 * 6 * 5
    assert {row.metric for row in rows} == {
        "precision",
        "accuracy",
        "recall",
        "f1",
        "prevalence",
        "false_omission_rate",
    }
    assert all(row.delta < min(row.value, 1 - row.value) for row in rows)
    assert not any(row.replacement for row in rows)
    run = {(row.population, row.metric, row.delta) for row in rows}
    assert not run & {(each.population, each.metric, each.delta) for each in left_out}


def test_a_goal_that_costs_too_much_is_left_out_with_the_reason() -> None:
    rare = rare_classes(1)[1]  # one item in 500, told apart badly
    scope = Scope("default", FULL, None, 1)
    found = scope.cell_or_why_not(Part.RARE, of_classifier(rare, "recall"), 0.01)
    assert isinstance(found, LeftOut)
    assert found.why == "designs by score take more than 10,000 labels"
    able = scope.cell_or_why_not(Part.RARE, of_classifier(rare, "recall"), 0.07)
    assert isinstance(able, Single)
    assert able.costs.at_least < 10_000 < able.costs.n_w
    # Random sampling would take too long to be run beside it.
    assert able.beside() is None
    common = scope.cell(Part.REAL, of_classifier(classifiers(None)[0], "recall"), 0.05)
    assert common.beside() is not None


def test_small_populations_are_144_of_which_20_to_95_percent_would_be_labelled() -> None:
    cells, left_out = cells_of(Part.SMALL)
    assert (len(cells), left_out) == (144, [])
    assert {cell.rows[0].items for cell in cells} == {480, 1000, 2000, 5000}
    shares = []
    for cell in cells:
        assert isinstance(cell, Single)
        costs = needed(cell.subject, cell.settings.delta)
        shares.append(costs.n_w / (costs.n_w + costs.items - 1))
    assert sorted({round(share, 3) for share in shares}) == [0.2, 0.35, 0.5, 0.65, 0.8, 0.95]


def test_wide_goals_confidences_and_batches_are_the_issues() -> None:
    wide = {cell.rows[0].delta for cell in cells_of(Part.WIDE)[0]}
    confidences = {cell.rows[0].confidence for cell in cells_of(Part.CONFIDENCES)[0]}
    batches, _ = cells_of(Part.BATCHES)
    assert wide == {0.15, 0.2, 0.3}
    assert confidences == {0.8, 0.9, 0.99}
    assert {cell.rows[0].batch for cell in batches} == {1, 5, 100, 500}
    assert {cell.rows[0].metric for cell in batches} == {"precision", "accuracy", "recall", "f1"}
    for cell in batches:
        assert isinstance(cell, Single)
        assert cell.task().asked == cell.settings.batch


def test_random_classifiers_err_on_both_sides_and_another_seed_makes_others() -> None:
    made = [random_classifier(number, seed=7) for number in range(12)]
    for each in made:
        assert set(each) == {"accuracy", "recall", "f1", "prevalence"}
        population = each["recall"].population
        assert 0.49 <= population.value("precision") <= 0.99
        assert population.value("false_omission_rate") > 0
        assert each["accuracy"].items == 1_000_000
    shares = [each["prevalence"].value for each in made]
    assert min(shares) < 0.02
    assert max(shares) > 0.1
    assert len(set(shares)) == 12
    assert random_classifier(0, seed=7)["recall"].value == made[0]["recall"].value
    assert random_classifier(0, seed=8)["recall"].value != made[0]["recall"].value
    tied = [_tied(each["recall"].population) for each in made]
    assert any(tied)
    assert not all(tied)


def _tied(population: Population) -> bool:
    """Tell whether the scores of what it says no to are too few for some 850 strata."""
    frame = population.frame(Design(strata="perc", bins=1000), "false_omission_rate")
    return frame.sizes.size < 800


def test_the_limit_of_a_random_classifier_is_that_of_many_strata() -> None:
    """Of the one that says yes most often: where there are few, each item is a stratum."""
    made = [random_classifier(number, seed=7) for number in range(12)]
    large = max(made, key=lambda each: each["recall"].population.predicted_positives)
    assert large["recall"].population.predicted_positives > 20_000
    for metric, subject in large.items():
        fine = subject.frame(Design(strata="perc", bins=300)).least_variance
        assert fine / subject.random_variance == pytest.approx(subject.limit, rel=0.05), metric


def test_only_classifiers_of_a_name_are_chosen() -> None:
    chosen = Scope("default", QUICK, None, 1, only="low").classifiers
    assert [each.name for each in chosen] == ["low accuracy"]
    with pytest.raises(InputError, match="no classifier has 'mine' in its name"):
        _ = Scope("default", QUICK, None, 1, only="mine").classifiers


def unjudged(metric: str, *, yes: float = 0.0, no: float = 0.0) -> Unjudged:
    subject = of_classifier(classifiers(None)[2], metric)
    scope = Scope("default", replace(QUICK, replications=200), None, 1)
    cell = scope.cell(Part.UNJUDGED, subject, 0.1, unjudged_yes=yes, unjudged_no=no)
    return Unjudged(cell.settings, subject)


def test_an_interval_and_its_worst_case_are_read_off_the_same_runs() -> None:
    cell = unjudged("precision", no=1.0)
    runs = cell.task().replay(200, key=[1, 0])
    interval, worst = measured(cell.rows, runs)
    assert (interval.reading, worst.reading) == (INTERVAL, WORST_CASE)
    assert interval.labels == worst.labels
    # No negative is ever judged: it looks perfect, and only the worst case knows better.
    assert (runs.value > 0.9).all()
    assert interval.coverage == 0
    assert interval.too_high == 1
    # The estimates with all unjudged items one way and the other would hold it half of the time.
    assert worst.coverage > 0.945 - 2 * worst.coverage_se
    assert not interval.promised
    assert worst.promised
    assert {row.n_w for row in (interval, worst)} == {None}


def test_where_all_can_be_judged_the_runs_are_those_without_the_question() -> None:
    cell = unjudged("accuracy")
    task = cell.task()
    asked = task.replay(50, key=[1, 0])
    single = Single(cell.settings, cell.subject).task()
    assert single.replay(50, key=[1, 0]).labels.mean() == pytest.approx(
        asked.labels.mean(), rel=0.1
    )
    assert asked.low[:, 0].mean() < cell.subject.value < asked.high[:, 0].mean()
    np.testing.assert_allclose(asked.low[:, 1], asked.low[:, 0])  # nothing is left open


def test_the_worst_case_can_be_swapped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        cell_kinds,
        "stated_worst_case",
        lambda _design, _goal, _metric, state: (
            np.zeros(len(state.dealt)),
            np.ones(len(state.dealt)),
        ),
    )
    cell = unjudged("precision", no=0.6)
    _, worst = measured(cell.rows, cell.task().replay(20, key=[1, 0]))
    assert worst.coverage == 1
    assert worst.lean_middle == pytest.approx((0.5 - worst.value) / 0.1)


def test_as_many_are_unjudged_as_the_share_says() -> None:
    """300 runs of 100 cards: a share of 0.18 is found to 0.0022, four times that is allowed."""
    subject = of_shape("no signal", 0.7, 10_000)
    frame, goal = subject.frame(Design()), Goal("precision", budget=100)
    seen: list[Tallies] = []

    def read(_design: Design, _goal: Goal, metric: Metric, state: State) -> tuple[Floats, Floats]:
        seen.append(state.tallies)
        return swing(state.tallies, metric)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cell_kinds, "stated_worst_case", read)
        UnjudgedTask("few", frame, Design(), goal, 20, 0.0, 0.6).replay(300, key=[1])
    (tallies,) = seen
    cards = (tallies.n + tallies.u).sum()
    assert cards == 300 * 100
    assert tallies.u.sum() / cards == pytest.approx(0.3 * 0.6, abs=0.01)
    # A judged card is positive with 0.7 / (0.7 + 0.12).
    assert tallies.x.sum() / tallies.n.sum() == pytest.approx(0.7 / 0.82, abs=0.01)


def test_recall_without_a_positive_that_can_be_judged_is_left_out() -> None:
    cells, left_out = cells_of(Part.UNJUDGED, unjudged=(0.3, 1.0))
    assert {each.metric for each in left_out} == {"recall"}
    assert len(left_out) == 3
    shares = {(row.rows[0].unjudged_yes, row.rows[0].unjudged_no) for row in cells}
    assert shares == {(0.3, 0.0), (0.0, 0.3), (1.0, 0.0), (0.0, 1.0)}


def test_each_target_of_two_classifiers_makes_a_row() -> None:
    cells, left_out = cells_of(Part.JOINT)
    assert {each.population for each in left_out} == {pair.name for pair in rare_pairs(1)}
    names = [[row.metric for row in cell.rows] for cell in cells]
    assert ["recall:one", "recall:other", "recall:one - recall:other"] in names
    assert max(map(len, names)) == 6
    (pair, *_) = rare_pairs(1)
    recalls = [sk.recall_score(pair.truth, said) for said in pair.predicted]
    cell = next(each for each in cells if each.rows[0].population == f"{pair.name}, recall")
    wanted = [*recalls, recalls[0] - recalls[1]]
    assert [row.value for row in cell.rows] == pytest.approx(wanted)


def test_targets_are_measured_each_by_its_own_truth() -> None:
    cells, _ = cells_of(Part.JOINT)
    cell = min(cells, key=lambda each: each.looks)
    assert isinstance(cell, Several)
    runs = cell.task().replay(4, key=[1, 0])
    assert runs.value.shape == (4, len(cell.rows))
    rows = measured(cell.rows, runs)
    for place, row in enumerate(rows):
        assert row.lean == pytest.approx((runs.value[:, place].mean() - row.value) / row.delta)
        assert abs(row.lean) < 1.5
    half = (runs.high - runs.low) / 2
    assert (half <= cell.rows[0].delta + 1e-9).all()
    again = cell.task().replay(4, key=[1, 0])
    assert again.labels.tolist() == runs.labels.tolist()


def test_rare_classes_of_a_folder_are_found(tmp_path: Path) -> None:
    rng = np.random.default_rng(5)
    for name, share in (("seldom", 0.02), ("often", 0.4)):
        label = rng.random(20_000) < share
        score = 3 * label + rng.standard_normal(20_000)
        columns = {"label": label, "score_a": score, "pred_a": score > 2}
        pq.write_table(pa.table(columns), tmp_path / f"{name}.parquet")
    plan = Plan(Scope("default", QUICK, tmp_path, 1))
    cells, _ = plan.cells(Part.RARE, [])
    named = {cell.rows[0].population for cell in cells}
    assert "seldom a" in named
    assert "often a" not in named
    assert {cell.rows[0].metric for cell in cells} == {"recall", "f1"}
