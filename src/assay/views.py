"""From a target's name to how it reads the labels: its view of the parts."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from assay.core.metrics import ratio, sides, subtract
from assay.core.types import Bools
from assay.errors import PredictionsError
from assay.goal import Goal
from assay.joint import Parts, View
from assay.targets import JointGoal, Target

__all__ = ["views_of"]


def views_of(goal: JointGoal, classifiers: Sequence[str], parts: Parts) -> tuple[View, ...]:
    """Return how each target of a goal reads the parts.

    Parameters
    ----------
    goal : JointGoal
    classifiers : sequence of str
        The k-th is that of bit k in the parts' codes.
    parts : Parts
        Of all items that any target needs labels of.

    Examples
    --------
    Two classifiers; the first part is of items that both say yes to.

    >>> parts = Parts(np.array([0, 1, 2]), np.array([3, 1, 2]), np.array([80.0, 20.0, 20.0]))
    >>> goal = JointGoal((Target("precision", "new", within=0.1),
    ...                   Target("precision", "new", minus="old", within=0.1)))
    >>> for view in views_of(goal, ["new", "old"], parts):
    ...     print(view.name, view.parts, view.stratum)
    precision:new [0 1] [0 1]
    precision:new - precision:old [1 2] [1 2]
    """
    return tuple(
        _view(target, each, classifiers, parts)
        for target, each in zip(goal.targets, goal.goals, strict=True)
    )


def _view(target: Target, goal: Goal, classifiers: Sequence[str], parts: Parts) -> View:
    names = [name for name in (target.classifier, target.minus) if name]
    numbers = [classifiers.index(name) for name in names]
    said = [parts.says_yes(number) for number in numbers]
    _refuse_undefined(target, said)
    counts = np.zeros(parts.size.size, dtype=np.bool_) if said else parts.size > 0
    for says in said:
        counts |= np.isin(says, sides(target.metric))
    # Parts of a stratum that its classifiers speak alike of are one; nothing else matters to it.
    key = 4 * parts.stratum + sum(says.astype(np.int64) << bit for bit, says in enumerate(said))
    order = np.flatnonzero(counts)[np.argsort(key[counts], kind="stable")]
    starts = np.flatnonzero(np.diff(key[order], prepend=-1))
    sizes = np.add.reduceat(parts.size[order], starts)
    forms = [
        ratio(
            target.metric,
            sizes,
            says[order][starts],
            items=parts.all_items,
            yes_items=parts.all_yes(number),
        )
        for says, number in zip(said, numbers, strict=True)
    ]
    if not forms:  # prevalence is the same whatever is said
        anything = np.ones(sizes.size, dtype=np.bool_)
        forms = [ratio(target.metric, sizes, anything, items=parts.all_items)]
    metric = subtract(*forms) if target.minus else forms[0]
    stratum = parts.stratum[order][starts]
    view = View(
        target.name, goal, metric, order, starts, stratum, sizes / parts.strata_sizes[stratum]
    )
    return _without_idle(view)


def _without_idle(view: View) -> View:
    """Return the view without the strata on which its classifiers do not differ."""
    counts = view.metric.counts
    length = np.diff(view.starts, append=view.parts.size)
    return replace(
        view,
        metric=view.metric.over(counts),
        parts=view.parts[np.repeat(counts, length)],
        starts=np.cumsum(length[counts]) - length[counts],
        stratum=view.stratum[counts],
        share=view.share[counts],
    )


def _refuse_undefined(target: Target, said: list[Bools]) -> None:
    """Raise where a metric has no value as one label is never predicted, or a difference is 0."""
    for name, says in zip((target.classifier, target.minus), said, strict=False):
        none, every = not says.any(), bool(says.all())
        if (none and target.metric in ("precision", "recall", "f1")) or (
            every and target.metric in ("recall", "false_omission_rate")
        ):
            what = "yes" if none else "no"
            raise PredictionsError(
                f"{name} says {what} to no item, so there is no {target.metric} to estimate",
                hint=f"check the predicted column of {name}, or leave {target.name} out",
            )
    if len(said) == 2 and np.array_equal(said[0], said[1]):
        raise PredictionsError(
            f"{target.classifier} and {target.minus} say the same of every item, "
            f"so {target.name} is 0",
            hint=f"check that their columns are not the same, or leave {target.name} out",
        )
