"""What each mode promises, measured; beside each a rule that breaks the promise and is caught."""

from collections.abc import Callable

import numpy as np
import pytest

from assay.core.design import Design
from assay.core.goal import Goal
from assay.core.state import Look, State
from assay.core.stopping import Reason
from assay.core.types import Bools, Floats
from assay.simulation import Runs
from tests.replays import replayed

SIZES = np.full(4, 250_000.0)
SHARP, FLAT = np.array([0.91, 0.98, 0.993, 0.997]), np.full(4, 0.97)
MISLED = np.array([0.85, 0.95, 0.85, 0.95])  # by the score


def run(
    design: Design,
    goal: Goal,
    rates: Floats,
    *,
    replications: int = 1500,
    watch: Callable[[State, Look], None] | None = None,
) -> Runs:
    positives = np.round(SIZES * rates)
    return replayed(design, goal, SIZES, positives, runs=replications, seed=9, watch=watch)


def truth(rates: Floats) -> float:
    return float(np.round(SIZES * rates).sum() / SIZES.sum())


def holds(runs: Runs, rates: Floats) -> Bools:
    return np.asarray((runs.low <= truth(rates)) & (truth(rates) <= runs.high))


def check_share(right: Bools) -> None:
    """Check a share that should be 0.95 or more.

    1,500 runs: it shows less than 0.93 with probability below 5e-4, and the seeds are fixed.
    """
    assert float(right.mean()) >= 0.93


def check_default(design: Design) -> None:
    for rates, delta in ((SHARP, 0.01), (FLAT, 0.01), (MISLED, 0.03)):
        check_share(holds(run(design, Goal("precision", within=delta), rates), rates))


def test_the_default_is_right_when_it_stops() -> None:
    check_default(Design())
    with pytest.raises(AssertionError):
        check_default(Design.bennett_carvalho())


def check_centred(design: Design) -> None:
    for rates, delta in ((np.full(4, 0.98), 0.015), (FLAT, 0.01), (FLAT, 0.03)):
        runs = run(design, Goal("precision", within=delta), rates)
        check_share(np.abs(runs.value - truth(rates)) <= delta)


def test_centred_is_right_about_the_estimate_give_or_take_delta() -> None:
    check_centred(Design.centred())
    with pytest.raises(AssertionError):
        check_centred(Design())  # its interval is right, and not symmetric
    with pytest.raises(AssertionError):
        check_centred(Design.bennett_carvalho())


def test_fixed_is_right_at_the_end_of_its_budget() -> None:
    for rates, budget in ((SHARP, 500), (FLAT, 300), (MISLED, 300)):
        check_share(holds(run(Design.fixed(), Goal("precision", budget=budget), rates), rates))
    with pytest.raises(AssertionError):
        check_share(
            holds(run(Design.bennett_carvalho(), Goal("precision", within=0.01), FLAT), FLAT)
        )


def ever_wrong(design: Design, goal: Goal, rates: Floats, replications: int) -> float:
    """Return the share of runs whose interval misses the truth at any look.

    With a budget alone all runs end together, so each keeps its place.
    """
    missed = np.zeros(replications, dtype=bool)

    def watch(_state: State, now: Look) -> None:
        missed[(now.low > truth(rates)) | (truth(rates) > now.high)] = True

    run(design, goal, rates, replications=replications, watch=watch)
    return float(missed.mean())


def check_never_wrong(design: Design) -> None:
    """Check that at most 5% of the runs are ever wrong, at any of 30 looks.

    300 runs: a share of 0.05 shows more than 0.10 with probability below 3e-4.
    """
    assert ever_wrong(design, Goal("precision", budget=600), FLAT, 300) <= 0.10


def test_guaranteed_is_right_at_all_looks_at_once() -> None:
    check_never_wrong(Design.guaranteed())
    with pytest.raises(AssertionError):
        check_never_wrong(Design.bennett_carvalho())


def verdicts(rates: Floats, *, at_least: float, budget: int, replications: int) -> Runs:
    goal = Goal("precision", budget=budget, at_least=at_least)
    return run(Design.guaranteed(), goal, rates, replications=replications)


def check_seldom_wrong(share: float) -> None:
    """Check a share of wrong answers that should be at most 0.05.

    400 runs: it shows more than 0.09 with probability below 5e-4.
    """
    assert share <= 0.09


@pytest.mark.parametrize(("rate", "wrong"), [(0.945, Reason.AT_LEAST), (0.955, Reason.BELOW)])
def test_a_question_is_seldom_answered_wrongly(rate: float, wrong: Reason) -> None:
    rates = np.full(4, rate)
    runs = verdicts(rates, at_least=0.95, budget=1000, replications=400)
    check_seldom_wrong(float(np.mean(runs.reason == wrong)))


def test_an_answer_by_the_first_interval_on_one_side_is_often_wrong() -> None:
    """What people do: look at the papers' interval again and again until it leaves 0.95."""
    rates, decided = np.full(4, 0.945), np.zeros(400, dtype=np.int64)

    def watch(_state: State, now: Look) -> None:
        first = decided == 0
        decided[first & (now.low > 0.95)] = 1
        decided[first & (now.high < 0.95)] = -1

    goal = Goal("precision", budget=1000)
    run(Design.bennett_carvalho(), goal, rates, replications=400, watch=watch)
    with pytest.raises(AssertionError):
        check_seldom_wrong(float(np.mean(decided == 1)))


def test_a_clear_question_takes_fewer_labels_than_an_interval() -> None:
    question = verdicts(np.full(4, 0.8), at_least=0.95, budget=5000, replications=100)
    assert set(question.reason) == {Reason.BELOW}
    interval = run(Design(), Goal("precision", within=0.02), np.full(4, 0.8), replications=100)
    assert question.labels.mean() < 0.5 * interval.labels.mean()
