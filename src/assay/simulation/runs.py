"""Runs of an evaluation, replayed many times on a population whose truth is known.

The loop is the campaign's own (`core.engine`, or `core.joint` for several targets); only the people
are replaced: the number of outcomes among m cards of a stratum is one hypergeometric variate
(binomial with replacement). A run therefore costs the same for a thousand items and for a billion.
Where the design bets, a round's cards are put into a random order: given the counts, every order is
equally likely. Of several targets, a stratum's cards fall into its parts by chance.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from typing import Self

import numpy as np

from assay.core.design import Design
from assay.core.engine import Look, State, begin, cannot_stop, fold, look, plan
from assay.core.forms import Ratio
from assay.core.goal import Goal
from assay.core.joint import Joint, Parts
from assay.core.stopping import Reason
from assay.core.types import Bools, Floats, Ints

Watch = Callable[[State, Look], None]
Ended = Callable[[Ints, State], None]


@dataclass(frozen=True, eq=False)
class Runs:
    """How each replication ended."""

    labels: Ints  # (runs,): distinct items that were labelled
    reason: Ints  # (runs,): why it stopped
    # value, variance, low, high, (runs, targets): the estimates, and the ends of their intervals;
    # NaN where a design gives none.
    value: Floats
    variance: Floats
    low: Floats
    high: Floats
    counted: Floats  # (runs, targets): the labelled items that each target was read off

    @classmethod
    def start(cls, replications: int, targets: int = 1) -> Self:
        """Return runs that have not ended."""
        whole = np.zeros(replications, dtype=np.int64)
        none = [np.full((replications, targets), np.nan) for _ in range(5)]
        return cls(whole, whole.copy(), *none)

    def end(self, which: Ints, state: State, looks: Sequence[Look], over: Bools) -> None:
        """Write down how some of them ended: at the states and looks that are over.

        `looks`: one a target, of those that `over` is about.
        """
        self.labels[which] = state.tallies.answers
        self.counted[which] = state.tallies.answers[:, None]
        for t, now in enumerate(looks):
            self.value[which, t] = now.moments.value[over]
            self.variance[which, t] = now.moments.variance[over]
            self.low[which, t], self.high[which, t] = now.low[over], now.high[over]

    @classmethod
    def joined(cls, parts: Sequence["Runs"]) -> Self:
        """Return the runs of several replays, one after the other."""
        names = [field.name for field in fields(cls)]
        return cls(**{name: np.concatenate([vars(part)[name] for part in parts]) for name in names})


def replay(
    design: Design,
    goal: Goal,
    metric: Ratio,
    *,
    sizes: Floats,  # (H,): stratum sizes
    # (H,): the items in each stratum that have the outcome, and can be judged; each replication may
    # have a truth of its own.
    outcomes: Floats,
    # Independent evaluations; they run side by side as the leading axis of every array.
    replications: int,
    rng: np.random.Generator,  # where all randomness comes from
    asked: int = 20,  # cards asked for at a time, where the design leaves it open
    # (H,): the items in each stratum that nobody can judge; otherwise there are none.
    unjudged: Floats | None = None,
    # Called at every look with the state and the look of the evaluations that still run.
    watch: Watch | None = None,
    ended: Ended | None = None,  # called where evaluations end, with their numbers and states
) -> Runs:
    """Run an evaluation to its stop, `replications` times.

    >>> from assay.core.forms import ratio
    >>> sizes, positives = np.array([5000.0, 5000.0]), np.array([4950.0, 4000.0])
    >>> precision = ratio("precision", sizes, np.array([True, True]))
    >>> runs = replay(Design(), Goal("precision", within=0.03), precision, sizes=sizes,
    ...               outcomes=positives, replications=100, rng=np.random.default_rng(0))
    >>> bool(abs(runs.value.mean() - 0.895) < 0.01), {Reason(r).name for r in runs.reason}
    (True, {'GOAL_MET'})
    """
    runs = Runs.start(replications)
    state = begin(design, goal, np.broadcast_to(sizes, (replications, len(sizes))))
    running = np.arange(replications)
    truths = np.broadcast_to(outcomes, (replications, len(sizes)))
    middle = np.full(replications, np.nan)
    while running.size:
        # Looks that would not stop an evaluation are left out where that is known for certain,
        # unless somebody watches: they change nothing, and take most of the time.
        seen = np.ones(running.size, dtype=np.bool_)
        if watch is None:
            seen = ~cannot_stop(design, goal, metric, state, middle)
        now = look(design, goal, metric, state.take(seen).at_budget(goal.budget))
        counts = plan(design, goal, metric, state, rng=rng, asked=asked)
        streak = np.zeros_like(state.streak)
        streak[seen] = now.streak
        state, middle[seen] = state.changed(streak=streak), (now.low + now.high) / 2
        if watch is not None:
            watch(state, now)
        over = np.zeros(running.size, dtype=np.bool_)
        over[seen] = now.reason != Reason.GO_ON
        if over.any():
            runs.end(running[over], state.take(over), [now], over[seen])
            runs.reason[running[over]] = now.reason[over[seen]]
            if ended is not None:
                ended(running[over], state.take(over))
            running, state, counts = running[~over], state.take(~over), counts[~over]
            middle = middle[~over]
        after, judged, found = label_cards(
            state, counts, truths[running], unjudged, rng, replacement=design.replacement
        )
        if design.bets and running.size:
            kinds = shuffled_kinds(counts, judged, found, rng)
            after = fold(design, goal, metric, before=state, after=after, kinds=kinds)
        state = after
    return runs


def replay_jointly(
    joint: Joint,
    *,
    # (C,): the positives of each part; or, where there are more classes than yes and no, its items
    # of each class, and last those of none; or, where an item may have several, or top-k accuracy
    # is a target, of each set.
    outcomes: "Floats | SetCounts",
    # Independent evaluations; they run side by side as the leading axis of every array.
    replications: int,
    rng: np.random.Generator,  # where all randomness comes from
    asked: int = 20,  # cards asked for at a time
    ended: Ended | None = None,
) -> Runs:
    """Run an evaluation of several targets to its stop, `replications` times."""
    runs = Runs.start(replications, len(joint.views))
    state = joint.begin((replications,))
    running = np.arange(replications)
    sets = None
    if isinstance(outcomes, SetCounts):
        sets, truth = outcomes, outcomes.counts
    else:
        truth = outcomes
    drawn_sets = np.zeros((0 if sets is None else replications, *truth.shape))
    while running.size:
        now, counts = joint.step(state.at_budget(joint.budget), asked=asked)
        over = now.reason != Reason.GO_ON
        if over.any():
            last = state.take(over)
            runs.end(running[over], last, now.looks, over)
            runs.reason[running[over]] = now.reason[over]
            for t, view in enumerate(joint.views):
                runs.counted[running[over], t] = last.tallies.n[:, view.parts].sum(axis=-1)
            if ended is not None:
                ended(running[over], last)
            running, state, counts = running[~over], state.take(~over), counts[~over]
            drawn_sets = drawn_sets if sets is None else drawn_sets[~over]
        left = state.tallies.N - state.tallies.n
        drawn = _fall(joint.parts, left, counts, rng)
        if sets is not None:
            new = _classes_of(truth - drawn_sets, drawn, rng)
            drawn_sets = drawn_sets + new
            state = replace(
                state.deal(counts),
                tallies=state.tallies.add(drawn, sets.right(new, joint.parts.says(0))),
                by_class=drawn_sets @ sets.members,
                in_top=drawn_sets @ sets.in_top if joint.tops else None,
            )
            continue
        if state.by_class is None:
            good = truth - state.tallies.x
            found = _drawn(good, left - good, drawn, rng)
            state = replace(state.deal(counts), tallies=state.tallies.add(drawn, found))
            continue
        named = _classes_of(truth - state.by_class, drawn, rng)
        own = np.broadcast_to(joint.parts.says(0)[:, None], (*drawn.shape, 1))
        found = np.take_along_axis(named, own, axis=-1)[..., 0]
        state = replace(
            state.deal(counts),
            tallies=state.tallies.add(drawn, found),
            by_class=state.by_class + named,
        )
    return runs


@dataclass(frozen=True, eq=False)
class SetCounts:
    """The truth where a label is counted by more than one class: how many items have which set."""

    # (U,): what is right to say of each set's items: the number of a class, or of a set of them.
    numbers: Ints
    counts: Floats  # (C, U): the items of each part that have each set
    # (U, K + 1): what an item of each set is counted by: its classes, or last that of none.
    members: Floats
    in_top: Floats  # (U, M): the outcomes of top-k accuracy that it has (`core.ranking`)

    def right(self, drawn: Ints, said: Ints) -> Ints:
        """Return how many of the drawn items (..., C, U) have the very set that is said of them."""
        return np.asarray((drawn * (self.numbers == said[:, None])).sum(axis=-1))


def _classes_of(left: Floats, drawn: Ints, rng: np.random.Generator) -> Ints:
    """Return of which classes drawn cards are, given what is left of each, one after another.

    Most parts have no card in a round: only the others are looked at.
    """
    named = np.zeros(left.shape, dtype=np.int64)
    dealt = np.nonzero(drawn)
    missing, each = drawn[dealt], left[dealt].astype(np.int64)
    beyond, found = each.sum(axis=-1), np.zeros_like(each)
    of_parts: Bools = np.any((left > 0).reshape(-1, *left.shape[-2:]), axis=0)
    present = of_parts[dealt[-1]]
    for number in range(left.shape[-1]):
        beyond -= each[:, number]
        there = np.flatnonzero(present[:, number])
        if there.size:
            some = rng.hypergeometric(each[there, number], beyond[there], missing[there])
            found[there, number] = some
            missing[there] -= some
    named[dealt] = found
    return named


def _fall(parts: Parts, left: Floats, counts: Ints, rng: np.random.Generator) -> Ints:
    """Return into which parts the cards of each stratum fall, given what is left of each part.

    One part of every stratum after the other: the first of each, then the second of those that
    have two, and so on; the last one gets the rest.
    """
    begin = parts.starts
    length = np.diff(begin, append=parts.stratum.size)
    drawn = np.zeros(left.shape, dtype=np.int64)
    missing, beyond = counts.copy(), parts.by_stratum(left)
    for place in range(int(length.max())):
        strata = np.flatnonzero(length > place)
        part = begin[strata] + place
        here, wanted = left[..., part].astype(np.int64), missing[..., strata]
        beyond[..., strata] -= here
        fallen = rng.hypergeometric(here, beyond[..., strata].astype(np.int64), wanted)
        drawn[..., part] = fallen
        missing[..., strata] -= fallen
    return drawn


def label_cards(
    state: State,
    counts: Ints,  # (runs, H): cards of each stratum
    outcomes: Floats,  # (runs, H): items with the outcome
    unjudged: Floats | None,  # (H,): items that nobody can judge
    rng: np.random.Generator,
    *,
    replacement: bool = False,
) -> tuple[State, Ints, Ints]:
    """Deal cards and answer them from the truth; return those judged and found, too."""
    tallies = state.tallies
    judgeable = tallies.N if unjudged is None else tallies.N - unjudged
    judged = counts
    if unjudged is not None:
        judged = (
            rng.binomial(counts, judgeable / tallies.N)
            if replacement
            else _drawn(judgeable - tallies.n, unjudged - tallies.u, counts, rng)
        )
    if replacement:
        found = rng.binomial(judged, outcomes / np.maximum(judgeable, 1.0))
    else:
        good = outcomes - tallies.x
        found = _drawn(good, judgeable - tallies.n - good, judged, rng)
    after = state.deal(counts).changed(tallies=tallies.add(judged, found, counts - judged))
    return after, judged, found


def _drawn(good: Floats, bad: Floats, cards: Ints, rng: np.random.Generator) -> Ints:
    return rng.hypergeometric(good.astype(np.int64), bad.astype(np.int64), cards)


def shuffled_kinds(counts: Ints, judged: Ints, found: Ints, rng: np.random.Generator) -> Ints:
    """Return every run's cards in a random order, as `fold` takes them, of shape (runs, cards).

    `counts`, `judged`, `found`, (runs, H): cards of each stratum, those that could be judged, and
    those with the outcome.
    """
    ends = counts.cumsum(axis=-1)
    place = np.arange(ends[:, -1].max())
    stratum = (place >= ends[..., None]).sum(axis=1)  # past the last card: one more than there are
    dealt = stratum < counts.shape[-1]
    stratum = np.where(dealt, stratum, 0)
    rank = place - np.take_along_axis(ends - counts, stratum, axis=-1)
    outcome = rank < np.take_along_axis(found, stratum, axis=-1)
    told = rank < np.take_along_axis(judged, stratum, axis=-1)
    kinds = np.where(told, 2 * stratum + outcome, -2 - stratum)
    return rng.permuted(np.where(dealt, kinds, -1), axis=-1)
