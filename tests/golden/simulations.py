"""Simulations of every design by seed: labels, estimate and interval of each run."""

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache, partial
from typing import Any

import numpy as np
import pytest
from scipy.special import expit

import assay
from assay import Population, simulate
from assay.simulation import DESIGN_NAMES, run_tasks

RUNS: dict[str, Any] = {"replications": 5, "seed": 3, "workers": 1, "batch": 7}
TOPICS = np.array(["bio", "cs", "math", "physics"])
FIELDS = ("labels", "reason", "value", "variance", "low", "high")


@cache
def scored(size: int = 1_500, *, aux: bool = False) -> Population:
    """Items with a score, and maybe a second opinion that knows more."""
    rng = np.random.default_rng(1)
    quality = rng.normal(size=size)
    score = expit(quality + rng.normal(size=size)).round(4)
    truth = rng.random(size) < expit(4 * quality)
    judge = {"judge": quality + 0.2 * rng.normal(size=size)} if aux else None
    return Population(y_true=truth, y_score=score, threshold=0.5, aux=judge)


@cache
def several(*, scores: bool = False) -> Population:
    """Three classifiers of the same items."""
    rng = np.random.default_rng(2)
    truth = rng.random(2_000) < 0.3
    quality = np.where(truth, 1.0, -1.0)
    score = {name: expit(quality + rng.normal(size=2_000)) for name in ("new", "old", "tree")}
    said = {name: each >= 0.5 for name, each in score.items()}
    return Population(y_true=truth, y_pred=said, y_score=score if scores else None)


@cache
def classes() -> Population:
    """Items of four classes, with the score of the predicted one."""
    rng = np.random.default_rng(4)
    score = rng.uniform(0.4, 1, 1_500)
    truth = rng.choice(4, 1_500, p=[0.1, 0.2, 0.4, 0.3])
    said = np.where(rng.random(1_500) < score, truth, rng.integers(0, 4, 1_500))
    return Population(y_true=TOPICS[truth], y_pred=TOPICS[said], y_score=score)


@cache
def multilabel() -> Population:
    """Items that have several classes, one or none."""
    rng = np.random.default_rng(5)
    truth = rng.random((1_500, 4)) < 0.3
    said = truth ^ (rng.random((1_500, 4)) < 0.15)
    columns = {f"is_{name}": truth[:, place] for place, name in enumerate(TOPICS)}
    columns |= {f"said_{name}": said[:, place] for place, name in enumerate(TOPICS)}
    return Population.read(columns, label="is_*", predicted="said_*", multilabel=True)


@contextmanager
def watched() -> Iterator[dict[str, Any]]:
    """Collect the runs of every task by place and name."""
    found: dict[str, Any] = {}

    def run(tasks: Sequence[Any], **asked: Any) -> Any:
        result = run_tasks(tasks, **asked)
        for place, (task, runs) in enumerate(zip(tasks, result, strict=True)):
            name = f"{place} {getattr(task, 'name', '')}".strip()  # paper 3's have no names
            found[name] = {field: vars(runs)[field].T for field in FIELDS}
        return result

    users = [
        module
        for name, module in sys.modules.items()
        if name.startswith("assay.simulation.") and name != run_tasks.__module__
    ]
    with pytest.MonkeyPatch.context() as patch:
        for module in users:
            if vars(module).get("run_tasks") is run_tasks:
                patch.setattr(module, "run_tasks", run)
        yield found


def simulated(make: Callable[[], Population], **asked: Any) -> Any:
    """Facts and rows of a simulation, and its runs."""
    with watched() as runs:
        result = simulate(make(), **RUNS | asked).to_dict()
    assert runs
    return {"population": result["population"], "rows": result["rows"], "runs": runs}


def planned(**asked: Any) -> Any:
    return assay.plan(table(), **{"replications": 4, "seed": 3, **asked}).to_dict()


def table() -> dict[str, Any]:
    rng = np.random.default_rng(6)
    score = rng.beta(0.5, 1, (2, 400)).round(4)
    return {"p": score[0], "q": score[1], "topic": TOPICS[rng.integers(0, 4, 400)]}


BUDGET_ALONE = [name for name in DESIGN_NAMES if name == "fixed" or name.endswith("opt-a1")]
WIDTH = [name for name in DESIGN_NAMES if name not in BUDGET_ALONE]
ONE: dict[str, dict[str, Any]] = {
    "designs with a width": {"designs": WIDTH, "within": 0.08},
    "designs with a budget": {"designs": BUDGET_ALONE, "budget": 90},
}
JOINT: dict[str, Any] = {"metrics": ["precision:new", "recall:old", "f1:new - f1:tree"]}
CLASSES: dict[str, Any] = {"metrics": ["accuracy", "macro_f1", "recall:bio"]}
FLOORS = ("precision >= 0.8", "recall >= 0.7", "precision >= 0.6 and recall >= 0.3")
DEFAULT: dict[str, Any] = {"designs": ["default"]}
JOINTLY: dict[str, Any] = {"designs": ["joint", "centred"]}
OPINED = partial(scored, aux=True)
RANKED = partial(several, scores=True)
SCORE: dict[str, Any] = {"score": "p", "threshold": 0.4}
CASES: dict[str, tuple[Callable[[], Population], dict[str, Any]]] = {
    **{
        f"{name}, {metric}": (scored, {**asked, "metric": metric})
        for name, asked in ONE.items()
        for metric in ("precision", "accuracy")
    },
    "modes, f1": (scored, {"designs": ["default", "centred"], "metric": "f1", "within": 0.08}),
    **{
        f"budgets, {metric}": (scored, {**DEFAULT, "metric": metric, "budget": [40, 80]})
        for metric in ("recall", "specificity", "balanced_accuracy", "matthews_correlation")
    },
    "confidence": (scored, {"metric": "recall", "within": 0.1, "confidence": 0.8, "bins": 5}),
    "at least": (scored, {"at_least": 0.7, "budget": 300}),
    "second opinion": (OPINED, {**DEFAULT, "metric": "accuracy", "within": 0.06}),
    "second opinion, guaranteed": (
        OPINED, {"designs": ["guaranteed"], "metric": "accuracy", "budget": 100}
    ),
    **{
        f"threshold for {question}": (scored, {"threshold_for": question, "budget": 150})
        for question in FLOORS
    },
    "several": (several, {**JOINT, "within": 0.12}),
    "several, scores": (RANKED, {**JOINT, **JOINTLY, "within": 0.2, "batch": 20}),
    "several, simultaneous": (
        several, {"metrics": ["precision"], "within": 0.1, "simultaneous": True, "assume": 0.7}
    ),
    "several, budget": (several, {"metrics": ["accuracy:new", "prevalence"], "budget": [90, 200]}),
    "classes": (classes, {**CLASSES, **JOINTLY, "within": 0.15, "batch": 20}),
    "classes, budget": (classes, {**CLASSES, "designs": ["fixed"], "budget": 60, "batch": 20}),
    "multilabel": (multilabel, {"metrics": ["precision", "f1:cs"], "within": 0.15, "batch": 20}),
}  # fmt: skip
PLANS: dict[str, dict[str, Any]] = {
    "plan": {**SCORE, "metric": "recall", "within": 0.15},
    "plan, budget": {**SCORE, "metric": "precision", "budget": 80},
    "plan, judge": {**SCORE, "within": 0.1, "aux": ["q"], "judge_cost": 0.01, "label_cost": 1.0},
    "plan, classes": {"predicted": "topic", "score": "p", "within": 0.1},
    "plan, threshold": {"score": "p", "threshold_for": "precision >= 0.8", "budget": 200},
}
SIMULATIONS: dict[str, Callable[[], Any]] = {
    **{name: partial(simulated, make, **asked) for name, (make, asked) in CASES.items()},
    **{name: partial(planned, **asked) for name, asked in PLANS.items()},
}
