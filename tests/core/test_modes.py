"""Designs: the modes of Assay's own, what each promises, and what is refused."""

import json
from typing import Any

import numpy as np
import pytest

import assay
from assay.core.design import MODES, Design, check_together, default_design, fitted
from assay.core.engine import look
from assay.core.forms import ratio
from assay.core.goal import Goal
from assay.core.state import State
from assay.core.types import Bools, Floats
from assay.errors import DesignError

COLUMNS: dict[str, Floats | Bools] = {
    "p": np.linspace(0.5, 1, 2000),
    "yes": np.ones(2000, dtype=bool),
}


def make(**more: object) -> assay.Campaign:
    values: dict[str, Any] = {"score": "p", "predicted": "yes", **more}
    return assay.create_campaign(COLUMNS, **values)


def test_the_centred_interval_is_the_estimate_and_as_much_either_way() -> None:
    sizes = np.full(2, 5000.0)
    metric = ratio("precision", sizes, np.ones(2, dtype=bool))
    state = State.start(sizes, replacement=False)
    labelled = State(
        state.tallies.add([60, 60], [57, 50]), np.full(2, 60.0), sizes - 60, 2, state.streak
    )
    goal = assay.Goal("precision", within=0.05)
    centred = look(MODES["centred"], goal, metric, labelled)
    value = float(centred.moments.value)
    assert float(centred.high) - value == pytest.approx(value - float(centred.low))


def test_the_budget_s_interval_is_the_narrowest() -> None:
    sizes = np.full(2, 5000.0)
    metric = ratio("precision", sizes, np.ones(2, dtype=bool))
    tallies = State.start(sizes, replacement=False).tallies.add([60, 60], [57, 50])
    state = State(tallies, np.full(2, 60.0), sizes - 60, 2, np.array(0))
    goal = assay.Goal("precision", budget=120)
    widths = {
        name: float(look(MODES[name], goal, metric, state).half_width)
        for name in ("fixed", "default", "centred")
    }
    assert widths["fixed"] < widths["default"] < widths["centred"]


def test_fixed_refuses_to_look_again_and_again_and_says_what_to_do() -> None:
    with pytest.raises(assay.DesignError, match="looks once") as told:
        make(within=0.02, design=assay.Design.fixed())
    assert "budget=2401" in told.value.hint
    check_together(assay.Design.fixed(), assay.Goal("precision", budget=2401), 8)


def test_fixed_says_that_its_interval_is_for_the_end() -> None:
    campaign = make(budget=60, design=assay.Design.fixed())
    early = campaign.tell({item.id: True for item in campaign.ask(40)})
    assert not early.anytime
    assert any("at the end of the budget" in note for note in early.notes)
    late = campaign.tell({item.id: True for item in campaign.ask(20)})
    assert late.stopped == "the budget is used up"
    assert not any("end of the budget" in note for note in late.notes)


@pytest.mark.parametrize(
    "design",
    [
        assay.Design.bennett_carvalho(),
        assay.Design.kumar_raj(),
        assay.Design(interval="wilson"),
        assay.Design(interval="jeffreys"),
    ],
)
def test_peeking_at_an_interval_for_one_look_has_a_price_that_is_told(design: assay.Design) -> None:
    with pytest.warns(assay.AssayWarning, match="right in 69% instead of 95% of runs"):
        make(within=0.05, design=design)
    make(budget=100, design=design)  # one look: no warning, which would be an error here


@pytest.mark.parametrize("name", ["default", "centred", "guaranteed"])
def test_our_own_modes_may_stop_at_a_narrow_look_without_a_warning(name: str) -> None:
    told = make(within=0.05, design=MODES[name]).estimate()
    assert MODES[name].may_stop
    assert told.anytime == (name == "guaranteed")  # a theorem's, and no simulation's
    assert told.holds == MODES[name].holds


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"at_least": 0.95, "within": 0.02}, "cannot be combined"),
        ({"at_least": 95}, "0.95 asks whether"),
        ({"at_least": 1.0}, "between 0 and 1"),
        ({"at_least": "high"}, "got 'high'"),
    ],
)
def test_questions_that_make_no_sense_are_refused(values: dict[str, object], message: str) -> None:
    with pytest.raises(assay.DesignError, match=message):
        make(**values)


def test_a_question_needs_a_design_that_bets() -> None:
    with pytest.raises(assay.DesignError, match="decided by bets") as told:
        make(at_least=0.95, design=assay.Design())
    assert "Design.guaranteed()" in told.value.hint
    assert make(at_least=0.95).settings.design == assay.Design.guaranteed()
    assert default_design(assay.Goal("precision", budget=9)) == assay.Design()


@pytest.mark.parametrize(("truth", "verdict"), [(True, True), (False, False)])
def test_a_question_is_answered_in_words(truth: bool, verdict: bool) -> None:
    campaign = make(at_least=0.9)
    while not campaign.done:
        estimate = campaign.tell({item.id: truth for item in campaign.ask(20)})
    assert estimate.verdict is verdict
    assert ("yes: at least 0.9" if verdict else "no: below 0.9") in str(estimate)
    assert json.loads(json.dumps(estimate.to_dict()))["verdict"] is verdict
    assert estimate.labels < 200


def test_a_question_that_outlasts_its_budget_has_no_answer_yet() -> None:
    campaign = make(at_least=0.9, budget=10)
    estimate = campaign.tell({item.id: True for item in campaign.ask(10)})
    assert estimate.verdict is None
    assert "the budget is used up; whether it is at least 0.9 is undecided" in str(estimate)
    assert estimate.low < 0.9 < estimate.high


@pytest.mark.parametrize(("positives", "verdict"), [(19, True), (18, False)])
def test_with_everything_labelled_the_answer_is_exact(positives: int, verdict: bool) -> None:
    """19 of 20 is exactly 0.95: no sample could tell it from less, and the whole does."""
    columns = {"p": np.linspace(0.5, 1, 20), "yes": np.ones(20, dtype=bool)}
    campaign = assay.create_campaign(columns, score="p", predicted="yes", at_least=0.95)
    while not campaign.done:
        campaign.tell({item.id: int(item.id) < positives for item in campaign.ask(20)})
    assert campaign.estimate().verdict is verdict


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
        ({"stop": "lucky"}, "unknown stop 'lucky'"),
        # What would break a promise
        ({"interval": "betting"}, "'betting' cannot be combined with allocation 'explore'"),
        ({"allocation": "chance"}, "'stratified' cannot be combined with allocation 'chance'"),
        ({"interval": "betting", "allocation": "chance", "replacement": True}, "cards that are"),
        ({"interval": "betting", "allocation": "chance", "stop": "budget"}, "cards that are left"),
    ],
)
def test_designs_that_cannot_be_are_refused(values: dict[str, object], message: str) -> None:
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
