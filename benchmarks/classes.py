"""More than two classes: labels beside a random sample and beside the limit, and how often right.

    python -m benchmarks.classes DATA [--runs 400] [--cells news20_classes,cifar10_classes,arxiv15]
        [--metrics accuracy,macro_f1] [--within 0.02,0.01]

DATA is the folder of `news20_classes`, `cifar10_classes` and `arxiv15`. For accuracy and macro F1,
within 0.02 and 0.01, each alone: labels of the default design and of a random sample with the same
estimates and intervals, both from the same number of runs; the limit, which is what the best
allocation to as many strata with known rates takes, and the floor, which is what it takes to see
that what is clean is clean (`core.limits`), with labels over the larger of both; coverage, and the
least coverage of the intervals of every class's precision and recall at the end.

    python -m benchmarks.classes DATA --joint

All precisions and recalls of arxiv15's arg-max within 0.05: by one joint campaign, by one campaign
for each class, and by a random sample.

    python -m benchmarks.classes DATA --plan [--runs 200]

What `assay.plan` expects, before a label, of accuracy and macro F1 within 0.02: from the
probabilities of all classes, from the score of the predicted class alone, and if scores are too
sure; beside the labels that campaigns take with the truth.
"""

import argparse
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
import pyarrow.parquet as pq
from scipy.special import expit

from assay.core.design import Design
from assay.core.engine import look
from assay.core.goal import Goal
from assay.core.limits import LabelLimit, honest_limit
from assay.core.procedures import Procedure
from assay.core.state import State
from assay.core.stratify import cell_strata, joint_of, random_strata
from assay.core.targets import parse_targets
from assay.core.types import Floats, Ints
from assay.predictions import Predictions, from_arrays
from assay.simulation import Population
from assay.simulation.oracle import all_labelled, of_several
from assay.simulation.planning.advice import Costs
from assay.simulation.planning.plan import goal_of_classes, supposed_classes
from assay.simulation.planning.planner import ClassPlanner
from assay.simulation.runs import replay

NAMES = ("news20_classes", "cifar10_classes", "arxiv15")
SEED = 20261117
_BLOCK = 200
_SLACK = 1e-12


def arrays(folder: Path, name: str) -> dict[str, Any]:
    """Return items whose class is known, with the arg-max and its score; `y_prob` if there is."""
    table = pq.read_table(folder / f"{name}.parquet")
    if name != "arxiv15":
        number = sum(column.startswith("p_") for column in table.column_names)
        p = np.stack([table[f"p_{k}"].to_numpy() for k in range(number)], axis=1)
        said = table["predicted"].to_numpy()
        truth = table["label"].to_numpy()
        top = p[np.arange(len(said)), said].astype(np.float64)
        known = {"y_true": _texts(truth), "y_pred": _texts(said), "y_score": top}
        return {**known, "y_prob": p.astype(np.float64), "names": _texts(np.arange(number))}
    names = [column[6:] for column in table.column_names if column.startswith("score_")]
    score = np.stack([table[f"score_{each}"].to_numpy() for each in names], axis=1)
    label = np.stack([table[f"label_{each}"].to_numpy() for each in names], axis=1)
    classes = np.array([*names, "other"])
    truth = np.where(label.any(axis=1), label.argmax(axis=1), len(names))
    said = score.argmax(axis=1)
    top = score.max(axis=1).astype(np.float64)
    known = {"y_true": classes[truth], "y_pred": classes[said], "y_score": top}
    return {**known, "y_prob": expit(score.astype(np.float64)), "names": names}


def population(folder: Path, name: str) -> Population:
    """Return items whose class is known, with the arg-max and its score."""
    known = arrays(folder, name)
    return Population(**{key: known[key] for key in ("y_true", "y_pred", "y_score")})


def _texts(numbers: Ints) -> list[str]:
    return [str(number) for number in numbers.tolist()]


def fewest(procedure: Procedure, truth: Floats) -> LabelLimit:
    """Return the labels that one metric takes at least in these strata."""
    (view,) = procedure.views
    known, metric = all_labelled(procedure, truth)
    goal, rate = view.goal, known.x / known.N
    within = goal.within or 1.0
    return honest_limit(metric, known.N, rate, within=within, confidence=goal.confidence)


class Cell:
    """Evaluations of one goal by one design, many times."""

    def __init__(
        self, found: Population, metrics: list[str], within: float, *, random: bool
    ) -> None:
        targets = parse_targets(metrics, found.classifiers, within=within, classes=found.vocabulary)
        goal = Goal(targets=targets)
        strata = random_strata(found) if random else cell_strata(found, goal, Design())
        self.joint = joint_of(Design(), goal, strata)
        self.counts = found.outcomes(strata)
        tops = self.joint.tops
        self.truth = found.sets(strata, tops) if tops else self.counts
        self.values = [found.value(target) for target in targets]
        each = parse_targets(["precision", "recall"], found.classifiers, classes=found.vocabulary)
        whole = goal.targets[0].label == "" and not random
        self._classes = Goal(targets=each, budget=1) if whole else None
        views = joint_of(Design(), self._classes, strata).views if self._classes else ()
        self._views = [(view, found.value(view.name)) for view in views]
        self._held = np.zeros((len(self._views), 2))

    def run(self, runs: int, seed: int) -> dict[str, float]:
        """Return labels, coverage of the metrics, and the least coverage of a class's metric."""
        labels, held, lean = [], np.zeros(len(self.values)), 0.0
        for block, start in enumerate(range(0, runs, _BLOCK)):
            size = min(_BLOCK, runs - start)
            rng = np.random.default_rng([seed, block])
            ended = replay(
                *of_several(self.joint, self.truth), replications=size, rng=rng, ended=self._end
            )
            labels.append(ended.labels)
            for t, value in enumerate(self.values):
                low, high = ended.low[:, t] - _SLACK, ended.high[:, t] + _SLACK
                held[t] += ((low <= value) & (value <= high)).sum()
            lean += float((ended.value[:, 0] - self.values[0]).sum()) / runs
        every = np.concatenate(labels)
        told = {"labels": float(every.mean()), "se": float(every.std() / np.sqrt(runs))}
        told |= {"coverage": float(held.min() / runs), "lean": lean}
        if self._views:
            shares = self._held[:, 0] / np.maximum(self._held[:, 1], 1)
            told |= {"classes": float(shares.min()), "mean of classes": float(shares.mean())}
        return told

    def _end(self, _: Ints, state: State) -> None:
        for row, (view, value) in enumerate(self._views):
            mine, metric = view.seen(state)
            now = look(Design().beside, view.goal, metric, mine)
            held = (now.low - _SLACK <= value) & (value <= now.high + _SLACK)
            self._held[row] += held.sum(), held.size


def alone(
    folder: Path, names: list[str], goals: list[tuple[str, float]], runs: int, random_runs: int
) -> None:
    """Print a line for each file, metric and half-width."""
    print(
        f"{'cell':38}{'labels':>8}{'random':>8}{'ratio':>7}{'limit':>7}{'floor':>7}{'of both':>9}"
        f"{'covers':>8}{'random':>8}{'classes least':>14}{'mean':>7}{'runs':>6}{'s':>6}"
    )
    for name in names:
        found = population(folder, name)
        for metric, within in goals:
            began = perf_counter()
            ours = Cell(found, [metric], within, random=False)
            told = ours.run(runs, SEED)
            beside = Cell(found, [metric], within, random=True).run(random_runs, SEED)
            limit = fewest(of_several(ours.joint, ours.truth)[0], ours.counts)
            cell = f"{name} {metric} ±{within:g}"
            print(
                f"{cell:38}{told['labels']:8,.0f}{beside['labels']:8,.0f}"
                f"{told['labels'] / beside['labels']:7.2f}{limit.design:7,.0f}{limit.clean:7,.0f}"
                f"{told['labels'] / limit.labels:9.2f}{told['coverage']:8.3f}"
                f"{beside['coverage']:8.3f}{told['classes']:14.3f}"
                f"{told['mean of classes']:7.3f}{runs:6}{perf_counter() - began:6.0f}",
                flush=True,
            )


def together(folder: Path, runs: int) -> None:
    """Print the labels for all precisions and recalls of arxiv15, in three ways."""
    found = population(folder, "arxiv15")
    names = [f"{metric}:{each}" for each in found.classes for metric in ("precision", "recall")]
    joint = Cell(found, names, 0.05, random=False).run(runs, SEED)
    print(
        f"one joint campaign: {joint['labels']:,.0f} labels, least coverage {joint['coverage']:.3f}"
    )
    total = 0.0
    for each in found.classes:
        own = [f"precision:{each}", f"recall:{each}"]
        told = Cell(found, own, 0.05, random=False).run(runs, SEED)
        total += told["labels"]
        print(f"{each} alone: {told['labels']:,.0f} labels, {told['coverage']:.3f}", flush=True)
    print(f"one campaign for each class: {total:,.0f} labels")
    at_random = Cell(found, names, 0.05, random=True).run(min(runs, 3), SEED)
    print(f"a random sample: {at_random['labels']:,.0f} labels")


def planned(folder: Path, names: list[str], runs: int) -> None:
    """Print what a plan expects, beside what campaigns take."""
    print(f"{'cell':34}{'campaigns':>10}{'probabilities':>15}{'score':>8}{'too sure':>10}{'s':>6}")
    for name in names:
        known = arrays(folder, name)
        del known["y_true"], known["names"]
        prob = known.pop("y_prob") if name != "arxiv15" else None
        alone = from_arrays(**known)
        ways = [alone]
        if prob is not None:
            every = [str(number) for number in range(prob.shape[1])]
            ways.insert(0, from_arrays(y_pred=known["y_pred"], y_prob=prob, classes=every))
        found = population(folder, name)
        for metric in ("accuracy", "macro_f1"):
            began = perf_counter()
            true = Cell(found, [metric], 0.02, random=False).run(runs, SEED)["labels"]
            told = [_expected(each, metric) for each in ways]
            first = f"{told[0][0]:,.0f}" if prob is not None else "–"
            print(
                f"{f'{name} {metric} ±0.02':34}{true:10,.0f}{first:>15}{told[-1][0]:8,.0f}"
                f"{told[0][1]:10,.0f}{perf_counter() - began:6.0f}",
                flush=True,
            )


def _expected(found: Predictions, metric: str) -> list[float]:
    """Return the labels of the default design under both readings."""
    goal, costs = goal_of_classes(found, metric, 0.02, None, 0.95), Costs(50, SEED)
    planner = ClassPlanner(goal, costs, supposed_classes(found, None, SEED))
    return [costs.labels(each, Design(), goal).mean for *_, each in planner.suppositions()]


def main() -> None:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("data", type=Path)
    parser.add_argument("--runs", type=int, default=400)
    parser.add_argument("--random-runs", type=int, default=200)
    parser.add_argument("--cells", default=",".join(NAMES))
    parser.add_argument("--metrics", default="accuracy,macro_f1")
    parser.add_argument("--within", default="0.02,0.01")
    parser.add_argument("--joint", action="store_true")
    parser.add_argument("--plan", action="store_true")
    asked = parser.parse_args()
    if asked.joint:
        together(asked.data, asked.runs)
    elif asked.plan:
        planned(asked.data, asked.cells.split(","), asked.runs)
    else:
        widths = [float(within) for within in asked.within.split(",")]
        goals = [(metric, within) for metric in asked.metrics.split(",") for within in widths]
        alone(asked.data, asked.cells.split(","), goals, asked.runs, asked.random_runs)


if __name__ == "__main__":
    main()
