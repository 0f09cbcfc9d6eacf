"""One step of the loop, for a campaign of people and for thousands of simulated ones alike.

    tallies -> look (estimate, interval, reason to stop) -> plan (cards to deal next) -> labels -> …

Every array has shape (..., H) or (...): leading axes are independent evaluations. Nothing here
knows about items, files or people, and all randomness comes in through `rng`.
"""

from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from assay.core import allocate
from assay.core.estimate import Moments, estimate, rates, stratum_sd
from assay.core.explore import exploring_shares
from assay.core.intervals import INTERVALS, Evidence
from assay.core.metrics import Ratio
from assay.core.stop import Reason, count_streak, reasons
from assay.core.stratified import weigh
from assay.core.tallies import Tallies
from assay.core.types import LARGEST_EXACT, Bools, Floats, Ints
from assay.design import Design, Goal

__all__ = ["Look", "State", "follows_request", "look", "plan", "step"]

UNLIMITED = LARGEST_EXACT  # room in a stratum that is drawn from with replacement


@dataclass(frozen=True, eq=False)
class State:
    """Where an evaluation stands between two rounds.

    Parameters
    ----------
    tallies : Tallies
        The answers so far.
    dealt : array, shape (..., H)
        Cards dealt so far, answered or not.
    room : array, shape (..., H)
        Cards that can still be dealt.
    rounds : int
        Rounds dealt so far.
    streak : array, shape (...)
        Rounds in a row that met the goal, up to the last complete one.
    """

    tallies: Tallies
    dealt: Floats
    room: Floats
    rounds: int
    streak: Ints

    @classmethod
    def start(cls, sizes: ArrayLike, *, replacement: bool) -> Self:
        """Return the state before the first round."""
        tallies = Tallies.start(sizes)
        room = np.full_like(tallies.N, UNLIMITED) if replacement else tallies.N
        streak = np.zeros(tallies.N.shape[:-1], dtype=np.int64)
        return cls(tallies, np.zeros_like(tallies.N), room, 0, streak)

    def take(self, which: Bools) -> Self:
        """Return the state of some of the evaluations side by side."""
        return replace(
            self,
            tallies=self.tallies.take(which),
            dealt=self.dealt[which],
            room=self.room[which],
            streak=self.streak[which],
        )

    def deal(self, counts: Ints) -> Self:
        """Return the state after a round of `counts` cards went out."""
        return replace(
            self, dealt=self.dealt + counts, room=self.room - counts, rounds=self.rounds + 1
        )


@dataclass(frozen=True, eq=False)
class Look:
    """What can be said now: the moments, the interval's ends, the streak and the reason."""

    moments: Moments
    low: Floats
    high: Floats
    streak: Ints
    reason: Ints

    @property
    def half_width(self) -> Floats:
        """Half the interval's width."""
        return np.asarray((self.high - self.low) / 2)


def look(design: Design, goal: Goal, metric: Ratio, state: State) -> Look:
    """Estimate, and decide whether to stop.

    The first round is not counted towards the streak: Figure 1 of paper 1 checks its criterion
    only from the second draw on.
    """
    tallies = state.tallies
    moments = estimate(tallies, metric, design.estimator, replacement=design.replacement)
    evidence = Evidence(tallies, metric, moments, design.replacement)
    low, high = INTERVALS[design.interval].ends(evidence, goal.confidence)
    if not design.replacement:
        # The labels themselves leave only so much open: x items have the outcome, n - x have not.
        least, most = metric.extremes(tallies.x, tallies.N - tallies.n + tallies.x)
        low, high = np.clip(low, least, most), np.clip(high, least, most)
    low, high = np.minimum(low, moments.value), np.maximum(high, moments.value)
    half_width = np.where(moments.defined, (high - low) / 2, np.inf)
    streak = (
        count_streak(state.streak, half_width, goal.within) if state.rounds > 1 else state.streak
    )
    reason = reasons(
        streak,
        rounds_in_a_row=design.rounds_in_a_row,
        answers=tallies.answers,
        budget=goal.budget,
        room=state.room + state.dealt - tallies.n - tallies.u,
    )
    return Look(moments, low, high, streak, reason)


def plan(
    design: Design,
    goal: Goal,
    metric: Ratio,
    state: State,
    *,
    rng: np.random.Generator,
    asked: int = 1,
) -> Ints:
    """Return how many cards of each stratum the next round deals, (..., H).

    `asked` is the size of the round where the design leaves it open.
    """
    dealt = state.dealt.sum(axis=-1)
    left = np.full_like(dealt, UNLIMITED) if goal.budget is None else goal.budget - dealt
    size = np.minimum(_round_size(design, state, asked, left), np.maximum(left, 0))
    sizes, room = state.tallies.N, state.room
    if design.allocation in ("uni", "pps", "opt"):
        return allocate.draw(_weights(design, state), size, room, rng)
    if design.allocation in ("pro", "equ", "explore"):
        # Rounds add up to the shares of one large draw: what is behind its share catches up.
        behind = np.maximum(_shares(design, metric, state, dealt + size) - state.dealt, 0.0)
        return allocate.round_to_total(behind, size, room)
    if state.rounds == 0:
        each = np.minimum(design.first_per_stratum or 0, room)
        return allocate.round_to_total(each, size, each)
    sd = stratum_sd(state.tallies, design.estimator, replacement=design.replacement)
    return allocate.round_to_total(allocate.neyman(sizes, sd, size), size, room)


def step(
    design: Design,
    goal: Goal,
    metric: Ratio,
    state: State,
    *,
    rng: np.random.Generator,
    asked: int = 1,
) -> tuple[Look, Ints]:
    """Look, then plan; evaluations that have a reason to stop get no more cards."""
    now = look(design, goal, metric, state)
    go_on = now.reason == Reason.GO_ON
    if not go_on.any():
        return now, np.zeros(state.dealt.shape, dtype=np.int64)
    counts = plan(design, goal, metric, state, rng=rng, asked=asked)
    return now, np.where(go_on[..., None], counts, 0)


def follows_request(design: Design, rounds: int) -> bool:
    """Tell whether the round after so many is as large as is asked for, not as the design says."""
    if rounds == 0:
        return design.first_per_stratum is None
    return design.round_size is None and design.allocation != "opt-a1"


def _round_size(design: Design, state: State, asked: int, left: Floats) -> Floats:
    if follows_request(design, state.rounds):
        return np.full_like(left, asked)
    if state.rounds == 0:
        return np.full_like(left, (design.first_per_stratum or 0) * state.dealt.shape[-1])
    if design.allocation == "opt-a1":
        return left  # Algorithm 1 shares out all that remains at once
    return np.full_like(left, design.round_size or 0)


def _shares(design: Design, metric: Ratio, state: State, total: Floats) -> Floats:
    """Return what each stratum should have of `total` cards."""
    sizes = state.tallies.N
    if design.allocation == "pro":
        return allocate.proportional(sizes, total)
    if design.allocation == "equ":
        return allocate.equal(sizes, total)
    tallies = state.tallies
    value = metric.value(sizes * rates(tallies, "smoothed", replacement=True))
    w, common = weigh(tallies, metric, value)
    rare = np.where(metric.rises ^ common, tallies.n - tallies.x, tallies.x)
    shares = total[..., None] * exploring_shares(w, tallies.n, rare)
    # One card of every stratum before the second of any: what was never seen bounds nothing.
    return np.asarray(np.where(state.dealt == 0, np.maximum(shares, total[..., None]), shares))


def _weights(design: Design, state: State) -> Floats:
    """Return the weights of paper 1's draw: 1, N_h or N_h sigma_h."""
    tallies = state.tallies
    if design.allocation == "uni":
        return np.ones_like(tallies.N)
    if design.allocation == "pps":
        return tallies.N
    sd = stratum_sd(tallies, design.estimator, replacement=design.replacement)
    return np.asarray(tallies.N * sd)
