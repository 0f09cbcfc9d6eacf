"""`simulate`: its rows by hand, its baselines, several targets, designs, and bad input."""

import math
from typing import Any

import numpy as np
import pytest

from assay.core.design import MODES, Design
from assay.core.forms import ratio
from assay.core.goal import Goal
from assay.core.stopping import Reason
from assay.errors import AssayError, DesignError
from assay.simulation import (
    DESIGN_NAMES,
    SEVERAL_DESIGNS,
    Frame,
    Population,
    Runs,
    Simulation,
    Wanted,
    named_design,
    simulate,
    summarise,
)


def population(size: int = 5000) -> Population:
    rng = np.random.default_rng(2)
    score = rng.beta(4, 1, size)
    return Population(y_true=rng.random(size) < score, y_score=score, threshold=0.5)


def by_hand() -> Frame:
    """Two strata of 500 with rates 0.9 and 0.5; precision is 0.7."""
    sizes, positives = np.array([500.0, 500.0]), np.array([450.0, 250.0])
    strata = population().frame(Design(bins=2), "precision").strata
    return Frame(ratio("precision", sizes, np.array([True, True])), strata, sizes, positives)


def test_a_row_by_hand() -> None:
    runs = Runs(
        labels=np.array([300, 200]),
        reason=np.array([Reason.GOAL_MET] * 2),
        value=np.array([[0.72], [0.64]]),
        variance=np.array([[0.0004], [0.0008]]),
        low=np.array([[0.68], [0.60]]),
        high=np.array([[0.76], [0.68]]),
        counted=np.array([[300.0], [200.0]]),
    )
    frame, goal = by_hand(), Goal("precision", within=0.05)
    wanted = Wanted("precision", frame.value, goal, 0.21, frame.least_variance)
    row = summarise("by hand", runs, [wanted], baseline=400.0)
    assert row.design == "by hand"
    assert row.labels_mean == 250
    assert row.labels_se == pytest.approx(50)
    assert row.change_pct == pytest.approx(-37.5)
    # Best standard deviation of a label: (0.3 + 0.5) / 2; oracle 1.96^2 * 0.16 / 0.05^2 labels.
    oracle = 1.959964**2 * 0.16 / 0.0025
    assert oracle == pytest.approx(245.9, abs=0.1)
    assert row.oracle_pct == pytest.approx(100 * (250 / oracle - 1), rel=1e-5)
    assert row.within == 0.5
    assert row.coverage == 0.5
    assert row.bias == pytest.approx(-0.02)
    assert row.rmse == pytest.approx(math.sqrt((0.02**2 + 0.06**2) / 2))
    assert row.mae == pytest.approx(0.04)
    assert row.mvr == pytest.approx(0.0006 / (0.21 * (1 / 300 + 1 / 200) / 2))


def test_without_a_target_there_is_no_oracle_and_no_within() -> None:
    result = simulate(population(), designs=["perc-opt"], budget=50, replications=20, workers=1)
    assert [(row.oracle_pct, row.within) for row in result.rows] == [(None, None)] * 2


def test_random_sampling_is_the_baseline_with_and_without_replacement() -> None:
    """perc-opt with one bin and paper 1's rule is random sampling with replacement."""
    items = population(600)
    with_replacement = Design(
        bins=1, allocation="pps", estimator="unbiased", replacement=True, variable="confidence"
    )
    result = simulate(
        items,
        designs={"again": with_replacement, "random": Design.simple_random()},
        within=0.05,
        replications=2000,
        workers=1,
    )
    rows = {row.design: row for row in result.rows}
    assert set(rows) == {"random", "again"}
    assert rows["random"].change_pct == 0
    # Labels vary by about 8% a run, so two means of 2,000 differ by 0.25% (one standard error);
    # 1.5% is missed less than once in a million. Against random sampling without replacement the
    # change would be about a third more labels.
    assert rows["again"].change_pct == pytest.approx(0.0, abs=1.5)
    assert rows["again"].labels_mean > 1.2 * rows["random"].labels_mean


def test_a_mapping_of_designs_is_the_same_as_their_names() -> None:
    asked: dict[str, Any] = {"within": 0.06, "replications": 30, "seed": 4, "workers": 1}
    by_name = simulate(population(), designs=["perc-opt"], **asked)
    by_design = simulate(population(), designs={"perc-opt": named_design("perc-opt")}, **asked)
    assert by_name == by_design
    assert by_name != simulate(population(), designs=["perc-opt"], **{**asked, "seed": 5})


def test_there_are_the_papers_and_five_of_ours() -> None:
    assert len(DESIGN_NAMES) == len(set(DESIGN_NAMES)) == 5 + 2 * 3 + 7 * 4
    assert {"default", "random", "equal-uni", "perc-opt", "km-opt-a2", "eqwd-equ"} <= set(
        DESIGN_NAMES
    )


@pytest.mark.parametrize("name", DESIGN_NAMES)
def test_every_name_is_a_design_in_any_case(name: str) -> None:
    design = named_design(name)
    assert named_design(f" {name.upper()} ") == design
    if name not in (*MODES, "random"):
        strata, _, allocation = name.partition("-")
        known = {"eqsz": "perc", "eqwd": "equal"}.get(strata, strata)
        assert (design.strata, design.allocation) == (known, allocation)
        assert design.variable == ("score" if strata in ("perc", "equal") else "confidence")


def test_bins() -> None:
    assert named_design("default", bins=3) == Design(bins=3)
    assert named_design("centred", bins=3) == Design(bins=3, stop="centred")
    assert named_design("random", bins=3) == Design.simple_random()
    assert named_design("perc-opt").bins == 4
    assert named_design("perc-opt", bins=5) == Design.bennett_carvalho(bins=5)
    assert named_design("perc-opt", bins=5).round_size == 10
    assert named_design("gmm-equ", bins=5).bins == 5


METRICS = ["precision:new", "recall:old within 0.08", "precision:new - precision:old"]


def both() -> Population:
    rng = np.random.default_rng(7)
    truth = rng.random(8000) < 0.3
    hard = rng.random(8000) < 0.3
    said = {name: truth ^ (hard & (rng.random(8000) < 0.3)) for name in ("new", "old")}
    return Population(y_true=truth, y_pred=said, y_score={"new": truth + rng.normal(size=8000)})


def simulate_both(**changed: Any) -> Simulation:
    given = {
        "metrics": METRICS,
        "within": 0.05,
        "replications": 40,
        "seed": 3,
        "workers": 1,
        **changed,
    }
    return simulate(both(), **given)


def test_joint_takes_the_fewest_labels_and_independent_samples_most() -> None:
    result = simulate_both()
    labels = {row.design: row.labels_mean for row in result.rows}
    assert tuple(labels) == SEVERAL_DESIGNS
    assert labels["joint"] < min(labels["recycle-shuffle"], labels["coordinated"])
    assert max(labels, key=lambda name: labels[name]) == "independent"
    for row in result.rows:
        assert row.change_pct == pytest.approx(100 * (row.labels_mean / labels["independent"] - 1))
        assert [each.metric for each in row.metrics] == ["precision:new", "recall:old", METRICS[2]]
        assert all(each.rmse >= abs(each.bias) for each in row.metrics)
        assert all(0 < each.labels <= row.labels_mean for each in row.metrics)
        assert all((each.coverage is None) == (row.design != "joint") for each in row.metrics)
        # 40 runs: less than 0.75 has a chance below 1e-6 where 0.95 is true.
        assert all(each.within is not None and each.within >= 0.75 for each in row.metrics)


BAD = {
    "fixed sizes by budget": (
        {"within": None, "budget": 9, "metrics": ["recall:new"], "designs": ["coordinated"]},
        "`within`",
    ),
    "parent": ({"parent": "cnn"}, "'cnn'"),
    "assume": ({"assume": 1.0}, "assume must be"),
    "batch": ({"batch": 0}, "batch must be"),
    "classifier": ({"metrics": ["precision:cnn"]}, "'cnn'"),
    "no goal": ({"within": None}, "no goal"),
}


@pytest.mark.parametrize(("wrong", "message"), BAD.values(), ids=BAD)
def test_bad_input_is_refused(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(AssayError, match=message):
        simulate_both(**wrong)


def test_a_classifier_that_never_says_yes_has_an_accuracy_and_no_precision() -> None:
    truth = np.arange(4000) % 5 == 0
    silent = Population(y_true=truth, y_pred={"shy": truth & False, "sound": truth})
    for metrics in (["accuracy:shy"], ["accuracy:shy", "accuracy:sound"]):
        for row in simulate(silent, metrics=metrics, within=0.1, replications=5, workers=1).rows:
            assert abs(row.metrics[0].bias) < 0.1
    with pytest.raises(AssayError, match="says yes to no item"):
        simulate(silent, metrics=["precision:shy"], within=0.1, replications=5, workers=1)
    with pytest.raises(DesignError, match="shy says yes to no item"):
        simulate(
            silent, metrics=["precision:sound"], within=0.1, parent="shy", replications=5, workers=1
        )


def test_the_difference_of_two_f1s_is_estimated_by_every_design() -> None:
    result = simulate_both(metrics=["f1:new - f1:old"], replications=200)
    truth = result.rows[0].metrics[0].value
    for row in result.rows:
        (metric,) = row.metrics
        # Five standard errors: a right design fails with a chance below 1e-6.
        assert abs(metric.bias) < 5 * metric.rmse / 200**0.5 + 0.002
        assert metric.rmse < 0.05
    assert truth != 0
