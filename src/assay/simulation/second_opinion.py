"""Evaluations with second opinions: strata are recut as their value is learned.

Every run has its own model, and so its own strata. Items are drawn by permanent numbers, as in a
campaign, and labels are counted once, whether they are drawn again or not (`campaign.recut`). If
the design bets, judged items are known after a cut, and the others get new numbers.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TypeAlias, cast

import numpy as np

from assay.core.betting import Bets
from assay.core.design import Design
from assay.core.error_model import SAID, Model, columns_at
from assay.core.evaluation import procedure_of
from assay.core.forms import Ratio
from assay.core.goal import Goal
from assay.core.learning import Training, scheduled
from assay.core.procedures import Answered, Procedure, Wanted
from assay.core.state import JointLook, State
from assay.core.stopping import Reason
from assay.core.strata import Strata
from assay.core.types import Bools, Floats, Ints
from assay.simulation.opined import OpinedItems
from assay.simulation.runs import Runs, stream_of

AUX = " + aux"  # suffix of the names of designs with second opinions
_BLOCK = 20  # replications side by side: of each, numbers of all items are held

Cut: TypeAlias = tuple[Ints, Strata]
"""The stratum of every item, and the strata."""


class RecutRun:
    """One evaluation to its stop, of one metric or of several targets.

    `number`, (N,): the items' permanent numbers; `model`: the strata's model; None for the score.
    """

    # stratum, strata: of each item, and all of them, since the last cut.
    stratum: Ints
    strata: Strata
    procedure: Procedure
    state: State  # the current state
    last: JointLook  # at the end
    middle: float  # of the interval, at the last look that there was
    _done: int  # labels at the last cut or attempted cut

    def __init__(
        self,
        items: OpinedItems,
        design: Design,
        goal: Goal,
        rng: np.random.Generator,  # source of all randomness
        asked: int = 20,  # cards per request
        *,
        # Model from labels of other items, for the first strata.
        before: Model | None = None,
    ) -> None:
        self.model = self._before = before
        self.items, self.number = items, rng.random(items.positive.size)
        self._design, self._goal, self._rng, self._asked = design, goal, rng, asked
        self._fold = rng.random(items.positive.size) < 0.5
        self._known = np.zeros(items.positive.size, dtype=np.bool_)
        self._order: list[int] = []  # order in which items were judged
        self._bets: Bets | None = None  # wealth of the bettors at a new cut
        self._on_top = self._known.copy()  # items that lie on top of their decks
        self._deals: Order | None = None  # by these two

    @property
    def labels(self) -> int:
        """Number of judged items."""
        return len(self._order)

    def lessons(self) -> Model | None:
        """Model learned from all labels, for the next evaluation (`campaign.recut`)."""
        return self._training(np.array(self._order)).fit()

    def _training(self, judged: Ints) -> Training:
        """Training labels of a model: those of some items."""
        items, fold = self.items, self._fold[judged]
        columns, positive = columns_at(items.columns, judged), items.positive[judged]
        return Training(columns, items.own, positive, fold, self._before)

    def run(self, *, recut: bool = True) -> tuple[State, JointLook]:
        """Label until it is over; return the final state and the last look."""
        return run_together([self], recut=recut)[0]

    def begin(self, by_score: dict[object, Cut]) -> None:
        """Prepare to deal from the first strata."""
        if self.model is not None:
            self._begin_with(self._cut())
            return
        items = self.items
        same = id(items.score), id(items.columns[SAID]), id(self._design), id(self._goal)
        if same not in by_score:
            by_score[same] = self._cut()
        self._begin_with(by_score[same])

    def _begin_with(self, cut: Cut) -> None:
        self.stratum, self.strata = cut
        self.procedure = procedure_of(self._design, self._goal, self.strata, None, 0)
        self._done, self.middle = scheduled(self.labels), np.nan
        self.state = self.procedure.begin((1,))
        if self._bets is not None:
            self.state = self._with_bets(self.state, self._bets)
        if self._deals is None:
            self._deals = Order(self.number, self._on_top)
        self._decks = self._deals.decks(self.stratum, self.strata.n_strata)

    def _with_bets(self, state: State, bets: Bets) -> State:
        """State of new strata in which bettors keep their wealth and knowledge.

        Judged items lie on top of their decks. The others get a new order, independent of the draws
        so far.
        """
        self.number, self._on_top = self._rng.random(self.number.size), self._known.copy()
        self._deals = None
        known, strata = self.stratum[self._known], self.strata.n_strata
        counts = np.bincount(known, minlength=strata)[None]
        outcomes = np.bincount(known, self.items.positive[self._known], minlength=strata)[None]
        return state.deal(counts).changed(tallies=state.tallies.add(counts, outcomes), bets=bets)

    @property
    def side_by_side(self) -> object:
        """Key of evaluations that can be dealt in parallel: the shape of a metric.

        Evaluations of several targets, those that draw by chance, and those with a budget that is
        also used up by answers outside of the sample have rounds of their own.
        """
        by_chance = self._design.allocation != "explore"
        if self._goal.budget is not None or by_chance or not self._goal.single:
            return self
        form = cast(Ratio, self.procedure.views[0].metric)
        same = form.a0, form.b0, form.a.tobytes(), form.b.tobytes()
        return id(self._design), id(self._goal), same, min(self.state.rounds, 2)

    @property
    def is_due(self) -> bool:
        """Whether strata may be recut now."""
        return scheduled(self.labels) > self._done

    def cut_anew(self) -> None:
        """Recut the strata if a model of the first labels supports it.

        Otherwise one metric continues unchanged; a betting design gets a new order all the same,
        and several targets deal from the top of their decks.
        """
        self._done = scheduled(self.labels)
        first = np.array(self._order[: self._done])
        cost = None if self._goal.single else self.procedure.fewest
        model = self._training(first).learn(self.stratum[first], self.strata.sizes, cost)
        self.model = self.model if model is None else model
        self._bets = self.state.bets
        if model is not None:
            self._begin_with(self._cut())
        elif self._design.bets or not self._goal.single:
            self._begin_with((self.stratum, self.strata))

    def _cut(self) -> Cut:
        """Stratum of every item, and the strata: by the score, or by a model."""
        if self.model is None:
            return self.items.cut(self._design, self._goal)
        log_odds = self.model.log_odds(self.items.columns, self._fold)
        return self.items.cut(self._design, self._goal, log_odds)

    def judge(self, dealt: Floats, counts: Ints) -> tuple[Ints, Ints | Floats, Ints]:
        """Deal a round; return the cards and the outcomes in each part, and the new cards' kinds.

        `dealt`, `counts`, (H,): cards of each stratum, so far and now.
        """
        drawn, strata = self._decks.round(dealt, counts), self.strata
        new = self._rng.permutation(drawn[~self._known[drawn]])
        self._known[new] = True
        self._order += new.tolist()
        stratum, positive, codes = self.stratum, self.items.positive, self.items.codes
        pairs = zip(stratum[drawn].tolist(), codes[drawn].tolist(), strict=True)
        part, parts = [strata.part_of(*each) for each in pairs], len(strata.parts)
        cards = np.bincount(part, minlength=parts)
        outcomes = np.bincount(part, positive[drawn], minlength=parts)
        return cards, outcomes, 2 * stratum[new] + positive[new]

    def deal_beside(self, others: Sequence["RecutRun"], *, recut: bool) -> list["RecutRun"]:
        """Deal to evaluations in parallel, each until it is over; return those that may be recut.

        `others`: all of them, with equal `side_by_side`.
        """
        running, due = list(others), list[RecutRun]()
        state = self.state
        if len(running) > 1:
            state = State.side_by_side([run.state for run in running], np.concatenate)
        middle = np.array([run.middle for run in running])
        while running:
            budget = self._budget_now(state)
            procedure = self.procedure.with_budget(budget)
            now = procedure.decide(state.at_budget(budget), middle)
            over = now.reason != Reason.GO_ON
            leaves = over | np.array([recut and run.is_due for run in running])
            for row in np.flatnonzero(leaves):
                run, which = running[row], np.arange(leaves.size) == row
                run.state, run.middle = state.take(which), middle[row]
                if not over[row]:
                    due.append(run)
                elif len(running) == 1:
                    run.last = now.look()
                else:
                    run.last = procedure.look(run.state.at_budget(budget))
            running = [run for run, gone in zip(running, leaves, strict=True) if not gone]
            if not running:
                break
            state, middle = state.changed(streak=now.streak).take(~leaves), now.middle[~leaves]
            counts = procedure.plan(state, Wanted(self._asked, self._rng, now.look))
            rounds = zip(running, state.dealt, counts, strict=True)
            cards, outcomes, kinds = zip(*(run.judge(*own) for run, *own in rounds), strict=True)
            tallies = state.tallies.add(np.stack(cards), np.stack(outcomes))
            after, kind = state.deal(counts).changed(tallies=tallies), kinds[0][None]
            state = procedure.fold(Answered(state, state, after, kind, kind))
        return due

    def _budget_now(self, state: State) -> int | None:
        """Budget; answers that are not drawn again have used it up, too."""
        if self._goal.budget is None:
            return None
        return max(self._goal.budget - (self.labels - int(state.dealt.sum())), 1)


def run_together(runs: Sequence[RecutRun], *, recut: bool = True) -> list[tuple[State, JointLook]]:
    """Label in several evaluations until all are over; each ends as it would alone.

    `runs`: evaluations that have not begun. Those that do not use a column yet, and have the same
    scores, share their strata, which are cut once. Returns the final states and the last looks.
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
        """Run the task this many times on the random stream of `key` and its own."""
        stream = stream_of(self.name, key, self.goal.budget or 0)
        rngs = [np.random.default_rng([*stream, number]) for number in range(replications)]
        every = [RecutRun(self.items, self.design, self.goal, rng, self.asked) for rng in rngs]
        runs, over = Runs.start(replications, len(self.goal.goals)), np.ones(1, dtype=np.bool_)
        for number, (run, (state, last)) in enumerate(zip(every, run_together(every), strict=True)):
            which = np.array([number])
            runs.end(which, state, last.looks, over)
            runs.reason[which], runs.labels[which] = last.reason, run.labels
            runs.counted[which] = run.procedure.counted(state)
        return runs


# Decks of items: the order in which a simulated evaluation deals them, sorted as far as it deals.
# From half a million items an evaluation deals a few thousand. The first items are sorted once, and
# distributed to the decks of any strata in that order; a deck that is dealt further is then sorted
# entirely.

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
        """Items in their order; `items` ascend."""
        by_number = items[np.argsort(self.number[items], kind="stable")]
        on_top = self.on_top[by_number]
        return np.concatenate([by_number[on_top], by_number[~on_top]])

    def decks(self, stratum: Ints, n_strata: int) -> "Decks":
        """Decks of strata.

        `stratum`, (N,): of each item.
        """
        return Decks(self, stratum, n_strata)


class Decks:
    """The items of each stratum, in an order; as `Order.decks` makes them."""

    def __init__(self, order: Order, stratum: Ints, n_strata: int) -> None:
        self._order, self._stratum = order, stratum
        own = stratum[order.first]
        by_stratum = np.argsort(own, kind="stable")
        ends = np.searchsorted(own[by_stratum], np.arange(n_strata + 1))
        cards = order.first[by_stratum]
        self._cards = [cards[start:end] for start, end in pairwise(ends)]
        self._whole = np.zeros(n_strata, dtype=np.bool_)

    def deal(self, stratum: int, dealt: int, count: int) -> Ints:
        """Next `count` items of a stratum, after this number that were dealt."""
        if dealt + count > self._cards[stratum].size and not self._whole[stratum]:
            self._cards[stratum] = self._order.sorted(np.flatnonzero(self._stratum == stratum))
            self._whole[stratum] = True
        return self._cards[stratum][dealt : dealt + count]

    def round(self, dealt: Ints | Floats, counts: Ints) -> Ints:
        """Items of a round: of each stratum the next, after this number that were dealt."""
        return np.concatenate(
            [self.deal(int(h), int(dealt[h]), int(counts[h])) for h in np.flatnonzero(counts)]
        )
