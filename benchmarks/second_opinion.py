"""What a second opinion saves in labels, and whether intervals hold with it, on real classifiers.

    python -m benchmarks.second_opinion DATA                    # ten pairs, 40 runs each
    python -m benchmarks.second_opinion DATA --runs 400 --pairs 0 6 --second real noise
    python -m benchmarks.second_opinion DATA --mode guaranteed --runs 100
    python -m benchmarks.second_opinion DATA --bound            # what a model that knows all saves
    python -m benchmarks.second_opinion DATA --at 500 --runs 400   # errors at a budget, and why
    python -m benchmarks.second_opinion DATA --without --runs 4000   # no column, by stratum counts

DATA is a folder of Parquet files with columns label, score_A and pred_A of each classifier A. Every
run is a campaign with the default design, or the guaranteed one: items have permanent numbers,
strata are cut by the score and, at 100, 200, 400 labels and so on, by the model that a campaign
would fit. Labels are counted once, whether they are drawn again or not. A second opinion is the
other classifier's score, or in its place noise, a constant, the score with its sign turned, a
column that is right about the first 200 labels alone, or an adversary's: right about all items but
the half of the classifier's mistakes with the surest scores.

The bound is of the best allocation to the same number of strata, cut by the model after it was
taught by the truth of all items and was free: the square of sum_h W_h sigma_h, over that of strata
by the score alone. No campaign can do as well with such a model, as it learns from its own labels.

At a budget, the errors of two campaigns are told beside those of the best allocation to the same
strata: one with strata by the score, and one whose strata are by that model from the first label
on. What the second one has less than the first is all that an earlier cut could gain; what the
best allocation has less is the price of not knowing the strata's rates.
"""

import argparse
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from time import perf_counter
from typing import NamedTuple

import numpy as np

from assay.core.design import Design, fitted
from assay.core.error_model import SAID
from assay.core.forms import ratio
from assay.core.goal import Goal
from assay.core.learning import Training
from assay.core.types import Floats
from assay.simulation import Population
from assay.simulation.opined import OpinedItems
from assay.simulation.oracle import of_one
from assay.simulation.runs import replay
from assay.simulation.second_opinion import RecutRun, run_together

MODES = {"default": Design(), "guaranteed": Design.guaranteed()}
MOST_ITEMS = 10_000_000  # of all campaigns that run side by side
SECONDS = ("real", "noise", "constant", "reversed", "early", "adversary")


class Pair(NamedTuple):
    """A classifier, the other one, a metric and a half-width."""

    file: str
    own: str
    other: str
    metric: str
    within: float


PAIRS = (
    Pair("trec07_spam", "nb", "logreg", "accuracy", 0.01),
    Pair("trec07_spam", "nb", "logreg", "precision", 0.005),
    Pair("trec07_spam", "logreg", "nb", "accuracy", 0.005),
    Pair("enron_spam_shift", "logreg", "nb", "precision", 0.02),
    Pair("news20_binary", "logreg", "nb", "accuracy", 0.01),
    Pair("news20_binary", "nb", "logreg", "precision", 0.01),
    Pair("covtype_binary", "logreg", "hgb", "precision", 0.02),
    Pair("covtype_binary", "hgb", "logreg", "accuracy", 0.01),
    Pair("offensive_mix", "cnn", "logreg", "precision", 0.01),
    Pair("offensive_mix", "logreg", "cnn", "precision", 0.01),
)


def read(folder: Path, pair: Pair) -> Population:
    """Return the items of a pair."""
    return Population.read(
        folder / f"{pair.file}.parquet",
        label="label",
        score=f"score_{pair.own}",
        predicted=f"pred_{pair.own}",
        aux=[f"score_{pair.other}"],
    )


def other(items: OpinedItems, told: Floats) -> OpinedItems:
    """Return the items with another second opinion."""
    return replace(items, columns={**items.columns, second_of(items): told})


def second_of(items: OpinedItems) -> str:
    """Return the name of the second opinion."""
    (name,) = (each for each in items.columns if each not in (SAID, items.own))
    return name


def study(
    population: Population, pair: Pair, kind: str | None, runs: range, design: Design
) -> Iterator[tuple[int, bool]]:
    """Yield the labels of each run, and whether its interval holds the truth."""
    goal = Goal(pair.metric, within=pair.within)
    design, truth = fitted(design, goal), population.value(pair.metric)
    items = population.opined(pair.metric)
    if items is None:
        raise ValueError(f"{pair.file} was read without a second opinion")
    beside = max(1, MOST_ITEMS // items.positive.size)
    for first in range(0, len(runs), beside):
        some = [
            campaign_of(items, kind, run, design=design, goal=goal)
            for run in runs[first : first + beside]
        ]
        ended = run_together(some, recut=kind is not None)
        for campaign, (_, seen) in zip(some, ended, strict=True):
            (last,) = seen.looks
            holds = last.low[0] - 1e-12 <= truth <= last.high[0] + 1e-12
            yield campaign.labels, bool(holds)


def campaign_of(
    items: OpinedItems, kind: str | None, run: int, *, design: Design, goal: Goal
) -> RecutRun:
    """Return a campaign that has not begun."""
    second = np.asarray(items.columns[second_of(items)], dtype=np.float64)
    rng = np.random.default_rng([20261117, run])
    noise = rng.normal(size=second.size)
    if kind in ("noise", "reversed", "constant"):
        told = {"noise": noise, "reversed": -second, "constant": np.zeros(second.size)}[kind]
        items = other(items, told)
    elif kind == "adversary":
        items = other(items, adversary(items))
    campaign = RecutRun(items, design, goal, rng)
    if kind == "early":  # by the order without the column: with it there is another
        early = np.argpartition(rng.random(second.size), 200)[:200]
        noise[early] = np.where(items.positive[early], 3.0, -3.0)
        campaign.items = other(items, noise)
    return campaign


def adversary(items: OpinedItems) -> Floats:
    """Return the opinion of somebody who knows all answers, and hides errors where none looks.

    It is right about every item but one half of the classifier's mistakes, those of the surest
    scores: of these it says what the classifier says.
    """
    told = items.positive.copy()
    for side, sign in ((True, -1.0), (False, 1.0)):
        wrong = np.flatnonzero((items.predicted == side) & (items.positive != side))
        surest = wrong[np.argsort(sign * items.score[wrong], kind="stable")]
        told[surest[: surest.size // 2]] = side
    return told.astype(np.float64)


def bound(population: Population, pair: Pair) -> float:
    """Return the share of the labels that strata by a model would take that was taught all."""
    items = population.opined(pair.metric)
    if items is None:
        raise ValueError(f"{pair.file} was read without a second opinion")
    goal = Goal(pair.metric, within=pair.within)
    design = fitted(Design(), goal)
    fold = np.random.default_rng(20261117).random(items.positive.size) < 0.5
    model = Training(items.columns, items.own, items.positive, fold).fit()
    if model is None:
        return 1.0

    def spread(log_odds: Floats | None) -> float:
        stratum, strata = items.cut(design, goal, log_odds)
        size = strata.sizes.astype(np.float64)
        rate = np.bincount(stratum, items.positive, minlength=size.size) / size
        return float((size * np.sqrt(rate * (1 - rate))).sum()) ** 2

    by_model = spread(model.log_odds(items.columns, fold))
    return min(by_model / spread(None), 1.0)


def at_budget(population: Population, pair: Pair, labels: int, runs: int) -> Iterator[str]:
    """Yield the errors at so many labels, by the score and by a model that was taught all."""
    items = population.opined(pair.metric)
    if items is None:
        raise ValueError(f"{pair.file} was read without a second opinion")
    goal = Goal(pair.metric, budget=labels)
    design, truth = fitted(Design(), goal), population.value(pair.metric)
    fold = np.random.default_rng(20261117).random(items.positive.size) < 0.5
    model = Training(items.columns, items.own, items.positive, fold).fit()
    ways: dict[str, Floats | None] = {"score": None}
    if model is not None:
        ways["model that knows all"] = model.log_odds(items.columns, fold)
    for way, log_odds in ways.items():
        stratum, strata = items.cut(design, goal, log_odds)
        sizes = strata.sizes.astype(np.float64)
        outcomes = np.bincount(stratum, items.positive, minlength=sizes.size).astype(np.float64)
        form = ratio(pair.metric, sizes, strata.says_yes)
        found = replay(
            *of_one(design, goal, form, sizes, outcomes),
            replications=runs,
            rng=np.random.default_rng([20261117, runs]),
        )
        error = np.sqrt(np.mean((found.value - truth) ** 2))
        holds = np.mean((found.low <= truth) & (truth <= found.high))
        rate, slope = outcomes / sizes, np.abs(form.gradient(outcomes)) * sizes
        best = float((slope * np.sqrt(rate * (1 - rate))).sum()) / np.sqrt(labels)
        yield (f"by the {way}: error {error:.4f}, covers {holds:.3f}; best allocation {best:.4f}")


def without(population: Population, pair: Pair, design: Design, runs: int) -> str:
    """Return the labels without a column, and how often intervals hold: runs cost next to nothing.

    Cards are drawn stratum by stratum, not item by item: what comes out is the same.
    """
    goal = Goal(pair.metric, within=pair.within)
    design, truth = fitted(design, goal), population.value(pair.metric)
    frame = population.frame(design, pair.metric)
    found = replay(
        *of_one(design, goal, frame.metric, frame.sizes, frame.outcomes),
        replications=runs,
        rng=np.random.default_rng([20261117, runs]),
    )
    holds = np.mean((found.low - 1e-12 <= truth) & (truth <= found.high + 1e-12))
    return f"{found.labels.mean():,.0f} labels; covers {holds:.3f}"


def main() -> None:
    """Print a line for each pair and second opinion."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("--runs", type=int, default=40)
    parser.add_argument("--first", type=int, default=0, help="the number of the first run")
    parser.add_argument("--pairs", type=int, nargs="*", default=range(len(PAIRS)))
    parser.add_argument("--mode", default="default", choices=MODES)
    parser.add_argument("--within", type=float, help="in place of each pair's own half-width")
    parser.add_argument("--second", nargs="*", default=["real", "noise"], choices=SECONDS)
    parser.add_argument("--bound", action="store_true", help="what a model that knows all saves")
    parser.add_argument("--at", type=int, help="errors at so many labels, and why")
    parser.add_argument("--without", action="store_true", help="no column, by stratum counts")
    given = parser.parse_args()
    if given.without:
        for number in given.pairs:
            pair = PAIRS[number]
            told = without(read(given.data, pair), pair, MODES[given.mode], given.runs)
            print(f"{pair.file} {pair.own} {pair.metric} ±{pair.within:g}: {told}", flush=True)
        return
    if given.at:
        for number in given.pairs:
            pair = PAIRS[number]
            for line in at_budget(read(given.data, pair), pair, given.at, given.runs):
                print(f"{pair.file} {pair.own} {pair.metric}, strata {line}", flush=True)
        return
    if given.bound:
        shares = [bound(read(given.data, PAIRS[number]), PAIRS[number]) for number in given.pairs]
        for number, share in zip(given.pairs, shares, strict=True):
            pair = PAIRS[number]
            print(f"{pair.file} {pair.own} {pair.metric}, with {pair.other}: {share:.3f}")
        print(f"mean: {np.mean(shares):.3f}")
        return
    for number in given.pairs:
        pair = PAIRS[number]._replace(**({"within": given.within} if given.within else {}))
        items = read(given.data, pair)
        alone = 0.0
        for kind in (None, *given.second):
            began = perf_counter()
            which = range(given.first, given.first + given.runs)
            runs = study(items, pair, kind, which, MODES[given.mode])
            found = np.array(list(runs), dtype=np.float64)
            labels, error = found[:, 0].mean(), found[:, 0].std() / np.sqrt(given.runs)
            alone = labels if kind is None else alone
            print(
                f"{pair.file} {pair.own} {pair.metric} ±{pair.within:g}, {kind or 'alone'}: "
                f"{labels:,.0f} ±{error:.0f} labels, {labels / alone:.3f} of those without; "
                f"covers {found[:, 1].mean():.3f}; {(perf_counter() - began) / given.runs:.1f} s",
                flush=True,
            )


if __name__ == "__main__":
    main()
