"""Evaluations for a threshold with a known truth, thousands of them in parallel.

They are those of a campaign (`core.thresholds`); cards of a stratum are drawn without replacement.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Self

import numpy as np

from assay.core.goal import Goal, ThresholdQuestion
from assay.core.rungs import Rungs
from assay.core.state import State
from assay.core.thresholds import ThresholdRun
from assay.core.types import Bools, Floats, Ints
from assay.simulation.frames import Frame
from assay.simulation.oracle import StrataOracle
from assay.simulation.runs import Runs, replay, stream_of

TOLD = ("precision", "recall")  # of the certified threshold, with an interval each
_INTERVALS = 20
_BLOCK = 200  # replications, each with some arrays of one number per threshold
_ROUNDING = 1e-7  # of sums over millions of items


@dataclass(frozen=True, eq=False)
class Thresholds:
    """True metrics at thresholds, highest first."""

    sizes: Floats  # (H,): items between two thresholds
    # (..., H): positives among them; a row for each possible truth.
    positives: Floats

    @classmethod
    def of_scores(cls, score: Floats, positive: Bools) -> Self:
        """Compute the true metrics at all distinct scores.

        `score`: (N,); `positive`: (N,).
        """
        _, place, sizes = np.unique(score, return_inverse=True, return_counts=True)
        positives = np.bincount(place, positive, minlength=sizes.size)
        return cls(sizes[::-1].astype(np.float64), np.asarray(positives[::-1], dtype=np.float64))

    @cached_property
    def precision(self) -> Floats:
        """Precision above each threshold, (..., H)."""
        return np.asarray(np.cumsum(self.positives, axis=-1) / np.cumsum(self.sizes))

    @cached_property
    def recall(self) -> Floats:
        """Recall above each threshold, (..., H)."""
        every = np.maximum(self.positives.sum(axis=-1, keepdims=True), 1.0)
        return np.asarray(np.cumsum(self.positives, axis=-1) / every)

    def take(self, which: Ints) -> "Thresholds":
        """Truths of some evaluations, if each has its own."""
        return self if self.positives.ndim == 1 else replace(self, positives=self.positives[which])

    def keep(self, question: ThresholdQuestion) -> Bools:
        """Thresholds that keep all floors, (..., H)."""
        checks = []
        for metric, floor in question.floors:
            rungs = Rungs(metric, floor, self.sizes, 0.05)
            checks.append(rungs.is_defined & (rungs.total(self.positives) >= -_ROUNDING))
        return np.asarray(np.logical_and.reduce(checks))

    def worth(self, question: ThresholdQuestion) -> Floats:
        """Wanted metric at every threshold, (..., H)."""
        return self.recall if question.most == "recall" else self.precision

    def best(self, question: ThresholdQuestion) -> float | None:
        """Maximum of the wanted metric where all floors are kept; None if they never are.

        Of one truth.

        >>> truth = Thresholds(np.array([10.0, 10.0, 80.0]), np.array([9.0, 8.0, 3.0]))
        >>> truth.best(ThresholdQuestion.parse("precision >= 0.85"))
        0.85
        >>> truth.best(ThresholdQuestion.parse("recall >= 0.8"))
        0.85
        """
        keep = self.keep(question)
        return float(self.worth(question)[keep].max()) if keep.any() else None


class RandomRun(ThresholdRun):
    """The same bets on cards that are drawn from all items equally."""

    def _chances(self, state: State, size: Floats) -> Floats:
        room = np.where(state.room >= size[..., None], state.room, 0.0)
        return np.asarray(room / np.maximum(room.sum(axis=-1, keepdims=True), 1.0))


@dataclass(frozen=True, eq=False)
class ThresholdRuns(Runs):
    """Result of each replication: the estimates of `TOLD` at the certified threshold."""

    certified: Bools  # (runs,): whether a threshold was certified
    wrong: Bools  # (runs,): whether a threshold was wrongly shown to keep the floors
    # (runs,): true value of the wanted metric at the certified one; 0 if there is none.
    worth: Floats
    truth: Floats  # (runs, 2): the true values of `TOLD` at it
    place: Ints  # (runs,): the certified one, highest first; -1 if there is none

    @classmethod
    def start(cls, replications: int, targets: int = len(TOLD)) -> Self:
        """Begin runs, none of which has ended."""
        no = np.zeros(replications, dtype=np.bool_)
        known = vars(Runs.start(replications, targets))
        truth = np.full((replications, targets), np.nan)
        return cls(
            **known,
            certified=no,
            wrong=no.copy(),
            worth=np.zeros(replications),
            truth=truth,
            place=np.full(replications, -1),
        )

    def covers(self, metric: str) -> float | None:
        """Share of the intervals that hold a metric's true value; None without any."""
        t = TOLD.index(metric)
        there = ~np.isnan(self.low[:, t])
        low, high, truth = (each[there, t] for each in (self.low, self.high, self.truth))
        return float(np.mean((low <= truth) & (truth <= high))) if truth.size else None


@dataclass(frozen=True, eq=False)
class ThresholdTask:
    """One design for a threshold on one population."""

    name: str  # chooses the random stream, with the budget
    run: ThresholdRun
    truth: Thresholds  # at the strata's edges; one, or one for each replication
    # That of the run; without one, the labels after which replications are cut off.
    budget: int
    asked: int = 20  # cards per request
    block: int = _BLOCK
    # Replications of each block whose intervals are computed: they take longest.
    intervals: int = _INTERVALS

    @classmethod
    def of_frame(
        cls,
        name: str,
        frame: Frame,
        goal: Goal,
        budget: int,
        asked: int,
        *,
        kind: type[ThresholdRun] = ThresholdRun,
        intervals: int = _INTERVALS,
    ) -> Self:
        """Question on the strata of a design."""
        truth = Thresholds(frame.sizes[::-1].copy(), frame.outcomes[..., ::-1].copy())
        return cls(name, kind(goal, frame.sizes), truth, budget, asked, intervals=intervals)

    def replay(self, replications: int, *, key: Sequence[int]) -> ThresholdRuns:
        """Run the task this many times on the random stream of `key` and its own."""
        rng = np.random.default_rng(stream_of(self.name, key, self.budget))
        runs = ThresholdRuns.start(replications)
        result = replay(
            self.run,
            StrataOracle(self.truth.positives[..., ::-1], reads_cards=True),
            replications=replications,
            rng=rng,
            asked=self.asked,
            ended=lambda which, state: self._end(runs, which, state),
            until=self.budget,
        )
        return replace(runs, reason=result.reason, labels=result.labels)

    def _end(self, runs: ThresholdRuns, which: Ints, state: State) -> None:
        """Record how some of them ended."""
        runs.counted[which] = state.tallies.answers[:, None]
        truth = self.truth.take(which)
        runs.wrong[which] = (self.run.shown(state) & ~truth.keep(self.run.question)).any(axis=-1)
        place = runs.place[which] = self.run.place(state)
        runs.certified[which] = place >= 0
        worth = np.broadcast_to(truth.worth(self.run.question), (which.size, truth.sizes.size))
        runs.worth[which] = np.where(place >= 0, worth[np.arange(which.size), place], 0.0)
        for number, threshold in enumerate(place):
            if threshold < 0 or which[number] >= self.intervals:
                continue
            one, at = replace(state, tallies=state.tallies.take(number), climb=None), which[number]
            intervals = self.run.intervals(one, TOLD, int(threshold))
            for t, (metric, interval) in enumerate(zip(TOLD, intervals, strict=True)):
                places = (runs.value, runs.low, runs.high, runs.variance)
                for values, each in zip(places, interval, strict=True):
                    values[at, t] = each
                known = np.atleast_2d(getattr(truth, metric))
                runs.truth[at, t] = known[min(number, len(known) - 1), threshold]
