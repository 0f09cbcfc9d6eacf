"""The papers' algorithms, followed literally in plain loops, against `core.engine`."""

import math
from dataclasses import dataclass, replace

import numpy as np
import pytest

from assay.core.design import Allocation, Design
from assay.core.engine import least_of_each, look, plan
from assay.core.forms import ratio
from assay.core.goal import Goal
from assay.core.state import State
from assay.core.stopping import Reason

SIZES = [4000.0, 2500.0, 2500.0, 1000.0]
RATES = [0.99, 0.93, 0.8, 0.6]
METRIC = ratio("precision", np.array(SIZES), np.ones(4, dtype=bool))


@dataclass
class Trace:
    """The tallies after every round, and the final answer."""

    tallies: list[tuple[list[float], list[float]]]
    value: float
    variance: float


def figure_1(allocation: str, delta: float, rng: np.random.Generator) -> Trace:
    """Figure 1 of paper 1, line by line, with numbers instead of arrays."""
    bins = len(SIZES)
    n, h = [0.0] * bins, [0.0] * bins

    def smoothed(k: int) -> float:
        m = 2.0 if n[k] == 0 else 1.0 / math.sqrt(n[k])
        return (h[k] + m * 0.5) / (n[k] + m)

    def sample(total: int) -> None:
        p = [smoothed(k) for k in range(bins)]
        sigma = [math.sqrt(p[k] * (1 - p[k])) for k in range(bins)]
        weights = {
            "opt": [SIZES[k] * sigma[k] for k in range(bins)],
            "pps": SIZES,
            "uni": [1.0] * bins,
        }[allocation]
        drawn = rng.multinomial(total, [w / sum(weights) for w in weights])
        for k in range(bins):
            h[k] += rng.binomial(drawn[k], RATES[k])
            n[k] += drawn[k]

    trace: list[tuple[list[float], list[float]]] = []
    sample(2 * bins)
    trace.append((list(n), list(h)))
    t = 0
    while t < 2:
        sample(2 * bins)
        trace.append((list(n), list(h)))
        total = sum(SIZES)
        value = sum(SIZES[k] / total * smoothed(k) for k in range(bins))
        variance = sum(
            (SIZES[k] / total) ** 2 * smoothed(k) * (1 - smoothed(k)) / max(n[k] - 1, 1)
            for k in range(bins)
        )
        t = t + 1 if 1.959963984540054 * math.sqrt(variance) <= delta else 0
    return Trace(trace, value, variance)


def through_the_engine(design: Design, goal: Goal, rng: np.random.Generator) -> Trace:
    """Look and plan with the same kind of draws."""
    state = State.start(SIZES, replacement=True)
    trace: list[tuple[list[float], list[float]]] = []
    while True:
        now = look(design, goal, METRIC, state)
        if now.reason != Reason.GO_ON:
            assert Reason(int(now.reason)) is Reason.GOAL_MET
            return Trace(trace, float(now.moments.value), float(now.moments.variance))
        counts = plan(design, goal, METRIC, state, rng=rng)
        found = [rng.binomial(m, p) for m, p in zip(counts, RATES, strict=True)]
        state = replace(
            state.deal(counts), tallies=state.tallies.add(counts, found), streak=now.streak
        )
        trace.append((state.tallies.n.tolist(), state.tallies.x.tolist()))


def check_same(ours: Trace, literal: Trace) -> None:
    assert ours.tallies == literal.tallies
    assert ours.value == pytest.approx(literal.value, rel=1e-12)
    assert ours.variance == pytest.approx(literal.variance, rel=1e-12)


@pytest.mark.parametrize("allocation", ["uni", "pps", "opt"])
@pytest.mark.parametrize("seed", range(5))
def test_figure_1_tally_by_tally(allocation: Allocation, seed: int) -> None:
    delta = 0.02
    design = Design.bennett_carvalho(allocation=allocation)
    goal = Goal("precision", within=delta)
    ours = through_the_engine(design, goal, np.random.default_rng(seed))
    check_same(ours, figure_1(allocation, delta, np.random.default_rng(seed)))
    assert len(ours.tallies) > 10  # it was a real run, not a lucky stop


def labelled(found: list[float], n: list[float]) -> State:
    start = State.start(SIZES, replacement=True)
    counts = np.array(n, dtype=np.int64)
    return replace(start.deal(counts), tallies=start.tallies.add(n, found))


def by_hand_equation_9(n: list[float], x: list[float], labels: int) -> list[float]:
    """Eq. 9 with the s_k of Eq. 3, in plain numbers."""
    s = [math.sqrt(n[k] / (n[k] - 1) * (x[k] / n[k]) * (1 - x[k] / n[k])) for k in range(4)]
    weights = [SIZES[k] * s[k] for k in range(4)]
    return [labels * w / sum(weights) for w in weights]


def test_algorithm_1_shares_out_all_that_remains() -> None:
    design = Design.kumar_raj(allocation="opt-a1", bins=4, first_per_stratum=10)
    goal, rng = Goal("accuracy", budget=200), np.random.default_rng(0)
    first = plan(design, goal, METRIC, State.start(SIZES, replacement=True), rng=rng)
    assert first.tolist() == [10, 10, 10, 10]
    x, n = [9.0, 8.0, 6.0, 5.0], [10.0] * 4
    second = plan(design, goal, METRIC, labelled(x, n), rng=rng)
    assert second.sum() == 160
    np.testing.assert_allclose(second, by_hand_equation_9(n, x, 160), atol=1)


def test_algorithm_2_goes_in_steps() -> None:
    design = Design.kumar_raj(allocation="opt-a2", bins=4, first_per_stratum=5, round_size=30)
    goal, rng = Goal("accuracy", budget=75), np.random.default_rng(0)
    state = State.start(SIZES, replacement=True)
    sizes = []
    for x in ([4.0, 4.0, 3.0, 2.0], [6.0, 5.0, 9.0, 3.0], [7.0, 5.0, 12.0, 4.0]):
        counts = plan(design, goal, METRIC, state, rng=rng)
        sizes.append(int(counts.sum()))
        if state.rounds:
            n_before, x_before = state.tallies.n.tolist(), state.tallies.x.tolist()
            expected = by_hand_equation_9(n_before, x_before, sizes[-1])
            np.testing.assert_allclose(counts, expected, atol=1)
        state = state.deal(counts)
        n = state.dealt.tolist()
        found = [min(a, b - 1) for a, b in zip(x, n, strict=True)]
        tallies = labelled(found, n).tallies
        state = replace(state, tallies=tallies)
    assert sizes == [20, 30, 25]  # n_ini each; n_step; and what is left of the budget


@pytest.mark.parametrize(
    ("allocation", "shares"), [("pro", [40, 25, 25, 10]), ("equ", [25, 25, 25, 25])]
)
def test_rounds_add_up_to_the_shares_of_one_draw(allocation: Allocation, shares: list[int]) -> None:
    design = Design.kumar_raj(allocation=allocation, bins=4)
    goal, rng = Goal("accuracy", budget=100), np.random.default_rng(0)
    at_once = plan(design, goal, METRIC, State.start(SIZES, replacement=False), rng=rng, asked=100)
    assert at_once.tolist() == shares
    state = State.start(SIZES, replacement=False)
    for asked in (7, 20, 13, 1, 100):
        state = state.deal(plan(design, goal, METRIC, state, rng=rng, asked=asked))
    assert state.dealt.tolist() == shares


@pytest.mark.parametrize(
    "allocation", ["explore", "uni", "pps", "opt", "pro", "equ", "opt-a1", "opt-a2"]
)
def test_never_more_than_a_stratum_holds_nor_than_the_budget(allocation: Allocation) -> None:
    adaptive = allocation.startswith("opt-a")
    design = Design(allocation=allocation, first_per_stratum=3 if adaptive else None)
    sizes, rng = np.array([2.0, 300.0, 5.0]), np.random.default_rng(1)
    metric = ratio("precision", sizes, np.ones(3, dtype=bool))
    state = State.start(sizes, replacement=False)
    goal = Goal("precision", budget=150)
    for _ in range(200):
        counts = plan(design, goal, metric, state, rng=rng, asked=11)
        state = state.deal(counts)
        labels = np.minimum(counts, 1)
        state = replace(state, tallies=state.tallies.add(counts, labels))
    assert (state.dealt <= sizes).all()
    assert state.dealt.sum() == 150


def test_evaluations_side_by_side_are_those_one_by_one() -> None:
    design, goal = Design.kumar_raj(bins=4), Goal("precision", budget=60)
    x = np.array([[5.0, 4.0, 4.0, 3.0], [5.0, 5.0, 5.0, 5.0], [1.0, 2.0, 3.0, 4.0]])
    many = State.start(np.broadcast_to(SIZES, (3, 4)), replacement=True)
    five = np.full((3, 4), 5)
    many = replace(many.deal(five), tallies=many.tallies.add(five, x))
    looks = look(design, goal, METRIC, many)
    counts = plan(design, goal, METRIC, many, rng=np.random.default_rng(0))
    for row in range(3):
        one = labelled(x[row].tolist(), [5.0] * 4)
        alone = look(design, goal, METRIC, one)
        alone_counts = plan(design, goal, METRIC, one, rng=np.random.default_rng(0))
        assert counts[row].tolist() == alone_counts.tolist()
        assert float(looks.low[row]) == float(alone.low)
        assert float(looks.moments.value[row]) == float(alone.moments.value)


def rounds_of(sizes: list[float], asked: int, rounds: int) -> list[list[float]]:
    """What has been dealt of each stratum after each round of the default design."""
    N = np.array(sizes)
    metric = ratio("precision", N, np.ones(len(N), dtype=bool))
    goal, rng = Goal("precision", within=0.001), np.random.default_rng(2)
    state, dealt = State.start(N, replacement=False), []
    for _ in range(rounds):
        counts = plan(Design(), goal, metric, state, rng=rng, asked=asked)
        # The first stratum is all errors, the others are clean: allocation would go to it.
        found = np.where(np.arange(len(N)) > 0, counts, 0)
        state = replace(state.deal(counts), tallies=state.tallies.add(counts, found))
        dealt.append(state.dealt.tolist())
    return dealt


@pytest.mark.parametrize("asked", [1, 2, 3, 5, 7])
def test_one_of_every_stratum_before_a_second_and_three_before_the_rest(asked: int) -> None:
    sizes = [5000.0, 100.0, 1.0, 2.0, 300.0]
    least = np.array([3, 3, 1, 2, 3])  # a stratum of two items has two
    for dealt in rounds_of(sizes, asked, 24 // asked):
        cards, each = int(sum(dealt)), np.array(dealt)
        for level in (1, 2, 3):
            whole = np.minimum(level, least)
            if cards <= whole.sum():
                assert (each <= whole).all()
                break
            assert (each >= whole).all()


def test_the_least_of_each_fits_into_the_round_and_the_room() -> None:
    rng = np.random.default_rng(3)
    for _ in range(200):
        N = rng.integers(1, 9, 6).astype(float)
        state = State.start(N, replacement=False)
        given = np.minimum(rng.integers(0, 4, 6), N)
        state = replace(state, dealt=given, room=N - given)
        size = float(rng.integers(0, 20))
        first = least_of_each(state, np.asarray(size))
        lacking = np.maximum(np.minimum(3, N) - given, 0)
        assert int(first.sum()) == min(size, lacking.sum())
        assert (first <= lacking).all()
        # Nobody has a further card while somebody has fewer: levels fill from below.
        after = given + first
        short = after < np.minimum(3, N)
        if short.any() and (first > 0).any():
            assert after[first > 0].max() <= after[short].min() + 1


def test_where_weights_are_told_no_heavy_stratum_is_starved() -> None:
    """Twice the square root of the mean, but not beyond what a stratum would have by weight."""
    dealt = np.array([300.0, 3.0, 3.0, 94.0])
    state = replace(labelled([0.0] * 4, [1.0] * 4), dealt=dealt, room=np.full(4, 1000.0))
    weight = np.array([0.5, 0.3, 0.01, 0.19])
    assert least_of_each(state, np.asarray(50.0), weight).tolist() == [0, 17, 1, 0]  # 20 and 4
    assert least_of_each(state, np.asarray(50.0)).tolist() == [0, 0, 0, 0]


def test_no_stop_before_three_labels_of_each_stratum() -> None:
    """Two strata that agree and one with two labels: narrow enough, but for that."""
    N = np.array([4000.0, 4000.0, 30.0])
    metric, goal = ratio("precision", N, np.ones(3, dtype=bool)), Goal("precision", within=0.1)

    def reason(last: float) -> int:
        n = np.array([200.0, 200.0, last])
        state = replace(State.start(N, replacement=False).deal(n.astype(np.int64)), rounds=3)
        return int(
            look(Design(), goal, metric, replace(state, tallies=state.tallies.add(n, n))).reason
        )

    assert [reason(last) for last in (1.0, 2.0, 3.0)] == [
        Reason.GO_ON,
        Reason.GO_ON,
        Reason.GOAL_MET,
    ]


@pytest.mark.parametrize(("rounds", "streak"), [(0, 0), (1, 0), (2, 1)])
def test_the_first_round_is_not_counted_towards_the_streak(rounds: int, streak: int) -> None:
    """Figure 1 of paper 1 checks its criterion only from the second draw on."""
    design, goal = Design.bennett_carvalho(), Goal("precision", within=0.4)
    start = State.start(SIZES)
    judged = replace(start.tallies, n=np.full(4, 50.0), x=np.full(4, 45.0))
    state = replace(start, tallies=judged, dealt=judged.n, rounds=rounds)
    assert look(design, goal, METRIC, state).streak == streak
