"""Joint evaluation of several targets from one set of labels.

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
from typing import Self, cast

import numpy as np

from assay.core import allocation as allocate
from assay.core.design import Design
from assay.core.engine import explored_shares, least_of_each, look, weights_now
from assay.core.forms import Metric, Ratio, side_by_side
from assay.core.joint_allocation import compromise_allocation, joint_allocation
from assay.core.parts import Parts, Seen, View
from assay.core.procedures import Procedure, Wanted
from assay.core.ranking import InTop
from assay.core.rules import BETS_ARE_ON_ONE
from assay.core.special import z_of
from assay.core.state import JointLook, Look, State
from assay.core.stopping import Reason
from assay.core.tallies import Tallies
from assay.core.types import Bools, Floats, Ints
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


Alike = tuple[list[int], State, Metric]
"""Numbers of similar targets, and their state and metric: if several, with a row for each."""


@dataclass(frozen=True, eq=False)
class Joint(Procedure):
    """Several targets, from one set of labels."""

    design: Design  # how labels are evaluated; its allocation is joint
    parts: Parts
    views: Sequence[View]  # one a target
    budget: int | None = None  # maximum number of answers
    # Labels and positives by part, (C,), that the allocation adds to the observed ones. Estimates
    # and intervals do not.
    prior: tuple[Floats, Floats] | None = None
    # The outcomes of top-k accuracy that the views read: the last columns of `Tallies.by_class`.
    tops: Sequence[InTop] = ()
    sizes: Floats = field(init=False)  # (C,): those of the parts
    # The targets' states at the last look: a look, a plan and a report each need them.
    _last: list[tuple[State, tuple[Seen, ...], list[Alike]]] = field(
        default_factory=list, init=False, repr=False
    )

    def __post_init__(self) -> None:
        object.__setattr__(self, "sizes", self.parts.size)
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

    def with_budget(self, budget: int | None) -> Self:
        """Copy of the procedure with another budget."""
        if budget == self.budget:
            return self
        views = [replace(view, goal=replace(view.goal, budget=budget)) for view in self.views]
        return replace(self, views=views, budget=budget)

    def begin(self, shape: tuple[int, ...] = ()) -> State:
        """State before the first round; `shape` for parallel evaluations."""
        room = np.broadcast_to(self.parts.strata_sizes, (*shape, self.parts.strata_sizes.size))
        start, dealt = State.start(self.parts.size, shape), np.zeros_like(room)
        if not self.parts.vocabulary.is_yes_or_no:
            columns = self.parts.classes + 1 + len(self.tops)
            by_class = np.zeros((*shape, self.parts.size.size, columns))
            start = start.changed(tallies=replace(start.tallies, by_class=by_class))
        return start.changed(dealt=dealt, room=room)

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
        """State and metric of every target."""
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

    def deals_ahead(self, _: int, /) -> bool:
        """Whether a round may be dealt before the last is answered: always."""
        return True

    def plan(self, state: State, wanted: Wanted) -> Ints:
        """Plan the next round: the number of cards of each stratum, (..., H).

        At most the estimated need of the goal: near it, a round may be smaller than requested.
        """
        aim = self._wanted(state, wanted.look())
        size = np.full(state.streak.shape, float(wanted.cards))
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
        """Estimate the final number of labels wanted in each stratum, (..., H)."""
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
        """Fewest labels that serve every target, given such strata.

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
            for number, weights in zip(alike, _rows(w, alike), strict=True):
                view = self.views[number]
                so_far = most[..., view.strata]
                most[..., view.strata] = np.maximum(so_far, view.by_stratum(weights))
        return most

    @property
    def _affords(self) -> float:
        """Maximum number of labels."""
        items = float(self.parts.size.sum())
        return items if self.budget is None else min(float(self.budget), items)

    def _of_whole_budget(self, view: View, shares: Floats) -> Floats:
        """Variance Q_t if the whole budget is dealt from the target's items by size alone.

        Never more than that of a simple random sample of them. If there are few, half of them
        replace the budget: a target with all items labelled would have no variance to compare with,
        and would want every label until then.
        """
        sizes = view.gather(self.parts.size)
        labels = min(self._affords, sizes.sum() / 2)
        return np.asarray((shares**2 / sizes).sum(axis=-1) * (sizes.sum() / labels - 1))

    def _shares(self, state: State) -> dict[int, Floats]:
        """Each target's own allocation of labels, by its number."""
        by_view: dict[int, Floats] = {}
        for alike, mine, metric in self._alike(state):
            shares = explored_shares(self._expected(alike, mine.tallies), metric)
            by_view.update(zip(alike, _rows(shares, alike), strict=True))
        return by_view

    def _expected(self, alike: Sequence[int], mine: Tallies) -> Tallies:
        """Answers as targets see them, plus the prior labels used by the allocation."""
        if self.prior is None:
            return mine
        added = [self.views[number].gather(np.stack(self.prior)) for number in alike]
        labels, positives = added[0] if len(alike) == 1 else np.stack(added, axis=1)
        return Tallies.trusted(mine.N, mine.n + labels, mine.x + positives, mine.u)


def _rows(values: Floats, alike: Sequence[int]) -> Sequence[Floats]:
    """Compute a result for each of several parallel targets, or for a single one."""
    return [values] if len(alike) == 1 else list(values)


def _is_over(now: Look) -> Bools:
    """Whether a target needs no more labels: it is precise enough, or they would not help."""
    return np.isin(now.reason, (Reason.GOAL_MET, Reason.EXHAUSTED, Reason.UNJUDGED))
