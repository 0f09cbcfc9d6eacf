"""Curves of populations: how often their bands hold everywhere, and how wide they are.

``python benchmarks/curve.py FOLDER [RUNS] [METRIC] [NAME ...]``, FOLDER with the populations of
``data/README.md``. Beside the same band from a random sample of as many labels it prints the
bootstrap's, which is what a random sample is usually given, and which does not hold.

``python benchmarks/curve.py --rare [RUNS] [METRIC]``: made populations with classes of 0.5, 2, 10
and 50%, a nearly perfect and a poor classifier, 200, 400 and 800 labels. `worst` is the threshold
whose own interval holds least often.

``python benchmarks/curve.py --live [RUNS] [METRIC]``: the poor classifier of a class of 10% again,
400 labels, by campaigns that ask and tell.
"""

import sys
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq

import assay
from assay.core.bins import CURVES
from assay.core.curve import simultaneous
from assay.core.types import Floats
from assay.simulation import Population, simulate_curves

POPULATIONS = {
    "news20": ("news20_binary", "score_logreg", "label"),
    "trec07": ("trec07_spam", "score_nb", "label"),
    "math": ("arxiv15", "score_math", "label_math"),
}
BUDGET = 800
SHARES, LABELS = (0.005, 0.02, 0.1, 0.5), (200, 400, 800)
GAPS = {"perfect": 8.0, "poor": 0.507}  # standard deviations between the classes; areas 1 and 0.64
_BOOTSTRAPS = 20  # random samples, each resampled 2,000 times


def main(folder: Path, runs: int, metric: str, names: list[str]) -> None:
    """Print a table for each population."""
    for name in names:
        file, score, label = POPULATIONS[name]
        table = pq.read_table(folder / f"{file}.parquet", columns=[score, label])
        scores = table[score].to_numpy().astype(np.float64)
        truth = table[label].to_numpy(zero_copy_only=False).astype(np.bool_)
        population = Population(y_true=truth, y_score=scores, threshold=0.0)
        found = simulate_curves(population, metric=metric, budget=BUDGET, replications=runs, seed=1)
        boot = bootstrap(scores, truth)
        random, default = found.rows
        print(f"{name}, {metric}, {BUDGET} labels, {runs} runs")
        print("metric        holds  pointwise   width  ratio  (random holds)  bootstrap  (holds)")
        for each in default.width:
            width, held = boot[each]
            print(
                f"{each:12} {default.coverage[each]:6.3f} {default.pointwise[each]:10.3f} "
                f"{default.width[each]:7.4f} {found.ratio[each]:6.2f} "
                f"{random.coverage[each]:15.3f} {default.width[each] / width:10.2f} {held:8.2f}"
            )
        for area, held in default.areas.items():
            print(f"{area:18} covers {held:.3f}, random {random.areas[area]:.3f}")
        print(flush=True)


def rare(runs: int, metric: str) -> None:
    """Print a row for each share of positives, classifier and number of labels."""
    print(f"{metric}, {runs} runs: pointwise, worst threshold and band of each; areas")
    for share, (name, gap), labels in product(SHARES, GAPS.items(), LABELS):
        found = simulate_curves(
            made(share, gap),
            metric=metric,
            budget=labels,
            replications=runs,
            seed=1,
            draws=400,
            thresholds=48,
            random=False,
        )
        (row,) = found.rows
        each = "  ".join(
            f"{metric} {row.pointwise[metric]:.3f} {row.least[metric]:.3f} "
            f"{row.coverage[metric]:.3f} (width {row.width[metric]:.3f})"
            for metric in CURVES
        )
        areas = "  ".join(f"{area} {held:.3f}" for area, held in row.areas.items())
        print(f"{share:5.1%} {name:7} {labels:3}  {each}  {areas}", flush=True)


def made(share: float, gap: float) -> Population:
    """Return a population with normal scores in both classes, and so many of them positive."""
    truth, scores, threshold = normal(share, gap)
    return Population(y_true=truth, y_score=scores, threshold=threshold)


def normal(share: float, gap: float, size: int = 20_000) -> tuple[Any, Floats, float]:
    """Return the truth, the scores, and the threshold that calls as many positive as are."""
    truth = np.arange(size) < round(share * size)
    scores = np.random.default_rng(0).normal(size=size) + gap * truth
    return truth, scores, float(np.quantile(scores, 1 - share))


def live(runs: int, metric: str, labels: int = 400) -> None:
    """Print how often curves of campaigns hold, by ask and tell."""
    truth, scores, threshold = normal(0.1, GAPS["poor"])
    asked: dict[str, Any] = {"score": "p", "threshold": threshold, "metric": metric}
    order = np.argsort(scores)
    hits, yes = truth[order][::-1].cumsum()[::-1], np.arange(truth.size, 0, -1)
    known = _metrics(hits, yes, truth.sum(), truth.size)
    one: dict[str, Any] = {"metric": metric, "budget": labels, "replications": 1, "random": False}
    areas = simulate_curves(made(0.1, GAPS["poor"]), **one).population
    held: dict[str, list[float]] = {}
    for seed in range(runs):
        campaign = assay.create_campaign({"p": scores}, **asked, budget=labels, seed=seed)
        while not campaign.done:
            campaign.tell({item.id: bool(truth[int(item.id)]) for item in campaign.ask(20)})
        curve = campaign.curve()
        inner = [p for p in curve.points if curve.band_from <= p.threshold <= curve.band_to]
        at = np.searchsorted(scores[order], [p.threshold for p in inner])
        items = -np.diff([p.items for p in inner], append=0)
        for name in CURVES:
            each, value = [p.metrics[name] for p in inner], known[name][at]
            own = _inside([v.low for v in each], value, [v.high for v in each])
            band = _inside([v.band_low for v in each], value, [v.band_high for v in each])
            held.setdefault(f"{name} pointwise", []).append(float(np.average(own, weights=items)))
            held.setdefault(f"{name} band", []).append(float(band.all()))
        for name, area in curve.areas.items():
            held.setdefault(name, []).append(area.low <= areas[name] <= area.high)
    print(f"10.0% poor {labels}, {metric}, {runs} live")
    print("  ".join(f"{name} {np.mean(each):.3f}" for name, each in held.items()))


def _inside(low: Any, value: Any, high: Any) -> Any:
    return (np.array(low) <= value + 1e-9) & (value - 1e-9 <= np.array(high))


def bootstrap(score: Floats, truth: Any) -> dict[str, tuple[float, float]]:
    """Return the mean width of a bootstrapped band, and how often it holds, by metric."""
    rng = np.random.default_rng(1)
    order = np.argsort(score, kind="stable")
    truth = truth[order].astype(np.float64)
    yes = np.arange(truth.size, 0, -1)
    hits = truth[::-1].cumsum()[::-1]
    known = _metrics(hits, yes, truth.sum(), truth.size)
    seen: dict[str, list[tuple[float, bool]]] = {name: [] for name in CURVES}
    quantiles = (np.linspace(0.01, 0.99, 120) * truth.size).astype(np.int64)
    for _ in range(_BOOTSTRAPS):
        drawn = np.sort(rng.choice(truth.size, BUDGET, replace=False))
        at = np.unique(np.searchsorted(drawn, quantiles).clip(0, BUDGET - 1))
        weight = rng.multinomial(BUDGET, np.full(BUDGET, 1 / BUDGET), size=2000)
        above = weight[:, ::-1].cumsum(axis=1)[:, ::-1][:, at]
        found = weight * truth[drawn]
        right = found[:, ::-1].cumsum(axis=1)[:, ::-1][:, at]
        every = found.sum(axis=1)[:, None]
        for name, values in _metrics(right, np.maximum(above, 1), every, BUDGET).items():
            low, high = simultaneous(values, values, 0.95)
            true = known[name][drawn[at]]
            seen[name].append(
                (float((high - low).mean()), bool(((low <= true) & (true <= high)).all()))
            )
    return {
        name: (float(np.mean([w for w, _ in each])), float(np.mean([h for _, h in each])))
        for name, each in seen.items()
    }


def _metrics(hits: Any, yes: Any, positives: Any, size: int) -> dict[str, Any]:
    return {
        "precision": hits / yes,
        "recall": hits / positives,
        "f1": 2 * hits / (yes + positives),
        "specificity": 1 - (yes - hits) / (size - positives),
    }


if __name__ == "__main__":
    _, where, *more = sys.argv
    runs = int(more[0]) if more else 400
    if where in ("--rare", "--live"):
        (rare if where == "--rare" else live)(runs, more[1] if len(more) > 1 else "recall")
    else:
        metric = more[1] if len(more) > 1 else "accuracy"
        main(Path(where), runs, metric, more[2:] or list(POPULATIONS))
