"""How often a design is right, whatever the scores look like, and what it costs.

A million predicted positives of precision p whose errors lie in six ways over the score (shapes),
and, with ``--data DIR``, the real classifiers there. Each cell runs `REPLICATIONS` evaluations
through the campaign's own loop, in batches of 20, to an interval of half-width delta at 95%.
The standard error of a share near 0.95 is 0.007.

Run with ``python benchmarks/coverage.py [--full] [--data DIR]``; ``--full`` adds the whole grid of
precisions and deltas for `Design()`, at 2,000 runs a cell (half an hour on two cores).
"""

import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq

from assay.core.types import Floats
from assay.design import Design, Goal
from assay.simulation import Population, Runs, Task, run_tasks

REPLICATIONS = 1000
CELLS = (
    (0.7, 0.02),
    (0.9, 0.01),
    (0.9, 0.03),
    (0.95, 0.01),
    (0.97, 0.01),
    (0.97, 0.02),
    (0.99, 0.01),
)
DESIGNS = {
    "Bennett and Carvalho (perc, opt)": Design.bennett_carvalho(),
    "simple random sampling": Design.simple_random(),
    "`Design()`": Design(),
}
RANKS = (np.arange(100_000) + 0.5) / 100_000  # of the score, lowest first


def shapes(error: float) -> dict[str, Floats]:
    """Return the chance of an error at every rank of the score, by shape."""
    pocket = np.where((RANKS > 0.9) & (RANKS < 0.93), 0.5 * error / 0.03, 0.0)
    falling = (1 - RANKS) ** 3
    rest = max(error - np.minimum(pocket, 0.9).mean(), 0.0)
    return {
        "mass at the top": scaled((1 - RANKS) ** 3, error),
        "uniform": scaled((1 - RANKS) ** 2, error),
        "mass at the threshold": scaled(np.exp(-6 * RANKS), error),
        "not monotone": scaled(0.3 + np.sin(3 * np.pi * RANKS) ** 2, error),
        "a dirty pocket": np.minimum(pocket, 0.9) + scaled(np.where(pocket > 0, 0, falling), rest),
        "no signal": np.full_like(RANKS, error),
    }


def scaled(shape: Floats, mean: float) -> Floats:
    """Return rates in proportion to the shape, none above 1, with this mean."""
    rates = np.zeros_like(shape)
    for _ in range(60):
        able = np.where(rates < 1, shape, 0.0)
        rates = np.minimum(rates + able * (mean - rates.mean()) / able.mean(), 1.0)
    return rates


def generated(error: float) -> Iterator[tuple[str, Population]]:
    """Yield a population of every shape."""
    for name, rates in shapes(error).items():
        rng = np.random.default_rng(0)
        score = np.repeat(RANKS, 10)
        right = rng.random(score.size) >= np.repeat(rates, 10)
        yield name, Population(y_true=right, y_score=score, threshold=0.0)


def real(folder: Path) -> Iterator[tuple[str, str, Population]]:
    """Yield the classifiers of the real populations, with a metric each is evaluated by."""
    for file in sorted(folder.glob("*.parquet")):
        columns = pq.read_schema(file).names
        for name in (column[6:] for column in columns if column.startswith("score_")):
            label = f"label_{name}" if f"label_{name}" in columns else "label"
            population = Population.read(
                file, label=label, score=f"score_{name}", predicted=f"pred_{name}"
            )
            for metric in ("precision", "accuracy"):
                yield f"{file.stem} {name}", metric, population


def coverage(runs: Runs, truth: float) -> float:
    """Return the share of runs whose interval holds the truth."""
    return float(np.mean((runs.low <= truth) & (truth <= runs.high)))


def grid() -> None:
    """Print a row for each precision, delta and design: labels, and the worst of the shapes."""
    print("| precision | ±delta | design | labels | least coverage | shape |")
    print("|---|---|---|---|---|---|")
    for p, delta in CELLS:
        populations = dict(generated(1 - p))
        goal = Goal("precision", within=delta)
        for name, design in DESIGNS.items():
            tasks = [
                Task(shape, population.frame(design, "precision"), design, goal)
                for shape, population in populations.items()
            ]
            found = run_tasks(tasks, replications=REPLICATIONS, seed=1)
            rows = [
                (coverage(runs, task.frame.value), task.name, runs.labels.mean())
                for task, runs in zip(tasks, found, strict=True)
                if runs is not None
            ]
            worst, shape, _ = min(rows)
            labels = np.mean([row[2] for row in rows])
            print(f"| {p} | {delta} | {name} | {labels:.0f} | {worst:.3f} | {shape} |", flush=True)


def whole_grid() -> None:
    """Print the least coverage of `Design()` over the shapes, for every precision and delta."""
    deltas = (0.005, 0.01, 0.02, 0.03, 0.05)
    print("\n| precision | " + " | ".join(f"±{delta}" for delta in deltas) + " |")
    print("|---" * (1 + len(deltas)) + "|")
    every: list[float] = []
    for p in (0.5, 0.7, 0.9, 0.95, 0.97, 0.98, 0.99, 0.995, 0.999):
        frames = [(name, made.frame(Design(), "precision")) for name, made in generated(1 - p)]
        texts = []
        for delta in deltas:
            if delta >= 1 - p and p < 0.99:
                texts.append("")
                continue
            goal = Goal("precision", within=delta)
            tasks = [Task(name, frame, Design(), goal) for name, frame in frames]
            found = run_tasks(tasks, replications=2 * REPLICATIONS, seed=2)
            pairs = [
                (task, runs) for task, runs in zip(tasks, found, strict=True) if runs is not None
            ]
            covered = [coverage(runs, task.frame.value) for task, runs in pairs]
            labels = np.mean([runs.labels.mean() for _, runs in pairs])
            every += covered
            texts.append(f"{min(covered):.3f} ({labels:,.0f})")
        print(f"| {p} | " + " | ".join(texts) + " |", flush=True)
    low = np.quantile(every, 0.05)
    print(f"\n{len(every)} cells: least {min(every):.4f}, 5% quantile {low:.4f}")


def other_confidences() -> None:
    """Print the least coverage of `Design()` over all cells and shapes at other confidences."""
    print("\n| confidence | least coverage | precision, delta, shape |\n|---|---|---|")
    frames = {
        (p, shape): made.frame(Design(), "precision")
        for p in sorted({p for p, _ in CELLS})
        for shape, made in generated(1 - p)
    }
    for confidence in (0.8, 0.9, 0.99):
        tasks = [
            Task(
                f"{p}, {delta}, {shape}",
                frame,
                Design(),
                Goal("precision", delta, None, confidence),
            )
            for (p, shape), frame in frames.items()
            for precision, delta in CELLS
            if precision == p
        ]
        found = run_tasks(tasks, replications=REPLICATIONS, seed=4)
        rows = [
            (coverage(runs, task.frame.value), task.name)
            for task, runs in zip(tasks, found, strict=True)
            if runs is not None
        ]
        print(f"| {confidence} | {min(rows)[0]:.3f} | {min(rows)[1]} |", flush=True)


def on_real_data(folder: Path, design: Design) -> None:
    """Print labels and coverage on real classifiers, against random sampling's labels."""
    print("\n| classifier | metric | value | ±delta | labels / n_W | limit | coverage |")
    print("|---|---|---|---|---|---|---|")
    shares = []
    for name, metric, population in real(folder):
        frame, value = population.frame(design, metric), population.value(metric)
        for delta in (0.03, 0.02, 0.01):
            if delta >= 1 - value or (
                metric == "precision" and population.predicted_positives < 5000
            ):
                continue
            task = Task(name, frame, design, Goal(metric, within=delta))
            (runs,) = run_tasks([task], replications=REPLICATIONS, seed=1, workers=1)
            if runs is None:
                continue
            share = runs.labels.mean() / (1.9599640**2 * value * (1 - value) / delta**2)
            shares.append((share, coverage(runs, frame.value)))
            print(
                f"| {name} | {metric} | {value:.4f} | {delta} | {share:.2f} | "
                f"{population.limit(metric):.2f} | {shares[-1][1]:.3f} |",
                flush=True,
            )
    mean, least = np.mean([share for share, _ in shares]), min(held for _, held in shares)
    drawn = "with" if design.replacement else "without"
    print(
        f"\n{drawn} replacement: mean labels / n_W {mean:.3f}; "
        f"least coverage {least:.3f} in {len(shares)} cells"
    )


def other_metrics(folder: Path) -> None:
    """Print coverage of `Design()` for recall, F1, prevalence and the false omission rate."""
    print(
        "\n| classifier | metric | value | ±delta | labels | coverage |\n|---|---|---|---|---|---|"
    )
    chosen = {"arxiv15 stat", "covtype_binary hgb", "news20_binary logreg", "offensive_mix cnn"}
    every = []
    for name, metric, population in real(folder):
        if name not in chosen or metric != "accuracy":
            continue
        for other in ("recall", "f1", "prevalence", "false_omission_rate"):
            frame = population.frame(Design(), other)
            for delta in (0.05, 0.03):
                task = Task(name, frame, Design(), Goal(other, within=delta))
                (runs,) = run_tasks([task], replications=REPLICATIONS, seed=3, workers=1)
                if runs is None:
                    continue
                every.append(coverage(runs, frame.value))
                print(
                    f"| {name} | {other} | {frame.value:.3f} | {delta} | "
                    f"{runs.labels.mean():.0f} | {every[-1]:.3f} |",
                    flush=True,
                )
    print(f"\nleast coverage {min(every):.3f} in {len(every)} cells")


if __name__ == "__main__":
    grid()
    if "--full" in sys.argv:
        whole_grid()
        other_confidences()
    if "--data" in sys.argv:
        folder = Path(sys.argv[sys.argv.index("--data") + 1])
        on_real_data(folder, Design())
        on_real_data(folder, replace(Design(), replacement=True))
        other_metrics(folder)
