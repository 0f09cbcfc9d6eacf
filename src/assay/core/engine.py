"""One step of the evaluation loop, for a campaign and for thousands of simulated ones alike.

    tallies -> look (estimate, interval, reason to stop) -> plan (cards to deal next) -> labels -> …

Every array has shape (..., H) or (...): leading axes are independent evaluations. Nothing here
knows about items, files or people, and all randomness comes in through `rng`.
"""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from assay.core import allocation as allocate
from assay.core import betting
from assay.core.allocation import explore
from assay.core.betting import Bets, grid
from assay.core.class_means import ClassMean
from assay.core.design import Design, ends_with_budget
from assay.core.double_sampling import of_all_items
from assay.core.estimate import Moments, estimate, quoted_value, rates, stratum_sd
from assay.core.forms import Metric, Ratio
from assay.core.goal import Goal
from assay.core.intervals import INTERVALS, Ends, Evidence
from assay.core.state import UNLIMITED, Look, State
from assay.core.stopping import count_streak, hold_back, reasons, settle
from assay.core.stratified import ValueTests, extra_outcomes, rarer
from assay.core.tallies import Tallies
from assay.core.types import Bools, Floats, Ints
from assay.core.unjudged import as_labels, cards_judged, movement, verdict_at_worst

# Labels of every stratum before others get more, and before the interval's width may stop an
# evaluation: strata with one or two labels look better or worse than they are.
_LEAST_EACH = 3
_SMALL_ROUND = 20  # cards; a round of bets is no larger, or else a quarter of the smallest stratum


def begin(design: Design, goal: Goal, sizes: ArrayLike, shape: tuple[int, ...] = ()) -> State:
    """State before the first round; `shape` for parallel evaluations."""
    state = State.start(sizes, shape, replacement=design.replacement)
    if not design.bets:
        return state
    points = grid(goal.within, goal.at_least)
    return replace(state, bets=Bets.start(points, state.streak.shape))


def look(design: Design, goal: Goal, metric: Metric, state: State) -> Look:
    """Estimate, and decide whether to stop.

    The first round is not counted towards the streak: Figure 1 of paper 1 checks its criterion
    only from the second draw on.
    """
    tallies, explored = state.tallies, design.allocation == "explore"
    if explored:
        metric = metric.evened()
    bounds = _bounds(metric, state)
    moments = _moments(design, goal, metric, state, bounds)
    evidence = Evidence(
        tallies,
        metric,
        moments,
        design.replacement,
        explored=explored,
        stop=design.stop,
        bets=state.bets,
    )
    low, high, reach = _interval(design, goal, state, evidence, bounds)
    few = explored & (state.dealt < np.minimum(_LEAST_EACH, tallies.N)).any(axis=-1)
    reach = np.where(moments.defined & ~few, reach, np.inf)
    streak = count_streak(state.streak, reach, goal.within) if state.rounds > 1 else state.streak
    reason = _reason(design, goal, metric, state, streak=streak, bounds=bounds)
    return Look(moments, low, high, streak, reason)


def _bounds(metric: Metric, state: State) -> Ends:
    """Least and highest possible value: x items have the outcome, and n - x do not."""
    tallies = state.tallies
    least, most = metric.extremes(
        *(state.possible or (tallies.x, tallies.N - tallies.n + tallies.x))
    )
    if isinstance(metric, ClassMean):  # what is possible is in its own ends
        return np.full_like(least, metric.lowest), np.full_like(most, metric.highest)
    return least, most


def _moments(design: Design, goal: Goal, metric: Metric, state: State, bounds: Ends) -> Moments:
    """Estimate with its variance."""
    moments = estimate(state.tallies, metric, design.estimator, replacement=design.replacement)
    value = moments.value
    if design.interval == "stratified":
        value = quoted_value(
            state.tallies,
            metric,
            replacement=design.replacement,
            explored=design.allocation == "explore",
            stops=design.stop != "budget" and goal.within is not None,
        )
    if state.possible is not None or not design.replacement:
        value = np.clip(value, *bounds)
    return Moments(value, moments.variance, moments.defined, moments.bounded)


def _interval(
    design: Design, goal: Goal, state: State, evidence: Evidence, bounds: Ends
) -> tuple[Floats, Floats, Floats]:
    """Compute the ends of the interval, and its half-width as the goal counts it."""
    (least, most), metric, value = bounds, evidence.metric, evidence.moments.value
    low, high = _ends(design, goal, state, evidence)
    before, apart = (high - low) / 2, (low > most) | (high < least)
    if not design.replacement:
        low, high = np.clip(low, least, most), np.clip(high, least, most)
    low, high = np.minimum(low, value), np.maximum(high, value)
    reach = (high - low) / 2
    if state.possible is not None:
        # Draws that contradict certain bounds leave only those bounds; and an interval that is
        # clipped by them is narrowest where the draws misled, which is no time to stop.
        low, high = np.where(apart, least, low), np.where(apart, most, high)
        reach = np.maximum((high - low) / 2, np.minimum(before, (most - least) / 2))
    if goal.sampled is not None and isinstance(metric, Ratio):
        low, high = of_all_items(
            goal.metric,
            metric,
            evidence.tallies,
            ends=(low, value, high),
            share=goal.sampled,
            confidence=goal.confidence,
        )
        reach = (high - low) / 2
    if design.stop == "centred":
        items = evidence.tallies.N
        reach = np.maximum(high - value, value - low)
        lowest, highest = metric.extremes(0 * items, items)  # a difference may be below 0
        low, high = np.maximum(value - reach, lowest), np.minimum(value + reach, highest)
    return low, high, reach


def _reason(
    design: Design, goal: Goal, metric: Metric, state: State, *, streak: Ints, bounds: Ends
) -> Ints:
    """Reason why each evaluation stops, if it does."""
    tallies, (least, most) = state.tallies, bounds
    reason = reasons(
        streak,
        rounds_in_a_row=design.rounds_in_a_row,
        answers=tallies.answers,
        budget=goal.budget,
        room=state.room + state.dealt - tallies.n - tallies.u,
    )
    unsettled = None
    if goal.at_least is not None and state.bets is not None:
        limit, bets, worst = goal.at_least, state.bets, state.worst_bets
        verdict, unsettled = verdict_at_worst(
            bets, worst, tallies, metric, limit=limit, confidence=goal.confidence
        )
        verdict = np.where(least >= limit, 1, np.where(most < limit, -1, verdict))
        reason, unsettled = settle(reason, verdict), unsettled & (verdict == 0)
    if tallies.u.any():
        could_move = movement(tallies, metric)
        reason = hold_back(reason, could_move=could_move, within=goal.within, unsettled=unsettled)
    return reason


def _ends(design: Design, goal: Goal, state: State, evidence: Evidence) -> Ends:
    """Compute the ends of the interval; for one look if a budget alone ends it and is spent."""
    ends, spent = INTERVALS[design.interval].ends, state.spent
    if spent is None or not spent.any() or not ends_with_budget(design, goal):
        return ends(evidence, goal.confidence)
    low, high = ends(replace(evidence, stop="budget"), goal.confidence)
    if not spent.all():
        early = ends(evidence, goal.confidence)
        low, high = np.where(spent, low, early[0]), np.where(spent, high, early[1])
    return low, high


def cannot_stop(design: Design, goal: Goal, metric: Metric, state: State, middle: Floats) -> Bools:
    """Find evaluations that a look would certainly not stop.

    `middle`, (...): approximate centre of each interval; NaN if unknown. The interval has the
    values that a test does not reject. If neither middle - within nor middle + within is rejected,
    it is wider than the goal, whatever its ends are. That takes two tests, while the search for the
    ends takes a dozen; and a test ends as soon as it is known on which side the end lies. False for
    evaluations that might stop for another reason, or whose interval might be clipped to the
    possible values.
    """
    tallies, within = state.tallies, goal.within
    none = np.zeros(state.streak.shape, dtype=np.bool_)
    if (
        within is None
        or goal.budget is not None
        or design.interval != "stratified"
        or (design.stop, design.rounds_in_a_row) != ("width", 1)
        or state.possible is not None
        or not metric.straight  # a test at one value takes as long as the search
    ):
        return none
    least, most = metric.extremes(tallies.x, tallies.N - tallies.n + tallies.x)
    low, high = middle - within, middle + within
    able = (low > least) & (high < most) & (state.room > 0).any(axis=-1)
    if able.any():
        tests = ValueTests(
            tallies.take(able),
            metric,
            replacement=design.replacement,
            confidence=goal.confidence,
            b=extra_outcomes(design.stop),
            explored=design.allocation == "explore",
        )
        none[able] = tests.beyond(low[able], high[able])
    return none


def plan(
    design: Design,
    goal: Goal,
    metric: Ratio,
    state: State,
    *,
    rng: np.random.Generator,  # the source of all randomness
    asked: int = 1,  # the size of the round, if the design leaves it open
) -> Ints:
    """Plan the next round: the number of cards of each stratum, (..., H)."""
    dealt = state.dealt.sum(axis=-1)
    left = np.full_like(dealt, UNLIMITED) if goal.budget is None else goal.budget - dealt
    size = np.minimum(_round_size(design, state, asked, left), np.maximum(left, 0))
    sizes, room = state.tallies.N, state.room
    if design.bets:
        return draw_by_chance(lambda most: _chances(metric, state, most), state, size, rng)
    if design.allocation in ("uni", "pps", "opt"):
        return allocate.draw(_weights(design, state), size, room, rng)
    if design.allocation in ("pro", "equ", "explore"):
        # Rounds add up to the shares of one large draw: strata behind their share catch up.
        first = np.zeros_like(room, dtype=np.int64)
        if design.allocation == "explore":
            first = least_of_each(state, size)
        shares = _shares(design, metric, state, dealt + size)
        behind = np.maximum(shares - state.dealt - first, 0.0)
        rest = allocate.round_to_total(behind, size - first.sum(axis=-1), room - first)
        return np.asarray(first + rest)
    if state.rounds == 0:
        each = np.minimum(design.first_per_stratum or 0, room)
        return allocate.round_to_total(each, size, each)
    sd = stratum_sd(state.tallies, design.estimator, replacement=design.replacement)
    return allocate.round_to_total(allocate.neyman(sizes, sd, size), size, room)


def least_of_each(state: State, size: Floats, weight: Floats | None = None) -> Ints:
    """Part of a round that gives every stratum its minimum, (..., H).

    One of every stratum before the second of any: a stratum without labels bounds nothing. If
    strata are many and small, some that looked pure at first would keep three labels for good. With
    weights, (..., H), each stratum gets its share by weight, up to twice the square root of the
    mean.
    """
    first = np.zeros(state.room.shape, dtype=np.int64)
    most = np.full(state.room.shape, float(_LEAST_EACH))
    if weight is not None:
        mean = state.dealt.mean(axis=-1, keepdims=True)
        by_weight = weight * state.dealt.sum(axis=-1, keepdims=True)
        most = np.maximum(most, np.floor(np.minimum(by_weight, 2 * np.sqrt(mean))))
    for least in range(1, int(most.max(initial=0.0)) + 1):
        wanted = np.minimum(least, most)
        lacks = np.minimum(np.maximum(wanted - state.dealt - first, 0.0), state.room - first)
        lacking, left = lacks.sum(axis=-1), size - first.sum(axis=-1)
        if not lacking.any():
            continue
        if (lacking <= left).all() and not (lacks % 1).any():  # there is enough for all of them
            first = first + lacks.astype(np.int64)
            continue
        first = first + allocate.round_to_total(lacks, np.minimum(left, lacking), lacks)
    return first


def fold(
    design: Design, goal: Goal, metric: Ratio, *, before: State, after: State, kinds: Ints
) -> State:
    """State after a round, with the bets on its cards settled if the design bets.

    `kinds`, (..., cards): the round's cards in an order that does not depend on their answers:
    twice the stratum, plus 1 for the outcome; -2 minus the stratum for a card that could not be
    judged, and -1 for none. A stratum with fewer cards than the round is dealt to its end, for
    certain (`_certain`). Nobody bets on these cards; the bets on the others treat them as known.
    The bets are on items that can be judged. From the first unjudgeable card on, two more pairs of
    bettors count every such card as a label against the metric, or for it. That rule is fixed
    before the card is seen, so their bets are fair by the same theorem, on the metric of all items.
    """
    if before.bets is None:
        return after
    old, new, size = before.tallies, after.tallies, (after.dealt - before.dealt).sum(axis=-1)

    def folded(bets: Bets, old: Tallies, new: Tallies, kinds: Ints) -> Bets:
        known, kinds = without_certain(before.room, size, old, new, kinds)
        return betting.fold(
            bets,
            metric,
            known,
            kinds,
            chances=_chances(metric, before, size),
            within=goal.within,
            confidence=goal.confidence,
            replacement=design.replacement,
        )

    bets = folded(before.bets, old, new, kinds)
    worst = before.worst_bets
    if worst is None and (kinds < -1).any():
        worst = before.bets, before.bets  # until now every card was judged
    if worst is not None:
        rises = metric.rises(old.N)

        def at_worst(bets: Bets, outcome: Bools) -> Bets:
            early, late = (as_labels(each, each.u, outcome) for each in (old, new))
            return folded(bets, early, late, cards_judged(kinds, outcome))

        worst = at_worst(worst[0], ~rises), at_worst(worst[1], rises)
    return replace(after, bets=bets, worst_bets=worst)


def follows_request(design: Design, rounds: int) -> bool:
    """Whether the round after this many has the requested size, rather than the design's."""
    if rounds == 0:
        return design.first_per_stratum is None
    return design.round_size is None and design.allocation != "opt-a1"


def _round_size(design: Design, state: State, asked: int, left: Floats) -> Floats:
    if follows_request(design, state.rounds):
        return np.full_like(left, asked)
    if state.rounds == 0:
        return np.full_like(left, (design.first_per_stratum or 0) * state.dealt.shape[-1])
    if design.allocation == "opt-a1":
        return left  # Algorithm 1 allocates all that remains at once
    return np.full_like(left, design.round_size or 0)


def draw_by_chance(
    chances: Callable[[Floats], Floats], state: State, size: Floats, rng: np.random.Generator
) -> Ints:
    """Draw a round with known probabilities, so that it can be bet on.

    `chances`: returns the probabilities of the strata in a round of a size; strata with less room
    have none; `size`, (...): the number of cards wanted; a round is smaller if it would use up most
    of a stratum.
    """
    most = np.maximum(_SMALL_ROUND, state.tallies.N.min(axis=-1) // 4)
    size = np.minimum(np.minimum(size, most), state.room.sum(axis=-1))
    certain = _certain(state.room, size)
    rest = size - certain.sum(axis=-1)
    drawn = allocate.draw(chances(size), rest, state.room - certain, rng)
    return np.asarray(certain.astype(np.int64) + drawn)


def without_certain(
    room: Floats, size: Floats, old: Tallies, new: Tallies, kinds: Ints
) -> tuple[Tallies, Ints]:
    """Tallies before the cards that were drawn by chance, and these cards.

    `room`, (..., H): cards that could be dealt; strata with fewer than the round were dealt to
    their end; `size`, (...): of the round; `kinds`, (..., B): its cards, as in `fold`; those that
    were certain become -1.
    """
    certain = room < size[..., None]
    stratum = np.where(kinds >= 0, kinds // 2, np.maximum(-2 - kinds, 0))
    drawn = ~np.take_along_axis(certain, stratum, axis=-1)
    kinds = np.where(drawn, kinds, -1)
    learnt = certain & (kinds >= 0).any(axis=-1, keepdims=True)
    moved = (new.n - old.n, new.x - old.x, new.u - old.u)
    return old.add(*(np.where(learnt, each, 0.0) for each in moved)), kinds


def _certain(room: Floats, size: Floats) -> Floats:
    """Cards of a round that are dealt for certain: of strata that it could exhaust.

    If a stratum ran out among the drawn cards, their probabilities would be wrong.
    """
    ending = np.where(room < size[..., None], room, 0.0)
    earlier = ending.cumsum(axis=-1) - ending
    return np.asarray(np.clip(size[..., None] - earlier, 0.0, ending))


def _chances(metric: Ratio, state: State, size: Floats) -> Floats:
    """Probability of each stratum in a round of `size`, among strata with that many cards."""
    chances = betting.chances(state.first_given, metric)
    weights = np.where(state.room >= size[..., None], chances, 0.0)
    return allocate.normalised(weights)


def _shares(design: Design, metric: Ratio, state: State, total: Floats) -> Floats:
    """Each stratum's share of `total` cards."""
    sizes = state.tallies.N
    if design.allocation == "pro":
        return allocate.proportional(sizes, total)
    if design.allocation == "equ":
        return allocate.equal(sizes, total)
    shares = explored_shares(state.tallies, metric, replacement=design.replacement)
    return np.asarray(total[..., None] * shares)


def weights_now(tallies: Tallies, metric: Metric) -> tuple[Floats, Floats]:
    """Each stratum's weight in the metric, and its labels with the rarer outcome."""
    return rarer(tallies, metric, tallies.N * rates(tallies, "smoothed", replacement=True))


def explored_shares(tallies: Tallies, metric: Metric, *, replacement: bool = False) -> Floats:
    """Each stratum's ideal share of all labels, by `core.allocation`."""
    if isinstance(metric, ClassMean):
        return metric.shares
    w, rare = weights_now(tallies, metric)
    left = (tallies.N - tallies.n) / np.maximum(tallies.N - 1, 1.0)
    return explore(w, tallies.n, rare, 1.0 if replacement else left).shares


def _weights(design: Design, state: State) -> Floats:
    """Weights of paper 1's draw: 1, N_h or N_h sigma_h."""
    tallies = state.tallies
    if design.allocation == "uni":
        return np.ones_like(tallies.N)
    if design.allocation == "pps":
        return tallies.N
    sd = stratum_sd(tallies, design.estimator, replacement=design.replacement)
    return np.asarray(tallies.N * sd)
