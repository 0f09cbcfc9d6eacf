"""Replays of evaluations of one metric, from the size and the outcomes of each stratum."""

from typing import Any

import numpy as np

from assay.core.design import Design
from assay.core.forms import ratio
from assay.core.goal import Goal
from assay.core.types import Bools, Floats
from assay.simulation import Runs, of_one, replay


def replayed(
    design: Design,
    goal: Goal,
    sizes: Floats,
    outcomes: Floats,
    *,
    runs: int,
    seed: int,
    says_yes: Bools | None = None,
    unjudged: Floats | None = None,
    **more: Any,
) -> Runs:
    """Replay an evaluation so many times; all strata are called yes unless told otherwise."""
    called = np.ones(sizes.size, dtype=np.bool_) if says_yes is None else says_yes
    metric = ratio(goal.metric, sizes, called)
    evaluation = of_one(design, goal, metric, sizes, outcomes, unjudged=unjudged)
    return replay(*evaluation, replications=runs, rng=np.random.default_rng(seed), **more)
