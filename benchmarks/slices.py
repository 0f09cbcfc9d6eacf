"""How often a slice's interval is right, by its size, where the labels were drawn for the whole.

Made populations of 100,000 items in slices of 40%, 23%, 20%, 10%, 5% and 2%, which differ in their
rates; adaptive campaigns with the engine's own steps, in batches of 20 labels, then of a fiftieth
of those there are. For each slice: the share of runs whose interval holds the true value, among
those that are not marked "too few to say", and how many these are if not all; none where these are
fewer than a tenth. "all" has every run, marked or not, and every slice; "unweighted" is the plain
share of the first slice's labels, with Clopper and Pearson's interval.

Run with ``python -m benchmarks.slices [--runs 1000]``.
"""

import argparse
from dataclasses import dataclass, replace

import numpy as np

from assay.core.design import Design
from assay.core.engine import begin, look, plan
from assay.core.forms import ratio
from assay.core.goal import Goal
from assay.core.stopping import Reason
from assay.core.strata import Strata
from assay.core.stratify import sides_to_cut, stratify
from assay.core.subgroups import (
    Domain,
    Doubt,
    as_metric,
    clopper_pearson,
    domain,
    doubts,
    kinds,
    share_of,
)
from assay.core.types import Bools, Floats, Ints
from assay.predictions import from_arrays

ITEMS = 100_000
SHARES = (0.40, 0.23, 0.20, 0.10, 0.05, 0.02)
# What each slice adds to the log-odds of being positive.
SHIFTS = np.array([0.3, 0.0, -0.3, -0.8, 0.5, -1.0])
_SAID = 0.1  # of the runs; coverage among fewer is not told

# The scores' Beta distribution, how steep the truth is in them, and whether slices follow scores.
RECIPES = {
    "calibrated": ((0.5, 0.5), 1.0, False),
    "slices by score": ((0.5, 0.5), 1.0, True),
    "sharp": ((0.5, 0.5), 2.0, False),
    "rare": ((0.1, 1.9), 1.0, False),
    "rare and sharp": ((0.1, 1.9), 2.0, False),
}


@dataclass(frozen=True, eq=False)
class Cut:
    """A population cut into strata, with its items counted by stratum, slice and truth."""

    strata: Strata
    items: Ints

    @property
    def says_yes(self) -> Bools:
        """What is predicted in each stratum."""
        return np.asarray(self.strata.says_yes, dtype=np.bool_)


def main() -> None:
    """Print a row for each population, metric and goal."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=1000)
    runs = parser.parse_args().runs
    slices = " | ".join(f"{share:.0%}" for share in SHARES)
    print(f"| population | metric | goal | labels | {slices} | all | unweighted |")
    print("|---|---|---|---:|" + "---:|" * (len(SHARES) + 2))
    for name in RECIPES:
        for metric in ("precision", "recall", "f1"):
            for goal in (Goal(metric, within=0.03), Goal(metric, budget=1000)):
                print(row(name, goal, runs), flush=True)


def row(name: str, goal: Goal, runs: int) -> str:
    """Simulate one cell and return its row."""
    rng = np.random.default_rng([8, list(RECIPES).index(name)])
    design = Design() if goal.within else Design.fixed()
    cut = population(name, goal.metric, design, rng)
    labels = simulate(cut, goal, design, runs, rng)
    found, plain = estimates(cut, labels, goal.metric)
    whole = estimates(cut, cut.items[None], goal.metric)[0].value[0]
    said, right = doubts(found) == Doubt.NONE, covers(found.low, found.high, whole)
    cells = [
        _cell(right[said[:, k], k].mean(), share) if share >= _SAID else "–"
        for k, share in enumerate(said.mean(axis=0).tolist())
    ]
    wanted = f"±{goal.within}" if goal.within else "budget"
    used = labels.sum(axis=(1, 2, 3)).mean()
    told = " | ".join([*cells, f"{right.mean():.3f}", f"{covers(*plain, whole)[:, 0].mean():.3f}"])
    return f"| {name} | {goal.metric} | {wanted} | {used:,.0f} | {told} |"


def _cell(coverage: float, said: float) -> str:
    return f"{coverage:.3f}" + (f" ({said:.0%})" if said < 0.995 else "")


def covers(low: Floats, high: Floats, value: Floats) -> Bools:
    """Tell whether intervals hold a value; rounding apart, where all is known."""
    return np.asarray((low <= value + 1e-12) & (value <= high + 1e-12))


def population(name: str, metric: str, design: Design, rng: np.random.Generator) -> Cut:
    """Make a population, and cut it as a campaign would."""
    (a, b), steep, follow = RECIPES[name]
    score = np.clip(rng.beta(a, b, ITEMS), 1e-6, 1 - 1e-6)
    slices = rng.choice(len(SHARES), ITEMS, p=SHARES)
    if follow:  # of the largest slice, what has a high score moves to the second
        slices = np.where((slices == 0) & (rng.random(ITEMS) < score), 1, slices)
    odds = steep * np.log(score / (1 - score)) + SHIFTS[slices] + 0.5
    positive = rng.random(ITEMS) < 1 / (1 + np.exp(-odds))
    says = score >= 0.5
    return stratified(
        score, says, metric, design, slices=slices, positive=positive, kinds=len(SHARES)
    )


def stratified(
    score: Floats,
    says: Bools,
    metric: str,
    design: Design,
    *,
    slices: Ints,
    positive: Bools,
    kinds: int,
) -> Cut:
    """Cut items into strata as a campaign would, and count them.

    Parameters
    ----------
    score, says : array, shape (N,)
        Of the classifier.
    metric, design
        What the campaign is to estimate, and how.
    slices, positive : array, shape (N,)
        The slice and the truth of each item.
    kinds : int
        How many slices there are.
    """
    found = from_arrays(y_score=score, y_pred=says)
    sides = sides_to_cut(design, metric, found.positives, found.size, found.source)
    profiles = found.profile(design.variable, "probability", sides)
    strata = stratify(profiles, variable=design.variable, method=design.strata, bins=design.bins)
    items = np.zeros((strata.n_strata, kinds, 2), dtype=np.int64)
    at = strata.assign(score, says)
    np.add.at(items, (at[at >= 0], slices[at >= 0], positive[at >= 0].astype(np.int64)), 1)
    return Cut(strata, items)


def simulate(cut: Cut, goal: Goal, design: Design, runs: int, rng: np.random.Generator) -> Ints:
    """Return the labels of each run by stratum, slice and truth."""
    sizes = cut.strata.sizes.astype(np.float64)
    metric = ratio(goal.metric, sizes, cut.says_yes)
    left = np.broadcast_to(cut.items, (runs, *cut.items.shape)).reshape(runs, sizes.size, -1).copy()
    state = begin(design, goal, np.broadcast_to(sizes, (runs, sizes.size)))
    running = np.arange(runs)
    while running.size:
        asked = max(20, int(state.tallies.answers.max()) // 50)
        now = look(design, goal, metric, state)
        counts = plan(design, goal, metric, state, rng=rng, asked=asked)
        going = now.reason == Reason.GO_ON
        state = replace(state, streak=now.streak).take(going)
        running, counts = running[going], counts[going]
        drawn = _draw(left[running], counts, rng)
        left[running] -= drawn
        found = drawn[..., 1::2].sum(axis=-1)
        state = replace(state.deal(counts), tallies=state.tallies.add(counts, found))
    return cut.items - left.reshape(runs, *cut.items.shape)


def _draw(left: Ints, counts: Ints, rng: np.random.Generator) -> Ints:
    """Return what a round of cards brings of each kind, without replacement."""
    drawn = np.zeros_like(left)
    rest = left.sum(axis=-1)
    for kind in range(left.shape[-1]):
        rest = rest - left[..., kind]
        drawn[..., kind] = rng.hypergeometric(left[..., kind], rest, counts)
        counts = counts - drawn[..., kind]
    return drawn


def estimates(cut: Cut, labels: Ints, metric: str) -> tuple[Domain, tuple[Floats, Floats]]:
    """Return what is known of each slice in each run, and the unweighted intervals."""
    says, N = cut.says_yes, cut.strata.sizes.astype(np.float64)
    n = np.broadcast_to(
        labels.sum(axis=(2, 3), dtype=np.float64)[:, None], (len(labels), len(SHARES), N.size)
    )
    number, share_of_counts = share_of(metric)
    counts = np.zeros((*n.shape, number))
    possible = np.zeros((N.size, number), dtype=np.bool_)
    for truth in (False, True):
        kind = kinds(metric, says, np.full(says.shape, truth))
        for each in range(number):
            counts[..., each] += labels[..., int(truth)].swapaxes(1, 2) * (kind == each)
            possible[:, each] |= kind == each
    found = domain(N, n, counts, possible=possible, confidence=0.95, share=share_of_counts)
    share, _, _ = share_of_counts(counts.sum(axis=-2))
    low, high = clopper_pearson(share, counts.sum(axis=(-2, -1)), 0.95)
    plain = as_metric(metric, replace(found, value=share, low=low, high=high))
    return as_metric(metric, found), (plain.low, plain.high)


if __name__ == "__main__":
    main()
