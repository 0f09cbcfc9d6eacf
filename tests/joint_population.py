"""Made populations of several classifiers, in strata that straddle what they say, and the truth."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from assay.core.design import Design
from assay.core.goal import Goal
from assay.core.joint import Joint
from assay.core.metrics import METRICS
from assay.core.parts import Parts
from assay.core.procedures import Wanted
from assay.core.state import JointLook, State
from assay.core.stopping import Reason
from assay.core.targets import parse_targets
from assay.core.types import Bools, Floats, Ints
from assay.core.views import views_of
from tests.sklearn_metrics import SKLEARN


@dataclass(frozen=True, eq=False)
class Made:
    """What each classifier says of every item, the truth, and the strata as people counted them."""

    said: dict[str, Bools]
    truth: Bools
    parts: Parts
    outcomes: Floats  # the positives of each part

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self.said)

    def exact(self, name: str) -> float:
        return exact(name, self.said, self.truth)

    def joint(
        self,
        metrics: Iterable[str] | Mapping[str, float],
        *,
        within: float | None = None,
        budget: int | None = None,
        design: Design | None = None,
    ) -> Joint:
        goal = Goal(targets=parse_targets(metrics, self.names, within=within), budget=budget)
        views = views_of(goal, self.names, self.parts)
        return Joint(design or Design(), self.parts, views, budget)


def make(seed: int, *, size: int, classifiers: int, heaps: int | None, wrong: float = 0.1) -> Made:
    """Return a population whose cells are put together into so many heaps at random.

    The k-th classifier is wrong about `wrong` * k of the items. None: every cell is a stratum.
    """
    rng = np.random.default_rng(seed)
    truth = rng.random(size) < 0.35
    names = "abcde"[:classifiers]
    said = {name: truth ^ (rng.random(size) < wrong * k) for k, name in enumerate(names, start=1)}
    heap = None if heaps is None else rng.permutation(2**classifiers) % heaps
    return counted(said, truth, heap)


def counted(said: dict[str, Bools], truth: Bools, heap: Ints | None = None) -> Made:
    """Return what was said and the truth with its parts; `heap` has the heap of each code."""
    code = np.zeros(truth.size, dtype=np.int64)
    for bit, says in enumerate(said.values()):
        code += says.astype(np.int64) << bit
    _, stratum = np.unique(code if heap is None else heap[code], return_inverse=True)
    pairs, part = np.unique(np.stack([stratum, code]), axis=1, return_inverse=True)
    items, positives = (
        np.bincount(which, minlength=pairs.shape[1]).astype(np.float64)
        for which in (part, part[truth])
    )
    return Made(said, truth, Parts(pairs[0], pairs[1], items), positives)


def exact(name: str, said: Mapping[str, Bools], truth: Bools) -> float:
    """Return a target's true value, by scikit-learn."""
    if " - " in name:
        first, second = name.split(" - ")
        return exact(first, said, truth) - exact(second, said, truth)
    metric, _, classifier = name.partition(":")
    return float(SKLEARN[metric](truth, said.get(classifier, truth)))


def every_target(names: Iterable[str]) -> list[str]:
    """Return each metric of each classifier, and its difference from that of each other one."""
    names = list(names)
    metrics = [metric for metric in METRICS if metric != "prevalence"]
    alone = [f"{metric}:{name}" for metric in metrics for name in names]
    pairs = [
        f"{metric}:{one} - {metric}:{other}"
        for metric in metrics
        for one in names
        for other in names
        if one != other
    ]
    return ["prevalence", *alone, *pairs]


def planned(joint: Joint, state: State, now: JointLook, asked: int) -> Ints:
    """Return the cards of the next round; nothing of its plan is random."""
    return joint.plan(state, Wanted(asked, np.random.default_rng(0), lambda: now))


def step(joint: Joint, state: State, *, asked: int) -> tuple[JointLook, Ints]:
    """Look, then plan; evaluations that are over get no more cards."""
    now = joint.look(state)
    goes_on = now.reason == Reason.GO_ON
    return now, np.where(goes_on[..., None], planned(joint, state, now, asked), 0)
