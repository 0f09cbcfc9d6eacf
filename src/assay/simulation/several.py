"""Simulation of several classifiers' metrics, design by design: `simulate_several`."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from operator import itemgetter
from typing import Any

import numpy as np

from assay.core.design import Design
from assay.core.goal import JointGoal, Target, between, one_of, parse_targets, whole
from assay.core.stratify import cell_strata, joint_of
from assay.core.types import Floats
from assay.errors import DesignError, did_you_mean
from assay.results import html_block, html_remarks, html_table
from assay.simulation.ensemble import Ensemble
from assay.simulation.joint_replay import replay_jointly
from assay.simulation.recycling.designs import FIXED, SharedSamples
from assay.simulation.recycling.route import Route, choose_parent
from assay.simulation.recycling.sizes import Sizes, plan_sizes
from assay.simulation.workers import Replay, SeveralRuns, run_blocks

SEVERAL_DESIGNS = (*FIXED, "joint")

_BASELINE = "independent"


@dataclass(frozen=True)
class TargetRow:
    """How one design fared with one target.

    Attributes
    ----------
    metric : str
        The target's name.
    value : float
        Its true value.
    labels : float
        The labelled items that it was read off, on average.
    within : float or None
        The share of runs whose estimate lies within the target's half-width of the truth.
    coverage : float or None
        The share of runs whose interval holds the truth; None where a design gives no interval.
    bias, rmse : float
        Of the estimates.
    """

    metric: str
    value: float
    labels: float
    within: float | None
    coverage: float | None
    bias: float
    rmse: float


@dataclass(frozen=True)
class SeveralRow:
    """How one design fared.

    Attributes
    ----------
    design : str
    labels_mean, labels_se : float
        Distinct items labelled for all targets together: their mean, and its standard error.
    change_pct : float or None
        Labels against those of ``independent``, in percent; below 0 is a saving.
    sizes : Sizes or None
        The sizes of the samples, where they are fixed beforehand; items may repeat.
    metrics : tuple of TargetRow
    """

    design: str
    labels_mean: float
    labels_se: float
    change_pct: float | None
    sizes: Sizes | None
    metrics: tuple[TargetRow, ...]


@dataclass(frozen=True)
class SeveralSimulation:
    """What `simulate_several` found: facts about the ensemble, and a row a design.

    `interrupted` tells that Ctrl-C ended it; the rows are of the runs that were finished.
    """

    ensemble: Mapping[str, Any]
    goal: JointGoal
    rows: tuple[SeveralRow, ...]
    interrupted: bool = False

    def to_dict(self) -> dict[str, Any]:
        """Return the ensemble, the goal and the rows as plain values."""
        return {
            "ensemble": dict(self.ensemble),
            "goal": self.goal.to_dict(),
            "rows": [asdict(row) for row in self.rows],
        }

    def _repr_html_(self) -> str:
        totals = [
            (
                row.design,
                f"{row.labels_mean:,.0f} ±{row.labels_se:.2g}",
                "–" if row.change_pct is None else f"{row.change_pct:+.1f}%",
            )
            for row in self.rows
        ]
        single = [
            (
                each.metric,
                row.design,
                f"{each.value:.4f}",
                f"{each.labels:,.0f}",
                "–" if each.coverage is None else f"{each.coverage:.3f}",
                f"{each.rmse:.4f}",
            )
            for row in self.rows
            for each in row.metrics
        ]
        metric = ("metric", "design", "truth", "labels", "interval covers", "error (rms)")
        return html_block(
            html_table(("design", "labels", "against independent samples"), totals),
            html_table(metric, sorted(single, key=itemgetter(0))),
            html_remarks(["interrupted: runs are missing"] if self.interrupted else []),
        )


def simulate_several(
    ensemble: Ensemble,
    *,
    metrics: Iterable[str] | Mapping[str, float],
    designs: Sequence[str] | None = None,
    within: float | None = None,
    budget: int | None = None,
    confidence: float = 0.95,
    simultaneous: bool = False,
    parent: str | None = None,
    assume: float = 0.5,
    replications: int = 1000,
    seed: int = 0,
    batch: int = 20,
    progress: Callable[[float], None] | None = None,
) -> SeveralSimulation:
    """Replay evaluations of several classifiers whose truth is known.

    Parameters
    ----------
    ensemble : Ensemble
        Predictions with the truth.
    metrics : names, or mapping of names to half-widths
        The targets, as `assay.core.goal.parse_targets` takes them.
    designs : sequence of str, optional
        Some of `SEVERAL_DESIGNS`. Otherwise all, or with a budget alone ``joint``, as the others'
        samples have the size that `within` asks for. ``independent`` is always run beside them.
    within : float, optional
        The half-width of targets that do not say theirs.
    budget : int, optional
        Where ``joint`` stops at the latest.
    confidence, simultaneous
        As in `assay.core.goal.JointGoal`.
    parent : str, optional
        The classifier whose sample is recycled, and whose false omission rate stands for all.
        Otherwise that whose yes-set has most in common with the others'.
    assume : float
        What paper 3 assumes every precision to be at least, which decides its sizes.
    replications : int
        Evaluations a design.
    seed : int
        Fixes all numbers; those of a design do not depend on what runs beside it.
    batch : int
        Labels a round of ``joint``.
    progress : callable, optional
        Told the share that is done.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> y_true = rng.random(20_000) < 0.3
    >>> said = {name: y_true ^ (rng.random(20_000) < 0.1) for name in ("new", "old")}
    >>> result = simulate_several(
    ...     Ensemble(y_true=y_true, y_pred=said), metrics=["precision:new", "precision:old"],
    ...     designs=["recycle-shuffle", "joint"], within=0.05, replications=50, seed=1)
    >>> labels = {row.design: row.labels_mean for row in result.rows}
    >>> round(labels["independent"]), round(labels["recycle-shuffle"]), labels["joint"] < 250
    (732, 476, True)
    """
    targets = parse_targets(metrics, ensemble.classifiers, within=within)
    goal = JointGoal(targets, budget, confidence, simultaneous)
    names = _names(designs, goal)
    if parent is None:
        parent = choose_parent(ensemble, goal)
    one_of("parent", parent, ensemble.classifiers)
    between("assume", assume, 0.0, 1.0, hint="0.9 says that every precision is at least 0.9")
    replications, seed = whole("replications", replications, 1), whole("seed", seed, 0)
    whole("batch", batch, 1)
    truth = np.array([ensemble.value(target) for target in targets])
    route = Route.of(ensemble, goal, parent)
    replays: dict[str, Replay] = {}
    sizes: dict[str, Sizes] = {}
    for name in names:
        if name == "joint":
            replays[name] = _joint(ensemble, goal, batch)
        else:
            sizes[name] = plan_sizes(ensemble, goal, route, name, assume=assume)
            replays[name] = SharedSamples(ensemble, route, name, sizes[name]).replay
    runs = run_blocks(replays, replications=replications, seed=seed, progress=progress)
    base = float(runs[_BASELINE].labels.mean()) if _BASELINE in runs else None
    rows = tuple(
        SeveralRow(
            design=name,
            labels_mean=float(found.labels.mean()),
            labels_se=float(found.labels.std() / np.sqrt(max(found.labels.size - 1, 1))),
            change_pct=None if base is None else 100 * (float(found.labels.mean()) / base - 1),
            sizes=sizes.get(name),
            metrics=_metrics(targets, truth, found),
        )
        for name, found in runs.items()
    )
    finished = sum(found.labels.size for found in runs.values())
    return SeveralSimulation(
        _facts(ensemble, parent), goal, rows, interrupted=finished < replications * len(names)
    )


def _names(designs: Sequence[str] | None, goal: JointGoal) -> list[str]:
    """Return the designs' names, the one that the others are compared with first."""
    if isinstance(designs, str):
        raise DesignError(f"designs must be several names, got {designs!r}", hint=f"[{designs!r}]")
    budget_alone = [target.name for target in goal.targets if target.within is None]
    if designs is None:
        return ["joint"] if budget_alone else list(SEVERAL_DESIGNS)
    chosen = list(dict.fromkeys(str(name).strip().lower() for name in designs))
    if not chosen:
        raise DesignError("no design is named", details=f"designs: {', '.join(SEVERAL_DESIGNS)}")
    for name in chosen:
        if name not in SEVERAL_DESIGNS:
            raise DesignError(
                f"there is no design {name!r} for several classifiers",
                details=f"designs: {', '.join(SEVERAL_DESIGNS)}",
                hint=did_you_mean(name, SEVERAL_DESIGNS) or "what a campaign does is 'joint'",
            )
        if name in FIXED and budget_alone:
            raise DesignError(
                f"the samples of {name} have the size that `within` asks for, "
                f"and {budget_alone[0]} has none",
                hint="give within, or ask for the design joint alone",
            )
    if budget_alone:
        return chosen
    return [_BASELINE, *(name for name in chosen if name != _BASELINE)]


def _joint(ensemble: Ensemble, goal: JointGoal, batch: int) -> Replay:
    strata = cell_strata(ensemble, goal, Design())
    joint = joint_of(Design(), goal, strata)
    outcomes = ensemble.outcomes(strata)

    def replay(replications: int, rng: np.random.Generator) -> SeveralRuns:
        runs = replay_jointly(
            joint, outcomes=outcomes, replications=replications, rng=rng, asked=batch
        )
        counted = [runs.answers[:, view.parts].sum(axis=-1) for view in joint.views]
        told = np.stack(counted, axis=-1).astype(np.float64)
        return SeveralRuns(runs.labels, runs.value, told, runs.low, runs.high)

    return replay


def _metrics(targets: Sequence[Target], truth: Floats, runs: SeveralRuns) -> tuple[TargetRow, ...]:
    error = runs.value - truth
    covers = None
    if runs.low is not None and runs.high is not None:
        covers = (runs.low <= truth) & (truth <= runs.high)
    return tuple(
        TargetRow(
            metric=target.name,
            value=float(truth[t]),
            labels=float(runs.counted[:, t].mean()),
            within=_near(error[:, t], target.within),
            coverage=None if covers is None else float(covers[:, t].mean()),
            bias=float(error[:, t].mean()),
            rmse=float(np.sqrt(np.mean(error[:, t] ** 2))),
        )
        for t, target in enumerate(targets)
    )


def _near(error: Floats, within: float | None) -> float | None:
    return None if within is None else float(np.mean(np.abs(error) <= within))


def _facts(ensemble: Ensemble, parent: str) -> dict[str, Any]:
    return {
        "rows": int(ensemble.truth.size),
        "positives": int(ensemble.truth.sum()),
        "predicted_positives": {
            name: int(ensemble.says_yes(name).sum()) for name in ensemble.classifiers
        },
        "parent": parent,
    }
