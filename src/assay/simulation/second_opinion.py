"""Evaluations with second opinions: strata that are cut anew by what they turn out to tell.

Every run has its own model, and so its own strata. Items are drawn by permanent numbers, as in a
campaign, and labels are counted once, whether they are drawn again or not (`campaign.recut`). Where
the design bets, what was judged is known after a cut, and the others have numbers of their own.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Generic, TypeVar
from zlib import crc32

import numpy as np

from assay.core.betting import Bets
from assay.core.bins import Scale
from assay.core.cells import Heap, Part, count_cells, count_parts, profile_heaps
from assay.core.design import Design
from assay.core.engine import Look, State, begin, cannot_stop, fold, look, plan
from assay.core.error_model import SAID, Model, Values, columns_at, fit, learn, scheduled
from assay.core.forms import ratio
from assay.core.goal import Goal
from assay.core.joint import JointLook, View
from assay.core.profile import Profile, profile_of
from assay.core.stopping import Reason
from assay.core.strata import UNNAMED, Side, Strata
from assay.core.stratify import cell_strata, joint_of, stratify
from assay.core.targets import NO_GROUPS, Groups
from assay.core.types import Bools, Floats, Ints
from assay.simulation.runs import Runs

AUX = " + aux"  # what the name of a design with second opinions ends with
_BLOCK = 20  # replications: each takes a good part of a second


@dataclass(frozen=True, eq=False)
class OpinedItems:
    """The items that a metric needs labels of, and what is said of them; or items of several.

    Attributes
    ----------
    positive : array of bool, shape (N,)
        What they are.
    score : array, shape (N,)
        The classifier's own, or the mean rank by those of several.
    columns : mapping of str to array
        For a model, by name, with the predicted labels, or the codes, under `SAID`.
    own : str, sequence of str, or None
        The columns of scores.
    classifiers : tuple of str
        Their names, where they have some.
    """

    positive: Bools
    score: Floats
    columns: Mapping[str, Values]
    own: str | Sequence[str] | None
    classifiers: tuple[str, ...] = UNNAMED

    @property
    def predicted(self) -> Bools:
        """The predicted labels."""
        return np.asarray(self.columns[SAID], dtype=np.bool_)

    def cut(self, by: Floats, method: str, bins: int) -> tuple[Ints, Strata]:
        """Return the stratum of every item, and the strata."""
        predicted = self.predicted
        profiles: dict[Side, Profile] = {
            side: profile_of(by[predicted == side])
            for side in (True, False)
            if (predicted == side).any()
        }
        strata = stratify(profiles, variable="score", method=method, bins=bins)
        return strata.assign(by, predicted), strata

    def cut_cells(
        self, by: Floats, goal: Goal, design: Design, *, by_model: bool
    ) -> tuple[Ints, Strata]:
        """Return the stratum of every item, and the strata, of several targets.

        Parameters
        ----------
        by : array, shape (N,)
            What the cells are cut by: mean ranks, or log odds.
        goal, design
            As in a campaign.
        by_model : bool
            Whether it is log odds.
        """
        codes = np.asarray(self.columns[SAID], dtype=np.int64)
        scale: Scale = "margin" if by_model else "probability"
        cells = _ItemCells(self.classifiers, by, codes, scale)
        strata = cell_strata(cells, goal, design, by_model=by_model)
        return strata.assign(by, codes), strata


@dataclass(frozen=True, eq=False)
class _ItemCells:
    """Items in the cells of what several classifiers say, as `cell_strata` takes them."""

    classifiers: tuple[str, ...]
    by: Floats
    codes: Ints
    scale: Scale
    groups: Groups = NO_GROUPS

    def cells(self) -> dict[int, int]:
        """Return the number of items with each code that occurs."""
        return count_cells(self.codes)

    def profile_heaps(self, heaps: Sequence[Sequence[int]]) -> list[Profile]:
        """Return the distribution of what they are cut by in each heap."""
        return profile_heaps(self.by, self.codes, heaps, scale=self.scale)

    def count_parts(self, heaps: Sequence[Heap]) -> tuple[Part, ...]:
        """Return the number of items in each part of the strata."""
        return count_parts(self.by, self.codes, heaps)


_Seen = TypeVar("_Seen", Look, JointLook)


class _Run(ABC, Generic[_Seen]):
    """One evaluation to its stop.

    Parameters
    ----------
    items : OpinedItems
    design, goal
        As in a campaign.
    rng : numpy.random.Generator
        Where all randomness comes from.
    asked : int
        Cards asked for at a time.
    before : Model, optional
        What labels of other items have taught: the first strata are cut by it.

    Attributes
    ----------
    number : array, shape (N,)
        The items' permanent numbers.
    model : Model or None
        What the strata are cut by; None for the score.
    """

    def __init__(
        self,
        items: OpinedItems,
        design: Design,
        goal: Goal,
        rng: np.random.Generator,
        asked: int = 20,
        *,
        before: Model | None = None,
    ) -> None:
        self.model = self._before = before
        self.items, self.number = items, rng.random(items.positive.size)
        self._design, self._goal, self._rng, self._asked = design, goal, rng, asked
        self._fold = rng.random(items.positive.size) < 0.5
        self._known = np.zeros(items.positive.size, dtype=np.bool_)
        self._order: list[int] = []  # in which items were judged
        self._bets: Bets | None = None  # what bettors own when strata are cut anew
        self._on_top = self._known.copy()  # items that lie on top of their decks

    @property
    def labels(self) -> int:
        """How many items were judged."""
        return len(self._order)

    def lessons(self) -> Model | None:
        """Return what all labels so far teach, for the next evaluation (`campaign.lessons`)."""
        items, judged = self.items, np.array(self._order)
        return fit(
            columns_at(items.columns, judged),
            items.own,
            items.positive[judged],
            self._fold[judged],
            before=self._before,
        )

    def run(self, *, recut: bool = True) -> tuple[State, _Seen]:
        """Label until it is over; return how it stands then, and the last look."""
        stratum, strata = self._cut_now()
        done = 0 if recut else None
        while True:
            ended = self._go_on(stratum, strata, done)
            if ended is not None:
                return ended
            done = scheduled(self.labels)
            stratum, strata = self._recut(stratum, strata, done)

    @abstractmethod
    def _go_on(self, stratum: Ints, strata: Strata, done: int | None) -> tuple[State, _Seen] | None:
        """Deal until it is over, or until strata may be cut anew: None."""

    @abstractmethod
    def _cut(self, log_odds: Floats | None) -> tuple[Ints, Strata]:
        """Return the stratum of every item, and the strata: by the score, or by a model."""

    def _goal_now(self, dealt: int) -> Goal:
        """Return the goal: answers that are not drawn again have used up a budget, too."""
        if self._goal.budget is None:
            return self._goal
        return replace(self._goal, budget=max(self._goal.budget - (self.labels - dealt), 1))

    def _judge(self, drawn: Ints) -> Ints:
        """Return those that were not judged before, in the order in which they are now."""
        new = self._rng.permutation(drawn[~self._known[drawn]])
        self._known[new] = True
        self._order += new.tolist()
        return new

    def _recut(self, stratum: Ints, strata: Strata, labels: int) -> tuple[Ints, Strata]:
        """Cut the strata anew where a model of the first labels says so."""
        first, items = np.array(self._order[:labels]), self.items
        model = learn(
            columns_at(items.columns, first),
            items.own,
            items.positive[first],
            self._fold[first],
            stratum=stratum[first],
            sizes=strata.sizes,
            cost=None if self._goal.single else joint_of(self._design, self._goal, strata).fewest,
            before=self._before,
        )
        if model is None:
            return stratum, strata
        self.model = model
        return self._cut_now()

    def _cut_now(self) -> tuple[Ints, Strata]:
        """Return the stratum of every item, and the strata, by the model if there is one."""
        if self.model is None:
            return self._cut(None)
        return self._cut(self.model.log_odds(self.items.columns, self._fold))


class RecutRun(_Run[Look]):
    """An evaluation of one metric."""

    def _go_on(self, stratum: Ints, strata: Strata, done: int | None) -> tuple[State, Look] | None:
        """Deal until it is over, or until strata may be cut anew: None."""
        sizes = strata.sizes.astype(np.float64)
        metric = ratio(self._goal.metric, sizes, strata.says_yes)
        state = self._begin(stratum, sizes)
        order = np.lexsort((self.number, ~self._on_top, stratum))
        first = np.concatenate([[0], np.cumsum(strata.sizes)[:-1]])
        dealt, middle = state.dealt[0].astype(np.int64), np.full(1, np.nan)
        while True:
            streak, goal = np.zeros_like(state.streak), self._goal_now(int(dealt.sum()))
            if not cannot_stop(self._design, goal, metric, state, middle)[0]:
                now = look(self._design, goal, metric, state)
                if now.reason[0] != Reason.GO_ON:
                    return state, now
                streak, middle = now.streak, (now.low + now.high) / 2
            if done is not None and scheduled(self.labels) > done:
                self._bets = state.bets
                return None
            state = replace(state, streak=streak)
            counts = plan(self._design, goal, metric, state, rng=self._rng, asked=self._asked)
            places = [
                order[first[h] + dealt[h] : first[h] + dealt[h] + counts[0, h]]
                for h in np.flatnonzero(counts[0])
            ]
            drawn = np.concatenate(places)
            new = self._judge(drawn)  # all of them, where bets are on their order
            dealt += counts[0]
            kinds = 2 * stratum[new] + self.items.positive[new]
            found = np.bincount(stratum[drawn], self.items.positive[drawn], minlength=sizes.size)
            after = replace(state.deal(counts), tallies=state.tallies.add(counts, found[None]))
            state = fold(self._design, goal, metric, before=state, after=after, kinds=kinds[None])

    def _begin(self, stratum: Ints, sizes: Floats) -> State:
        """Return the state before the first card of new strata.

        Who bets goes on with what is owned and with what is known: judged items lie on top of their
        decks, and the order of the others is a new one, that knows nothing of what was drawn.
        """
        state = begin(self._design, self._goal, sizes[None])
        if self._bets is None:
            return state
        self.number, self._on_top = self._another_order(), self._known.copy()
        known = stratum[self._known]
        counts = np.bincount(known, minlength=sizes.size)[None]
        found = np.bincount(known, self.items.positive[self._known], minlength=sizes.size)[None]
        state = replace(state.deal(counts), tallies=state.tallies.add(counts, found))
        return replace(state, bets=self._bets)

    def _another_order(self) -> Floats:
        return self._rng.random(self.number.size)

    def _cut(self, log_odds: Floats | None) -> tuple[Ints, Strata]:
        method = self._design.strata if log_odds is None else "spread"
        by = self.items.score if log_odds is None else log_odds
        return self.items.cut(by, method, self._design.bins)


class JointRecutRun(_Run[JointLook]):
    """An evaluation of several targets; the look is at all of them.

    Attributes
    ----------
    views : sequence of View
        How targets read the labels, at the end.
    """

    views: Sequence[View] = ()

    def _go_on(
        self, stratum: Ints, strata: Strata, done: int | None
    ) -> tuple[State, JointLook] | None:
        joint = joint_of(self._design, self._goal, strata)
        self.views = joint.views
        order = np.lexsort((self.number, stratum))
        first = np.searchsorted(stratum[order], np.arange(strata.n_strata))
        codes = np.asarray(self.items.columns[SAID], dtype=np.int64)
        state, dealt = joint.begin((1,)), np.zeros(strata.n_strata, dtype=np.int64)
        while True:
            there = joint.with_budget(self._goal_now(int(dealt.sum())).budget)
            now = there.look(state)
            if now.reason[0] != Reason.GO_ON:
                return state, now
            if done is not None and scheduled(self.labels) > done:
                return None
            counts = there.plan(state, now, asked=self._asked)
            spans = zip(first + dealt, counts[0], strict=True)
            drawn = np.concatenate([order[start : start + count] for start, count in spans])
            said = zip(stratum[drawn].tolist(), codes[drawn].tolist(), strict=True)
            part = [strata.part_of(*each) for each in said]
            cards = np.bincount(part, minlength=len(strata.parts))
            found = np.bincount(part, self.items.positive[drawn], minlength=len(strata.parts))
            self._judge(drawn)
            dealt += counts[0]
            tallies = state.tallies.add(cards[None], found[None])
            state = replace(state.deal(counts), tallies=tallies)

    def _cut(self, log_odds: Floats | None) -> tuple[Ints, Strata]:
        by = self.items.score if log_odds is None else log_odds
        return self.items.cut_cells(by, self._goal, self._design, by_model=log_odds is not None)


@dataclass(frozen=True, eq=False)
class RecutTask:
    """One design for one goal, with second opinions; `name` chooses the random stream."""

    name: str
    items: OpinedItems
    design: Design
    goal: Goal
    asked: int = 20
    block: int = _BLOCK

    def replay(self, replications: int, *, key: Sequence[int]) -> Runs:
        """Run the task so many times on the random stream of `key` and its own."""
        seed, *rest = key
        stream = [seed, crc32(self.name.encode()), self.goal.budget or 0, *rest]
        over = np.ones(1, dtype=np.bool_)
        runs = Runs.start(replications, len(self.goal.goals))
        for number in range(replications):
            rng, which = np.random.default_rng([*stream, number]), np.array([number])
            if self.goal.single:
                run = RecutRun(self.items, self.design, self.goal, rng, self.asked)
                state, last = run.run()
                runs.end(which, state, [last], over)
                runs.reason[which], runs.labels[which] = last.reason, run.labels
                continue
            several = JointRecutRun(self.items, self.design, self.goal, rng, self.asked)
            state, seen = several.run()
            runs.end(which, state, seen.looks, over)
            runs.reason[which], runs.labels[which] = seen.reason, several.labels
            for t, view in enumerate(several.views):
                runs.counted[which, t] = state.tallies.n[:, view.parts].sum(axis=-1)
        return runs
