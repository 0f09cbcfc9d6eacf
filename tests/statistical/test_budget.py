"""A budget without widths: no target fares worse than with a simple random sample of its own.

Squared errors of simulated evaluations, against the variance of a simple random sample that has the
whole budget's size and is drawn only from the items that the target is about: a classifier's
yes-set for its precision, the union of both for a difference. Of a difference the sample is read in
the sharpest way, with the sizes of the cells known; the plain difference of the sample's two
precisions varies more.

A mean of R squared errors is known to about sqrt(2 / R), a fifth more as the tails are long.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from assay.core import allocation as allocate
from assay.core.design import Design
from assay.core.engine import explored_shares
from assay.core.goal import Goal
from assay.core.joint import Joint
from assay.core.joint_allocation import joint_allocation
from assay.core.procedures import Wanted
from assay.core.state import State
from assay.core.stratify import cell_strata, joint_of
from assay.core.targets import Target, parse_targets
from assay.core.types import Floats, Ints
from assay.simulation import Population, of_several, replay

MOST = 1.05


class Before(Joint):
    """The rule that was: labels for ±0.01, far beyond the budget, and each round made whole."""

    def plan(self, state: State, wanted: Wanted) -> Ints:
        now, asked = wanted.look(), wanted.cards
        sizes = self.parts.strata_sizes
        spread = np.zeros((*state.streak.shape, len(self.views), sizes.size))
        bound = np.zeros(spread.shape[:-1])
        for t, (view, each) in enumerate(zip(self.views, now.looks, strict=True)):
            shares = explored_shares(view.state(state).tallies, view.metric)
            spread[..., t, view.strata] = view.by_stratum(shares**2 / view.share)
            so_far = (spread[..., t, :] / np.maximum(state.dealt, 0.5)).sum(axis=-1)
            least = (spread[..., t, :] / sizes).sum(axis=-1)
            reach = np.maximum(each.half_width, 1.05 * 0.01)
            bound[..., t] = least + np.maximum(so_far - least, 1e-9) * (0.01 / reach) ** 2
        aim = joint_allocation(spread, bound, state.dealt, sizes).n - state.dealt
        unseen = np.minimum(state.room, 1.0) * (state.dealt == 0)
        first = allocate.round_to_total(unseen, np.minimum(asked, unseen.sum(axis=-1)), unseen)
        behind = np.maximum(aim - first, 0.0)
        rest = allocate.round_to_total(behind, asked - first.sum(axis=-1), state.room - first)
        return np.asarray(first + rest)


def of_a_random_sample(ensemble: Population, target: Target, labels: int) -> float:
    """Return the variance of a precision, or a difference, from `labels` of its items."""
    names = [name for name in (target.classifier, target.minus) if name]
    says = np.array([ensemble.says_yes(name) for name in names])
    about = says.any(axis=0)
    slope = says[0] / says[0].sum()
    if len(names) == 2:
        slope = slope - says[1] / says[1].sum()
    within = 0.0
    for each in np.unique(slope[about]):
        positive = ensemble.truth[about & (slope == each)].mean()
        cell = float((about & (slope == each)).sum())
        within += cell * each**2 * positive * (1 - positive)
    items = float(about.sum())
    return float((items / labels - 1) * items / (items - 1) * within)


def relative_errors(
    ensemble: Population,
    metrics: Sequence[str],
    labels: int,
    runs: int,
    *,
    kind: type[Joint] = Joint,
    within: float | None = None,
    asked: int = 60,
) -> Floats:
    """Return each target's mean squared error over the variance of its own random sample."""
    targets = parse_targets(metrics, ensemble.classifiers, within=within)
    goal = Goal(targets=targets, budget=labels)
    strata = cell_strata(ensemble, goal, Design())
    joint = joint_of(Design(), goal, strata)
    found = replay(
        *of_several(
            kind(joint.design, joint.parts, joint.views, joint.budget), ensemble.outcomes(strata)
        ),
        replications=runs,
        rng=np.random.default_rng([labels, 1]),
        asked=asked,
    )
    assert (found.labels == labels).all()
    truth = np.array([ensemble.value(target) for target in targets])
    errors = ((found.value - truth) ** 2).mean(axis=0)
    own = [of_a_random_sample(ensemble, replace(each, within=None), labels) for each in targets]
    return np.asarray(errors / np.array(own))


def made() -> Population:
    """Three classifiers that mostly agree, and are sure of most that they say."""
    rng = np.random.default_rng(11)
    own, common = rng.standard_normal((2, 20_000))
    truth = own + 0.3 * common > 0.3
    scores = {
        name: own + 0.25 * rng.standard_normal(20_000) for name in ("first", "second", "third")
    }
    said = {name: score > 0.35 for name, score in scores.items()}
    return Population(y_true=truth, y_pred=said, y_score=scores)


MADE = ["precision", "precision:first - precision:second"]


def test_no_target_is_left_behind_on_a_made_ensemble() -> None:
    ensemble = made()
    for within in (None, 0.01):  # a budget alone, and one that widths do not fit into
        assert relative_errors(ensemble, MADE, 300, 800, within=within).max() <= MOST
    assert relative_errors(ensemble, MADE, 300, 150, kind=Before, asked=20).max() > 1.3
