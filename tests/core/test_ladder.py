"""Bets on thresholds: fair by enumeration, shown in order, and right when all is labelled."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import product

import numpy as np
import pytest

from assay.core.goal import FLOORS
from assay.core.ladder import Ladder
from assay.core.rungs import Chain, Climb, Rungs
from assay.core.tallies import Tallies
from assay.core.types import Ints
from tests.sklearn_metrics import SKLEARN

# Cells, the highest scores first: items that are yes, no, and that nobody can judge.
ITEMS = np.array([[3, 1, 1], [2, 2, 1], [1, 4, 1], [2, 3, 0]])
CHANCES = np.array([0.4, 0.3, 0.1, 0.2])
CARDS = 3
AT = 1  # the threshold at which the metric lies exactly on its floor
_SIGNS = {  # of what a yes adds above a threshold, and below it
    "precision": (1, 0),
    "recall": (1, -1),
    "specificity": (1, -1),
    "negative_predictive_value": (0, -1),
}


@dataclass(frozen=True, eq=False)
class Tiny:
    """A tiny population with some labels, and a floor that one threshold is exactly on."""

    rungs: Rungs
    before: Tallies
    left: Ints

    @classmethod
    def of(cls, metric: str, sign: int, *, unjudged: bool, known: bool) -> "Tiny":
        items = ITEMS if unjudged else np.where([True, True, False], ITEMS, 0)
        sizes = items.sum(axis=1).astype(np.float64)
        above = np.arange(len(items)) <= AT
        # What nobody can judge counts against who bets: as yes where a yes is to their loss.
        loss = np.where(above, *(sign * each < 0 for each in _SIGNS[metric]))
        T = items[:, 0] + np.where(loss, items[:, 2], 0.0)
        yes, hits, total = sizes[above].sum(), T[above].sum(), T.sum()
        floor = {
            "precision": hits / yes,
            "recall": hits / total,
            "specificity": 1 - (yes - hits) / (sizes.sum() - total),
            "negative_predictive_value": 1 - (total - hits) / (sizes.sum() - yes),
        }[metric]
        seen = np.zeros_like(items)
        if known:
            seen[0, 0] = seen[2, 1] = 1
            seen[1, 2] = items[1, 2]
        n = (seen[:, 0] + seen[:, 1]).astype(np.float64)
        before = Tallies(sizes, n=n, x=seen[:, 0].astype(float), u=seen[:, 2].astype(float))
        return cls(Rungs(metric, floor, sizes, 0.05), before, items - seen)

    def rounds(self) -> Iterator[tuple[float, list[int]]]:
        """Yield every round of cards with its probability."""
        for cells in product(range(len(CHANCES)), repeat=CARDS):
            for outcomes in product(range(3), repeat=CARDS):
                left, chance, kinds = self.left.copy(), 1.0, []
                for cell, outcome in zip(cells, outcomes, strict=True):
                    chance *= CHANCES[cell] * left[cell, outcome] / left[cell].sum()
                    left[cell, outcome] -= 1
                    kinds.append((2 * cell + 1, 2 * cell, -2 - cell)[outcome])
                    if not chance:
                        break
                if chance:
                    yield chance, kinds

    def mean_wealth(self, sign: int) -> float:
        """Return what who bets on one side owns after the round, on average."""
        chance, kinds = zip(*self.rounds(), strict=True)
        assert sum(chance) == pytest.approx(1.0)
        whole = Ladder(self.rungs.sizes, (self.rungs,), pilot=0)
        shape = (len(chance), self.rungs.sizes.size)
        begun = replace(Chain.begin(shape[:1], shape[1]), start=np.zeros(len(chance), dtype=int))
        before = Tallies.trusted(
            *(np.broadcast_to(each, shape) for each in vars(self.before).values())
        )
        (settled,) = whole.fold(
            (begun,), before, np.array(kinds), chances=np.broadcast_to(CHANCES, shape), horizon=40
        )
        wealth = settled.up if sign > 0 else settled.down
        assert np.ptp(wealth[:, AT]) > 0.01  # something was staked
        return float(np.array(chance) @ np.exp(wealth[:, AT]))


@pytest.mark.parametrize("known", [False, True])
@pytest.mark.parametrize("unjudged", [False, True])
@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("metric", FLOORS)
def test_who_bets_at_the_floor_wins_nothing_on_average(
    metric: str, sign: int, *, unjudged: bool, known: bool
) -> None:
    """Exact: every draw of three cards from a tiny population, with chances that differ."""
    tiny = Tiny.of(metric, sign, unjudged=unjudged, known=known)
    assert tiny.mean_wealth(sign) == pytest.approx(1.0, abs=1e-12)


def _chain(start: int, rich: list[int], cells: int = 6) -> Chain:
    wealth = np.zeros(cells)
    wealth[rich] = 10.0
    nothing = np.zeros(cells)
    return Chain(wealth, nothing, wealth, nothing, np.array(start))


@pytest.mark.parametrize(
    ("metric", "start", "rich", "shown"),
    [
        ("precision", 1, [1, 2, 3], [1, 2, 3]),
        ("precision", 1, [1, 3, 4], [1]),  # 2 was not shown, and ends the order
        ("precision", 1, [0, 2, 3], []),  # the first was not
        ("precision", 1, [0, 1], [1]),  # 0 is no part of the order
        ("precision", -1, [0, 1, 2], []),  # which has not begun
        ("recall", 4, [4, 3], [3, 4]),
        ("recall", 4, [4, 2, 1], [4]),
        ("recall", 4, [5, 4], [4]),
    ],
)
def test_a_threshold_is_shown_only_after_all_before_it(
    metric: str, start: int, rich: list[int], shown: list[int]
) -> None:
    rungs = Rungs(metric, 0.9, np.full(6, 10.0), 0.05)
    assert np.flatnonzero(_chain(start, rich).shown(rungs)).tolist() == shown


def test_what_is_sure_needs_no_bet_and_does_not_end_the_order() -> None:
    rungs = Rungs("precision", 0.9, np.full(6, 10.0), 0.05)
    sure = np.array([False, False, True, False, False, False])
    assert np.flatnonzero(_chain(1, [1, 3]).shown(rungs, sure)).tolist() == [1, 2, 3]


@pytest.mark.parametrize("metric", FLOORS)
def test_when_all_is_labelled_what_is_sure_is_the_truth_by_scikit_learn(metric: str) -> None:
    rng = np.random.default_rng(4)
    sizes = rng.integers(1, 6, 12)
    truth = rng.random(sizes.sum()) < np.repeat(np.linspace(0.95, 0.05, 12), sizes)
    cell = np.repeat(np.arange(12), sizes)
    T = np.bincount(cell, truth, minlength=12).astype(np.float64)
    rungs = Rungs(metric, 0.7, sizes.astype(np.float64), 0.05)
    defined = np.flatnonzero(rungs.is_defined)
    exact = np.array([SKLEARN[metric](truth, cell <= t) for t in defined])
    np.testing.assert_allclose(rungs.value(T)[defined], exact)
    holds, fails = rungs.sure(Tallies(rungs.sizes, n=rungs.sizes, x=T))
    np.testing.assert_array_equal(holds[defined], exact >= 0.7)
    np.testing.assert_array_equal(fails[defined], exact < 0.7)
    none, neither = rungs.sure(Tallies.start(rungs.sizes))  # but for the recall of all items
    assert not none[defined[:-1]].any()
    assert not neither[defined].any()


def test_some_of_the_evaluations_side_by_side_have_one_set_of_bets_as_all_had() -> None:
    """As long as no answer is revised bets are settled once, not twice."""
    chains = (Chain.begin((3,), 4),)
    some = np.array([True, False, True])
    taken = Climb(chains, chains).take(some)
    assert taken.now is taken.first
    assert taken.now[0].up.shape == (2, 4)
    assert Climb(chains, (Chain.begin((3,), 4),)).take(some).now[0].start.shape == (2,)
