"""Simulation of score curves: simultaneous coverage and width of their bands.

A campaign is replayed to its stop. The labelled items of a stratum are then random: given its
counts, any of its positives and any of its negatives are equally likely. For comparison the same
band is made from a random sample of as many labels.
"""

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from assay.core.bins import CURVES, ScoreBins
from assay.core.curve import DRAWS, THRESHOLDS, CurveBands, curve_bands
from assay.core.design import Design, fitted
from assay.core.goal import Goal
from assay.core.types import Floats, Ints
from assay.errors import DesignError
from assay.results import AREAS, Column, Document, Shown, Table, metric_name
from assay.simulation.oracle import of_one
from assay.simulation.population import Population
from assay.simulation.runs import replay

_RANDOM, _DEFAULT = "random", "default"
_SHARES = ("coverage", "pointwise", "least", "everywhere", "width", "areas")
_QUANTILES = np.linspace(0.02, 0.98, 25)  # thresholds that are compared between runs


@dataclass(frozen=True)
class CurveRow:
    """Results for the curves of one design."""

    design: str
    labels_mean: float
    # By metric, the share of runs whose band holds the truth at all thresholds between the 1% and
    # 99% quantiles of the score.
    coverage: dict[str, float]
    # The mean share of these thresholds whose own interval holds the truth.
    pointwise: dict[str, float]
    # Share of runs in which the interval of one threshold holds it, at the worst: of 25 that are
    # even in items.
    least: dict[str, float]
    # Share of runs in which all of these intervals hold it, for comparison with the band.
    everywhere: dict[str, float]
    width: dict[str, float]  # the band's mean width, over items
    # The share of runs whose interval of average precision, or of the area under the ROC curve,
    # holds the truth.
    areas: dict[str, float]


@dataclass(frozen=True)
class CurveSimulation(Shown):
    """Result of `simulate_curves`; `ratio` is the band's width over that of a random sample."""

    population: dict[str, Any]
    replications: int
    rows: tuple[CurveRow, ...]
    ratio: dict[str, float]

    def to_dict(self) -> dict[str, Any]:
        """Convert the result to plain values."""
        return asdict(self)

    def document(self) -> Document:
        """Tables of the bands, and of the areas under the curves."""
        bands, areas = [], []
        for name in self.ratio:
            for row in self.rows:
                shares = (f"{row.coverage[name]:.3f}", f"{row.pointwise[name]:.3f}")
                ratio = f"{self.ratio[name]:.2f}" if row is self.rows[-1] else ""
                width = f"{row.width[name]:.4f}"
                bands.append((metric_name(name), row.design, *shares, width, ratio))
        for name, word in AREAS.items():
            for row in self.rows:
                if name in row.areas:
                    truth, coverage = self.population[name], row.areas[name]
                    areas.append((word, row.design, f"{truth:.4f}", f"{coverage:.3f}"))
        numbers = ("holds everywhere", "each threshold", "mean width", "ratio")
        design = Column("design", "text")
        return Document.of(
            "Curves",
            Table(
                f"{self.replications:,} curves from {self.rows[-1].labels_mean:,.0f} labels each",
                (Column("metric", "text"), design, *map(Column, numbers)),
                tuple(bands),
                "ratio: the band's width over that of a random sample of as many labels",
            ),
            Table(
                "Areas below the curves",
                (Column("area", "text"), design, Column("truth"), Column("covers")),
                tuple(areas),
            ),
        )


class _Truth:
    """All items by score: bins of shape (M,), their strata, and the truth."""

    def __init__(self, population: Population, design: Design, metric: str) -> None:
        strata = population.frame(design, metric).strata
        if set(strata.sides) != {True, False}:
            raise DesignError(
                f"a campaign for {metric} does not give the curve: it does not draw items of all "
                "scores",
                hint="--metric accuracy, recall or f1 does",
            )
        parts, first = [], 0
        for heap in strata.heaps:
            truth = population.truth_of(heap.side)
            stratum = first + heap.cuts.assign(truth.profile.low)
            first += heap.cuts.n_strata
            parts.append((truth.profile.low, truth.profile.count, truth.outcomes, stratum))
        columns = zip(*parts, strict=True)
        score, items, positives, strata_of = (np.concatenate(each) for each in columns)
        order = np.argsort(score, kind="stable")
        self.score, self.stratum = score[order], strata_of[order]
        self.items, self.positives = (each[order].astype(np.float64) for each in (items, positives))

    def bins(self, labels: Floats, positives: Floats, stratum: Ints) -> ScoreBins:
        """Bins with these labels."""
        same = np.zeros(self.score.size, dtype=np.int64)
        return ScoreBins(self.score, self.items, labels, positives, stratum, same, same > 0)

    def stratified(self, n: Floats, x: Floats, rng: np.random.Generator) -> ScoreBins:
        """Labels of each stratum, with this number of positives."""
        labels, positives = np.zeros(self.score.size), np.zeros(self.score.size)
        for h in np.unique(self.stratum):
            inside = np.flatnonzero(self.stratum == h)
            yes = self.positives[inside].astype(np.int64)
            no = self.items[inside].astype(np.int64) - yes
            outcomes = _spread(yes, int(x[h]), rng)
            positives[inside] = outcomes
            labels[inside] = outcomes + _spread(no, int(n[h] - x[h]), rng)
        return self.bins(labels, positives, self.stratum)

    def random(self, labels: int, rng: np.random.Generator) -> ScoreBins:
        """Labels of a simple random sample."""
        drawn = _spread(self.items.astype(np.int64), labels, rng)
        yes = self.positives.astype(np.int64)
        outcomes = rng.hypergeometric(yes, self.items.astype(np.int64) - yes, drawn)
        one = np.zeros(self.score.size, dtype=np.int64)
        return self.bins(drawn.astype(np.float64), outcomes.astype(np.float64), one)

    def complete(self) -> CurveBands:
        """Curve with a label of every item."""
        bins = self.bins(self.items, self.positives, self.stratum)
        return curve_bands(bins, confidence=0.5, rng=np.random.default_rng(0))


def _spread(counts: Ints, number: int, rng: np.random.Generator) -> Ints:
    """Count the randomly drawn items in each bin."""
    return np.asarray(rng.multivariate_hypergeometric(counts, number, method="marginals"))


def simulate_curves(
    population: Population,  # with scores
    *,
    # metric, within, budget, confidence: the goal of the campaign, as in `create_campaign`;
    # accuracy, recall or F1.
    metric: str = "accuracy",
    within: float | None = None,
    budget: int | None = None,
    confidence: float = 0.95,
    replications: int = 200,  # campaigns, and random samples
    seed: int = 0,  # fixes all numbers
    draws: int = DRAWS,  # populations to draw for each curve
    thresholds: int = THRESHOLDS,  # of each curve, at most
    random: bool = True,  # whether to make the curves of random samples, too
    progress: Callable[[float], None] | None = None,  # called with the share that is done
) -> CurveSimulation:
    """Replay campaigns of a population whose truth is known, and make the curve of each."""
    goal = Goal(metric, within, budget, confidence)
    design = fitted(Design(), goal)
    truth = _Truth(population, design, goal.metric)
    frame = population.frame(design, goal.metric)
    n, x = (np.zeros((replications, frame.sizes.size)) for _ in range(2))

    def ended(which: Ints, state: Any) -> None:
        n[which], x[which] = state.tallies.n, state.tallies.x

    rng = np.random.default_rng(seed)
    replay(
        *of_one(design, goal, frame.metric, frame.sizes, frame.outcomes),
        replications=replications,
        rng=rng,
        ended=ended,
    )
    known = truth.complete()
    names = (_RANDOM, _DEFAULT)[not random :]
    seen: dict[str, list[dict[str, dict[str, Any]]]] = {name: [] for name in names}
    for run in range(replications):
        samples = {_RANDOM: truth.random(int(n[run].sum()), rng)} if random else {}
        samples[_DEFAULT] = truth.stratified(n[run], x[run], rng)
        for name, bins in samples.items():
            simulation = curve_bands(
                bins, confidence=confidence, rng=rng, draws=draws, thresholds=thresholds
            )
            seen[name].append(_seen(simulation, known))
        if progress is not None:
            progress((run + 1) / replications)
    rows = tuple(
        CurveRow(
            name,
            float(n.sum(axis=-1).mean()),
            **{share: dict(_means([one[share] for one in each])) for share in _SHARES},
        )
        for name, each in seen.items()
    )
    ratio = {name: rows[1].width[name] / rows[0].width[name] for name in rows[-1].width if random}
    facts = {"rows": population.size, "positives": population.positives, "metric": goal.metric}
    areas = {name: value for name, (value, _, _) in known.areas.items()}
    return CurveSimulation({**facts, **areas}, replications, rows, ratio)


def _seen(bands: CurveBands, known: CurveBands) -> dict[str, dict[str, Any]]:
    """Where one curve holds the truth, by the fields of `CurveRow`."""
    place, inner = np.searchsorted(known.threshold, bands.threshold), bands.inner
    share = -np.diff(bands.items, append=0.0)[inner]
    least = np.searchsorted(-bands.items[inner], -bands.total * (1 - _QUANTILES))
    coverage: dict[str, dict[str, Any]] = {name: {} for name in _SHARES}
    for name in CURVES:
        if name not in bands.bands:
            continue
        band, truth = bands.bands[name], known.bands[name].value[place][inner]
        own = _holds(band.low[inner], truth, band.high[inner])
        coverage["coverage"][name] = float(
            _holds(band.lowest[inner], truth, band.highest[inner]).all()
        )
        coverage["pointwise"][name] = float((own * share).sum() / share.sum())
        coverage["least"][name] = own[np.minimum(least, own.size - 1)]
        coverage["everywhere"][name] = float(own.all())
        wide = (band.highest - band.lowest)[inner]
        coverage["width"][name] = float((wide * share).sum() / share.sum())
    coverage["areas"] = {
        name: float(_holds(low, known.areas[name][0], high))
        for name, (_, low, high) in bands.areas.items()
    }
    return coverage


def _holds(low: Any, truth: Any, high: Any) -> Any:
    return (low <= truth + 1e-9) & (truth - 1e-9 <= high)


def _means(rows: list[dict[str, float]]) -> Iterator[tuple[str, float]]:
    for name in dict.fromkeys(name for row in rows for name in row):
        yield name, float(np.mean([row[name] for row in rows if name in row], axis=0).min())
