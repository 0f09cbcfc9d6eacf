"""`simulate` of several targets: what designs cost together, by seed, and bad input."""

from typing import Any

import numpy as np
import pytest

from assay.errors import AssayError, DesignError
from assay.simulation import SEVERAL_DESIGNS, Population, Simulation
from assay.simulation import simulate as simulated

METRICS = ["precision:new", "recall:old within 0.08", "precision:new - precision:old"]


def population() -> Population:
    rng = np.random.default_rng(7)
    truth = rng.random(8000) < 0.3
    hard = rng.random(8000) < 0.3
    said = {name: truth ^ (hard & (rng.random(8000) < 0.3)) for name in ("new", "old")}
    return Population(y_true=truth, y_pred=said, y_score={"new": truth + rng.normal(size=8000)})


def simulate(**changed: Any) -> Simulation:
    given = {
        "metrics": METRICS,
        "within": 0.05,
        "replications": 40,
        "seed": 3,
        "workers": 1,
        **changed,
    }
    return simulated(population(), **given)


def test_joint_takes_the_fewest_labels_and_independent_samples_most() -> None:
    result = simulate()
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
    "one classifier's design": ({"designs": ["perc-opt"]}, "independent, recycle-sample"),
    "no design": ({"designs": []}, "designs: independent"),
    "designs as a word": ({"designs": "joint"}, "several names"),
    "fixed sizes by budget": (
        {"within": None, "budget": 9, "metrics": ["recall:new"], "designs": ["coordinated"]},
        "`within`",
    ),
    "parent": ({"parent": "cnn"}, "'cnn'"),
    "assume": ({"assume": 1.0}, "assume must be"),
    "replications": ({"replications": 0}, "replications must be"),
    "seed": ({"seed": -1}, "seed must be"),
    "batch": ({"batch": 0}, "batch must be"),
    "classifier": ({"metrics": ["precision:cnn"]}, "'cnn'"),
    "no goal": ({"within": None}, "no goal"),
}


@pytest.mark.parametrize(("wrong", "message"), BAD.values(), ids=BAD)
def test_bad_input_is_refused(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(AssayError, match=message):
        simulate(**wrong)


def test_a_classifier_that_never_says_yes_has_an_accuracy_and_no_precision() -> None:
    truth = np.arange(4000) % 5 == 0
    silent = Population(y_true=truth, y_pred={"shy": truth & False, "sound": truth})
    for metrics in (["accuracy:shy"], ["accuracy:shy", "accuracy:sound"]):
        for row in simulated(silent, metrics=metrics, within=0.1, replications=5, workers=1).rows:
            assert abs(row.metrics[0].bias) < 0.1
    with pytest.raises(AssayError, match="says yes to no item"):
        simulated(silent, metrics=["precision:shy"], within=0.1, replications=5, workers=1)
    with pytest.raises(DesignError, match="shy says yes to no item"):
        simulated(
            silent, metrics=["precision:sound"], within=0.1, parent="shy", replications=5, workers=1
        )


def test_the_difference_of_two_f1s_is_estimated_by_every_design() -> None:
    result = simulate(metrics=["f1:new - f1:old"], replications=200)
    truth = result.rows[0].metrics[0].value
    for row in result.rows:
        (metric,) = row.metrics
        # Five standard errors: a right design fails with a chance below 1e-6.
        assert abs(metric.bias) < 5 * metric.rmse / 200**0.5 + 0.002
        assert metric.rmse < 0.05
    assert truth != 0
