"""Which interval to give for labels that were drawn at random: coverage and width, side by side.

Each population is reduced to 256 cells of equal size for each predicted label; a random sample is
a draw of these cells' items. Rows are groups of populations and numbers of labels; columns:

wilson          Wilson's interval, without the scores (for recall and F1: one stratum a side)
poststratified  what `assay estimate` gives
ppi             prediction-powered (PPI++, Angelopoulos, Duchi and Zrnic 2023): the score as it is,
                as control variate with tuned lambda; normal interval
ppi guarded     the same with Wilson's interval at the effective sample size
ppi isotonic    guarded, the score recalibrated by isotonic regression, cross-fitted in two halves

Run with ``python -m benchmarks.random_labels ../shared/data`` from the repository's root; with
``held-out`` after it for classifiers that had no part in the choice.
"""

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
from sklearn.isotonic import isotonic_regression

from assay.campaign.random_labels import bins_for
from assay.core.forms import Ratio, ratio
from assay.core.intervals import normal, wilson
from assay.core.stratified import ValueTests
from assay.core.tallies import Tallies
from assay.core.types import Bools, Floats, Ints
from studies.coverage.populations import SHAPES, ranks

CELLS = 256
LABELS = (100, 300, 1000, 3000)
REPLICATIONS = 4000
CONFIDENCE = 0.95
# The rule for the number of bins was chosen on the first of these and on the synthetic shapes; the
# second were looked at once, after that.
REAL = (
    ("news20_binary", "logreg", "label"),
    ("news20_binary", "nb", "label"),
    ("offensive_mix", "mve", "label"),
    ("arxiv15", "math", "label_math"),
    ("arxiv15", "stat", "label_stat"),
    ("covtype_binary", "hgb", "label"),
    ("covtype_binary", "logreg", "label"),
    ("trec07_spam", "logreg", "label"),
)
HELD_OUT = (
    ("enron_spam_shift", "logreg", "label"),
    ("enron_spam_shift", "nb", "label"),
    ("offensive_mix", "bilstm", "label"),
    ("offensive_mix", "cnn", "label"),
    ("offensive_mix", "logreg", "label"),
    ("arxiv15", "cs", "label_cs"),
    ("arxiv15", "physics", "label_physics"),
    ("trec07_spam", "nb", "label"),
)
PRECISIONS = (0.7, 0.9, 0.95, 0.97, 0.99, 0.999)

Ends = tuple[Floats, Floats]


@dataclass(frozen=True, eq=False)
class Cells:
    """A population: items, positives and mean score of each cell, and what was said of it."""

    N: Ints
    T: Ints
    score: Floats
    yes: Bools

    def ratio(self, metric: str) -> Ratio:
        """Return the metric over the cells."""
        return ratio(metric, self.N.astype(np.float64), self.yes)


def side(score: Floats, truth: Bools, *, yes: bool) -> Cells:
    """Cut one predicted label's items."""
    order = np.argsort(score, kind="stable")
    starts = np.linspace(0, score.size, CELLS + 1).round().astype(np.int64)
    N = np.diff(starts)
    T = np.add.reduceat(truth[order].astype(np.int64), starts[:-1])
    mean = np.add.reduceat(score[order], starts[:-1]) / N
    return Cells(N, T, mean, np.full(CELLS, yes))


def both(*parts: Cells) -> Cells:
    """Return the sides as one population."""
    return Cells(*(np.concatenate([vars(p)[k] for p in parts]) for k in ("N", "T", "score", "yes")))


def populations(folder: Path, *, held_out: bool) -> Iterator[tuple[str, str, Cells]]:
    """Return (group, metric, population)."""
    if held_out:
        yield from real(folder, "held out", HELD_OUT)
    else:
        yield from synthetic()
        yield from real(folder, "real", REAL)


def synthetic() -> Iterator[tuple[str, str, Cells]]:
    """Return six shapes at six precisions."""
    r = ranks(CELLS)
    for p in PRECISIONS:
        for shape in SHAPES.values():
            errors = np.rint(4000 * shape(r, 1 - p)).astype(np.int64)
            N = np.full(CELLS, 4000)
            yield "synthetic", "precision", Cells(N, N - errors, r, np.ones(CELLS, dtype=np.bool_))


def real(
    folder: Path, group: str, classifiers: tuple[tuple[str, str, str], ...]
) -> Iterator[tuple[str, str, Cells]]:
    """Return four metrics of each classifier."""
    for file, name, label in classifiers:
        table = pq.read_table(folder / f"{file}.parquet")
        score, said, truth = (
            table[column].to_numpy() for column in (f"score_{name}", f"pred_{name}", label)
        )
        if name != "mve":  # the others are log-odds
            score = 1 / (1 + np.exp(-np.clip(score.astype(np.float64), -50, 50)))
        yes, no = (side(score[said == s], truth[said == s], yes=s) for s in (True, False))
        yield group, "precision", yes
        for metric in ("accuracy", "recall", "f1"):
            yield group, metric, both(yes, no)


def post_stratified(cells: Cells, metric: str, n: Ints, x: Ints) -> Ends:
    """Return the product's interval: runs whose sides get the same numbers of bins go together."""
    sides = [cells.yes == s for s in (True, False) if (cells.yes == s).any()]
    bins = np.stack([[bins_for(int(m)) for m in n[:, s].sum(axis=-1)] for s in sides], axis=-1)
    low, high = np.zeros(len(n)), np.ones(len(n))
    for combination in np.unique(bins, axis=0):
        runs = (bins == combination).all(axis=-1)
        group = np.concatenate(
            [
                first + np.arange(CELLS) * K // CELLS
                for K, first in zip(combination, [0, combination[0]], strict=False)
            ]
        )
        starts = np.searchsorted(group, np.arange(combination.sum()))
        N, labels, found = (
            np.add.reduceat(a, starts, axis=-1) for a in (cells.N, n[runs], x[runs])
        )
        form = ratio(metric, N.astype(np.float64), cells.yes[starts])
        low[runs], high[runs] = ValueTests(
            Tallies(N, labels, found), form, replacement=False, confidence=CONFIDENCE, b=0.0
        ).ends()
    return low, high


def one_stratum(cells: Cells, metric: str, n: Ints, x: Ints) -> Ends:
    """Return the interval without the scores."""
    if metric in ("recall", "f1"):
        N, labels, found = (a.reshape(*a.shape[:-1], 2, CELLS).sum(-1) for a in (cells.N, n, x))
        form = ratio(metric, N.astype(np.float64), np.array([True, False]))
        tallies = Tallies(N, labels, found)
        return ValueTests(tallies, form, replacement=False, confidence=CONFIDENCE, b=0.0).ends()
    good, total = _good(cells, n, x).sum(axis=-1), n.sum(axis=-1)
    p, left = good / total, 1 - total / cells.N.sum()
    return wilson(p, p * (1 - p) / (total - 1) * left, total.astype(np.float64), CONFIDENCE)


def _good(cells: Cells, n: Ints, x: Ints) -> Ints:
    """Return the labels that say that the prediction was right."""
    return np.where(cells.yes, x, n - x)


def powered(cells: Cells, n: Ints, x: Ints, f: Floats, *, guarded: bool) -> Ends:
    """Return the PPI++ interval; n, x and the predictions f are (parts, runs, cells)."""
    good = _good(cells, n, x)
    total = n.sum(axis=(0, -1))
    mean_y, mean_f = good.sum(axis=(0, -1)) / total, (n * f).sum(axis=(0, -1)) / total
    cov = (good * f).sum(axis=(0, -1)) / total - mean_y * mean_f
    var_f = (n * f * f).sum(axis=(0, -1)) / total - mean_f**2
    lam = np.where(var_f > 1e-12, cov / np.maximum(var_f, 1e-12), 0.0)
    everyone = (f * cells.N).sum(axis=-1) / cells.N.sum()
    shift = (n.sum(axis=-1) / total * everyone).sum(axis=0) - mean_f
    value = np.clip(mean_y + lam * shift, 0, 1)
    rest = mean_y * (1 - mean_y) - 2 * lam * cov + lam**2 * var_f
    variance = np.maximum(rest, 0) / np.maximum(total - 2, 1) * (1 - total / cells.N.sum())
    formula = wilson if guarded else normal
    return formula(value, variance, total.astype(np.float64), CONFIDENCE)


def isotonic(cells: Cells, n: Ints, x: Ints, rng: np.random.Generator) -> Ends:
    """Return the guarded PPI++ interval with recalibrated scores, each half's from the other."""
    half_x = rng.binomial(x, 0.5)
    half_n = half_x + rng.binomial(n - x, 0.5)
    halves_n, halves_x = np.stack([half_n, n - half_n]), np.stack([half_x, x - half_x])
    good = _good(cells, halves_n, halves_x)
    f = np.zeros(halves_n.shape)
    for rising in (True, False):
        inside = np.flatnonzero(cells.yes == rising)
        if not inside.size:
            continue
        for part, run in np.ndindex(*f.shape[:2]):
            m, g = halves_n[part, run, inside], good[part, run, inside]
            guess = (g.sum() + 1) / (m.sum() + 2)
            f[1 - part, run, inside] = isotonic_regression(
                np.where(m > 0, g / np.maximum(m, 1), guess),
                sample_weight=np.maximum(m, 1e-6),
                increasing=rising,
            )
    return powered(cells, halves_n, halves_x, f, guarded=True)


def intervals(
    cells: Cells, metric: str, n: Ints, x: Ints, *, rng: np.random.Generator, powered_too: bool
) -> dict[str, Ends]:
    """Return every candidate's intervals of the same samples."""
    found = {
        "wilson": one_stratum(cells, metric, n, x),
        "poststratified": post_stratified(cells, metric, n, x),
    }
    if powered_too and metric in ("precision", "accuracy"):
        right = np.where(cells.yes, cells.score, 1 - cells.score)[None, None]
        one = (n[None], x[None], np.broadcast_to(right, (1, *n.shape)))
        found["ppi"] = powered(cells, *one, guarded=False)
        found["ppi guarded"] = powered(cells, *one, guarded=True)
        few = slice(None, REPLICATIONS // 4)  # isotonic regressions take their time
        found["ppi isotonic"] = isotonic(cells, n[few], x[few], rng)
    return found


def main() -> None:
    """Print the table."""
    rng = np.random.default_rng(20)
    rows: dict[tuple[str, str, int], list[dict[str, tuple[float, float]]]] = {}
    held_out = sys.argv[2:] == ["held-out"]
    for group, metric, cells in populations(Path(sys.argv[1]), held_out=held_out):
        truth = float(cells.ratio(metric).value(cells.T.astype(np.float64)))
        for labels in LABELS:
            if labels > cells.N.sum() / 2:
                continue
            kinds = np.concatenate([cells.T, cells.N - cells.T])
            drawn = rng.multivariate_hypergeometric(kinds, labels, size=REPLICATIONS)
            x, rest = drawn[:, : len(cells.N)], drawn[:, len(cells.N) :]
            # Only what was chosen is shown what was held out.
            found = intervals(cells, metric, x + rest, x, rng=rng, powered_too=not held_out)
            plain = float((found["wilson"][1] - found["wilson"][0]).mean())
            rows.setdefault((group, metric, labels), []).append(
                {
                    name: (
                        float(((low <= truth) & (truth <= high)).mean()),
                        float((high - low).mean()) / plain,
                    )
                    for name, (low, high) in found.items()
                }
            )
    names = ("wilson", "poststratified", "ppi", "ppi guarded", "ppi isotonic")
    print("least coverage (mean width, as a share of Wilson's)\n")
    print(f"| populations | metric | labels | {' | '.join(names)} |")
    print("|---|---|---|" + "---|" * len(names))
    for (group, metric, labels), cells_found in rows.items():
        texts = []
        for name in names:
            pairs = [each[name] for each in cells_found if name in each]
            covered, width = zip(*pairs, strict=True) if pairs else ((), ())
            texts.append(f"{min(covered):.3f} ({np.mean(width):.2f})" if pairs else "")
        label = f"{group}, {len(cells_found)}"
        print(f"| {label} | {metric} | {labels:,} | {' | '.join(texts)} |")


if __name__ == "__main__":
    main()
