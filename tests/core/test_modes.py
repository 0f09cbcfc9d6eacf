"""The modes of Assay's own design: what each promises, and what each refuses."""

import json
from typing import Any

import numpy as np
import pytest

import assay
from assay.core.design import MODES, check_together, default_design
from assay.core.engine import look
from assay.core.forms import ratio
from assay.core.state import State
from assay.core.types import Bools, Floats

COLUMNS: dict[str, Floats | Bools] = {
    "p": np.linspace(0.5, 1, 2000),
    "yes": np.ones(2000, dtype=bool),
}


def make(**more: object) -> assay.Campaign:
    values: dict[str, Any] = {"score": "p", "predicted": "yes", **more}
    return assay.create_campaign(COLUMNS, **values)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"interval": "betting"}, "'betting' does not go with allocation 'explore'"),
        ({"allocation": "chance"}, "'stratified' does not go with allocation 'chance'"),
        ({"interval": "betting", "allocation": "chance", "replacement": True}, "cards that are"),
        ({"interval": "betting", "allocation": "chance", "stop": "budget"}, "cards that are left"),
        ({"stop": "lucky"}, "unknown stop 'lucky'"),
    ],
)
def test_what_would_break_a_promise_is_refused(values: dict[str, object], message: str) -> None:
    with pytest.raises(assay.DesignError, match=message):
        assay.Design.from_dict(values)


def test_the_centred_interval_is_the_estimate_and_as_much_either_way() -> None:
    sizes = np.full(2, 5000.0)
    metric = ratio("precision", sizes, np.ones(2, dtype=bool))
    state = State.start(sizes, replacement=False)
    labelled = State(
        state.tallies.add([60, 60], [57, 50]), np.full(2, 60.0), sizes - 60, 2, state.streak
    )
    goal = assay.Goal("precision", within=0.05)
    centred, default = (
        look(MODES[name], goal, metric, labelled) for name in ("centred", "default")
    )
    value = float(centred.moments.value)
    assert float(centred.high) - value == pytest.approx(value - float(centred.low))
    with pytest.raises(AssertionError):
        assert float(default.high) - value == pytest.approx(value - float(default.low))


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
        ({"at_least": 0.95, "within": 0.02}, "two questions"),
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
