"""Metrics over all classes: coverage, lean and labels, by the default design and at random.

    python -m benchmarks.class_study DATA [--cells arxiv15,synthetic_7]
        [--metrics balanced_accuracy,macro_f1] [--within 0.1,0.05,0.03] [--runs 2000]

DATA is the folder of `news20_classes`, `cifar10_classes` and `arxiv15`. Two populations are made
here: seven classes of 0.5 to 60% and twelve of 0.2 to 50%, each with one class that resembles the
next. Printed for each cell: labels of both designs and their ratio; how often the interval holds
the truth; how far the mean value lies from the truth, in half-widths of the goal; and the least
coverage of a class's own precision and recall, which were no targets.

    python -m benchmarks.class_study DATA --live 200 --cells synthetic_7 --within 0.1

The same campaigns by ask and tell, beside the simulated ones.
"""

import argparse
from pathlib import Path
from time import perf_counter

import numpy as np
import pyarrow as pa

import assay
from assay.core.types import Floats, Ints
from assay.simulation import Population
from benchmarks.classes import SEED, Cell, arrays

SYNTHETIC: dict[str, tuple[float, ...]] = {
    "synthetic_7": (60, 20, 10, 6, 2.5, 1, 0.5),
    "synthetic_12": (50, 15, 10, 8, 6, 4, 3, 2, 1, 0.5, 0.3, 0.2),
}
NAMES = ("news20_classes", "cifar10_classes", *SYNTHETIC, "arxiv15")
METRICS = (
    "balanced_accuracy",
    "macro_f1",
    "macro_precision",
    "cohen_kappa",
    "matthews_correlation",
    "top_2_accuracy",
)


def made_up(name: str, items: int = 100_000) -> tuple[Ints, Floats]:
    """Classes, and probabilities of a classifier that takes some classes for the next one."""
    share = np.array(SYNTHETIC[name]) / sum(SYNTHETIC[name])
    K, rng = share.size, np.random.default_rng(len(share))
    truth = rng.choice(K, items, p=share)
    every, gain = np.arange(items), 8.0 * rng.gamma(3.0, 1 / 3, items)
    logit = np.log(share) + rng.normal(size=(items, K))
    logit[every, truth] += gain
    logit[every, (truth + 1) % K] += gain * rng.random(items) / 2
    chance = np.exp(logit - logit.max(axis=1, keepdims=True))
    return truth, chance / chance.sum(axis=1, keepdims=True)


def table(folder: Path, name: str) -> pa.Table:
    """Items with their class, and the probabilities of all classes."""
    if name in SYNTHETIC:
        truth, chance = made_up(name)
        names = [f"c{k}" for k in range(chance.shape[1])]
        y_true = np.array(names)[truth]
    else:
        known = arrays(folder, name)
        y_true, chance, names = np.asarray(known["y_true"]), known["y_prob"], known["names"]
    columns = {f"p_{each}": chance[:, k] for k, each in enumerate(names)}
    return pa.table({"is": y_true, **columns})


def population(items: pa.Table, metric: str) -> Population:
    """Return the items as a population of known truth."""
    return Population.read(items, label="is", probabilities="p_*", metrics=[metric])


def live(items: pa.Table, metric: str, within: float, runs: int) -> tuple[float, float]:
    """Mean labels and coverage of campaigns by ask and tell."""
    value = population(items, metric).value(metric)
    truth, labels, held = items["is"].to_pylist(), [], 0
    shown = items.drop_columns("is")
    for seed in range(runs):
        campaign = assay.create_campaign(
            shown, probabilities="p_*", metric=metric, within=within, seed=seed
        )
        while not campaign.done:
            batch = campaign.ask(20)
            campaign.tell({item.id: truth[int(item.id)] for item in batch})
        found = campaign.estimate()
        labels.append(found.labels)
        held += found.low - 1e-12 <= value <= found.high + 1e-12
    return float(np.mean(labels)), held / runs


def study(items: pa.Table, name: str, metric: str, within: float, runs: int) -> None:
    """Print a line for one cell."""
    began, found = perf_counter(), population(items, metric)
    ours = Cell(found, [metric], within, random=False).run(runs, SEED)
    random = Cell(found, [metric], within, random=True).run(runs, SEED)
    print(
        f"{f'{name} {metric} ±{within:g}':44}{ours['labels']:8,.0f}{random['labels']:8,.0f}"
        f"{ours['labels'] / random['labels']:7.2f}{ours['coverage']:8.3f}"
        f"{random['coverage']:8.3f}{ours['lean'] / within:+7.2f}{random['lean'] / within:+8.2f}"
        f"{ours.get('classes', np.nan):9.3f}{runs:6}{perf_counter() - began:6.0f}",
        flush=True,
    )


def main() -> None:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("data", type=Path)
    parser.add_argument("--cells", default=",".join(NAMES))
    parser.add_argument("--metrics", default=",".join(METRICS))
    parser.add_argument("--within", default="0.1,0.05,0.03")
    parser.add_argument("--runs", type=int, default=2000)
    parser.add_argument("--live", type=int, default=0)
    asked = parser.parse_args()
    widths = [float(within) for within in asked.within.split(",")]
    if not asked.live:
        print(
            f"{'cell':44}{'labels':>8}{'random':>8}{'ratio':>7}{'covers':>8}{'random':>8}"
            f"{'lean':>7}{'random':>8}{'classes':>9}{'runs':>6}{'s':>6}"
        )
    for name in asked.cells.split(","):
        items = table(asked.data, name)
        for metric in asked.metrics.split(","):
            for within in widths:
                if not asked.live:
                    study(items, name, metric, within, asked.runs)
                    continue
                labels, held = live(items, metric, within, asked.live)
                print(f"{name} {metric} ±{within:g}, {asked.live} live: {labels:,.0f}, {held:.3f}")


if __name__ == "__main__":
    main()
