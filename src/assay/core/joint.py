"""Joint evaluation of several targets from one set of labels.

Labels are counted by *part*: a stratum and a code of predicted labels. A target (the recall of one
classifier, the difference between two) reads them through its own `View`, which merges parts of a
stratum with the same labels by its classifiers. So in a view no stratum straddles a predicted
label, and the statistics of a single metric apply unchanged (`engine.look`).

The next labels go where the fewest meet all targets together (`joint_allocation`). If target t
alone would allocate its labels as f_th (`allocation`), its variance is proportional to Q_t = sum_h
f_th^2 / n_h, and its interval, of half-width r now, is narrow enough about when Q_t has shrunk by
(within / r)^2. The allocation is the fewest further labels that do this for every t. It is
recomputed for every round, from the intervals themselves.

If the budget is too small for that, or a target has no `within`, all of it is allocated so that no
target is left behind (`core.joint_allocation`): each Q_t is compared with the one that `within`
requires, or else with that of a sample of the whole budget from the target's items.
"""

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import cast

import numpy as np

from assay.core import allocation as allocate
from assay.core.design import Design
from assay.core.engine import explored_shares, least_of_each, look, weights_now
from assay.core.forms import Metric, Ratio, side_by_side
from assay.core.goal import Goal
from assay.core.joint_allocation import compromise_allocation, joint_allocation
from assay.core.matrix import Matrix, MatrixGap
from assay.core.ranking import InTop, gap
from assay.core.rules import BETS_ARE_ON_ONE
from assay.core.special import z_of
from assay.core.state import Look, State
from assay.core.stopping import Reason
from assay.core.tallies import Tallies
from assay.core.targets import EVERYWHERE, Within
from assay.core.types import Bools, Floats, Ints
from assay.core.vocabulary import YES_OR_NO, Vocabulary
from assay.core.weights import settle
from assay.errors import DesignError

_UNSEEN = 0.5  # weight, in labels, of a stratum without any in the allocation
_NOT_YET = 1.05  # factor from its goal of a target with too few labels to stop
_LEAST_ROUND = 5  # cards: the more rounds, the more looks
_TINY = 1e-9
# Fields that a design for several targets cannot choose.
_FIXED = (
    "variable",
    "allocation",
    "estimator",
    "interval",
    "replacement",
    "first_per_stratum",
    "round_size",
    "rounds_in_a_row",
)


@dataclass(frozen=True, eq=False)
class Parts:
    """Parts by which labels are counted; arrays of shape (C,), sorted by stratum."""

    # stratum, code: the stratum, 0 to H - 1, and the predicted labels: bit k is set if the k-th
    # classifier predicts yes; with more classes, sum_k c_k K^k; with sets of classes for c_k, in
    # base 2^K (`core.vocabulary`)
    stratum: Ints
    code: Ints
    size: Floats  # the items
    # All items of the population; default: those of the parts. Items that no target needs labels of
    # are in no part, but count in a denominator.
    items: int | None = None
    # Of these, the items that each classifier predicts yes, or predicts each class for.
    yes_items: Sequence[int] | None = None
    # Items that are in no part; needed if a target is about a group of items, or there are more
    # classes than yes and no.
    rest: Sequence[tuple[int, int]] = ()
    # If items have weights, and all of the above is in impressions: the items of each part.
    count: Floats | None = None
    vocabulary: Vocabulary = YES_OR_NO  # the classes

    @property
    def classes(self) -> int:
        """Number of classes: 2 for yes and no."""
        return len(self.vocabulary)

    @cached_property
    def strata_sizes(self) -> Floats:
        """The items of each stratum, (H,)."""
        return self.by_stratum(self.size)

    @cached_property
    def starts(self) -> Ints:
        """Index of each stratum's first part, (H,)."""
        return np.flatnonzero(np.diff(self.stratum, prepend=-1))

    def by_stratum(self, counts: Floats) -> Floats:
        """Return counts by part (..., C) as counts by stratum (..., H)."""
        return np.asarray(np.add.reduceat(counts, self.starts, axis=-1))

    def says(self, classifier: int) -> Ints:
        """Return the number of a classifier's predicted label of each part: 1 is yes.

        It is the number of a class, or of a set of classes.
        """
        kinds = self.vocabulary.kinds
        return np.asarray(self.code // kinds**classifier % kinds)

    def calls(self, classifier: int, number: int) -> Bools:
        """Parts with a predicted label, or one of several, by a classifier: 1 is yes."""
        return self.vocabulary.says(self.says(classifier), number)

    def inside(self, among: Within) -> Bools:
        """Parts whose items are in the given groups."""
        return np.asarray(among.holds(self.code))

    def all_items(self, among: Within = EVERYWHERE) -> float:
        """Return the number of items of the population in the given groups."""
        if among or self.items is None:
            others = sum(items for code, items in self.rest if among.holds(code))
            return float(self.size[self.inside(among)].sum()) + others
        return float(self.items)

    def all_said(self, classifier: int, number: int = 1, among: Within = EVERYWHERE) -> float:
        """Return the number of items of the given groups that a classifier predicts as a class."""
        known = self.vocabulary
        if self.yes_items is not None and not among and not known.has_matrix:
            return float(self.yes_items[classifier * known.bits + number % known.bits])
        rest = [each for each in self.rest if among.holds(each[0])]
        code, items = np.array(rest, dtype=np.int64).reshape(-1, 2).T
        others = int(items[known.says(code // known.kinds**classifier % known.kinds, number)].sum())
        said = self.inside(among) & self.calls(classifier, number)
        return float(self.size[said].sum()) + others

    def every_said(self, classifier: int, among: Within = EVERYWHERE) -> Floats:
        """Return number of items of the given groups by a classifier's predicted class, (K,)."""
        inside, unit, K = self.inside(among), self.classes**classifier, self.classes
        found = np.bincount(self.says(classifier)[inside], self.size[inside], minlength=K)
        for code, items in self.rest:
            if among.holds(code):
                found[code // unit % K] += items
        return np.asarray(found)


@dataclass(frozen=True, eq=False)
class View:
    """One target's reading of the parts."""

    name: str  # the target's
    goal: Goal  # its metric, half-width and confidence
    metric: Metric  # over the strata of the view, shape (V,)
    parts: Ints  # the parts that count, those of one stratum of the view next to each other
    starts: Ints  # (V,): index in `parts` of the first part of each stratum of the view
    stratum: Ints  # (V,): its stratum of the evaluation
    share: Floats  # (V,): its share of that stratum's items
    # (V,): its items, if these have weights and sizes are impressions.
    items: Floats | None = None
    is_whole: bool = False  # whether its strata are those of the evaluation, each of one part
    # With more classes than yes and no: the column of `State.outcomes` with the outcome of each of
    # `parts`; for a difference of top-k accuracies (`core.ranking`), also the one that lowers it.
    reads: Ints | None = None
    against: Ints | None = None
    # For metrics of the whole confusion matrix: computes the metric from labels. `metric` is then
    # its value if all labels were correct.
    matrix: Matrix | MatrixGap | None = None

    def gather(self, counts: Floats) -> Floats:
        """Return counts by part (..., C) as counts by stratum of the view (..., V)."""
        of_parts = counts.take(self.parts, axis=-1)  # half as long as by an index
        return np.asarray(np.add.reduceat(of_parts, self.starts, axis=-1))

    @cached_property
    def strata(self) -> Ints:
        """Strata that hold items of the view, ascending."""
        return self.stratum[self._firsts]

    def by_stratum(self, values: Floats) -> Floats:
        """Return the sums (..., V) over the strata of the view as sums over `strata`."""
        return np.asarray(np.add.reduceat(values, self._firsts, axis=-1))

    @cached_property
    def _firsts(self) -> Ints:
        return np.flatnonzero(np.diff(self.stratum, prepend=-1))

    def state(self, state: State) -> State:
        """Return the state as this target sees it.

        `dealt` is that of whole strata: nobody can ask for cards of one part.
        """
        if self.is_whole:
            return state
        known = state.tallies
        mine = Tallies.trusted(*self.gather(np.stack((known.N, known.n, known.x, known.u))))
        if self.reads is not None and state.outcomes is not None:
            x = self._read(state.outcomes, self.reads)
            mine = Tallies.trusted(mine.N, mine.n, x, mine.u)
        dealt = state.dealt[..., self.stratum]
        waiting = None if state.open is None else self.gather(state.open)
        room = mine.N - dealt
        return state.changed(tallies=mine, dealt=dealt, room=room, first=None, open=waiting)

    def _read(self, outcomes: Floats, columns: Ints) -> Floats:
        """Labels with an outcome, by stratum of the view."""
        labels = outcomes[..., self.parts, columns]
        return np.asarray(np.add.reduceat(labels, self.starts, axis=-1))

    def seen(self, state: State) -> tuple[State, Metric]:
        """Return the state as this target sees it, and its metric.

        If items have weights, fully known strata are settled (`weights.settle`).
        """
        mine, once, outcomes = self.state(state), state.once, state.outcomes
        if self.matrix is not None and outcomes is not None:
            n, told = state.tallies.n[..., self.parts], outcomes[..., self.parts, :]
            return mine, self.matrix.linear(mine.tallies.N, n, self.matrix.by_class(told))
        if self.against is not None and outcomes is not None:
            tallies, form = gap(mine.tallies, self._read(outcomes, self.against))
            return replace(mine, tallies=tallies), form
        if once is None or self.items is None:
            return mine, self.metric
        once = once if self.is_whole else once.gathered(self.gather)
        settled = settle(mine.tallies, self.metric, once, self.items)
        tallies, first, room = settled.tallies, mine.first, mine.room
        if first is not None:
            first = Tallies.trusted(tallies.N, first.n, first.x, first.u)
        if not self.is_whole:
            room = tallies.N - mine.dealt
        possible = settled.least, settled.most
        mine = replace(mine, tallies=tallies, first=first, room=room, once=once, possible=possible)
        return mine, settled.metric


Seen = tuple[State, Metric]
"""State of an evaluation as a target sees it, and its metric."""
Alike = tuple[list[int], State, Metric]
"""Numbers of similar targets, and their state and metric: if several, with a row for each."""


@dataclass(frozen=True, eq=False)
class JointLook:
    """The look at each target, and whether there is a reason to stop."""

    looks: tuple[Look, ...]
    reason: Ints


@dataclass(frozen=True, eq=False)
class Joint:
    """An evaluation of several targets."""

    design: Design  # how labels are evaluated; its allocation is joint
    parts: Parts
    views: Sequence[View]  # one a target
    budget: int | None = None  # maximum number of answers
    # Labels and positives by part, (C,), that the allocation adds to the observed ones. Estimates
    # and intervals do not.
    prior: tuple[Floats, Floats] | None = None
    # The outcomes of top-k accuracy that the views read: the last columns of `State.outcomes`.
    tops: Sequence[InTop] = ()
    # The targets' states at the last look: a look, a plan and a report each need them.
    _last: list[tuple[State, tuple[Seen, ...], list[Alike]]] = field(
        default_factory=list, init=False, repr=False
    )

    def __post_init__(self) -> None:
        ours = Design()
        for name in _FIXED:
            value = getattr(self.design, name)
            if value != getattr(ours, name):
                raise DesignError(
                    f"several targets cannot be served by a design with {name}={value!r}",
                    details=BETS_ARE_ON_ONE
                    if self.design.bets
                    else "their allocation is joint, and their intervals are made for it",
                    hint="leave the design out, or use Design(), Design.centred() or "
                    "Design.fixed(), with strata and bins of your choice",
                )

    def with_budget(self, budget: int | None) -> "Joint":
        """Return the same evaluation with another budget."""
        if budget == self.budget:
            return self
        views = [replace(view, goal=replace(view.goal, budget=budget)) for view in self.views]
        return replace(self, views=views, budget=budget)

    def begin(self, shape: tuple[int, ...] = ()) -> State:
        """Return the state before the first round; `shape` for parallel evaluations."""
        tallies = Tallies.start(np.broadcast_to(self.parts.size, (*shape, self.parts.size.size)))
        room = np.broadcast_to(self.parts.strata_sizes, (*shape, self.parts.strata_sizes.size))
        outcomes = None
        # Two classes may have names of their own.
        if self.parts.vocabulary.kinds > 2 or any(view.reads is not None for view in self.views):
            columns = self.parts.classes + 1 + len(self.tops)
            outcomes = np.zeros((*shape, self.parts.size.size, columns))
        start = np.zeros(shape, dtype=np.int64)
        dealt = np.zeros_like(room)
        return State(tallies, dealt, room, 0, start, outcomes=outcomes)

    def look(self, state: State) -> JointLook:
        """Estimate every target, and decide whether all are good enough."""
        looks = self._looks(state)
        reason = np.full(state.streak.shape, Reason.GO_ON, dtype=np.int64)
        if self.budget is not None:
            reason = np.where(state.tallies.answers >= self.budget, Reason.BUDGET_SPENT, reason)
        seen = self.parts.by_stratum(state.tallies.n + state.tallies.u)
        out = (state.room + state.dealt <= seen).all(axis=-1)
        reason = np.where(out, Reason.EXHAUSTED, reason)
        met = np.all([_is_over(each) for each in looks], axis=0) & self._has_widths
        unjudged = np.any([each.reason == Reason.UNJUDGED for each in looks], axis=0)
        over = np.where(unjudged, Reason.UNJUDGED, Reason.GOAL_MET)
        return JointLook(looks, np.where(met, over, reason))

    def _looks(self, state: State) -> tuple[Look, ...]:
        """Look at every target; similar targets together, which takes as long as one."""
        looks: dict[int, Look] = {}
        for alike, mine, metric in self._alike(state):
            now = look(self.design, self.views[alike[0]].goal, metric, mine)
            each = [now] if len(alike) == 1 else [now.of(row) for row in range(len(alike))]
            looks.update(zip(alike, each, strict=True))
        return tuple(looks[number] for number in range(len(self.views)))

    def seen(self, state: State) -> tuple[Seen, ...]:
        """Return the state and metric of every target."""
        return self._recall(state)[0]

    def _alike(self, state: State) -> list[Alike]:
        return self._recall(state)[1]

    def _recall(self, state: State) -> tuple[tuple[Seen, ...], list[Alike]]:
        if not (self._last and self._last[0][0].equals(state)):
            seen = tuple(view.seen(state) for view in self.views)
            self._last[:] = [(state, seen, list(self._side_by_side(state, seen)))]
        return self._last[0][1:]

    def _side_by_side(self, state: State, seen: Sequence[Seen]) -> Iterator[Alike]:
        """Yield groups of similar targets.

        Only with equally many strata: sums over more would be rounded differently.
        """
        groups: dict[Hashable, list[int]] = {}
        for number, (view, (mine, metric)) in enumerate(zip(self.views, seen, strict=True)):
            key: Hashable = number
            plain = state.streak.shape == () and mine.possible is None
            plain = plain and view.goal.sample_of is None
            if plain and type(metric) is Ratio and metric.both is None:
                goal, known = view.goal, mine.tallies
                asked = goal.within, goal.confidence, goal.budget, goal.at_least
                key = (*asked, metric.bends, known.N.size, bool(known.u.any()))
            groups.setdefault(key, []).append(number)
        for alike in groups.values():
            mine, metric = seen[alike[0]]
            if len(alike) > 1:
                metric = side_by_side([cast(Ratio, seen[number][1]) for number in alike])
                mine = State.side_by_side([seen[number][0] for number in alike])
            yield alike, mine, metric

    @property
    def _has_widths(self) -> bool:
        return all(view.goal.within is not None for view in self.views)

    def plan(self, state: State, now: JointLook, *, asked: int) -> Ints:
        """Return the number of cards of each stratum in the next round, (..., H).

        At most the estimated need of the goal: near it, a round may be smaller than requested.
        """
        aim = self._wanted(state, now)
        size = np.full(state.streak.shape, float(asked))
        # Repeated draws of weighted items cost nothing, and each look takes time.
        if self._has_widths and self.parts.count is None:
            missing = np.maximum(aim - state.dealt, 0.0).sum(axis=-1)
            size = np.minimum(size, np.maximum(np.ceil(missing), _LEAST_ROUND))
        if self.budget is not None:
            size = np.clip(self.budget - state.dealt.sum(axis=-1), 0.0, size)
            # Rounds add up to the shares of the whole budget: a stratum whose share of a round is
            # below half a card would otherwise get none of it, round after round.
            so_far = (state.dealt.sum(axis=-1) + size) / np.maximum(aim.sum(axis=-1), 1.0)
            spent = aim.sum(axis=-1) >= self.budget - 0.5
            aim = aim * np.where(spent, np.minimum(so_far, 1.0), 1.0)[..., None]
        first = least_of_each(state, size, self._weights(state))
        behind = np.maximum(np.maximum(aim - state.dealt, 0.0) - first, 0.0)
        rest = allocate.round_to_total(behind, size - first.sum(axis=-1), state.room - first)
        return np.asarray(first + rest)

    def _wanted(self, state: State, now: JointLook) -> Floats:
        """Return the final number of labels wanted in each stratum, (..., H)."""
        sizes = self.parts.strata_sizes
        spread = np.zeros((*state.streak.shape, len(self.views), sizes.size))
        allowed = np.zeros(spread.shape[:-1])  # above the variance with every item labelled
        of_each = self._shares(state)
        for t, (view, each) in enumerate(zip(self.views, now.looks, strict=True)):
            shares = of_each[t]
            spread[..., t, view.strata] = view.by_stratum(shares**2 / view.share)
            within = view.goal.within
            if within is None:
                allowed[..., t] = self._of_whole_budget(view, shares)
                continue
            so_far = (spread[..., t, :] / np.maximum(state.dealt, _UNSEEN)).sum(axis=-1)
            so_far = np.maximum(so_far - (spread[..., t, :] / sizes).sum(axis=-1), _TINY)
            reach = np.where(_is_over(each), _TINY, np.maximum(each.half_width, _NOT_YET * within))
            allowed[..., t] = so_far * (within / reach) ** 2
        if not self._has_widths:
            return compromise_allocation(spread, allowed, self._affords, state.dealt, sizes).n
        least = (spread / sizes).sum(axis=-1)
        fewest = joint_allocation(spread, least + allowed, state.dealt, sizes).n
        short = fewest.sum(axis=-1) > self._affords
        if not short.any():
            return fewest
        shared = compromise_allocation(spread, allowed, self._affords, state.dealt, sizes).n
        return np.where(short[..., None], shared, fewest)

    def fewest(self, rate: Floats, sd: Floats) -> float:
        """Return the fewest labels that serve every target, given such strata.

        A target without a half-width should be as precise as the whole budget, dealt from its items
        at random, if half of them are positive.

        `rate`, `sd`, (H,): the share of positives in each stratum, and the standard deviation of
        its labels: less than that of the rate if labels are also allocated within the stratum.
        """
        sizes = self.parts.strata_sizes
        spread, allowed = np.zeros((len(self.views), sizes.size)), np.zeros(len(self.views))
        for t, view in enumerate(self.views):
            items = view.gather(self.parts.size)
            slopes = np.abs(view.metric.gradient(items * rate[view.stratum])) * items
            shares = slopes * sd[view.stratum]
            spread[t, view.strata] = view.by_stratum(shares**2 / view.share)
            within = view.goal.within
            if within is None:
                allowed[t] = slopes.sum() ** 2 / 4 / self._affords
            else:
                allowed[t] = (within / z_of(view.goal.confidence)) ** 2
        allowed = np.maximum(allowed, _TINY**2) + (spread / sizes).sum(axis=-1)
        return float(joint_allocation(spread, allowed, 0.0, sizes).n.sum())

    def _weights(self, state: State) -> Floats:
        """Each stratum's largest weight in any target, (..., H)."""
        most = np.zeros_like(state.dealt)
        for alike, mine, metric in self._alike(state):
            w, _ = weights_now(mine.tallies, metric)
            for number, its in zip(alike, _rows(w, alike), strict=True):
                view = self.views[number]
                so_far = most[..., view.strata]
                most[..., view.strata] = np.maximum(so_far, view.by_stratum(its))
        return most

    @property
    def _affords(self) -> float:
        """Maximum number of labels."""
        items = float(self.parts.size.sum())
        return items if self.budget is None else min(float(self.budget), items)

    def _of_whole_budget(self, view: View, shares: Floats) -> Floats:
        """Return Q_t if the whole budget is dealt from the target's items by size alone.

        Never more than that of a simple random sample of them. If there are few, half of them
        replace the budget: a target with all items labelled would have no variance to compare with,
        and would want every label until then.
        """
        sizes = view.gather(self.parts.size)
        labels = min(self._affords, sizes.sum() / 2)
        return np.asarray((shares**2 / sizes).sum(axis=-1) * (sizes.sum() / labels - 1))

    def _shares(self, state: State) -> dict[int, Floats]:
        """Each target's own allocation of labels, by its number."""
        found: dict[int, Floats] = {}
        for alike, mine, metric in self._alike(state):
            shares = explored_shares(self._expected(alike, mine.tallies), metric)
            found.update(zip(alike, _rows(shares, alike), strict=True))
        return found

    def _expected(self, alike: Sequence[int], mine: Tallies) -> Tallies:
        """Return the answers as targets see them, plus the prior labels used by the allocation."""
        if self.prior is None:
            return mine
        added = [self.views[number].gather(np.stack(self.prior)) for number in alike]
        labels, positives = added[0] if len(alike) == 1 else np.stack(added, axis=1)
        return Tallies.trusted(mine.N, mine.n + labels, mine.x + positives, mine.u)


def _rows(values: Floats, alike: Sequence[int]) -> Sequence[Floats]:
    """Return a result for each of several parallel targets, or of a single one."""
    return [values] if len(alike) == 1 else list(values)


def _is_over(now: Look) -> Bools:
    """Whether a target needs no more labels: it is precise enough, or they would not help."""
    return np.isin(now.reason, (Reason.GOAL_MET, Reason.EXHAUSTED, Reason.UNJUDGED))
