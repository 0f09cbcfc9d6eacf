"""Rows of a simulation: the results of each design for each target."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any

import numpy as np

from assay.core.forecast import labels_needed
from assay.core.goal import Goal
from assay.core.limits import LabelLimit
from assay.core.recycling.samples import Sizes
from assay.core.stopping import Reason
from assay.results import (
    Backend,
    Block,
    Column,
    Document,
    Notes,
    Pairs,
    Paragraph,
    Shown,
    Table,
    column_types,
    frame_of,
    headed,
)
from assay.simulation.runs import Runs
from assay.simulation.thresholds import ThresholdRuns
from assay.simulation.workers import Replayed


@dataclass(frozen=True)
class TargetRow:
    """Results of one design for one target."""

    metric: str  # the target's name
    value: float  # its true value
    labels: float  # mean number of labelled items behind its estimate
    # Share of runs whose estimate is within delta of the truth (paper 1's InConf)
    within: float | None
    # Share of runs whose interval holds the truth; None if a design has no interval.
    coverage: float | None
    # bias, rmse, mae: of the estimates.
    bias: float
    rmse: float
    mae: float
    # Labels relative to those of an experimenter who knew every stratum's rate beforehand (paper
    # 1), in percent.
    oracle_pct: float | None = None
    # Mean estimated variance over that of simple random sampling with the same number of labels
    # (paper 2's mean variance ratio)
    mvr: float | None = None
    # yes, no: share of runs that ended certain that the metric is at least the limit, and certain
    # that it is below.
    yes: float | None = None
    no: float | None = None
    # Labels over the minimum of any design by score: the larger of the limit of designs and the
    # floor for clean mass (`core.limits`)
    of_limit: float | None = None


_OF_A_TARGET = frozenset(field.name for field in fields(TargetRow))


@dataclass(frozen=True)
class ThresholdShares:
    """Results of one design for the question for a threshold."""

    budget: int
    certified: float  # share of runs with a certified threshold
    # Share of runs that wrongly showed a threshold to keep the floors.
    wrong: float
    # Recall at the certified threshold, or precision if that is wanted, over the best of all
    # distinct scores: the mean of all runs, 0 where nothing was certified. None if no threshold
    # keeps the floors.
    share_of_best: float | None
    # precision_covers, recall_covers: share of runs whose interval at the certified threshold holds
    # the truth: from a tenth of the runs, as intervals take longest.
    precision_covers: float | None
    recall_covers: float | None


_OF_A_THRESHOLD = frozenset(field.name for field in fields(ThresholdShares))


@dataclass(frozen=True)
class Row:
    """Results of one design. With one target, the fields of its `TargetRow` are the row's, too."""

    design: str
    # labels_mean, labels_se: distinct items labelled for all targets until the stop: their mean,
    # and its standard error.
    labels_mean: float
    labels_se: float
    # Labels relative to simple random sampling for the same goal, with or without replacement as in
    # the design; for several targets relative to ``independent``. In percent; below 0 is a saving.
    change_pct: float | None
    # Sizes of the samples, if fixed beforehand; items may repeat.
    sizes: Sizes | None
    metrics: tuple[TargetRow, ...]
    # In place of metrics, if the question is for a threshold; its fields are the row's, too.
    threshold: ThresholdShares | None = None

    def __getattr__(self, name: str) -> Any:
        if name in _OF_A_TARGET and len(self.metrics) == 1:
            return getattr(self.metrics[0], name)
        if name in _OF_A_THRESHOLD and self.threshold is not None:
            return getattr(self.threshold, name)
        raise AttributeError(f"a row of {len(self.metrics)} metrics has no {name!r}: see metrics")

    def to_dict(self) -> dict[str, Any]:
        """Row as plain values; with one target, its values beside the row's."""
        values = asdict(self)
        shares = values.pop("threshold")
        if shares is not None:
            return {**{name: values[name] for name in _SHARED}, **shares}
        return {**values, **values["metrics"][0]} if len(self.metrics) == 1 else values


_SHARED = ("design", "labels_mean", "labels_se", "change_pct")


@dataclass(frozen=True)
class Simulation(Shown):
    """Result of `simulate`: facts about the population, and one row per design and budget.

    `goal` is the goal with the first of several budgets; `interrupted` is set if Ctrl-C ended the
    simulation: the rows are then of the finished runs.
    """

    population: Mapping[str, Any]
    goal: Goal
    rows: tuple[Row, ...]
    interrupted: bool = False

    def to_dict(self) -> dict[str, Any]:
        """Convert the population, the goal and the rows to plain values."""
        document = {
            "population": dict(self.population),
            "goal": self.goal.to_dict(),
            "rows": [row.to_dict() for row in self.rows],
        }
        if not self.goal.single:
            document["ensemble"] = document["population"]  # its former name
        return document

    @property
    def tables(self) -> tuple[Block, ...]:
        """Tables of the designs and the errors of each metric, with the meaning of the columns."""
        return tables_of(self.rows, self.goal, of_classes="classes" in self.population)

    def document(self) -> Document:
        """Tables; `to_dict` has all figures."""
        read = Paragraph(f"{self.population['rows']:,} labelled items")
        missing = ("interrupted: runs are missing",) if self.interrupted else ()
        return Document.of("Simulation", read, *self.tables, Notes(missing))

    def to_frame(self, *, backend: Backend = "pandas") -> Any:
        """DataFrame with a row for each design and metric.

        Parameters
        ----------
        backend : {"pandas", "polars", "pyarrow"}
        """
        names, rows = self.flat_rows
        return frame_of(rows, column_types(rows, names, {}), backend=backend)

    @property
    def flat_rows(self) -> tuple[tuple[str, ...], list[dict[str, Any]]]:
        """Columns of a table, and a row for each design and metric."""
        kind = TargetRow if self.goal.threshold_for is None else ThresholdShares
        rows = [
            {**{name: getattr(row, name) for name in _SHARED}, **asdict(each)}
            for row in self.rows
            for each in (row.metrics if row.threshold is None else (row.threshold,))
        ]
        return (*_SHARED, *(field.name for field in fields(kind))), rows


@dataclass(frozen=True)
class Wanted:
    """A target of a run, with quantities that are known beforehand."""

    metric: str  # its name
    value: float  # its true value
    goal: Goal
    random_variance: float | None = None  # n times its variance under simple random sampling
    # N times its variance under the best allocation to the design's strata.
    least_variance: float | None = None
    limit: LabelLimit | None = None  # minimum labels of any design by score

    @property
    def oracle(self) -> float | None:
        """Labels for an experimenter who knows every stratum's rate."""
        if self.goal.within is None or self.least_variance is None:
            return None
        least = np.array(self.least_variance)
        return float(labels_needed(least, self.goal.within, self.goal.confidence))


@dataclass(frozen=True, eq=False)
class Entry:
    """A design to replay, its goal, and the design it is compared with, listed before it."""

    name: str
    task: Replayed
    wanted: tuple[Wanted, ...]  # one per target; for a threshold the best one's wanted metric
    against: str | None  # its name; None: with none
    sizes: Sizes | None = None


def rows_of(entries: Sequence[Entry], runs_of: Sequence[Runs | None]) -> Iterator[Row]:
    """Yield a row for each entry that has runs, and that its reference design has runs for."""
    labels: dict[str, float | None] = {}  # of each design with the current budget
    for entry, runs in zip(entries, runs_of, strict=True):
        labels[entry.name] = None if runs is None else float(runs.labels.mean())
        baseline = None if entry.against is None else labels[entry.against]
        if runs is not None and (entry.against is None or baseline is not None):
            yield summarise(entry.name, runs, entry.wanted, baseline=baseline, sizes=entry.sizes)


def summarise(
    design: str,  # its name
    runs: Runs,  # result of each replication
    wanted: Sequence[Wanted],  # as in `Entry`
    *,
    baseline: float | None,  # mean labels of the reference design
    sizes: Sizes | None = None,  # of the samples, if fixed beforehand
) -> Row:
    """Row from the runs of a design."""
    labels = float(runs.labels.mean())
    return Row(
        design=design,
        labels_mean=labels,
        labels_se=float(runs.labels.std() / np.sqrt(max(runs.labels.size - 1, 1))),
        change_pct=None if baseline is None else 100 * (labels / baseline - 1),
        sizes=sizes,
        metrics=()
        if isinstance(runs, ThresholdRuns)
        else tuple(_of_target(each, runs, t) for t, each in enumerate(wanted)),
        threshold=_at_threshold(wanted[0], runs) if isinstance(runs, ThresholdRuns) else None,
    )


def _of_target(wanted: Wanted, runs: Runs, t: int) -> TargetRow:
    goal, truth = wanted.goal, wanted.value
    low, high, error = runs.low[:, t], runs.high[:, t], runs.value[:, t] - truth
    labels, oracle = float(runs.labels.mean()), wanted.oracle
    random = 0.0
    if wanted.random_variance is not None:
        random = float(np.mean(wanted.random_variance / runs.labels))
    asks = goal.at_least is not None
    return TargetRow(
        metric=wanted.metric,
        value=truth,
        labels=float(runs.counted[:, t].mean()),
        within=None if goal.within is None else float(np.mean(np.abs(error) <= goal.within)),
        coverage=None if np.isnan(low).all() else float(np.mean((low <= truth) & (truth <= high))),
        bias=float(error.mean()),
        rmse=float(np.sqrt(np.mean(error**2))),
        mae=float(np.abs(error).mean()),
        oracle_pct=100 * (labels / oracle - 1) if oracle else None,
        mvr=float(runs.variance[:, t].mean() / random) if random > 0 else None,
        yes=float(np.mean(runs.reason == Reason.AT_LEAST)) if asks else None,
        no=float(np.mean(runs.reason == Reason.BELOW)) if asks else None,
        of_limit=labels / wanted.limit.labels if wanted.limit and wanted.limit.labels else None,
    )


def _at_threshold(wanted: Wanted, runs: ThresholdRuns) -> ThresholdShares:
    return ThresholdShares(
        budget=wanted.goal.budget or 0,
        certified=float(runs.certified.mean()),
        wrong=float(runs.wrong.mean()),
        share_of_best=float(runs.worth.mean()) / wanted.value if wanted.value else None,
        precision_covers=runs.covers("precision"),
        recall_covers=runs.covers("recall"),
    )


# As tables.

_OF_A_WIDTH = {
    "change": "labels relative to random sampling",
    "of limit": "labels relative to the lower limit of designs by score",
    "within": "share of runs whose estimate is within the goal of the truth",
}
_OF_A_QUESTION = {
    "change": _OF_A_WIDTH["change"],
    "yes": "share of runs that decided: at least",
    "no": "share of runs that decided: below",
}
_OF_ALL = {
    "covers": "share of runs whose interval covers the truth",
    "bias": "",
    "rmse": "",
    "mvr": "estimated variance relative to random sampling with as many labels",
    "mae": "",
}
_OF_SEVERAL = {
    "labels": "distinct items labelled; for a metric, those it uses",
    "change": "labels relative to independent samples",
    "within": "share of runs whose estimate is within the goal of the truth; in total, of the "
    "worst metric",
    "covers": _OF_ALL["covers"],
}
_OF_CLASSES = {"change": "labels relative to random sampling"}
_AT_A_THRESHOLD = {
    "certified": "share of runs in which a threshold was certified",
    "wrong": "share of runs that certified or showed a threshold that fails a floor",
    "of best": "result at it relative to the best threshold; 0 without one",
    "precision": "share of runs (of a tenth) whose interval of precision there covers the truth",
    "recall": "the same for recall",
}


def tables_of(rows: Sequence[Row], goal: Goal, *, of_classes: bool) -> tuple[Block, ...]:
    """Tables: one for one metric; for several, one of the totals and one per metric."""
    if goal.threshold_for is not None:
        return _table_of_thresholds(rows, goal.threshold_for), _explained(_AT_A_THRESHOLD)
    if goal.single and not of_classes:
        meanings = _meanings(goal)
        return _table(goal.metric, rows, ["labels", *meanings]), _explained(meanings)
    tables = [_table("All metrics", rows, ["labels", "change", "within", ""])]
    for place, target in enumerate(goal.targets):
        value = rows[0].metrics[place].value if rows else 0.0
        width = "" if target.within is None else f", ±{target.within:g}"
        columns = ["labels", "within", "covers", "bias", "rmse"]
        tables.append(_table(f"{target.name} is {value:.4f}{width}", rows, columns, place))
    return *tables, _explained({**_OF_SEVERAL, **(_OF_CLASSES if of_classes else {})})


def _explained(meanings: Mapping[str, str]) -> Pairs:
    return Pairs(tuple((name, text) for name, text in meanings.items() if text))


def _meanings(goal: Goal) -> dict[str, str]:
    """Columns that depend on the goal, and their meaning.

    With a budget alone all designs take the same labels and have no target width.
    """
    if goal.at_least is not None:
        return {**_OF_A_QUESTION, **_OF_ALL}
    return {**_OF_A_WIDTH, **_OF_ALL} if goal.within is not None else _OF_ALL


def _table(
    caption: str, rows: Sequence[Row], columns: Sequence[str], place: int | None = None
) -> Table:
    """Row for each design: for the target at a place, or in total."""
    cells = [_cells(row, place) for row in rows]
    return Table(
        caption,
        (Column("design", "text"), *(Column(n, "number" if n else "text") for n in columns)),
        tuple(tuple(each[name] for name in ("design", *columns)) for each in cells),
    )


def _cells(row: Row, place: int | None) -> dict[str, str]:
    """Cells of a row by column; in total, those of the target with the fewest hits."""
    error = f" ±{row.labels_se:.2g}" if row.labels_se else ""
    each = _worst(row) if place is None else row.metrics[place]
    return {
        "design": row.design,
        "labels": f"{each.labels:,.0f}" if place is not None else f"{row.labels_mean:,.0f}{error}",
        "change": "–" if row.change_pct is None else f"{row.change_pct:+.1f}%",
        "of limit": "–" if each.of_limit is None else f"{each.of_limit:.2f}",
        "within": _share(each.within),
        "yes": _share(each.yes),
        "no": _share(each.no),
        "covers": _share(each.coverage),
        "bias": f"{each.bias:+.4f}",
        "rmse": f"{each.rmse:.4f}",
        "mvr": "–" if each.mvr is None else f"{each.mvr:.2f}",
        "mae": f"{each.mae:.4f}",
        "": "" if each.within is None else each.metric,
    }


def _worst(row: Row) -> TargetRow:
    asked = [one for one in row.metrics if one.within is not None] or row.metrics
    return min(asked, key=lambda one: (one.within or 0.0, one.metric))


def _table_of_thresholds(rows: Sequence[Row], question: str) -> Table:
    cells = []
    for row in rows:
        if (of := row.threshold) is not None:
            shares = (of.certified, of.wrong, of.share_of_best)
            covers = (of.precision_covers, of.recall_covers)
            labels = (f"{of.budget:,}", f"{row.labels_mean:,.0f}")
            cells.append((row.design, *labels, *map(_share, (*shares, *covers))))
    return Table(question, headed("design", "budget", "labels", *_AT_A_THRESHOLD), tuple(cells))


def _share(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"
