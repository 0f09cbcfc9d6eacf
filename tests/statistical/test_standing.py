"""The stated worst case, and intervals with open items: by simulation, through the real loop.

Every population has its truth, and all that nobody can judge, or that a reviewer skips, is of one
kind. Every bound leaves two standard errors of 400 runs, so a test that should hold fails with a
chance below 3%; seeds are fixed.
"""

from dataclasses import dataclass, replace

import numpy as np
import pytest

from assay.core.design import Design
from assay.core.engine import begin, fold, look, plan
from assay.core.forms import Ratio, ratio
from assay.core.goal import Goal
from assay.core.metrics import METRICS
from assay.core.standing import Standing
from assay.core.state import Look, State
from assay.core.stopping import Reason
from assay.core.types import Bools, Floats, Ints
from assay.core.unjudged import swing

RUNS = 400
AT_LEAST = 0.95 - 2 * np.sqrt(0.95 * 0.05 / RUNS)
SIZES = np.full(8, 2000.0)
YES = np.arange(8) >= 4
MIXED = np.array([0.01, 0.02, 0.05, 0.2, 0.6, 0.8, 0.9, 0.98])
RISING = np.linspace(0.6, 0.99, 8)


@dataclass(frozen=True, eq=False)
class Ends:
    """How runs ended: arrays of shape (runs,)."""

    low: Floats
    high: Floats
    reason: Ints

    def hold(self, truth: float) -> float:
        return float(np.mean((self.low <= truth) & (truth <= self.high)))


def stood(design: Design, goal: Goal, form: Ratio, state: State, now: Look) -> Standing:
    return Standing(goal.metric, design, goal, form, state, now, 0.0, 0)


def population(metric: str) -> tuple[Ratio, Floats]:
    """Return a metric, and the positives of every stratum."""
    every = np.ones(8, dtype=np.bool_)
    rates, says_yes = (RISING, every) if metric == "precision" else (MIXED, YES)
    return ratio(metric, SIZES, says_yes), np.round(SIZES * rates)


def draw(left: Ints, counts: Ints, rng: np.random.Generator) -> tuple[Ints, Ints, Ints]:
    """Return the positives, negatives and hidden items among so many cards of each stratum."""
    positive = rng.hypergeometric(left[:, 0], left[:, 1] + left[:, 2], counts)
    negative = rng.hypergeometric(left[:, 1], left[:, 2], counts - positive)
    return positive, negative, counts - positive - negative


def run(
    metric: str, within: float, hidden: float, *, kind: str = "negative"
) -> tuple[Ends, Ends, Ends, float]:
    """Run to the stop with a share of one kind unjudged.

    Returns the interval that is shown, the worst case as it was stated before (without sampling
    error), the interval that leaves unjudged items out, and the truth.
    """
    form, positives = population(metric)
    design, goal, rng = Design(), Goal(metric, within=within), np.random.default_rng(1)
    of_kind = positives if kind == "positive" else SIZES - positives
    unjudged = np.round(of_kind * hidden)
    yes, no = (
        (positives - unjudged, SIZES - positives)
        if kind == "positive"
        else (positives, SIZES - positives - unjudged)
    )
    left = np.repeat(np.stack([yes, no, unjudged])[None], RUNS, axis=0).astype(np.int64)
    state = begin(design, goal, np.broadcast_to(SIZES, (RUNS, 8)))
    found = np.zeros((7, RUNS))
    running = np.arange(RUNS)
    while running.size:
        now = look(design, goal, form, state)
        over = now.reason != Reason.GO_ON
        if over.any():
            ended = state.take(over)
            last = look(design, goal, form, ended)
            shown = stood(design, goal, form, ended, last).with_unjudged()
            ends = (
                shown.low,
                shown.high,
                *swing(ended.tallies, form),
                last.low,
                last.high,
                last.reason,
            )
            found[:, running[over]] = ends
            running, state, left = running[~over], state.take(~over), left[~over]
            if not running.size:
                break
        counts = plan(design, goal, form, state, rng=rng, asked=20)
        yes_, no_, hidden_ = draw(left, counts, rng)
        left = left - np.stack([yes_, no_, hidden_], axis=1)
        state = replace(state.deal(counts), tallies=state.tallies.add(yes_ + no_, yes_, hidden_))
    reason = found[6].astype(np.int64)
    each = [Ends(found[place], found[place + 1], reason) for place in (0, 2, 4)]
    return each[0], each[1], each[2], float(form.value(positives))


@pytest.mark.parametrize("hidden", [0.6, 1.0])
@pytest.mark.parametrize(("metric", "within"), [("precision", 0.03), ("recall", 0.05)])
def test_the_shown_interval_holds_with_most_negatives_unjudged_and_the_old_ones_did_not(
    metric: str, within: float, hidden: float
) -> None:
    stated, before, left_out, truth = run(metric, within, hidden)
    assert stated.hold(truth) >= AT_LEAST
    assert before.hold(truth) < AT_LEAST  # a wrong variant: no sampling error
    assert left_out.hold(truth) < 0.6  # another: as if unjudged items were like the rest
    assert (stated.reason == Reason.UNJUDGED).all()  # and none says that the goal is met


@pytest.mark.parametrize("metric", ["recall", "f1", "accuracy", "prevalence"])
def test_the_shown_interval_holds_with_positives_unjudged(metric: str) -> None:
    stated, _, _, truth = run(metric, 0.05, 0.5, kind="positive")
    assert stated.hold(truth) >= AT_LEAST


def test_few_unjudged_items_leave_a_goal_met() -> None:
    stated, _, left_out, truth = run("precision", 0.03, 0.02)
    assert stated.hold(truth) >= AT_LEAST
    met = stated.reason == Reason.GOAL_MET
    assert np.array_equal(stated.low[met], left_out.low[met])  # what they could do is a detail
    assert np.mean(stated.reason == Reason.GOAL_MET) > 0.95


def skipped(metric: str, rounds: int, *, kind: str) -> tuple[Ends, Ends, float]:
    """Deal rounds to a reviewer who skips all of one kind; return what is shown, and was shown."""
    form, positives = population(metric)
    design, goal, rng = Design(), Goal(metric, within=0.001), np.random.default_rng(2)
    left = np.repeat(np.stack([positives, SIZES - positives, 0 * SIZES])[None], RUNS, axis=0)
    left = left.astype(np.int64)
    state = begin(design, goal, np.broadcast_to(SIZES, (RUNS, 8)))
    state = replace(state, open=np.zeros((RUNS, 8)))
    for _ in range(rounds):
        counts = plan(design, goal, form, state, rng=rng, asked=20)
        yes, no, _ = draw(left, counts, rng)
        left = left - np.stack([yes, no, 0 * no], axis=1)
        told, more = (yes, no) if kind == "negative" else (no, yes)
        found = yes if kind == "negative" else 0 * yes
        assert state.open is not None
        state = replace(
            state.deal(counts), tallies=state.tallies.add(told, found), open=state.open + more
        )
    plain = look(design, goal, form, state)
    shown = stood(design, goal, form, state, plain).with_open()
    each = (Ends(now.low, now.high, now.reason) for now in (shown, plain))
    return next(each), next(each), float(form.value(positives))


@pytest.mark.parametrize("rounds", [3, 10, 20])
@pytest.mark.parametrize("metric", [m for m in METRICS if m != "false_omission_rate"])
def test_the_shown_interval_holds_when_a_reviewer_skips_every_negative(
    metric: str, rounds: int
) -> None:
    shown, before, truth = skipped(metric, rounds, kind="negative")
    assert shown.hold(truth) >= AT_LEAST
    # Sixty labels leave so much open that even the wrong variant may hold, and so does all that
    # is said of negatives where none was judged: half of balanced accuracy is specificity.
    of_positives = any(METRICS[metric].bottom[::2]) and metric != "balanced_accuracy"
    if rounds == 20 and of_positives:
        assert before.hold(truth) < 0.3  # the wrong variant: what is open is like the rest


def test_the_shown_interval_holds_when_a_reviewer_skips_every_positive() -> None:
    shown, before, truth = skipped("prevalence", 10, kind="positive")
    assert shown.hold(truth) >= AT_LEAST
    assert before.hold(truth) == 0


def test_without_anything_open_the_interval_is_what_it_was() -> None:
    form, _ = population("recall")
    design, goal = Design(), Goal("recall", within=0.05)
    state = begin(design, goal, SIZES)
    state = replace(state, tallies=state.tallies.add(SIZES / 100, SIZES / 200))
    now = look(design, goal, form, state)
    assert stood(design, goal, form, state, now).with_open() is now
    none = replace(state, open=0 * SIZES)
    assert stood(design, goal, form, none, now).with_open() is now


def bet(hidden: Floats, rounds: int, goal: Goal, rate: float) -> tuple[State, Look, Ratio]:
    """Bet on rounds of which a share of the negatives cannot be judged; RUNS side by side.

    The state is that of the last round, and its `best` wealth knows of every look before.
    """
    design, sizes = Design.guaranteed(), np.array([3000.0, 3000.0])
    form = ratio("precision", sizes, np.array([True, True]))
    positives = np.round(sizes * np.array([rate - 0.05, rate + 0.05]))
    unjudged = np.round((sizes - positives) * hidden)
    left = np.stack([positives, sizes - positives - unjudged, unjudged])
    left = np.repeat(left[None], RUNS, axis=0).astype(np.int64)
    rng = np.random.default_rng(3)
    state = begin(design, goal, np.broadcast_to(sizes, (RUNS, 2)))
    for _ in range(rounds):
        counts = plan(design, goal, form, state, rng=rng, asked=20)
        yes, no, none = draw(left, counts, rng)
        left = left - np.stack([yes, no, none], axis=1)
        after = replace(state.deal(counts), tallies=state.tallies.add(yes + no, yes, none))
        kinds = _kinds(yes, no, none, rng)
        state = fold(design, goal, form, before=state, after=after, kinds=kinds)
    return state, look(design, goal, form, state), form


def _kinds(yes: Ints, no: Ints, none: Ints, rng: np.random.Generator) -> Ints:
    """Return every run's cards in a random order, as `fold` takes them."""
    rows = []
    for run in range(RUNS):
        its = [
            *np.repeat([1, 3], yes[run]),
            *np.repeat([0, 2], no[run]),
            *np.repeat([-2, -3], none[run]),
        ]
        rows.append(rng.permutation(its))
    return np.stack(rows)


def test_bets_with_unjudged_cards_lost_are_right_at_every_look_and_the_others_are_not() -> None:
    """By the theorem at most 5% of runs are ever wrong; the ends are of the best wealth so far."""
    goal = Goal("precision", within=0.02)
    state, now, form = bet(np.array(0.6), 20, goal, 0.8)
    standing = stood(Design.guaranteed(), goal, form, state, now)
    low, high = standing.ends_at_worst(state.tallies.u)
    assert np.mean((low <= 0.8) & (high >= 0.8)) >= AT_LEAST
    assert np.mean((now.low <= 0.8) & (now.high >= 0.8)) < 0.6  # for items that can be judged
    assert np.mean(high - low) < 0.4  # and it says something


def verdicts(hidden: float, limit: float, rate: float, rounds: int = 20) -> Bools:
    """Return how many of the runs said yes, no, and that unjudged items could turn the answer."""
    goal = Goal("precision", at_least=limit)
    _, now, _ = bet(np.array(hidden), rounds, goal, rate)
    kinds = (Reason.AT_LEAST, Reason.BELOW, Reason.UNJUDGED)
    return np.array([np.mean(now.reason == kind) for kind in kinds])


def test_no_verdict_while_unjudged_items_could_turn_it() -> None:
    """0.8 of all are positive, and 0.91 of those that can be judged: is it at least 0.85?"""
    yes, no, unsettled = verdicts(0.6, 0.85, 0.8)
    assert yes <= 0.05  # it is below
    assert no <= 0.05  # nobody can know
    assert unsettled > 0.5


def test_a_verdict_that_unjudged_items_cannot_turn_is_given() -> None:
    yes, no, unsettled = verdicts(0.6, 0.6, 0.8)
    assert yes > 0.9
    assert no + unsettled < 0.05
