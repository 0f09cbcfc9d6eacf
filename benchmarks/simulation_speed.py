"""How much faster counts are than items, and that the number of items does not matter.

One process. First, seconds for an evaluation (paper 1's perc/opt, delta = 0.01) of 200,000
predicted positives: `replay`, 1,000 at a time, against the item-by-item reference of the tests,
with and without replacement. (Without, the reference shuffles the items, as nothing tells it
beforehand how many it will need; with, it never touches those it does not draw.) Second, `replay`
on 10^4 and on 10^7 items of the same rates, once they are profiled.

Run with ``python -m benchmarks.simulation_speed`` from the repository's root.
"""

import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np

from assay.core.design import Design
from assay.core.goal import Goal
from assay.core.types import Bools, Floats
from assay.simulation import Frame, Population, Runs, of_one, replay
from tests.simulation.reference import (
    Rule,
    evaluate,
    normal_ends,
    smoothed_rate,
    smoothed_spread,
    strata_of_equal_size,
)

BINS = 4
DELTA = 0.01
REPLICATIONS = 1000
BY_ITEMS = 20


def population(size: int) -> tuple[Floats, Bools]:
    """Return scores and outcomes; precision is 0.9, and errors are rarer at higher scores."""
    score = (np.arange(size) + 0.5) / size
    return score, np.random.default_rng(0).random(size) >= 0.3 * (1 - score) ** 2


def frame_of(score: Floats, outcome: Bools, design: Design) -> Frame:
    """Profile the population and cut it."""
    everything = np.ones(score.size, dtype=bool)
    return Population(y_true=outcome, y_score=score, y_pred=everything).frame(design, "precision")


def replayed(frame: Frame, design: Design) -> Runs:
    """Run `REPLICATIONS` evaluations on counts."""
    return replay(
        *of_one(design, Goal("precision", within=DELTA), frame.metric, frame.sizes, frame.outcomes),
        replications=REPLICATIONS,
        rng=np.random.default_rng(1),
    )


def best_seconds(work: Callable[[], object]) -> float:
    """Return the least time of three, as the machine may be busy."""
    times = []
    for _ in range(3):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return min(times)


def against_items(size: int) -> None:
    """Print the cost of an evaluation by items and by counts."""
    score, outcome = population(size)
    strata = strata_of_equal_size(list(zip(score.tolist(), outcome.tolist(), strict=True)), BINS)
    print(f"{size:,} items, perc-opt to ±{DELTA}: ms an evaluation")
    for replacement in (True, False):
        design = replace(Design.bennett_carvalho(bins=BINS), replacement=replacement)
        frame = frame_of(score, outcome, design)
        round_size = 2 * BINS
        rule = Rule(
            smoothed_rate,
            smoothed_spread,
            normal_ends,
            drawn=True,
            first=round_size,
            round_size=round_size,
            replacement=replacement,
            within=DELTA,
        )
        items = best_seconds(partial(evaluate, strata, rule, replications=BY_ITEMS, seed=1))
        counts = best_seconds(partial(replayed, frame, design))
        each_item, each_count = 1000 * items / BY_ITEMS, 1000 * counts / REPLICATIONS
        drawn = "with replacement" if replacement else "without replacement"
        labels = replayed(frame, design).labels.mean()
        print(
            f"  {drawn:20} items {each_item:8.2f}  counts {each_count:8.4f}  "
            f"{each_item / each_count:6.0f} times faster, {labels:,.0f} labels"
        )


def against_size(small: int, large: int) -> None:
    """Print the cost of evaluations of few and of many items."""
    design = Design.bennett_carvalho(bins=BINS)
    print(f"{REPLICATIONS:,} evaluations once profiled: s")
    seconds = {}
    for size in (small, large):
        frame = frame_of(*population(size), design)
        seconds[size] = best_seconds(partial(replayed, frame, design))
        print(f"  {size:12,} items {seconds[size]:8.3f}")
    print(f"  ratio {seconds[large] / seconds[small]:.2f}")


if __name__ == "__main__":
    against_items(200_000)
    against_size(10**4, 10**7)
