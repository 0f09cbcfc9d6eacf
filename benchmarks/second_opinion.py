"""What a second opinion saves in labels, and whether intervals hold with it, on real classifiers.

    python -m benchmarks.second_opinion DATA                    # ten pairs, 40 runs each
    python -m benchmarks.second_opinion DATA --runs 400 --pairs 0 6 --second real noise

DATA is a folder of Parquet files with columns label, score_A and pred_A of each classifier A. Every
run is a campaign with the default design: items have permanent numbers, strata are cut by the score
and, at 100, 200, 400 labels and so on, by the model that a campaign would fit. Labels are counted
once, whether they are drawn again or not. A second opinion is the other classifier's score, or in
its place noise, the score with its sign turned, or a column that is right about the first 200
labels alone.
"""

import argparse
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from time import perf_counter
from typing import NamedTuple

import numpy as np
import pyarrow.parquet as pq

from assay.campaign.recut import FIRST, WORTH_IT
from assay.core.design import Design, fitted
from assay.core.engine import Look, begin, cannot_stop, look, plan
from assay.core.error_model import SAID, fit, share_left
from assay.core.forms import ratio
from assay.core.goal import Goal
from assay.core.metrics import sides
from assay.core.profile import Profile, profile_of
from assay.core.stopping import Reason
from assay.core.strata import Strata
from assay.core.stratify import stratify
from assay.core.types import Bools, Floats, Ints

SECONDS = ("real", "noise", "reversed", "early")


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


@dataclass(frozen=True, eq=False)
class Items:
    """The items that a metric needs labels of."""

    positive: Bools
    predicted: Bools
    score: Floats
    second: Floats

    def cut(self, by: Floats, design: Design, method: str) -> tuple[Ints, Strata]:
        """Return the stratum of every item, and the strata."""
        there = [side for side in (True, False) if (self.predicted == side).any()]
        profiles: dict[bool | None, Profile] = {
            side: profile_of(by[self.predicted == side]) for side in there
        }
        strata = stratify(profiles, variable="score", method=method, bins=design.bins)
        return strata.assign(by, self.predicted), strata


class Campaign:
    """One run: what is known, and the items' permanent numbers."""

    def __init__(self, items: Items, goal: Goal, rng: np.random.Generator) -> None:
        self.items, self.goal, self.rng = items, goal, rng
        self.design = fitted(Design(), goal)
        self.known = np.zeros(items.positive.size, dtype=np.bool_)
        self.number = rng.random(items.positive.size)
        self.fold = rng.random(items.positive.size) < 0.5

    def run(self, *, second: bool) -> Look:
        """Label until it is done; return the last look."""
        stratum, strata = self.items.cut(self.items.score, self.design, self.design.strata)
        due = FIRST if second else np.inf
        while (last := self._go_on(stratum, strata, due)) is None:
            stratum, strata = self._recut(stratum, strata)
            while due <= self.known.sum():
                due *= 2
        return last

    def _go_on(self, stratum: Ints, strata: Strata, due: float) -> Look | None:
        """Deal from strata until the goal is met, or until so many labels are known: None."""
        sizes = strata.sizes.astype(np.float64)
        order = np.lexsort((self.number, stratum))
        first = np.concatenate([[0], np.cumsum(strata.sizes)[:-1]])
        metric = ratio(self.goal.metric, sizes, strata.says_yes)
        state, dealt = begin(self.design, self.goal, sizes[None]), np.zeros(sizes.size, dtype=int)
        middle = np.full(1, np.nan)
        while True:
            streak = np.zeros_like(state.streak)
            if not cannot_stop(self.design, self.goal, metric, state, middle)[0]:
                now = look(self.design, self.goal, metric, state)
                if now.reason[0] != Reason.GO_ON:
                    return now
                streak, middle = now.streak, (now.low + now.high) / 2
            if self.known.sum() >= due:
                return None
            state = replace(state, streak=streak)
            counts = plan(self.design, self.goal, metric, state, rng=self.rng, asked=20)
            found = np.zeros(sizes.size)
            for h in np.flatnonzero(counts[0]):
                start = first[h] + dealt[h]
                drawn = order[start : start + counts[0, h]]
                self.known[drawn], found[h] = True, self.items.positive[drawn].sum()
            dealt += counts[0]
            state = replace(state.deal(counts), tallies=state.tallies.add(counts, found[None]))

    def _recut(self, stratum: Ints, strata: Strata) -> tuple[Ints, Strata]:
        """Cut the strata anew where a model says so."""
        known, items = np.flatnonzero(self.known), self.items
        columns: dict[str, Floats | Bools] = {
            SAID: items.predicted,
            "score": items.score,
            "second": items.second,
        }
        told = {name: values[known] for name, values in columns.items()}
        model = fit(told, "score", items.positive[known], self.fold[known])
        if model is None:
            return stratum, strata
        rest = share_left(model.log_odds(told, self.fold[known]), stratum[known], strata.sizes)
        if rest > WORTH_IT:
            return stratum, strata
        return items.cut(model.log_odds(columns, self.fold), self.design, "spread")


def read(folder: Path, pair: Pair) -> Items:
    """Return the items of a pair."""
    names = ["label", f"score_{pair.own}", f"pred_{pair.own}", f"score_{pair.other}"]
    table = pq.read_table(folder / f"{pair.file}.parquet", columns=names)
    label, score, predicted, second = (table[name].to_numpy() for name in names)
    needed = np.isin(predicted, list(sides(pair.metric)))
    return Items(
        label[needed].astype(np.bool_),
        predicted[needed].astype(np.bool_),
        score[needed].astype(np.float64),
        second[needed].astype(np.float64),
    )


def seconds(items: Items, kind: str, rng: np.random.Generator) -> Items:
    """Return the items with another second opinion."""
    if kind == "noise":
        return replace(items, second=rng.normal(size=items.score.size))
    if kind == "reversed":
        return replace(items, second=-items.second)
    return items


def study(items: Items, pair: Pair, kind: str | None, runs: int) -> Iterator[tuple[int, bool]]:
    """Yield the labels of each run, and whether its interval holds the truth."""
    goal = Goal(pair.metric, within=pair.within)
    stratum, strata = items.cut(items.score, Design(), "perc")
    outcomes = np.bincount(stratum, items.positive.astype(np.float64), strata.n_strata)
    sizes = strata.sizes.astype(np.float64)
    truth = float(
        ratio(pair.metric, sizes, strata.says_yes).value(np.asarray(outcomes, dtype=np.float64))
    )
    for run in range(runs):
        rng = np.random.default_rng([20261117, run])
        campaign = Campaign(items if kind is None else seconds(items, kind, rng), goal, rng)
        if kind == "early":  # an adversary who knows which labels come first
            early = np.argsort(campaign.number)[:200]
            told = rng.normal(size=items.score.size)
            told[early] = np.where(items.positive[early], 3.0, -3.0)
            campaign.items = replace(items, second=told)
        last = campaign.run(second=kind is not None)
        holds = last.low[0] - 1e-12 <= truth <= last.high[0] + 1e-12
        yield int(campaign.known.sum()), bool(holds)


def main() -> None:
    """Print a line for each pair and second opinion."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("--runs", type=int, default=40)
    parser.add_argument("--pairs", type=int, nargs="*", default=range(len(PAIRS)))
    parser.add_argument("--second", nargs="*", default=["real", "noise"], choices=SECONDS)
    given = parser.parse_args()
    for number in given.pairs:
        pair = PAIRS[number]
        items = read(given.data, pair)
        alone = 0.0
        for kind in (None, *given.second):
            began = perf_counter()
            found = np.array(list(study(items, pair, kind, given.runs)), dtype=np.float64)
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
