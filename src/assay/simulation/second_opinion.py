"""Evaluations with second opinions: strata that are cut anew by what they turn out to tell.

Every run has its own model, and so its own strata. Items are drawn by permanent numbers, as in a
campaign, and labels are counted once, whether they are drawn again or not (`campaign.recut`). Where
the design bets, what was judged is known after a cut, and the others have numbers of their own.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Generic, TypeAlias, TypeVar
from zlib import crc32

import numpy as np

from assay.core.betting import Bets
from assay.core.design import Design
from assay.core.engine import Look, State, begin, cannot_stop, fold, look, plan
from assay.core.error_model import SAID, Model, columns_at, fit, learn, scheduled
from assay.core.forms import ratio
from assay.core.goal import Goal
from assay.core.joint import JointLook, View
from assay.core.stopping import Reason
from assay.core.strata import Strata
from assay.core.stratify import joint_of
from assay.core.tallies import Tallies
from assay.core.types import Bools, Floats, Ints
from assay.simulation.opined import OpinedItems
from assay.simulation.runs import Runs

AUX = " + aux"  # what the name of a design with second opinions ends with
_BLOCK = 20  # replications side by side: of each, numbers of all items are held

Cut: TypeAlias = tuple[Ints, Strata]
"""The stratum of every item, and the strata."""

_Seen = TypeVar("_Seen", Look, JointLook)


class _Run(ABC, Generic[_Seen]):
    """One evaluation to its stop.

    `number`, (N,): the items' permanent numbers; `model`: what the strata are cut by; None for the
    score.
    """

    def __init__(
        self,
        items: OpinedItems,
        design: Design,
        goal: Goal,
        rng: np.random.Generator,  # where all randomness comes from
        asked: int = 20,  # cards asked for at a time
        *,
        # What labels of other items have taught: the first strata are cut by it.
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
        self._deals: Order | None = None  # by these two

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

    @abstractmethod
    def run(self, *, recut: bool = True) -> tuple[State, _Seen]:
        """Label until it is over; return how it stands then, and the last look."""

    @abstractmethod
    def _cut(self, log_odds: Floats | None) -> Cut:
        """Return the stratum of every item, and the strata: by the score, or by a model."""

    def _goal_now(self, dealt: int) -> Goal:
        """Return the goal: answers that are not drawn again have used up a budget, too."""
        if self._goal.budget is None:
            return self._goal
        return replace(self._goal, budget=max(self._goal.budget - (self.labels - dealt), 1))

    def _decks_of(self, stratum: Ints, strata: Strata) -> "Decks":
        """Return the items of each stratum, in the order in which they are dealt."""
        if self._deals is None:
            self._deals = Order(self.number, self._on_top)
        return self._deals.decks(stratum, strata.n_strata)

    def _judge(self, drawn: Ints) -> Ints:
        """Return those that were not judged before, in the order in which they are now."""
        new = self._rng.permutation(drawn[~self._known[drawn]])
        self._known[new] = True
        self._order += new.tolist()
        return new

    def _recut(self, stratum: Ints, strata: Strata, labels: int) -> Cut:
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

    def _cut_now(self) -> Cut:
        """Return the stratum of every item, and the strata, by the model if there is one."""
        if self.model is None:
            return self._cut(None)
        return self._cut(self.model.log_odds(self.items.columns, self._fold))


class RecutRun(_Run[Look]):
    """An evaluation of one metric."""

    # stratum, strata: of each item, and all of them, since the last cut.
    stratum: Ints
    strata: Strata
    state: State  # where it stands
    last: Look  # at the end
    _dealt: Ints  # cards of each stratum, since the last cut

    def run(self, *, recut: bool = True) -> tuple[State, Look]:
        """Label until it is over; return how it stands then, and the last look."""
        return run_together([self], recut=recut)[0]

    def begin(self, by_score: dict[object, Cut]) -> None:
        """Get ready to deal from the first strata."""
        if self.model is not None:
            self._begin_with(self._cut_now())
            return
        same = id(self.items.score), id(self.items.columns[SAID]), id(self._design)
        if same not in by_score:
            by_score[same] = self._cut_now()
        self._begin_with(by_score[same])

    def _begin_with(self, cut: Cut) -> None:
        self.stratum, self.strata = cut
        self.done = scheduled(self.labels)
        self.state = self._begin(self.stratum, self.strata.sizes.astype(np.float64))
        self.middle = np.nan  # of the interval, at the last look that there was
        self._decks = self._decks_of(self.stratum, self.strata)

    @property
    def side_by_side(self) -> object:
        """What evaluations must have in common to be dealt side by side: the shape of a metric.

        Those that draw by chance, or whose budget is used up by answers that are not drawn again,
        have rounds of their own.
        """
        if self._goal.budget is not None or self._design.allocation != "explore":
            return self
        form = ratio(self._goal.metric, self.state.tallies.N[0], self.strata.says_yes)
        same = form.a0, form.b0, form.a.tobytes(), form.b.tobytes()
        return id(self._design), id(self._goal), same, min(self.state.rounds, 2)

    @property
    def is_due(self) -> bool:
        """Whether strata may be cut anew now."""
        return scheduled(self.labels) > self.done

    def cut_anew(self) -> None:
        """Cut the strata anew where a model of the first labels says so.

        Where it does not, the evaluation goes on; only who bets takes a new order all the same.
        """
        labels = scheduled(self.labels)
        cut = self._recut(self.stratum, self.strata, labels)
        if self._design.bets:
            self._bets = self.state.bets
        if self._design.bets or cut[1] is not self.strata:
            self._begin_with(cut)
        self.done = labels

    def judge_round(self, counts: Ints) -> tuple[Floats, Ints]:
        """Deal a round; return the outcomes in each stratum, and the kinds of its new cards.

        `counts`, (H,): cards of each stratum.
        """
        drawn = self._decks.round(self._dealt, counts)
        self._dealt = self._dealt + counts
        new = self._judge(drawn)  # all of them, where bets are on their order
        stratum, positive = self.stratum, self.items.positive
        found = np.bincount(stratum[drawn], positive[drawn], minlength=counts.size)
        return found.astype(np.float64), 2 * stratum[new] + positive[new]

    def deal_beside(self, others: Sequence["RecutRun"], *, recut: bool) -> list["RecutRun"]:
        """Deal to evaluations side by side, each until it is over or may be cut anew.

        `others`: all of them, with what `side_by_side` asks for.

        Those that may be.
        """
        design, running, due = self._design, list(others), list[RecutRun]()
        metric = ratio(self._goal.metric, self.state.tallies.N[0], self.strata.says_yes)
        state = _stacked([run.state for run in running])
        middle = np.array([run.middle for run in running])
        while running:
            goal = self._goal_now(int(state.dealt[0].sum()))
            seen = ~cannot_stop(design, goal, metric, state, middle)
            over, streak = np.zeros_like(seen), np.zeros_like(state.streak)
            if seen.any():
                now = look(design, goal, metric, state.take(seen).at_budget(goal.budget))
                over[seen], streak[seen] = now.reason != Reason.GO_ON, now.streak
            leaves = over | np.array([recut and run.is_due for run in running])
            for row in np.flatnonzero(leaves):
                running[row].leave(state.take(np.arange(leaves.size) == row), middle[row])
                if over[row]:
                    ended = running[row].state.at_budget(goal.budget)
                    running[row].last = look(design, goal, metric, ended)
                else:
                    due.append(running[row])
            if seen.any():
                middle[seen] = (now.low + now.high) / 2
            if leaves.any():
                running = [run for run, gone in zip(running, leaves, strict=True) if not gone]
                state, streak, middle = state.take(~leaves), streak[~leaves], middle[~leaves]
            if not running:
                break
            state = replace(state, streak=streak)
            counts = plan(design, goal, metric, state, rng=self._rng, asked=self._asked)
            told = [run.judge_round(its) for run, its in zip(running, counts, strict=True)]
            tallies = state.tallies.add(counts, np.stack([found for found, _ in told]))
            after = replace(state.deal(counts), tallies=tallies)
            if design.bets:
                ((_, kinds),) = told
                after = fold(design, goal, metric, before=state, after=after, kinds=kinds[None])
            state = after
        return due

    def leave(self, state: State, middle: float) -> None:
        """Keep how it stands."""
        self.state, self.middle = state, middle

    def _begin(self, stratum: Ints, sizes: Floats) -> State:
        """Return the state before the first card of new strata.

        Who bets goes on with what is owned and with what is known: judged items lie on top of their
        decks, and the order of the others is a new one, that knows nothing of what was drawn.
        """
        state = begin(self._design, self._goal, sizes[None])
        self._dealt = np.zeros(sizes.size, dtype=np.int64)
        if self._bets is None:
            return state
        self.number, self._on_top = self._another_order(), self._known.copy()
        self._deals = None
        known = stratum[self._known]
        counts = np.bincount(known, minlength=sizes.size)[None]
        found = np.bincount(known, self.items.positive[self._known], minlength=sizes.size)[None]
        state = replace(state.deal(counts), tallies=state.tallies.add(counts, found))
        self._dealt = counts[0]
        return replace(state, bets=self._bets)

    def _another_order(self) -> Floats:
        return self._rng.random(self.number.size)

    def _cut(self, log_odds: Floats | None) -> Cut:
        method = self._design.strata if log_odds is None else "spread"
        by = self.items.score if log_odds is None else log_odds
        return self.items.cut(by, method, self._design.bins)


def run_together(runs: Sequence[RecutRun], *, recut: bool = True) -> list[tuple[State, Look]]:
    """Label in several evaluations until all are over; each ends as it would alone.

    `runs`: evaluations that have not begun. Where no column of theirs has been believed yet, those
    of the same scores have the same strata, which are cut once.

    How each stands at the end, and the last look.
    """
    by_score: dict[object, Cut] = {}
    for run in runs:
        run.begin(by_score)
    going_on = list(runs)
    while going_on:
        groups: dict[object, list[RecutRun]] = {}
        for run in going_on:
            groups.setdefault(run.side_by_side, []).append(run)
        going_on = [
            run for group in groups.values() for run in group[0].deal_beside(group, recut=recut)
        ]
        for run in going_on:
            run.cut_anew()
    return [(run.state, run.last) for run in runs]


def _stacked(states: Sequence[State]) -> State:
    """Return the states of evaluations without bets as one, side by side."""
    if len(states) == 1:
        return states[0]

    def rows(of: Callable[[State], Floats]) -> Floats:
        return np.concatenate([of(state) for state in states])

    tallies = Tallies.trusted(
        rows(lambda state: state.tallies.N),
        rows(lambda state: state.tallies.n),
        rows(lambda state: state.tallies.x),
        rows(lambda state: state.tallies.u),
    )
    return replace(
        states[0],
        tallies=tallies,
        dealt=rows(lambda state: state.dealt),
        room=rows(lambda state: state.room),
        streak=np.concatenate([state.streak for state in states]),
    )


class JointRecutRun(_Run[JointLook]):
    """An evaluation of several targets; the look is at all of them."""

    views: Sequence[View] = ()  # how targets read the labels, at the end

    def run(self, *, recut: bool = True) -> tuple[State, JointLook]:
        """Label until it is over; return how it stands then, and the last look."""
        stratum, strata = self._cut_now()
        done = 0 if recut else None
        while True:
            ended = self._go_on(stratum, strata, done)
            if ended is not None:
                return ended
            done = scheduled(self.labels)
            stratum, strata = self._recut(stratum, strata, done)

    def _go_on(
        self, stratum: Ints, strata: Strata, done: int | None
    ) -> tuple[State, JointLook] | None:
        joint = joint_of(self._design, self._goal, strata)
        self.views = joint.views
        decks = self._decks_of(stratum, strata)
        codes = np.asarray(self.items.columns[SAID], dtype=np.int64)
        state, dealt = joint.begin((1,)), np.zeros(strata.n_strata, dtype=np.int64)
        while True:
            there = joint.with_budget(self._goal_now(int(dealt.sum())).budget)
            now = there.look(state.at_budget(there.budget))
            if now.reason[0] != Reason.GO_ON:
                return state, now
            if done is not None and scheduled(self.labels) > done:
                return None
            counts = there.plan(state, now, asked=self._asked)
            drawn = decks.round(dealt, counts[0])
            said = zip(stratum[drawn].tolist(), codes[drawn].tolist(), strict=True)
            part = [strata.part_of(*each) for each in said]
            cards = np.bincount(part, minlength=len(strata.parts))
            found = np.bincount(part, self.items.positive[drawn], minlength=len(strata.parts))
            self._judge(drawn)
            dealt += counts[0]
            tallies = state.tallies.add(cards[None], found[None])
            state = replace(state.deal(counts), tallies=tallies)

    def _cut(self, log_odds: Floats | None) -> Cut:
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
        rngs = [np.random.default_rng([*stream, number]) for number in range(replications)]
        if self.goal.single:
            alone = [RecutRun(self.items, self.design, self.goal, rng, self.asked) for rng in rngs]
            for number, (state, last) in enumerate(run_together(alone)):
                which = np.array([number])
                runs.end(which, state, [last], over)
                runs.reason[which], runs.labels[which] = last.reason, alone[number].labels
            return runs
        for number, rng in enumerate(rngs):
            which = np.array([number])
            several = JointRecutRun(self.items, self.design, self.goal, rng, self.asked)
            state, seen = several.run()
            runs.end(which, state, seen.looks, over)
            runs.reason[which], runs.labels[which] = seen.reason, several.labels
            for t, view in enumerate(several.views):
                runs.counted[which, t] = state.tallies.n[:, view.parts].sum(axis=-1)
        return runs


# Decks of items: the order in which a simulated evaluation deals them, sorted as far as it deals.
# Of half a million items an evaluation deals a few thousand. The first of all are sorted once, and
# fall into the decks of any strata in that order; a deck that is dealt further is sorted whole
# then.

_SORTED = 8_000  # items, about, that are sorted before any is dealt


class Order:
    """The order of items: by their numbers, after those that lie on top.

    `number`, (N,): random numbers from 0 to 1; `on_top`, (N,): items that come before all others of
    their stratum.

    >>> order = Order(np.array([0.9, 0.2, 0.4]), np.array([True, False, False]))
    >>> order.decks(np.array([0, 0, 0]), 1).deal(0, 0, 2)
    array([0, 1])
    """

    def __init__(self, number: Floats, on_top: Bools) -> None:
        self.number, self.on_top = number, on_top
        self.first = self.sorted(np.flatnonzero((number < _SORTED / number.size) | on_top))

    def sorted(self, items: Ints) -> Ints:
        """Return items in their order; `items` ascend."""
        by_number = items[np.argsort(self.number[items], kind="stable")]
        on_top = self.on_top[by_number]
        return np.concatenate([by_number[on_top], by_number[~on_top]])

    def decks(self, stratum: Ints, n_strata: int) -> "Decks":
        """Return the decks of strata.

        `stratum`, (N,): of each item.
        """
        return Decks(self, stratum, n_strata)


class Decks:
    """The items of each stratum, in an order; as `Order.decks` makes them."""

    def __init__(self, order: Order, stratum: Ints, n_strata: int) -> None:
        self._order, self._stratum = order, stratum
        its = stratum[order.first]
        by_stratum = np.argsort(its, kind="stable")
        ends = np.searchsorted(its[by_stratum], np.arange(n_strata + 1))
        cards = order.first[by_stratum]
        self._cards = [cards[start:end] for start, end in pairwise(ends)]
        self._whole = np.zeros(n_strata, dtype=np.bool_)

    def deal(self, stratum: int, dealt: int, count: int) -> Ints:
        """Return the next `count` items of a stratum, after so many that were dealt."""
        if dealt + count > self._cards[stratum].size and not self._whole[stratum]:
            self._cards[stratum] = self._order.sorted(np.flatnonzero(self._stratum == stratum))
            self._whole[stratum] = True
        return self._cards[stratum][dealt : dealt + count]

    def round(self, dealt: Ints, counts: Ints) -> Ints:
        """Return the items of a round: of each stratum the next, after so many that were dealt."""
        return np.concatenate(
            [self.deal(int(h), int(dealt[h]), int(counts[h])) for h in np.flatnonzero(counts)]
        )
