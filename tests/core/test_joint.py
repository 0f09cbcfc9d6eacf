"""The loop of several targets: where its cards go, when it stops, and that it is unbiased."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy import optimize

from assay.core.design import Design
from assay.core.engine import explored_shares, look
from assay.core.estimate import estimate
from assay.core.goal import Goal
from assay.core.joint import Joint
from assay.core.parts import Parts
from assay.core.state import JointLook, State
from assay.core.stopping import Reason
from assay.core.tallies import Tallies
from assay.core.targets import parse_targets
from assay.core.types import Floats, Ints
from assay.core.views import views_of
from assay.errors import DesignError
from tests.joint_population import Made, make, planned, step

METRICS = ["precision:a", "recall:b", "accuracy:a - accuracy:c"]
MADE = make(3, size=3000, classifiers=3, heaps=5)


def answer(made: Made, state: State, cards: Ints, rng: np.random.Generator) -> State:
    """Deal so many cards of each stratum and answer them from the truth.

    Evaluations side by side must have the same answers so far: none.
    """
    *runs, _ = state.tallies.n.shape
    one = (0,) * len(runs)
    left, good = made.parts.size - state.tallies.n[one], made.outcomes - state.tallies.x[one]
    n = np.zeros(state.tallies.n.shape, dtype=np.int64)
    for h, count in enumerate(cards):
        mine = made.parts.stratum == h
        items = left[mine].astype(np.int64)
        n[..., mine] = rng.multivariate_hypergeometric(items, int(count), size=tuple(runs))
    x = rng.hypergeometric(good.astype(np.int64), (left - good).astype(np.int64), n)
    return replace(state.deal(cards), tallies=state.tallies.add(n, x))


def rounds(
    joint: Joint, made: Made, *, asked: int, seed: int
) -> Iterator[tuple[State, JointLook, Ints]]:
    """Go through an evaluation: what is known before each round, and the cards it deals."""
    rng, state = np.random.default_rng(seed), joint.begin()
    while True:
        now, cards = step(joint, state, asked=asked)
        yield state, now, cards
        if now.reason != Reason.GO_ON:
            return
        state = answer(made, state, cards, rng)


def at(parts: Parts, n: list[int], x: list[int], u: list[int] | None = None) -> State:
    """Return an evaluation with these answers, after some rounds."""
    tallies = Tallies(parts.size, n, x, u or [0] * len(n))
    dealt = parts.by_stratum(tallies.n + tallies.u)
    return State(tallies, dealt, parts.strata_sizes - dealt, 5, np.zeros((), dtype=np.int64))


def joint_over(parts: Parts, metrics: dict[str, float]) -> Joint:
    goal = Goal(targets=parse_targets(metrics, ["a", "b"]))
    return Joint(Design(), parts, views_of(goal, ["a", "b"], parts))


def test_random_labels_of_straddling_strata_estimate_every_target_without_bias() -> None:
    """Means of 20,000 runs lie within 5 standard errors: failure probability 5 x 6e-7.

    Given how many labels fall into each part, these are random samples of the parts; runs that
    leave a part empty (it has no estimate then) are left out, which does not depend on outcomes.
    The same check rejects estimates that ignore what the classifiers say within a stratum.
    """
    made = make(4, size=600, classifiers=3, heaps=3)
    metrics = ["precision:a", "accuracy:b", "prevalence", "false_omission_rate:c", METRICS[2]]
    joint, runs = made.joint(metrics, budget=1), 20_000
    cards = np.full(made.parts.strata_sizes.size, 50)
    state = answer(made, joint.begin((runs,)), cards, np.random.default_rng(5))
    full = (state.tallies.n > 0).all(axis=-1)
    assert full.mean() > 0.5

    def check(name: str, values: Floats) -> None:
        error = values[full].std() / np.sqrt(full.sum())
        assert abs(values[full].mean() - made.exact(name)) < 5 * error, name

    parts, wrong = made.parts, 0
    alike = (parts.by_stratum(state.tallies.x) / cards)[..., parts.stratum] * parts.size
    for view in joint.views:
        seen = view.state(state).tallies
        check(view.name, estimate(seen, view.metric, "unbiased", replacement=False).value)
        ignorant = view.metric.value(view.gather(alike))
        if view.name == "prevalence":  # for which it makes no difference
            check(view.name, ignorant)
            continue
        with pytest.raises(AssertionError):
            check(view.name, ignorant)
        wrong += 1
    assert wrong == 4


@pytest.mark.parametrize("asked", [3, 20, 170])
@pytest.mark.parametrize("budget", [None, 97])
def test_a_round_keeps_to_what_is_asked_for_to_the_budget_and_to_the_room(
    asked: int, budget: int | None
) -> None:
    joint = MADE.joint(METRICS, within=0.08, budget=budget)
    for state, now, cards in rounds(joint, MADE, asked=asked, seed=asked):
        assert (cards >= 0).all()
        assert (cards <= state.room).all()
        assert cards.sum() <= asked
        after = state.dealt + cards
        if (after == 0).any():  # one of every stratum before the second of any
            assert (after <= 1).all()
        if now.reason == Reason.GO_ON:
            assert cards.any()
    assert now.reason == (Reason.GOAL_MET if budget is None else Reason.BUDGET_SPENT)
    if budget is not None:
        assert state.tallies.answers == budget


def test_the_goal_is_met_when_every_target_is_and_not_before() -> None:
    joint = MADE.joint(METRICS, within=0.08)
    *before, (_, now, cards) = rounds(joint, MADE, asked=5, seed=1)
    assert all(each.half_width <= 0.08 for each in now.looks)
    assert now.reason == Reason.GOAL_MET
    assert not cards.any()
    some_are_met = 0
    for _, earlier, _ in before:
        met = [each.reason == Reason.GOAL_MET for each in earlier.looks]
        assert not all(met)
        some_are_met += any(met)
    assert some_are_met > 0


def test_everything_is_labelled_where_the_goal_takes_it() -> None:
    made = make(6, size=200, classifiers=2, heaps=2)
    joint = made.joint(["precision:a", "recall:b"], within=1e-9)
    *_, (state, now, _) = rounds(joint, made, asked=50, seed=2)
    assert state.tallies.n.tolist() == made.parts.size.tolist()
    assert now.reason == Reason.GOAL_MET  # every interval has shrunk to a point
    for view, each in zip(joint.views, now.looks, strict=True):
        assert float(each.low) == float(each.high) == pytest.approx(made.exact(view.name))
    *_, (_, now, _) = rounds(made.joint(["f1:a"], budget=10_000), made, asked=50, seed=2)
    assert now.reason == Reason.EXHAUSTED


def test_one_target_gets_what_exploration_asks_for() -> None:
    """Cards end up in proportion to the shares, and as many as the half-width's square takes."""
    made = make(7, size=40_000, classifiers=2, heaps=None)
    joint = made.joint(["accuracy:a"], within=0.02)
    state = answer(made, joint.begin(), np.full(4, 20), np.random.default_rng(3))
    state = replace(state, rounds=2)
    now = joint.look(state)
    cards = planned(joint, state, now, 10**6)
    total = state.dealt + cards
    (view,) = joint.views
    shares = explored_shares(state.tallies, view.metric)

    def check(shares: Floats) -> None:
        np.testing.assert_allclose(total, total.sum() * shares, atol=1.5)

    check(shares)
    with pytest.raises(AssertionError):
        check(made.parts.size / made.parts.size.sum())
    Q, least = (shares**2 / 20).sum(), (shares**2 / made.parts.size).sum()
    V = least + (Q - least) * (0.02 / float(now.looks[0].half_width)) ** 2
    assert total.sum() == pytest.approx(1 / V, abs=2)  # n with (sum of shares)^2 / n = V


def test_a_stratum_of_which_a_quarter_counts_gets_twice_the_cards_and_not_four_times() -> None:
    """Variance is f^2 / (share n): fewest labels have n in proportion to f / sqrt(share)."""
    parts = Parts(np.array([0, 0, 1]), np.array([1, 0, 1]), np.array([5000.0, 15000.0, 5000.0]))
    state = at(parts, n=[20, 60, 20], x=[10, 30, 10])
    joint = joint_over(parts, {"precision:a": 0.01})
    cards = planned(joint, state, joint.look(state), 10**6)
    total = state.dealt + cards
    assert total[0] / total[1] == pytest.approx(2, rel=0.01)


def test_no_card_goes_where_every_target_is_met() -> None:
    """Of two disjoint yes-sets the first is known well enough."""
    parts = Parts(np.arange(3), np.array([1, 2, 2]), np.array([900.0, 500.0, 400.0]))
    state = at(parts, n=[150, 30, 30], x=[120, 15, 20])
    for widths, wanted in (({"a": 0.2, "b": 0.02}, [1, 2]), ({"a": 0.01, "b": 0.3}, [0])):
        joint = joint_over(parts, {f"precision:{name}": width for name, width in widths.items()})
        now, cards = step(joint, state, asked=40)
        assert cards.sum() == 40
        assert np.flatnonzero(cards).tolist() == wanted, now.looks


def test_no_card_goes_to_a_target_whose_items_have_all_been_looked_at() -> None:
    """Its interval stays wide where some cannot be judged, and no further card would help."""
    parts = Parts(np.array([0, 0, 1]), np.array([1, 0, 2]), np.array([20.0, 200.0, 300.0]))
    state = at(parts, n=[15, 60, 50], x=[8, 10, 25], u=[5, 0, 0])
    joint = joint_over(parts, {"precision:a": 0.05, "precision:b": 0.05})
    now, cards = step(joint, state, asked=20)
    assert now.looks[0].half_width > 0.05
    assert cards.tolist() == [0, 20]


def test_a_centred_stop_waits_for_the_farther_end() -> None:
    design = Design.centred()
    joint = MADE.joint(METRICS, within=0.07, design=design)
    *_, (_, now, _) = rounds(joint, MADE, asked=20, seed=5)
    assert now.reason == Reason.GOAL_MET
    for each in now.looks:
        value = float(each.moments.value)
        assert value - float(each.low) <= 0.07 + 1e-12
        assert float(each.high) - value <= 0.07 + 1e-12


@pytest.mark.parametrize(
    "design",
    [
        Design.guaranteed(),
        Design.bennett_carvalho(),
        Design.kumar_raj(),
        Design(allocation="pro"),
        Design(interval="wilson"),
        Design(replacement=True),
        Design(rounds_in_a_row=2),
        Design(first_per_stratum=3),
        Design(round_size=7),
    ],
)
def test_designs_for_one_metric_are_refused(design: Design) -> None:
    with pytest.raises(DesignError, match="several targets cannot be served") as raised:
        MADE.joint(METRICS, within=0.1, design=design)
    assert "Design.centred()" in str(raised.value)


def test_evaluations_side_by_side_are_planned_as_if_alone() -> None:
    joint, rng = MADE.joint(METRICS, within=0.05), np.random.default_rng(8)
    cards = np.full(MADE.parts.strata_sizes.size, 30)
    state = replace(answer(MADE, joint.begin((4,)), cards, rng), rounds=2)
    now, together = step(joint, state, asked=60)
    for run in range(4):
        alone = replace(
            at(
                MADE.parts,
                *(a[run].astype(int).tolist() for a in (state.tallies.n, state.tallies.x)),
            ),
            rounds=2,
        )
        its_look, its_cards = step(joint, alone, asked=60)
        assert its_cards.tolist() == together[run].tolist()
        assert its_look.reason == now.reason[run]


def test_the_fewest_labels_are_those_of_an_optimiser() -> None:
    """Two precisions share a cell: more than either takes alone, and less than both together."""
    parts = Parts(np.arange(3), np.array([1, 2, 3]), np.array([4000.0, 9000.0, 6000.0]))
    rate, sd = np.array([0.3, 0.9, 0.6]), np.array([0.4, 0.3, 0.2])

    def fewest(*metrics: str) -> float:
        goal = Goal(targets=parse_targets(metrics, ["a", "b"], within=0.02))
        return Joint(Design(), parts, views_of(goal, ["a", "b"], parts)).fewest(rate, sd)

    def half_widths(n: Floats) -> Floats:
        variance = parts.size**2 * sd**2 * (1 / n - 1 / parts.size)
        said = [[0, 2], [1, 2]]  # the parts that each says yes to
        return np.array([1.96 * np.sqrt(variance[of].sum()) / parts.size[of].sum() for of in said])

    solve: Any = optimize.minimize
    found = solve(
        lambda n: n.sum(),
        np.full(3, 800.0),
        constraints={"type": "ineq", "fun": lambda n: 0.02 - half_widths(n)},
        bounds=[(1, size) for size in parts.size],
        options={"ftol": 1e-10, "maxiter": 500},
    )
    both = fewest("precision:a", "precision:b")
    assert both == pytest.approx(found.fun, rel=2e-3)
    alone = [fewest(f"precision:{name}") for name in "ab"]
    assert max(alone) * 1.02 < both < 0.98 * sum(alone)  # neither would do in its place


def test_without_widths_the_fewest_labels_are_of_the_budget() -> None:
    parts = Parts(np.arange(2), np.array([0, 1]), np.array([5000.0, 5000.0]))
    (target,) = parse_targets(["accuracy:a"], ["a"])
    goal = Goal(targets=(target,), budget=100)
    joint = Joint(Design(), parts, views_of(goal, ["a"], parts), budget=100)
    half = np.full(2, 0.5)
    assert joint.fewest(half, half) == pytest.approx(100, rel=0.02)
    assert joint.fewest(half, half / 2) == pytest.approx(25, rel=0.02)


@pytest.mark.parametrize("heaps", [None, 5])
@pytest.mark.parametrize("unjudged", [0, 2])
def test_targets_side_by_side_are_looked_at_as_each_alone(heaps: int | None, unjudged: int) -> None:
    """To the last bit, so that no draw changes; targets that are not alike are never put together.

    Were strata added to make more of them alike, sums would be rounded differently.
    """
    made = make(7, size=4000, classifiers=4, heaps=heaps)
    kinds = ("precision", "recall", "f1", "accuracy", "balanced_accuracy")
    names = [f"{kind}:{name}" for name in made.names for kind in kinds]
    names += ["recall:a - recall:b", "prevalence"]
    joint = made.joint(names, within=0.02)
    sides, rng, state = [], np.random.default_rng(3), joint.begin()
    for _ in range(6):
        now, cards = step(joint, state, asked=60)
        sides.append(max(len(alike) for alike, *_ in joint._alike(state)))
        for view, its in zip(joint.views, now.looks, strict=True):
            mine, metric = view.seen(state)
            alone = look(joint.design, view.goal, metric, mine)
            for name, value in vars(its).items():
                if name != "moments":
                    assert np.array_equal(value, getattr(alone, name), equal_nan=True)
            for name, value in vars(its.moments).items():
                assert np.array_equal(value, getattr(alone.moments, name), equal_nan=True)
            shares = joint._shares(state)[joint.views.index(view)]
            assert np.array_equal(shares, explored_shares(mine.tallies, metric))
        state = answer(made, state, cards, rng)
        if unjudged:
            some = np.minimum(state.tallies.n, unjudged) * (np.arange(made.parts.size.size) % 2)
            x = np.minimum(state.tallies.x, state.tallies.n - some)
            tallies = Tallies(state.tallies.N, state.tallies.n - some, x, state.tallies.u + some)
            state = replace(state, tallies=tallies)
    assert max(sides) >= 4


def test_what_targets_see_is_kept_for_one_state_and_no_other() -> None:
    joint = MADE.joint(METRICS, within=0.02)
    one = at(MADE.parts, [4] * MADE.parts.size.size, [1] * MADE.parts.size.size)
    same = at(MADE.parts, [4] * MADE.parts.size.size, [1] * MADE.parts.size.size)
    other = at(MADE.parts, [4] * MADE.parts.size.size, [2] * MADE.parts.size.size)
    assert one.equals(one)
    assert one.equals(same)
    assert not one.equals(other)
    assert not one.equals(replace(same, rounds=6))
    assert not one.equals(replace(same, open=one.tallies.n))
    seen = joint.seen(one)
    assert joint.seen(same) is seen
    assert joint.seen(other) is not seen
    assert np.array_equal(joint.seen(other)[0][0].tallies.x, joint.views[0].gather(other.tallies.x))
