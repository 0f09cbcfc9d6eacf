"""The joint design where paper 3 recycles: all precisions to +-0.03 at 95%, from cells alone."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from assay.core.design import Design
from assay.core.forecast import labels_needed
from assay.core.goal import Goal
from assay.core.joint import Joint as Evaluation
from assay.core.joint_allocation import joint_allocation
from assay.core.parts import Parts
from assay.core.state import State
from assay.core.targets import Target
from assay.core.types import Floats, Ints
from assay.core.views import views_of
from assay.simulation import Runs as JointRuns
from assay.simulation import expected_savings, of_several, replay
from studies.recycling.counts import Pair
from studies.recycling.ensembles import Ensembles, Runs, percent_errors
from studies.recycling.populations import ENSEMBLE, MODELS, Trial
from studies.recycling.table1 import BOTH, PAPER, PRECISION, SAMPLE, pair_with

WITHIN = 0.03
CONFIDENCE = 0.95
NAMES = (*MODELS, ENSEMBLE)


@dataclass(frozen=True)
class Joint:
    """The joint design on the trials of section 5.2."""

    labels: float  # its mean labels
    # labels_vs_recycle, labels_vs_best_recycle: these as a share of RSFP-Shuffle's, with 1,100 each
    # and with the best sample sizes.
    labels_vs_recycle: float
    labels_vs_best_recycle: float
    # least_vs_recycle, least_vs_best_recycle: the same of the fewest labels that any design by
    # cells needs, with the true rates known.
    least_vs_recycle: float
    least_vs_best_recycle: float
    # within, coverage: how often each classifier's precision was estimated within +-0.03, and its
    # interval right.
    within: dict[str, float]
    coverage: dict[str, float]
    replications: int  # evaluations of each trial


@dataclass(frozen=True, eq=False)
class CellRuns(JointRuns):
    """How each replication ended, and its labels by cell: `answers`, of shape (runs, cells)."""

    answers: Ints


def run_joint(
    trials: Sequence[Trial],
    recycled: Ensembles,  # the paper's algorithms on the same trials
    *,
    replications: int,  # evaluations of each trial; the first of them are returned for Figure 2
    seed: int,
    progress: Callable[[float], None] | None = None,  # told the share that is done
) -> tuple[Joint, Runs]:
    """Evaluate every trial, and return the figures beside those of recycled samples."""
    labels, least, within, coverage, first = [], [], [], [], []
    for number, trial in enumerate(trials):
        rng = np.random.default_rng([seed, number, 5])
        runs = evaluate(trial, NAMES, replications, rng)
        truth = np.array([trial.precision(classifier) for classifier in range(len(NAMES))])
        labels.append(runs.labels.mean())
        least.append(least_labels(trial))
        within.append((np.abs(runs.value - truth) <= WITHIN).mean(axis=0))
        coverage.append(((runs.low <= truth) & (truth <= runs.high)).mean(axis=0))
        first.append(runs_of(trial, runs))
        if progress is not None:
            progress((number + 1) / len(trials))
    mean = float(np.mean(labels))
    published = recycled.labels["recycle-shuffle"]
    best = recycled.labels["recycle-shuffle, best sizes"]
    joint = Joint(
        labels=mean,
        labels_vs_recycle=mean / published,
        labels_vs_best_recycle=mean / best,
        least_vs_recycle=float(np.mean(least)) / published,
        least_vs_best_recycle=float(np.mean(least)) / best,
        within=dict(zip(NAMES, np.mean(within, axis=0).tolist(), strict=True)),
        coverage=dict(zip(NAMES, np.mean(coverage, axis=0).tolist(), strict=True)),
        replications=replications,
    )
    return joint, Runs(
        *(np.array([getattr(runs, name)[0] for runs in first]) for name in _MEASURES)
    )


_MEASURES = ("savings", "error", "interval_error")


@dataclass(frozen=True)
class PairRow:
    """A parent and a child of section 5.3: mean labels for both precisions."""

    pir: float
    cir: float
    # labels, recycled: of the joint design, and of RSFP-Shuffle with 1,100 for each.
    labels: float
    recycled: float


def run_pairs(
    trials: int,  # precisions of each pair
    *,
    replications: int,
    seed: int,
    progress: Callable[[float], None] | None = None,
) -> tuple[PairRow, ...]:
    """Evaluate parents and children that overlap as in the printed rows of Table 1.

    The positives lie evenly over what either calls yes. The precisions are the middles of equal
    parts of their range, the same in all rows: drawn at random, so few would say little.
    """
    low, high = PRECISION
    precisions = low + (high - low) * (np.arange(trials) + 0.5) / trials
    both = sum(BOTH) // 2
    rows = []
    for number, (pir, cir) in enumerate(PAPER):
        rng = np.random.default_rng([seed, 6])
        pairs = [pair_with(pir, cir, both, each, rng) for each in precisions]
        labels = [
            evaluate(_cells_of(pair), ("child", "parent"), replications, rng).labels.mean()
            for pair in pairs
        ]
        saved = expected_savings(SAMPLE, SAMPLE, pir, cir)
        rows.append(PairRow(pir, cir, float(np.mean(labels)), 2 * SAMPLE - saved))
        if progress is not None:
            progress((number + 1) / len(PAPER))
    return tuple(rows)


def _cells_of(pair: Pair) -> Trial:
    """Return the cells of a child (bit 0) and its parent (bit 1)."""
    sizes = np.array([pair.child - pair.both, pair.parent - pair.both, pair.both])
    positives = np.array(
        [
            pair.child_positives - pair.both_positives,
            round(pair.precision * (pair.parent - pair.both)),
            pair.both_positives,
        ]
    )
    return Trial(np.array([1, 2, 3]), sizes, positives)


def evaluate(
    trial: Trial, names: Sequence[str], replications: int, rng: np.random.Generator
) -> CellRuns:
    """Evaluate the precisions of all classifiers so many times, twenty labels at a time."""
    order = np.argsort(trial.codes)
    parts = Parts(
        np.arange(trial.codes.size), trial.codes[order], trial.sizes[order].astype(np.float64)
    )
    goal = Goal(
        targets=tuple(Target("precision", name, within=WITHIN) for name in names),
        confidence=CONFIDENCE,
    )
    joint = Evaluation(Design(), parts, views_of(goal, names, parts))
    outcomes = trial.positives[order].astype(np.float64)
    answers = np.zeros((replications, order.size), dtype=np.int64)

    def ended(which: Ints, state: State) -> None:
        answers[which] = state.tallies.n

    runs = replay(*of_several(joint, outcomes), replications=replications, rng=rng, ended=ended)
    return CellRuns(**vars(runs), answers=answers)


def runs_of(trial: Trial, runs: CellRuns) -> Runs:
    """Return what the paper measures of each model, in per cent.

    A model's savings are 1,100 less the labels of what it calls yes and MVE does not.
    """
    models = range(len(MODELS))
    codes = np.sort(trial.codes)
    own = np.array([(codes >> model & 1 > 0) & (codes >> len(MODELS) & 1 == 0) for model in models])
    precision = np.array([trial.precision(model) for model in models])
    value, low, high = (each[:, : len(MODELS)] for each in (runs.value, runs.low, runs.high))
    reach = np.maximum(np.abs(low - precision), np.abs(high - precision))
    return Runs(
        savings=100 * (1 - runs.answers @ own.T / SAMPLE),
        error=percent_errors(value, precision),
        interval_error=100 * reach / precision,
    )


def least_labels(trial: Trial) -> float:
    """Return the fewest labels that bring all precisions to +-0.03, with the true rates known."""
    p = trial.positives / trial.sizes
    says_yes = np.array([trial.says_yes(classifier) for classifier in range(len(NAMES))])
    weight = says_yes * trial.sizes / (says_yes @ trial.sizes)[:, None]
    spread: Floats = weight**2 * p * (1 - p)
    # n labels give a variance of spread/n, and labels_needed(1) of them one of (within/z)^2.
    bound = 1 / labels_needed(np.ones(len(NAMES)), WITHIN, CONFIDENCE)
    sizes = trial.sizes.astype(np.float64)
    bound += (spread / sizes).sum(axis=-1)  # sampling is without replacement
    return float(joint_allocation(spread, bound, np.zeros_like(sizes), sizes).n.sum())
