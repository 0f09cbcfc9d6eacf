"""Thresholds: the question for one that keeps a floor, and the campaign that answers it.

"The lowest threshold at which precision is at least 0.95" is answered by bets on a ladder of
thresholds (`core.ladder`). This module deals cards where they decide the question (`core.goal`),
and reports the certified threshold, or the one that the labels support best.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from assay.core import engine
from assay.core.bins import ScoreBins
from assay.core.curve import drawn_positives
from assay.core.estimate import Moments
from assay.core.forms import ratio
from assay.core.goal import Goal, ThresholdQuestion
from assay.core.ladder import Ladder
from assay.core.parts import View
from assay.core.procedures import Answered, Decided, Procedure, Wanted
from assay.core.rungs import Chain, Climb, Rungs
from assay.core.state import JointLook, Look, State
from assay.core.stopping import reasons
from assay.core.tallies import Tallies
from assay.core.types import Bools, Floats, Ints
from assay.errors import DesignError

_PILOT_SHARE, _LEAST_PILOT, _PILOT = 0.15, 60, 100  # labels before the first bet
_FIRST_HORIZON = 500  # labels, then twice as many: without a budget
_SUPPORTED = 1.0  # standard errors above its floor at which a threshold is supported
_DRAWS = 1000  # of populations, for an interval
_TINY = 1e-12


@dataclass(frozen=True, eq=False)
class ThresholdLook:
    """Result for the thresholds of one evaluation."""

    # The stratum from which on predicting yes is certified; None if there is none.
    certified: int | None
    supported: int | None  # the one that the labels support best
    settled: bool  # whether there is little left to gain
    power: float  # probability that as many labels again would certify the supported one


class ThresholdRun(Procedure):
    """The search for a threshold, over strata that are cells of the score, lowest first."""

    reads_cards = True
    plans_ended = False

    def __init__(self, goal: Goal, sizes: Floats, views: Sequence[View] = ()) -> None:
        self.question = ThresholdQuestion.parse(goal.threshold_for)
        self.views, self.sizes = views, sizes  # (H,): the strata's items
        # All certified statements are true with this confidence. It is settled when no threshold
        # can gain this share more of the wanted metric.
        self._confidence, self._gain = goal.confidence, goal.gain
        self.budget = budget = goal.budget
        every = self.question.floors
        descending, alpha = sizes[::-1].copy(), (1 - goal.confidence) / len(every)
        pilot = _PILOT
        if budget is not None:
            pilot = int(min(max(_LEAST_PILOT, _PILOT_SHARE * budget), budget / 2))
        floors = tuple(Rungs(name, floor, descending, alpha) for name, floor in every)
        self.ladder = Ladder(descending, floors, pilot)

    def begin(self, shape: tuple[int, ...] = ()) -> State:
        """State before the first round."""
        chains = self.ladder.begin(shape)
        return replace(State.start(self.sizes, shape), climb=Climb(chains, chains))

    def _horizon(self, labels: float) -> int:
        """Find the number of labels by which an answer is wanted."""
        if self.budget is not None:
            return self.budget
        horizon = _FIRST_HORIZON
        while horizon <= 1.2 * labels:
            horizon *= 2
        return horizon

    def decide(self, state: State, middle: Floats, *, every: bool = False) -> Decided:
        """Decide which of many evaluations are over: that alone needs no interval."""
        del every
        seen = np.ones(state.streak.shape, dtype=np.bool_)
        return Decided(self.reasons(state), state.streak, seen, (), middle)

    def counted(self, state: State) -> Ints:
        """Count all answers: every one is about the threshold."""
        return np.asarray(state.tallies.answers[..., None])

    def plan(self, state: State, wanted: Wanted) -> Ints:
        """Plan the next round: the number of cards of each stratum, (..., H)."""
        dealt = state.dealt.sum(axis=-1)
        left = np.inf if self.budget is None else np.maximum(self.budget - dealt, 0.0)
        size = np.minimum(np.full_like(dealt, wanted.cards), left)
        return engine.draw_by_chance(
            lambda most: self._chances(state, most), state, size, wanted.rng
        )

    def _chances(self, state: State, size: Floats) -> Floats:
        """Probabilities of the strata in a round of this size, (..., H)."""
        tallies = flipped(state.first_given)
        chains = self.ladder.started(_climb(state).first, tallies)
        room = np.where(state.room >= size[..., None], state.room, 0.0)[..., ::-1]
        horizon = self._horizon(float(tallies.answers.max(initial=0.0)))
        return self.ladder.chances(tallies, chains, room, horizon)[..., ::-1]

    def fold(self, round: Answered) -> State:
        """State after a round with the bets on its cards settled."""
        before, after = round.before, round.after
        climb, size = _climb(before), (after.dealt - before.dealt).sum(axis=-1)
        chances = self._chances(before, size)[..., ::-1]
        horizon = self._horizon(float(before.tallies.answers.max(initial=0.0)))
        early, late = before.first_given, after.first_given

        def folded(
            chains: tuple[Chain, ...], old: Tallies, new: Tallies, cards: Ints
        ) -> tuple[Chain, ...]:
            known, cards = engine.without_certain(before.room, size, old, new, cards)
            begun = self.ladder.started(chains, flipped(early))
            last = self.ladder.sizes.size - 1
            judged = np.where(cards >= 0, 2 * (last - cards // 2) + cards % 2, cards)
            cards = np.where(cards < -1, -2 - (last - (-2 - cards)), judged)
            return self.ladder.fold(begun, flipped(known), cards, chances=chances, horizon=horizon)

        by_first = folded(climb.first, early, late, round.first)
        now = by_first
        if climb.now is not climb.first or not np.array_equal(round.kinds, round.first):
            now = folded(climb.now, before.tallies, after.tallies, round.kinds)
        return replace(after, climb=Climb(now, by_first))

    def shown(self, state: State) -> Bools:
        """Thresholds that were shown to keep all floors, (..., H), highest first."""
        tallies, shown = flipped(state.tallies), []
        for rungs, chain in zip(self.ladder.floors, _climb(state).now, strict=True):
            shown.append(chain.shown(rungs, rungs.sure(tallies)[0]))
        return np.asarray(np.logical_and.reduce(shown))

    def place(self, state: State) -> Ints:
        """Index of each evaluation's certified threshold, highest first; -1 if there is none."""
        shown = self.shown(state)
        last = shown.shape[-1] - 1
        outermost = last - shown[..., ::-1].argmax(axis=-1)
        chosen = outermost if self.question.most == "recall" else shown.argmax(axis=-1)
        return np.where(shown.any(axis=-1), chosen, -1)

    def settled(self, state: State) -> Bools:
        """Whether evaluations have little left to gain, (...)."""
        tallies, place = flipped(state.tallies), self.place(state)
        guess, climb = self.ladder.guess(tallies), _climb(state).now
        rungs = self.ladder.floors[0]
        outward = self.question.most == "recall"
        worth = self.ladder.worth(
            guess, replace(rungs, metric="precision" if outward else "recall")
        )
        here = np.take_along_axis(worth, np.maximum(place, 0)[..., None], axis=-1)
        index = np.arange(worth.shape[-1])
        beyond = index > place[..., None] if outward else index < place[..., None]
        better = beyond & (worth >= (1 + self._gain) * here)
        refuted = np.zeros_like(better)
        for each, chain in zip(self.ladder.floors, climb, strict=True):
            refuted |= (chain.best_down >= each.goal) | each.sure(tallies)[1]
        # The nearest better threshold; those beyond it are harder still.
        last = better.shape[-1] - 1
        nearest = better.argmax(axis=-1) if outward else last - better[..., ::-1].argmax(axis=-1)
        out = np.take_along_axis(refuted, nearest[..., None], axis=-1)[..., 0]
        return np.asarray((place >= 0) & (out | ~better.any(axis=-1)))

    def reasons(self, state: State) -> Ints:
        """`Reason` of every evaluation, (...)."""
        return reasons(
            state.streak + self.settled(state),
            rounds_in_a_row=1,
            answers=state.tallies.answers,
            budget=self.budget,
            room=state.room + state.dealt - state.tallies.n - state.tallies.u,
        )

    def look(self, state: State) -> JointLook:
        """Look at the first floor's metric, and decide whether to stop."""
        now, _ = self._looked(state)
        return JointLook((now,), now.reason)

    def thresholds(self, state: State) -> ThresholdLook:
        """Certified and supported thresholds."""
        return self._looked(state)[1]

    def _looked(self, state: State) -> tuple[Look, ThresholdLook]:
        """Look at one evaluation: the first floor's metric, and thresholds."""
        place, supported, power = int(self.place(state)), self._supported(state), 0.0
        settled, reason = bool(self.settled(state)), self.reasons(state)
        chosen = place if place >= 0 else supported
        if place < 0 and supported is not None:
            power = self._power(state, supported)
        value, low, high, variance = 0.5, 0.0, 1.0, 0.0
        if chosen is not None:
            certificate = self._certificate(state, chosen, certified=place >= 0)
            value, low, high, variance = certificate
        last = self.ladder.sizes.size - 1
        moments = Moments(
            np.asarray(value),
            np.asarray(variance),
            np.asarray(chosen is not None),
            np.zeros(last + 1, dtype=np.bool_),
        )
        now = Look(moments, np.asarray(low), np.asarray(high), state.streak, reason)
        return now, ThresholdLook(
            None if place < 0 else last - place,
            None if supported is None else last - supported,
            settled,
            power,
        )

    def _supported(self, state: State) -> int | None:
        """Index of the best supported threshold, highest first; None before the first label."""
        tallies = flipped(state.tallies)
        if not tallies.answers:
            return None
        guess, place = self.ladder.guess(tallies), np.arange(self.ladder.sizes.size)
        least = np.full(place.size, np.inf)
        for rungs in self.ladder.floors:
            steps = (place[:, None] >= place).astype(np.float64)
            gradient = np.where(steps > 0, rungs.above, rungs.below)
            error = np.sqrt(
                [float(self.ladder.variance(tallies, each)) for each in gradient[:: _stride(place)]]
            )
            error = np.interp(place, place[:: _stride(place)], error)
            least = np.minimum(least, rungs.total(guess.T) / np.maximum(error, _TINY))
        holds = np.flatnonzero(least >= _SUPPORTED)
        if not holds.size:
            return int(least.argmax())
        return int(holds[-1] if self.question.most == "recall" else holds[0])

    def _power(self, state: State, place: int) -> float:
        tallies = flipped(state.tallies)
        guess, power = self.ladder.guess(tallies), 1.0
        cards = np.maximum(tallies.answers, 50.0)
        for rungs, chain in zip(self.ladder.floors, _climb(state).now, strict=True):
            power = min(power, float(self.ladder.power(guess, rungs, chain, cards)[place]))
        return power

    def intervals(
        self, state: State, metrics: Sequence[str], place: int
    ) -> list[tuple[float, float, float, float]]:
        """Metrics at a threshold, with the ends of their intervals and their variances.

        From the posterior of the curve of the score (`core.curve`), which allows for regions with
        few labels: most labels are at the frontier, and recall depends on items far below it.
        Unjudged items are at their worst. The theorem does not cover this.
        """
        tallies, number = state.tallies, np.arange(state.tallies.N.size)
        bins = ScoreBins(
            number.astype(np.float64),
            tallies.N - tallies.u,
            tallies.n,
            tallies.x,
            stratum=number,
            chain=np.zeros_like(number),
            tied=np.zeros(number.size, dtype=np.bool_),
        )
        # The same labels have the same interval at any time and place.
        expected, drawn = drawn_positives(bins, rng=np.random.default_rng(0), draws=_DRAWS)
        first = number.size - 1 - place
        sizes, unjudged = (
            np.array([each[first:].sum(), each[:first].sum()]) for each in (tallies.N, tallies.u)
        )
        tails = [(1 - self._confidence) / 2, (1 + self._confidence) / 2]
        intervals = []
        for metric in metrics:
            form = ratio(metric, sizes, np.array([True, False]))
            value, every = (
                form.value(np.stack([T[..., first], T[..., 0] - T[..., first]], axis=-1))
                for T in (expected, drawn)
            )
            low, high = np.quantile(every, tails)
            # Unjudgeable items are in the guess as a no; they may all be yes.
            moves = form.gradient(np.array([expected[first], expected[0] - expected[first]]))
            low += (np.minimum(moves, 0.0) * unjudged).sum()
            high += (np.maximum(moves, 0.0) * unjudged).sum()
            ends = min(max(float(low), 0.0), float(value)), max(min(float(high), 1.0), float(value))
            intervals.append((float(value), *ends, float(np.var(every))))
        return intervals

    def _certificate(self, state: State, chosen: int, *, certified: bool) -> tuple[float, ...]:
        """First floor's metric at a threshold, its certain bounds, and its variance.

        At a certified threshold the metric is at least its floor. At others only the bounds from
        the labels themselves are certain.
        """
        tallies, rungs = flipped(state.tallies), self.ladder.floors[0]
        says_yes = np.arange(self.ladder.sizes.size) <= chosen
        form, T = ratio(rungs.metric, self.ladder.sizes, says_yes), self.ladder.guess(tallies).T
        least, most = form.extremes(tallies.x, tallies.N - tallies.n + tallies.x)
        low = max(float(least), rungs.floor if certified else 0.0)
        high = max(float(most), low)
        value = min(max(float(form.value(T)), low), high)
        return value, low, high, float(self.ladder.variance(tallies, form.gradient(T)))


def flipped(tallies: Tallies) -> Tallies:
    """Tallies with the highest scores first."""
    return Tallies.joined(lambda each: each[0][..., ::-1], [tallies])


def _stride(place: Ints) -> int:
    """Step between thresholds: errors change slowly with them."""
    return max(place.size // 40, 1)


def _climb(state: State) -> Climb:
    if state.climb is None:
        raise DesignError("this evaluation is not for a threshold")
    return state.climb
