"""Strata that are cut anew while bets go on: the theorem holds, and labels are saved."""

from dataclasses import replace
from functools import cache
from itertools import permutations, product

import numpy as np
import pytest

from assay.core import betting
from assay.core.design import Design, fitted
from assay.core.engine import begin, fold
from assay.core.forms import Ratio, ratio
from assay.core.goal import Goal
from assay.core.state import State
from assay.core.types import Floats
from assay.simulation.second_opinion import RecutRun
from tests.simulation.test_second_opinion import population

GUARANTEED = Design.guaranteed()


POSITIVE = (True, False, False, True, True)
STRATA = ((0, 0, 0, 1, 1), (0, 1, 0, 0, 1))  # of five items, until the cut and after it
TRUTH = Goal("prevalence", at_least=3 / 5)
CUT, CARDS = 2, 4  # cards before the cut, and in all

Drawn = tuple[int, ...]


@cache
def state_after(drawn: Drawn, *, forgetful: bool) -> State:
    """Return where an evaluation stands after items were drawn one at a time."""
    epoch, judged = int(len(drawn) > CUT), len(drawn)
    if judged == 0:
        return begin(GUARANTEED, TRUTH, sizes_of(0)[None])
    before = state_after(drawn[:-1], forgetful=forgetful)
    if judged == CUT + 1:
        before = cut(before, drawn[:-1], forgetful=forgetful)
    item = drawn[-1]
    stratum = STRATA[epoch][item]
    counts = np.zeros((1, 2), dtype=np.int64)
    counts[0, stratum] = 1
    tallies = before.tallies.add(counts, counts * POSITIVE[item])
    kinds = np.array([[2 * stratum + POSITIVE[item]]])
    after = replace(before.deal(counts), tallies=tallies)
    return fold(GUARANTEED, TRUTH, metric_of(epoch), before=before, after=after, kinds=kinds)


def cut(state: State, drawn: Drawn, *, forgetful: bool) -> State:
    """Return the state with the strata that come after the cut."""
    new = replace(begin(GUARANTEED, TRUTH, sizes_of(1)[None]), bets=state.bets)
    if forgetful:
        return new
    stratum, known = np.array(STRATA[1]), list(drawn)
    counts = np.bincount(stratum[known], minlength=2)[None]
    found = np.bincount(stratum[known], np.array(POSITIVE)[known], minlength=2)[None]
    return replace(new.deal(counts), tallies=new.tallies.add(counts, found))


def sizes_of(epoch: int) -> Floats:
    return np.bincount(STRATA[epoch]).astype(np.float64)


def metric_of(epoch: int) -> Ratio:
    return ratio("prevalence", sizes_of(epoch), np.ones(2, dtype=np.bool_))


@cache
def chances_after(drawn: Drawn, *, forgetful: bool) -> tuple[float, ...]:
    """Return the chances with which the next card is of each stratum."""
    state = state_after(drawn, forgetful=forgetful)
    if len(drawn) == CUT:
        state = cut(state, drawn, forgetful=forgetful)
    metric = metric_of(int(len(drawn) >= CUT))
    weights = np.where(state.room >= 1, betting.chances(state.tallies, metric), 0.0)[0]
    return tuple((weights / weights.sum()).tolist())


def mean_wealth(first: Drawn, second: Drawn, *, forgetful: bool, drawn: Drawn = ()) -> Floats:
    """Return the mean wealth of both bettors at the truth, over the strata that may be drawn.

    Items come in one order until the cut, and in another one after it.
    """
    if len(drawn) == CARDS:
        bets = state_after(drawn, forgetful=forgetful).bets
        assert bets is not None
        at = int(np.searchsorted(bets.points, 3 / 5))
        return np.exp([bets.up[0, at], bets.down[0, at]])
    epoch = int(len(drawn) >= CUT)
    mean = np.zeros(2)
    for stratum, chance in enumerate(chances_after(drawn, forgetful=forgetful)):
        its = [item for item in (first, second)[epoch] if STRATA[epoch][item] == stratum]
        left = [item for item in its if item not in drawn]
        if chance and left:
            then = mean_wealth(first, second, forgetful=forgetful, drawn=(*drawn, left[0]))
            mean += chance * then
    return mean


@pytest.mark.parametrize("wrong", ["", "in the old order", "forgets what is known"])
def test_wealth_is_fair_over_a_cut(wrong: str) -> None:
    """Every order of five items is enumerated, and every choice of strata.

    A fair bettor has on average what they began with. It is not so where items come in the old
    order after the cut, nor where what was judged is not drawn again, and not known either.
    """
    orders = list(permutations(range(len(POSITIVE))))
    again = zip(orders, orders, strict=True)
    pairs = again if wrong == "in the old order" else product(orders, orders)
    forgetful = wrong == "forgets what is known"
    each = np.array([mean_wealth(one, two, forgetful=forgetful) for one, two in pairs])
    assert (np.abs(each.mean(axis=0) - 1.0).max() < 1e-12) == (not wrong)


def test_what_is_known_at_a_cut_is_counted_once() -> None:
    """Of all labels none waits, and none is asked for again: bets went on with each of them."""
    items = population().opined("accuracy")
    assert items is not None
    goal = Goal("accuracy", within=0.05)
    run = RecutRun(items, fitted(GUARANTEED, goal), goal, np.random.default_rng(0))
    state, ended = run.run()
    (last,) = ended.looks
    assert run.labels == state.tallies.n.sum() == state.dealt.sum() > 100
    assert last.high[0] - last.low[0] <= 0.1 + 1e-9
