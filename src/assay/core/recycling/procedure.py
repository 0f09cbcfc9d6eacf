"""Recycle: paper 3 as a procedure, the same in a campaign and in a simulation [1]_.

The parent's yes-set is sampled first, with replacement; every other classifier's sample uses its
labels again, and is topped up (Algorithm 1). If a target is more than a precision, a sample of the
parent's no-set follows for its false omission rate (section 6), which grows until the targets are
precise enough. All draws follow from the seed and the sizes of the cells, before any answer: they
are of places within cells, and the first place of a cell to be drawn is the first card of its deck.

What the paper leaves open, and what is done here
-------------------------------------------------
- *An interval.* The paper has the size for ±epsilon, and no interval. The normal one is shown, with
  Agresti and Coull's rate (two of each answer added) in its spread, so that it is not of width 0
  where no error was drawn. ``sample`` draws a child's items twice over, so its spread is larger
  (`samples`). There is none before a sample is complete.
- *Sizes for other metrics.* The classifiers' samples have the size of a precision's, and the sample
  of the no-set grows until the targets are near enough, or until the hits alone are what keeps them
  from it. It is looked at while it grows, as paper 1's rule is.

References
----------
.. [1] RecycleSamplesForPrecision (``papers/recycle-samples-for-precision.txt``).
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Self

import numpy as np

from assay.core.design import Design
from assay.core.estimate import Moments
from assay.core.goal import Goal
from assay.core.metrics import METRICS
from assay.core.parts import View
from assay.core.procedures import Answered, Procedure, Wanted
from assay.core.recycling.route import Route, Venn, choose_parent
from assay.core.recycling.samples import (
    Items,
    Option,
    Overlap,
    covariance_of_hits,
    published_sizes,
    recycle,
)
from assay.core.special import z_of
from assay.core.state import JointLook, Look, State
from assay.core.stopping import Reason, hold_back
from assay.core.strata import Strata
from assay.core.stratify import parts_of
from assay.core.types import Bools, Floats, Ints, one_of
from assay.core.unjudged import movement
from assay.core.views import views_of
from assay.errors import DesignError

_BLOCK = 1000  # draws of the no-set at a time
_FIRST = 100  # of them before their rate is used
_AGAIN = 10  # draws per item of the no-set, at most: hardly one is left out
_ADDED = 2.0  # answers of each kind added for an interval's variance


@dataclass(frozen=True, eq=False)
class Queue:
    """Cards in the order in which they are dealt, and the draws that they belong to."""

    cells: Ints  # (cards,): the cell that each is from
    samples: tuple[Ints, ...]  # of each classifier, the parent first: the card of every draw
    omission: Ints  # the same of the parent's no-set
    hits: int  # the cards that the classifiers' samples take


@dataclass(frozen=True, eq=False)
class Recycle(Procedure):
    """Paper 3: samples of fixed sizes, each reused for the classifiers that follow."""

    views: Sequence[View]
    sizes: Floats
    design: Design
    goal: Goal
    cells: Venn  # one per stratum
    seed: int
    budget: int | None
    _queues: dict[int, Queue] = field(default_factory=dict, init=False, repr=False)

    reads_cards = runs_alone = True

    def drawn_by(self, rng: np.random.Generator, /) -> Self:
        """Copy of the procedure with new draws."""
        return replace(self, seed=int(rng.integers(2**62)))

    @cached_property
    def route(self) -> Route:
        """Targets as functions of the hits of every classifier and the parent's misses."""
        parent = self.design.parent or choose_parent(self.cells, self.goal)
        return Route.of(self.cells, self.goal, parent)

    @cached_property
    def n(self) -> Ints:
        """The size of each classifier's sample, the parent first; 0 where no target needs it."""
        return published_sizes(
            self.goal, self.route, self.design.assume or 0.5, recycles=True
        ).astype(np.int64)

    def begin(self, shape: tuple[int, ...] = ()) -> State:
        """State before the first round; of one evaluation: each has its own draws."""
        state = State.start(self.sizes, shape)
        return replace(state, cards=np.zeros((*shape, 0), dtype=np.int64))

    def plan(self, state: State, wanted: Wanted) -> Ints:
        """Plan the next round: the number of cards of each stratum."""
        dealt = int(state.dealt.sum())
        cards = wanted.cards if self.budget is None else min(wanted.cards, self.budget - dealt)
        queue = self.queue(0)
        if dealt < queue.hits or not self._misses_count:
            cells = queue.cells[: queue.hits]
        else:
            cells = self.longer_than(dealt + cards).cells
        counts = np.bincount(cells[dealt : dealt + max(cards, 0)], minlength=self.sizes.size)
        return counts.reshape(state.dealt.shape)

    def at_once(self, state: State, /) -> int:
        """Count the remaining cards for hits: no answer affects them."""
        return self.queue(0).hits - int(state.dealt.sum())

    def fold(self, round: Answered) -> State:
        """State after a round, with its cards appended."""
        before = np.zeros(0, dtype=np.int64) if round.before.cards is None else round.before.cards
        return replace(round.after, cards=np.concatenate([before, round.kinds], axis=-1))

    def look(self, state: State) -> JointLook:
        """Estimate every target, and decide whether to stop."""
        known = _Known(self, state)
        looks = tuple(self._look(t, known, state) for t in range(len(self.views)))
        near = all((each.reason != Reason.GO_ON).all() for each in looks)
        reason = (
            max((int(each.reason.max()) for each in looks), default=0) if near else Reason.GO_ON
        )
        if not near and self.budget is not None and state.tallies.answers >= self.budget:
            reason = Reason.BUDGET_SPENT
        elif not near and known.is_all:
            reason = Reason.EXHAUSTED
        return JointLook(looks, np.full_like(state.streak, int(reason)))

    def deals_ahead(self, _: int, /) -> bool:
        """Whether a round may be dealt before the last is answered: always."""
        return True

    def queue(self, blocks: int) -> Queue:
        """Cards of all samples, with this many blocks of the no-set's sample."""
        if blocks not in self._queues:
            self._queues[blocks] = self._queue(blocks)
        return self._queues[blocks]

    def longer_than(self, cards: int) -> Queue:
        """Cards with as much of the no-set's sample as this many cards include, or all of it."""
        blocks = 0
        most = -(-_AGAIN * int(self.route.no) // _BLOCK) if self._misses_count else 0
        while (queue := self.queue(blocks)).cells.size <= cards and blocks < most:
            blocks = min(2 * blocks + 1, most)
        return queue

    def _queue(self, blocks: int) -> Queue:
        no = self._items(self.cells.yes(self.route.names)[0] == 0)
        omission = [
            no.draw(_BLOCK, np.random.default_rng([self.seed, 2, number]))
            for number in range(blocks)
        ]
        drawn = [*self._samples, np.concatenate([*omission, np.zeros(0, dtype=np.int64)])]
        ids, first, place = np.unique(np.concatenate(drawn), return_index=True, return_inverse=True)
        order = np.argsort(first)
        number = np.empty_like(order)
        number[order] = np.arange(order.size)
        cards = np.split(number[place], np.cumsum([each.size for each in drawn])[:-1])
        cells = np.searchsorted(self._ends, ids[order], side="right")
        hits = max((int(each.max()) + 1 for each in cards[:-1] if each.size), default=0)
        return Queue(cells, tuple(cards[:-1]), cards[-1], hits)

    @cached_property
    def _samples(self) -> list[Ints]:
        """Every classifier's sample, the parent first."""
        rng = np.random.default_rng([self.seed, 1])
        yes, samples = self.cells.yes(self.route.names) > 0, list[Ints]()
        twice = self.design.allocation == "recycle-sample"
        option: Option = "UniformSample" if twice else "UniformShuffle"
        for says, n in zip(yes, self.n.tolist(), strict=True):
            child = self._items(says)
            if not n:
                samples.append(np.zeros(0, dtype=np.int64))
            elif not samples:
                samples.append(child.draw(n, rng))
            else:
                both, only = self._items(says & yes[0]), self._items(says & ~yes[0])
                sets = Overlap(self._items(yes[0]), child, both, only)
                samples.append(recycle(samples[0], sets, n, option=option, rng=rng).sample)
        return samples

    def _items(self, which: Bools) -> Items:
        """Items of some cells: those of a cell are consecutive."""
        lengths = self.cells.sizes.astype(np.int64)
        return Items((self._ends - lengths)[which], lengths[which])

    @cached_property
    def _ends(self) -> Ints:
        return np.cumsum(self.cells.sizes.astype(np.int64))

    @cached_property
    def _misses_count(self) -> bool:
        """Whether some target depends on the parent's misses."""
        return bool(self.route.needs[:, -1].any()) and self.route.no > 0

    def _look(self, t: int, known: "_Known", state: State) -> Look:
        goal, target, metric = self.views[t].goal, self.goal.targets[t], self.route.metrics[t]
        needs, lowest = self.route.needs[t], METRICS[target.metric].lowest
        least, most = (lowest, 1.0) if target.minus is None else (lowest - 1.0, 1.0 - lowest)
        z, defined = z_of(goal.confidence), bool(known.complete[needs].all())
        value, variance, is_near = (least + most) / 2, np.inf, False
        if defined:
            value = float(self.route.values(known.totals)[t])
            slope = metric.gradient(known.totals)
            by_hits = float(slope[:-1] @ known.hits @ slope[:-1])
            by_misses = float(slope[-1] ** 2 * known.misses)
            variance = by_hits + by_misses
            left = (goal.within or 0.0) ** 2 / z**2 - by_hits
            is_near = not needs[-1] or self.route.no == 0 or by_misses <= max(left, by_hits)
        reach = z * np.sqrt(variance)
        low, high = max(value - reach, least), min(value + reach, most)
        is_met = (high - low) / 2 <= (goal.within or 0.0)
        met = Reason.GOAL_MET if is_met else Reason.SAMPLED
        reason = np.full_like(state.streak, int(met if is_near else Reason.GO_ON))
        mine, form = self.views[t].seen(state)
        if mine.tallies.u.any():
            moved = movement(mine.tallies, form)
            reason = hold_back(reason, could_move=moved, within=goal.within, unsettled=None)
        shape, bounded = state.streak.shape, np.zeros(mine.tallies.N.shape, dtype=np.bool_)
        figures = (value, min(variance, 1e9), defined, low, high)
        centre, spread, is_defined, from_, to = (np.full(shape, each) for each in figures)
        moments = Moments(centre, spread, is_defined, bounded)
        return Look(moments, from_, to, state.streak, reason)


class _Known:
    """Estimates from the complete rounds; unjudgeable cards are left out of their samples."""

    def __init__(self, recycled: Recycle, state: State) -> None:
        kinds = np.zeros(0, dtype=np.int64) if state.cards is None else state.cards.ravel()
        queue, route = recycled.longer_than(kinds.size), recycled.route
        answer = _by_card(queue.cells[: kinds.size], kinds)
        shares, labels = np.zeros((2, route.yes.size + 1))
        # (K + 1,): which classifiers have a complete sample, and last the parent's no-set
        self.complete = np.zeros(route.yes.size + 1, dtype=np.bool_)
        for k, draws in enumerate(queue.samples):
            self.complete[k] = draws.size == 0 or int(draws.max()) < kinds.size
            if self.complete[k]:
                shares[k], labels[k] = _share(answer, draws)
        beyond = np.flatnonzero(queue.omission >= kinds.size)
        draws = queue.omission[: beyond[0]] if beyond.size else queue.omission
        shares[-1], labels[-1] = _share(answer, draws)
        self.complete[-1] = draws.size >= min(_FIRST, route.no) or not route.no
        scale = np.append(route.yes, route.no)
        rate = (shares * labels + _ADDED) / (labels + 2 * _ADDED)
        spread = scale * np.sqrt(rate * (1 - rate) / np.maximum(labels, 1.0))
        self.totals = shares * scale  # (K + 1,): the hits of each, and the parent's misses
        # hits, (K, K): their covariance; misses: the variance of the parent's misses.
        self.hits, self.misses = _hits(recycled, state, spread[:-1]), float(spread[-1]) ** 2
        self.is_all = kinds.size >= queue.cells.size  # whether there is nothing more to draw


def _by_card(cells: Ints, kinds: Ints) -> Floats:
    """Answer of every card of the queue: 1 or 0, NaN if it could not be judged.

    `kinds`, as in `engine.fold`, have the cards of each round in another order: the first of a cell
    is its first card in the queue.
    """
    stratum = np.where(kinds < 0, -2 - kinds, kinds // 2)
    outcomes = np.where(kinds < 0, np.nan, kinds % 2)
    by_card = np.empty(cells.size)
    by_card[np.argsort(cells, kind="stable")] = outcomes[np.argsort(stratum, kind="stable")]
    return by_card


def _share(answer: Floats, draws: Ints) -> tuple[float, int]:
    """Share of yes among judgeable draws, and their number."""
    judged = answer[draws]
    judged = judged[~np.isnan(judged)]
    return (float(judged.mean()), judged.size) if judged.size else (0.0, 0)


def _hits(recycled: Recycle, state: State, spread: Floats) -> Floats:
    """Covariance of hits with these standard deviations, by the labels they share.

    The correlations are those of the cells' own rates. With ``sample`` a child's places show the
    same draw again, with the variance of half as many.
    """
    taken = np.flatnonzero(recycled.n)
    covariance = np.zeros((spread.size, spread.size))
    if not taken.size:
        return covariance
    known, cells = state.tallies, recycled.cells
    rates = ((known.x + 0.5) / (known.n + 1.0)).ravel()
    names = tuple(recycled.route.names[k] for k in taken)
    estimated = replace(cells, positives=rates * cells.sizes)
    shared = covariance_of_hits(estimated, "recycle", names, recycled.n[taken].astype(np.float64))
    sd = np.sqrt(np.diag(shared))
    twice = recycled.design.allocation == "recycle-sample"
    scale = spread[taken] * np.where(twice & (taken > 0), np.sqrt(2.0), 1.0)
    covariance[np.ix_(taken, taken)] = shared / np.outer(sd, sd) * np.outer(scale, scale)
    return covariance


def recycle_of(design: Design, goal: Goal, strata: Strata, seed: int) -> Recycle:
    """Paper 3's procedure for a goal, with a stratum for every cell of predicted labels."""
    _refuse_unfit(goal, strata)
    parts = parts_of(strata)
    cells = Venn(strata.classifiers, strata.part_code, parts.size, np.zeros_like(parts.size))
    if design.parent is not None:
        one_of("parent", design.parent, strata.classifiers)
    views = views_of(goal, strata.classifiers, parts)
    return Recycle(views, parts.size, design, goal, cells, seed, goal.budget)


def _refuse_unfit(goal: Goal, strata: Strata) -> None:
    """Raise for options that paper 3 has no samples for."""
    unfit = {
        "one classifier without a name": goal.single,
        "more classes than yes and no": strata.of_classes,
        "slices, or classifiers that were applied to some items only": bool(strata.groups),
        "items that have weights": strata.weighted,
    }
    for what, is_so in unfit.items():
        if is_so:
            raise DesignError(
                f"recycled samples are not made for {what}",
                details="paper 3 has samples of what each of several classifiers calls yes",
                hint="leave the design out",
            )
    open_ = [target.name for target in goal.targets if target.within is None]
    if open_:
        raise DesignError(
            f"recycled samples have the size that `within` asks for, and {open_[0]} has none",
            hint="give within=0.03, or leave the design out",
        )
