import json

import numpy as np
import pytest

from assay.core.design import MODES, Design, check_together, fitted
from assay.core.goal import Goal
from assay.errors import DesignError

PRESETS = [
    *MODES.values(),
    Design.simple_random(),
    *(
        Design.bennett_carvalho(strata=s, allocation=a)
        for s in ("equal", "perc")
        for a in ("uni", "pps", "opt")
    ),
    *(
        Design.kumar_raj(strata=s, allocation=a)
        for s in ("sqrt", "cbrt", "wtmn", "km", "gmm", "eqsz", "eqwd")
        for a in ("pro", "equ", "opt-a1", "opt-a2")
    ),
]


@pytest.mark.parametrize("design", PRESETS)
def test_json_round_trip(design: Design) -> None:
    assert Design.from_json(design.to_json()) == design
    assert Design.from_dict(json.loads(json.dumps(design.to_dict()))) == design


def test_presets_are_the_papers() -> None:
    paper_1 = Design.bennett_carvalho()
    assert (paper_1.bins, paper_1.first_per_stratum, paper_1.round_size) == (4, 2, 8)
    assert (paper_1.rounds_in_a_row, paper_1.interval, paper_1.estimator) == (
        2,
        "normal",
        "smoothed",
    )
    baseline = Design.bennett_carvalho(bins=1)
    assert (baseline.round_size, baseline.first_per_stratum) == (2, 2)
    paper_2 = Design.kumar_raj()
    assert (paper_2.strata, paper_2.variable, paper_2.estimator) == (
        "perc",
        "confidence",
        "unbiased",
    )


def test_numpy_numbers_become_plain_ones() -> None:
    design = Design.from_dict({"bins": np.int64(5), "round_size": np.int32(7)})
    assert json.loads(design.to_json())["bins"] == 5


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"bins": 0}, "bins must be a whole number of at least 1 and at most 1000, got 0"),
        ({"bins": 2.5}, "got 2.5"),
        ({"bins": True}, "got True"),
        ({"strata": "percentile"}, "percentile"),
        ({"allocation": "optimal"}, "unknown allocation 'optimal'"),
        ({"allocation": "opt-a2"}, "first_per_stratum"),
        ({"estimator": "biased"}, "did you mean 'unbiased'"),
        ({"interval": "wald"}, "normal"),
        ({"variable": "z"}, "confidence"),
        ({"replacement": "no"}, "True or False"),
        ({"round_size": -1}, "got -1"),
        ({"rounds_in_a_row": 0}, "got 0"),
        ({"colour": "red"}, "unknown field 'colour'"),
    ],
)
def test_what_does_not_exist_is_refused(values: dict[str, object], message: str) -> None:
    with pytest.raises(DesignError, match=message):
        Design.from_dict(values)


def test_the_worst_case_is_random_sampling_at_one_half() -> None:
    assert Goal("precision", within=0.03).worst_case == 1068  # 1.96^2 / (4 * 0.03^2)
    assert Goal("precision", within=0.03, budget=100).worst_case == 100
    assert Goal("precision", budget=7).worst_case == 7


def test_a_design_and_a_goal_must_fit_together() -> None:
    two_step = Design.kumar_raj(allocation="opt-a1")
    with pytest.raises(DesignError, match="no budget was given"):
        check_together(two_step, Goal("accuracy", within=0.02), 6)
    with pytest.raises(DesignError, match="a budget of 20 does not cover the first round"):
        check_together(two_step, Goal("accuracy", budget=20), 6)
    check_together(two_step, Goal("accuracy", budget=30), 6)


def test_json_that_is_none() -> None:
    with pytest.raises(DesignError, match="not valid JSON"):
        Design.from_json("{")
    with pytest.raises(DesignError, match="expected the fields"):
        Design.from_json("[]")


def test_as_many_strata_as_the_labels_of_a_goal_can_carry() -> None:
    """Twelve labels a stratum of z^2 / (4 within^2), which the worst rate takes; at least four."""
    for within in (0.01, 0.03, 0.05, 0.06, 0.07, 0.08, 0.1, 0.15, 0.2, 0.4):
        worst = int(np.ceil(1.959964**2 / (4 * within**2) - 1e-9))
        goal = Goal("precision", within=within)
        assert fitted(Design(), goal).bins == min(16, max(worst // 12, 4))
        assert fitted(Design(bins=6), goal).bins == min(6, max(worst // 12, 4))
        # A budget does not make the strata fewer, nor does a metric that needs more labels.
        assert fitted(Design(), Goal("precision", within=within, budget=50)) == fitted(
            Design(), goal
        )
        for metric in ("recall", "f1"):
            assert fitted(Design(), Goal(metric, within=within)) == Design()
    assert fitted(Design(), Goal("precision", budget=50)) == Design()
    assert fitted(Design(strata="perc"), Goal("precision", within=0.2)).bins == 16
    assert fitted(Design.simple_random(), Goal("precision", within=0.2)) == Design.simple_random()
