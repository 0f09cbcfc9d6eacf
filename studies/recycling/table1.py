"""Paper 3's Table 1 and Figure 3 (section 5.3): savings by how far parent and child overlap.

What the paper leaves open, and what is done here
-------------------------------------------------
- *Sample sizes*: 1,100 for both, as in section 5.2.
- *The child's true precision*: uniform between 1/2 and 1 in each trial. This gives all four figures
  that the paper prints of the error over all trials; the positives are spread evenly over A_C.
- *Savings* are Lemma 3's: the share of S_C's places that come from S_P. The paper's own %Savings
  (section 5.1) sets them against what a random sample of the child needs "in trial i", and that
  can be less than 1,100 as it meets labelled items of S_P by chance (section 5.2). Counted so
  (`Row.against_random_mean`), savings are a little smaller, and nearer to the printed ones.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from assay.core.types import Floats
from studies.recycling.counts import Pair, coordinated_savings, recycled

SAMPLE = 1100
RATIOS = tuple(round(0.05 * step, 2) for step in range(1, 20))
BOTH = (10_000, 100_000)
PRECISION = (0.5, 1.0)


class Printed(NamedTuple):
    """A row of the paper's Table 1, in per cent."""

    savings_mean: float
    savings_low: float
    savings_high: float
    error_mean: float
    error_sd: float


PAPER = {
    (0.05, 0.05): Printed(4.72, 3.64, 5.38, 1.50, 1.46),
    (0.05, 0.25): Printed(4.91, 3.39, 6.42, 1.39, 1.27),
    (0.05, 0.45): Printed(4.95, 3.23, 6.54, 1.36, 1.31),
    (0.05, 0.65): Printed(4.92, 3.06, 6.58, 1.43, 1.31),
    (0.05, 0.85): Printed(4.91, 2.79, 6.70, 1.30, 1.16),
    (0.25, 0.05): Printed(4.93, 3.65, 6.11, 1.51, 1.33),
    (0.25, 0.25): Printed(24.21, 20.60, 25.57, 1.45, 1.32),
    (0.25, 0.45): Printed(24.73, 19.73, 27.79, 1.20, 1.12),
    (0.25, 0.65): Printed(24.61, 18.70, 27.73, 1.44, 1.36),
    (0.25, 0.85): Printed(24.61, 18.70, 27.75, 1.26, 1.28),
    (0.45, 0.05): Printed(4.89, 3.55, 6.29, 1.37, 1.31),
    (0.45, 0.25): Printed(24.58, 20.63, 26.72, 1.45, 1.28),
    (0.45, 0.45): Printed(43.85, 36.15, 46.03, 1.31, 1.17),
    (0.45, 0.65): Printed(44.45, 33.75, 48.56, 1.46, 1.28),
    (0.45, 0.85): Printed(44.47, 32.82, 48.74, 1.37, 1.42),
    (0.65, 0.05): Printed(4.83, 3.28, 6.20, 1.29, 1.11),
    (0.65, 0.25): Printed(24.34, 18.44, 26.88, 1.34, 1.19),
    (0.65, 0.45): Printed(44.17, 33.15, 47.19, 1.50, 1.50),
    (0.65, 0.65): Printed(63.68, 48.02, 67.07, 1.37, 1.16),
    (0.65, 0.85): Printed(64.39, 49.58, 69.21, 1.41, 1.39),
    (0.85, 0.05): Printed(4.82, 3.19, 6.20, 1.50, 1.43),
    (0.85, 0.25): Printed(24.29, 18.98, 26.95, 1.43, 1.40),
    (0.85, 0.45): Printed(44.00, 32.28, 47.36, 1.39, 1.34),
    (0.85, 0.65): Printed(64.14, 48.59, 67.95, 1.33, 1.24),
    (0.85, 0.85): Printed(84.04, 55.49, 88.83, 1.30, 1.32),
}
PAPER_MEAN_SAVINGS = 33.68


@dataclass(frozen=True)
class Errors:
    """The distribution of %PrecisionError over all trials: mean, deviation, middle 95%."""

    mean: float
    sd: float
    low: float
    high: float


PAPER_ERROR = {
    "recycle-shuffle": Errors(1.367, 1.269, 0.0379, 4.697),
    "random": Errors(1.368, 1.267, 0.0385, 4.678),
}


@dataclass(frozen=True)
class Row:
    """One combination of the two ratios: per cent, over the trials."""

    pir: float
    cir: float
    # savings_mean, savings_low, savings_high: of Algorithm 1 with ``UniformShuffle``: mean and the
    # middle 95% of the trials.
    savings_mean: float
    savings_low: float
    savings_high: float
    # error_mean, error_sd: its %PrecisionError.
    error_mean: float
    error_sd: float
    # Its mean savings where a random sample of the child may use the parent's labels as well.
    against_random_mean: float
    # The mean share of the child's sample that coordinated samples have in common.
    coordinated_mean: float


@dataclass(frozen=True)
class Table1:
    """All combinations."""

    rows: tuple[Row, ...]  # those that the paper prints
    surface: tuple[Row, ...]  # all 361
    # mean_savings, mean_against_random, mean_coordinated: over all.
    mean_savings: float
    mean_against_random: float
    mean_coordinated: float
    errors: dict[str, Errors]  # over all trials, of Algorithm 1 and of simple random sampling


def run_table1(
    trials: int, rng: np.random.Generator, progress: Callable[[float], None] | None = None
) -> Table1:
    """Run section 5.3 with so many trials of every combination."""
    pairs = [(pir, cir) for pir in RATIOS for cir in RATIOS]
    measured = []
    for done, (pir, cir) in enumerate(pairs, start=1):
        measured.append(np.array([_trial(pir, cir, rng) for _ in range(trials)]))
        if progress is not None:
            progress(done / len(pairs))
    surface = [_row(*ratios, values) for ratios, values in zip(pairs, measured, strict=True)]
    savings, against_random, coordinated, error, random_error = np.concatenate(measured).T
    return Table1(
        rows=tuple(row for row in surface if (row.pir, row.cir) in PAPER),
        surface=tuple(surface),
        mean_savings=float(savings.mean()),
        mean_against_random=float(against_random.mean()),
        mean_coordinated=float(coordinated.mean()),
        errors={"recycle-shuffle": _errors(error), "random": _errors(random_error)},
    )


def _trial(pir: float, cir: float, rng: np.random.Generator) -> tuple[float, ...]:
    """Return savings by Lemma 3, against random and coordinated; errors, recycled and random."""
    both = int(rng.integers(*BOTH, endpoint=True))
    pair = pair_with(pir, cir, both, rng.uniform(*PRECISION), rng)
    draws = recycled(pair, (SAMPLE, SAMPLE), option="UniformShuffle", runs=1, rng=rng)
    bought = SAMPLE - draws.savings[0]
    labelled = np.unique(rng.integers(pair.both, size=draws.common[0])).size
    random = SAMPLE - rng.binomial(SAMPLE, labelled / pair.child)
    shared = coordinated_savings(pair.parent, pair.both, pair.child, SAMPLE, runs=1, rng=rng)
    found = np.array([draws.positives[0], rng.binomial(SAMPLE, pair.precision)])
    error, random_error = 100 * np.abs(found / SAMPLE / pair.precision - 1)
    return (
        100 * (1 - bought / SAMPLE),
        100 * (1 - bought / random),
        100 * shared[0] / SAMPLE,
        error,
        random_error,
    )


def pair_with(
    pir: float, cir: float, both: int, precision: float, rng: np.random.Generator
) -> Pair:
    """Return a parent and a child of this precision that have so many items in common.

    The positives are spread evenly.
    """
    child = round(both / cir)
    positives = round(precision * child)
    return Pair(
        parent=round(both / pir),
        both=both,
        child=child,
        both_positives=int(rng.hypergeometric(positives, child - positives, both)),
        child_positives=positives,
    )


def _row(pir: float, cir: float, values: Floats) -> Row:
    savings, against_random, coordinated, error, _ = values.T
    low, high = np.percentile(savings, [2.5, 97.5])
    return Row(
        pir=pir,
        cir=cir,
        savings_mean=float(savings.mean()),
        savings_low=float(low),
        savings_high=float(high),
        error_mean=float(error.mean()),
        error_sd=float(error.std(ddof=1)),
        against_random_mean=float(against_random.mean()),
        coordinated_mean=float(coordinated.mean()),
    )


def _errors(values: Floats) -> Errors:
    low, high = np.percentile(values, [2.5, 97.5])
    return Errors(float(values.mean()), float(values.std(ddof=1)), float(low), float(high))
