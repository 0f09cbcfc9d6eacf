"""What last week's model saves next week, and whether intervals hold with it, on real classifiers.

    python -m benchmarks.next_week DATA                          # trec07, 40 runs
    python -m benchmarks.next_week DATA --runs 200 --week same noise turned
    python -m benchmarks.next_week DATA --pairs 0 6 --within 0.05
    python -m benchmarks.next_week DATA --runs 100 --first 100      # the second hundred

DATA is as for `benchmarks.second_opinion`. Items are put into two weeks at random. Each run is a
campaign of the first week, and campaigns of the second with the same goal: without second opinions,
with them, and with them and the model that all labels of the first week teach. The change is from
the first week to the last of these, by both intervals. Next week's column may be the same, or
noise, or the same with its sign turned: then last week's model is wrong, and labels have to say so.
"""

import argparse
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np

from assay.core.design import Design, fitted
from assay.core.error_model import columns_at
from assay.core.goal import Goal
from assay.core.intervals import of_difference
from assay.core.types import Ints
from assay.simulation.opined import OpinedItems
from assay.simulation.second_opinion import RecutRun
from benchmarks.second_opinion import PAIRS, Pair, other, read, second_of

WEEKS = ("same", "noise", "turned")
WAYS = ("first week", "without aux", "aux", "aux and last week's model", "change")


def part_of(items: OpinedItems, rows: Ints) -> OpinedItems:
    """Return some of the items."""
    return replace(
        items,
        positive=items.positive[rows],
        score=items.score[rows],
        columns=columns_at(items.columns, rows),
    )


def truth_of(items: OpinedItems, metric: str) -> float:
    """Return the value of accuracy or of precision."""
    if metric == "accuracy":
        return float((items.positive == items.predicted).mean())
    return float(items.positive[items.predicted].mean())


def study(
    items: OpinedItems, pair: Pair, week: str, runs: range
) -> Iterator[list[tuple[int, bool]]]:
    """Yield, for each run and way, the labels and whether the interval holds the truth."""
    goal = Goal(pair.metric, within=pair.within)
    design, name = fitted(Design(), goal), second_of(items)
    for run in runs:
        rng = np.random.default_rng([20261118, run])
        order = rng.permutation(items.positive.size)
        last, now = (part_of(items, np.sort(rows)) for rows in np.array_split(order, 2))
        told = np.asarray(now.columns[name], dtype=np.float64)
        if week != "same":
            now = other(now, rng.normal(size=told.size) if week == "noise" else -told)
        truths = [truth_of(each, pair.metric) for each in (last, now)]
        first = RecutRun(last, design, goal, rng)
        then = _ended(first)
        found = [(first.labels, _holds(then[1:], truths[0]))]
        for model, recut in ((None, False), (None, True), (first.lessons(), True)):
            campaign = RecutRun(now, design, goal, rng, before=model)
            ended = _ended(campaign, recut=recut)
            found.append((campaign.labels, _holds(ended[1:], truths[1])))
        change = _holds(of_difference(ended, then), truths[1] - truths[0])
        yield [*found, (found[-1][0], change)]


def _ended(campaign: RecutRun, *, recut: bool = True) -> tuple[float, float, float]:
    """Run a campaign; return the value and the interval."""
    (last,) = campaign.run(recut=recut)[1].looks
    return float(last.moments.value[0]), float(last.low[0]), float(last.high[0])


def _holds(interval: tuple[float, float], truth: float) -> bool:
    return interval[0] - 1e-12 <= truth <= interval[1] + 1e-12


def main() -> None:
    """Print a line for each pair, kind of second week, and way."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("--runs", type=int, default=40)
    parser.add_argument("--first", type=int, default=0, help="the number of the first run")
    parser.add_argument("--pairs", type=int, nargs="*", default=[0])
    parser.add_argument("--within", type=float, help="in place of the pairs' own")
    parser.add_argument("--week", nargs="*", default=["same"], choices=WEEKS)
    given = parser.parse_args()
    runs = range(given.first, given.first + given.runs)
    for number in given.pairs:
        pair = PAIRS[number]
        pair = pair if given.within is None else pair._replace(within=given.within)
        items = read(given.data, pair).opined(pair.metric)
        if items is None:
            raise ValueError(f"{pair.file} was read without a second opinion")
        for week in given.week:
            found = np.array(list(study(items, pair, week, runs)), dtype=np.float64)
            print(f"{pair.file} {pair.own} {pair.metric} ±{pair.within:g}; next week {week}")
            for way, labels, holds in zip(WAYS, found[..., 0].T, found[..., 1].T, strict=True):
                error = labels.std() / given.runs**0.5
                print(
                    f"  {way}: {labels.mean():,.0f} ±{error:.0f} labels; covers {holds.mean():.3f}",
                    flush=True,
                )


if __name__ == "__main__":
    main()
