"""Replay an evaluation of several targets many times on a population whose truth is known.

As `simulation.runs`, with the loop of `core.joint`: cards of a stratum fall into its parts by
chance, and each part's outcomes are one hypergeometric variate.
"""

from dataclasses import dataclass, replace

import numpy as np

from assay.core.engine import State
from assay.core.joint import Joint, Parts
from assay.core.stopping import Reason
from assay.core.types import Floats, Ints


@dataclass(frozen=True, eq=False)
class JointRuns:
    """How each replication ended.

    Attributes
    ----------
    answers : array of int, shape (runs, C)
        Labels by part.
    reason : array of int, shape (runs,)
    value, low, high : array, shape (runs, targets)
    """

    answers: Ints
    reason: Ints
    value: Floats
    low: Floats
    high: Floats

    @property
    def labels(self) -> Ints:
        """Labels in all, (runs,)."""
        return np.asarray(self.answers.sum(axis=-1))


def replay_jointly(
    joint: Joint,
    *,
    outcomes: Floats,
    replications: int,
    rng: np.random.Generator,
    asked: int = 20,
) -> JointRuns:
    """Run an evaluation of several targets to its stop, `replications` times.

    Parameters
    ----------
    joint : Joint
    outcomes : array, shape (C,)
        The positives of each part.
    replications : int
        Independent evaluations; they run side by side as the leading axis of every array.
    rng : numpy.random.Generator
        Where all randomness comes from.
    asked : int
        Cards asked for at a time.
    """
    none = np.zeros((replications, len(joint.views)))
    answers = np.zeros((replications, joint.parts.size.size), dtype=np.int64)
    reason = np.zeros(replications, dtype=np.int64)
    runs = JointRuns(answers, reason, none, none.copy(), none.copy())
    state = joint.begin((replications,))
    running = np.arange(replications)
    while running.size:
        now, counts = joint.step(state, asked=asked)
        over = now.reason != Reason.GO_ON
        if over.any():
            ended = running[over]
            runs.answers[ended] = state.tallies.n[over]
            runs.reason[ended] = now.reason[over]
            for t, each in enumerate(now.looks):
                runs.value[ended, t] = each.moments.value[over]
                runs.low[ended, t], runs.high[ended, t] = each.low[over], each.high[over]
            running, state, counts = running[~over], state.take(~over), counts[~over]
        state = _label(joint.parts, state, counts, outcomes, rng)
    return runs


def _label(
    parts: Parts, state: State, counts: Ints, outcomes: Floats, rng: np.random.Generator
) -> State:
    """Deal `counts` cards of each stratum and answer them from the truth."""
    tallies = state.tallies
    drawn = _fall(parts, tallies.N - tallies.n, counts, rng)
    good = outcomes - tallies.x
    bad = tallies.N - tallies.n - good
    found = rng.hypergeometric(good.astype(np.int64), bad.astype(np.int64), drawn)
    return replace(state.deal(counts), tallies=tallies.add(drawn, found))


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
