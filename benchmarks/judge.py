"""How often the intervals of a judge's figures are right, where labels were drawn for a metric.

Made populations of 100,000 items (those of `benchmarks.slices`) and made judges; adaptive campaigns
with the engine's own steps. For each figure: the share of runs whose interval holds the true value;
in brackets the share of runs that are not marked "too few to say", if not all, and coverage is of
these. "gap" is the campaign's metric by the judge less by people. "unweighted" is the interval of
agreement from the labels as they are.

Run with ``python -m benchmarks.judge [--runs 1000]``. With ``--campaigns 500`` it runs so many
whole campaigns instead, in which the judge's score is also a second opinion (``aux``) by which the
strata are cut anew, and prints the share of intervals that hold.
"""

import argparse
from collections.abc import Callable

import numpy as np
from sklearn.metrics import accuracy_score, cohen_kappa_score, recall_score

import assay
from assay.core.design import Design
from assay.core.goal import Goal
from assay.core.groups import Within
from assay.core.subgroups import Domain, Doubt, clopper_pearson, domain, doubts
from assay.core.types import Bools, Floats, Ints
from assay.core.vocabulary import Vocabulary
from assay.labelling.judge import FIGURES, Quantity, figure_of, gap_of
from assay.labelling.slices import CountedTarget
from benchmarks.slices import ITEMS, RECIPES, Cut, covers, simulate, stratified

JUDGES = {  # the chance of the right verdict on yes and no, and on how many of what it gives one
    "good": (0.95, 0.95, 1.0),
    "kind": (0.97, 0.75, 1.0),
    "like the classifier": (0.9, 0.9, 1.0),
    "on a third": (0.9, 0.9, 0.33),
}
_SCIKIT_LEARN: dict[str, Callable[[Bools, Bools], float]] = {
    "sensitivity": recall_score,
    "specificity": lambda truth, said: recall_score(~truth, ~said),
    "agreement": accuracy_score,
    "kappa": cohen_kappa_score,
}
NAMES = (*FIGURES, "gap")
_SAID = 0.1  # of the runs; coverage among fewer is not told


def main() -> None:
    """Print a row for each population, judge, metric and goal."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--campaigns", type=int, default=0)
    given = parser.parse_args()
    runs = given.runs
    if given.campaigns:
        print(campaigns(given.campaigns))
        return
    print(f"| population | judge | metric | goal | labels | {' | '.join(NAMES)} | unweighted |")
    print("|---|---|---|---|---:|" + "---:|" * (len(NAMES) + 1))
    for name in ("calibrated", "sharp", "rare"):
        for judge in JUDGES:
            for metric in ("accuracy", "precision", "recall"):
                goals = (Goal(metric, within=0.03), Goal(metric, budget=400))
                for goal in goals:
                    print(row(name, judge, goal, runs), flush=True)


def row(name: str, judge: str, goal: Goal, runs: int) -> str:
    """Simulate one cell and return its row."""
    rng = np.random.default_rng([20, list(RECIPES).index(name), list(JUDGES).index(judge)])
    design = Design() if goal.within else Design.fixed()
    cut = population(name, judge, goal.metric, design, rng)
    labels = simulate(cut, goal, design, runs, rng)
    cells = []
    for figure in NAMES:
        quantity = quantity_of(cut, figure, goal.metric)
        found, whole = (known(cut, quantity, each) for each in (labels, cut.items[None]))
        right = covers(found.low, found.high, whole.value)
        lowest = -1.0 if figure == "kappa" else 0.0
        said = doubts(found, lowest) == Doubt.NONE if figure != "gap" else found.labels >= 30
        share = float(said.mean())
        told = f"{right[said].mean():.3f}" if share >= _SAID else "–"
        cells.append(told + (f" ({share:.0%})" if _SAID <= share < 0.995 else ""))
    wanted = f"±{goal.within}" if goal.within else f"{goal.budget} labels"
    used = labels.sum(axis=(1, 2, 3)).mean()
    told = " | ".join([*cells, f"{unweighted(cut, labels).mean():.3f}"])
    return f"| {name} | {judge} | {goal.metric} | {wanted} | {used:,.0f} | {told} |"


def population(name: str, judge: str, metric: str, design: Design, rng: np.random.Generator) -> Cut:
    """Make a population with verdicts, counted by stratum, verdict (no, yes, none) and truth."""
    (a, b), steep, _ = RECIPES[name]
    score = np.clip(rng.beta(a, b, ITEMS), 1e-6, 1 - 1e-6)
    odds = steep * np.log(score / (1 - score)) + 0.5
    positive = rng.random(ITEMS) < 1 / (1 + np.exp(-odds))
    says = score >= 0.5
    on_yes, on_no, seen = JUDGES[judge]
    right = rng.random(ITEMS) < np.where(positive, on_yes, on_no)
    verdict = np.where(right, positive, ~positive)
    if judge == "like the classifier":  # whose mistakes it makes, too
        verdict = np.where(rng.random(ITEMS) < 0.5, says, verdict)
    # A judge that is asked of a part is asked where the score is in doubt.
    asked = rng.random(ITEMS) < (1.0 if seen == 1 else 2 * seen * (1 - np.abs(2 * score - 1)))
    slices = np.where(asked, verdict, 2)
    return stratified(score, says, metric, design, slices=slices, positive=positive, kinds=3)


def quantity_of(cut: Cut, figure: str, metric: str) -> Quantity:
    """Return a figure as a campaign has it."""
    if figure != "gap":
        return figure_of(cut.strata, figure)
    return gap_of(
        cut.strata,
        [(1, CountedTarget(metric, metric, 0.95, 0, Within(), Vocabulary(), "yes"))],
        0.95,
    )[1]


def known(cut: Cut, quantity: Quantity, labels: Ints) -> Domain:
    """Return what is known of it in each run, from labels by stratum, verdict and truth."""
    counts = np.zeros((len(labels), *quantity.possible.shape))
    says = cut.says_yes.astype(np.int64)
    for verdict in (False, True):
        for positive in (False, True):
            kind = quantity.kinds(
                says, *(np.full(says.shape, each) for each in (verdict, positive))
            )
            for stratum in np.flatnonzero(kind >= 0):
                told = labels[:, stratum, int(verdict), int(positive)]
                counts[:, stratum, kind[stratum]] += told
    found = domain(
        cut.strata.sizes.astype(np.float64),
        labels.sum(axis=(2, 3), dtype=np.float64),
        counts,
        possible=quantity.possible,
        confidence=0.95,
        share=quantity.share,
    )
    return quantity.on_scale(found)


def unweighted(cut: Cut, labels: Ints) -> Bools:
    """Tell where the interval of the plain share that judge and people agree on holds."""

    def agreed(counts: Ints) -> tuple[Floats, Floats]:
        both = counts[:, :, :2].sum(axis=1, dtype=np.float64)
        return both[:, 0, 0] + both[:, 1, 1], both.sum(axis=(1, 2))

    alike, number = agreed(labels)
    low, high = clopper_pearson(alike / np.maximum(number, 1), number, 0.95)
    whole, items = agreed(cut.items[None])
    return covers(low, high, whole / items)


def campaigns(runs: int, size: int = 20_000) -> str:
    """Run campaigns of one population with a judge as a second opinion; return coverages."""
    rng = np.random.default_rng(21)
    quality, fools = rng.normal(size=(2, size))
    truth = rng.random(size) < 1 / (1 + np.exp(-6 * quality))
    score = 1 / (1 + np.exp(-2 * (quality + 0.8 * fools)))
    said = 1 / (1 + np.exp(-4 * (quality + 0.3 * fools + 0.2 * rng.normal(size=size))))
    said[rng.random(size) < 0.2] = np.nan
    table = {"id": np.arange(size), "p": score, "judge": said}
    there, verdict, says = ~np.isnan(said), said >= 0.5, score >= 0.5
    true = {name: float(of(truth[there], verdict[there])) for name, of in _SCIKIT_LEARN.items()}
    true["gap"] = float(np.mean((says == verdict)[there]) - np.mean((says == truth)[there]))
    held, cut, labels = dict.fromkeys(true, 0), 0, 0
    for seed in range(runs):
        campaign = assay.create_campaign(
            table,
            id="id",
            score="p",
            threshold=0.5,
            aux=["judge"],
            metric="accuracy",
            within=0.03,
            seed=seed,
        )
        while not campaign.done:
            campaign.tell({item.id: bool(truth[int(item.id)]) for item in campaign.ask(50)})
        quality_now = campaign.judge("judge", at=0.5)
        intervals = {row.figure: (row.low, row.high) for row in quality_now.rows}
        intervals["gap"] = quality_now.gaps[0].low, quality_now.gaps[0].high
        for name, (low, high) in intervals.items():
            held[name] += low <= true[name] <= high
        cut += campaign.settings.source.model is not None
        labels += quality_now.judged
    told = ", ".join(f"{name} {number / runs:.3f}" for name, number in held.items())
    return f"{runs} campaigns, {labels / runs:.0f} labels, cut anew in {cut / runs:.2f}: {told}"


if __name__ == "__main__":
    main()
