"""Planning: the expected labels of each design, ranges, and sentences."""

from dataclasses import asdict, dataclass
from typing import Any, Literal

from assay.core.limits import LabelLimit
from assay.core.types import percent
from assay.results import (
    Column,
    Document,
    Headline,
    Lines,
    Notes,
    Paragraph,
    Shown,
    Table,
    change_text,
    headed,
    metric_name,
)

_FEW = 0.05  # of all evaluations: the others make up the range


@dataclass(frozen=True)
class Cost:
    """Labels, or a half-width: the mean, and the range of nine evaluations in ten.

    `beyond` is the share of evaluations that were not followed to their end: they take more labels
    than `high`, and the mean uses their labels so far.
    """

    mean: float
    low: float
    high: float
    beyond: float = 0.0

    @property
    def as_labels(self) -> tuple[str, str]:
        """The mean and the range as numbers of labels."""
        if self.beyond > _FEW:
            return f"more than {self.mean:,.0f}", f"{self.low:,.0f} or more"
        return f"{self.mean:,.0f}", f"{self.low:,.0f} to {self.high:,.0f}"

    @property
    def as_width(self) -> tuple[str, str]:
        """The mean and the range as half-widths."""
        return f"±{self.mean:.4f}", f"±{self.low:.4f} to ±{self.high:.4f}"


@dataclass(frozen=True)
class DesignRow:
    """Expected cost of one design.

    `change` is relative to simple random sampling, -0.4 for 40% fewer labels; `remark` is a remark
    on the design.
    """

    design: str
    labels: Cost
    change: float
    remark: str


@dataclass(frozen=True)
class Reading:
    """An assumption about the truth, and what follows for the metric and for its cost.

    `metric` is the metric's assumed value, with the range if the truth is not fixed; `labels` are
    those of the default design and `random` those of simple random sampling, both None without
    `within`.
    """

    name: str
    words: str
    metric: Cost
    labels: Cost | None
    random: Cost | None


@dataclass(frozen=True)
class WithinRow:
    """Cost of another half-width."""

    within: float
    labels: Cost


@dataclass(frozen=True)
class BudgetRow:
    """Half-width that a design is expected to reach with the budget."""

    design: str
    half_width: Cost


@dataclass(frozen=True)
class CheaperRow:
    """A cheaper question, and its labels."""

    metric: str
    labels: Cost


@dataclass(frozen=True)
class ThresholdRow:
    """Expected results of campaigns for a threshold with one budget."""

    supposed: str  # the assumption about the truth: the name of a reading
    budget: int | None  # None for campaigns that continue until they are settled
    labels: Cost  # their labels: fewer than the budget if they are settled before
    # Share of settled campaigns: no other threshold could have much more.
    settled: float
    certified: float  # the share that certify some threshold
    threshold: Cost | None  # the certified thresholds; None if no campaign has one
    # The wanted metric, recall or precision, at the certified threshold: the mean.
    value: float | None
    # Its ratio to the best threshold's, 0 if none is certified: the mean.
    share_of_best: float | None
    replications: int  # number of replayed campaigns


Way = Literal["none", "all items", "judged items"]


@dataclass(frozen=True)
class JudgeRow:
    """Expected cost of an evaluation with a judge."""

    # The correlation of the judge's verdict with the outcome; None without a judge.
    rho: float | None
    campaign: Way  # population of the labels; ``none`` without a judge
    judgements: int
    labels: int
    cost: float  # total cost
    # The goal of such a campaign. One of judged items only has a tighter one, because these are
    # themselves a sample.
    within: float


@dataclass(frozen=True)
class Judging:
    """Savings by a judge that costs money."""

    name: str  # the judge's column
    # judge_cost, label_cost: of one judgement, and of one label.
    judge_cost: float
    label_cost: float
    items: int  # judgeable items that the metric needs labels of
    rows: tuple[JudgeRow, ...]  # without a judge first; then two ways to use one, for each rho

    @property
    def cheapest(self) -> dict[float, JudgeRow]:
        """The cheapest row of each rho; that without a judge if no other costs less."""
        none, *others = self.rows
        cheapest: dict[float, JudgeRow] = {}
        for row in others:
            if row.rho is not None:
                cheapest[row.rho] = min(
                    cheapest.get(row.rho, none), row, key=lambda each: each.cost
                )
        return cheapest


@dataclass(frozen=True, kw_only=True)
class Planning(Shown):
    """Expected cost of an evaluation. Made by `assay.plan`.

    Attributes
    ----------
    metric, within, budget, confidence
        The goal.
    source, items, predicted_yes
        The predictions; of more classes than yes and no, `predicted_yes` is None.
    readings : tuple of Reading
        What is supposed about the truth; all else rests on the first.
    designs : tuple of DesignRow
        The labels that each design is expected to need; empty without `within`.
    worst_case : int or None
        The labels that the design by default needs at most, whatever the truth.
    withins : tuple of WithinRow
        What a looser or a tighter half-width would cost.
    budgets : tuple of BudgetRow
        What the budget would give; empty without one.
    cheaper : tuple of CheaperRow
        Cheaper questions, where recall or F1 was asked about.
    advice : tuple of str
        What it comes to, in sentences.
    cautions : tuple of str
        What a careful reader should know.
    replications, seed : int
        Evaluations that were replayed for each number, and what fixes them.
    judging : Judging or None
        What a judge would save, where its cost was given.
    threshold_for, wanted : str or None
        The question for a threshold, and of what the best has the most: ``recall`` or
        ``precision``. `metric` is then the first floor's, and a reading's `metric` what the best
        threshold has of what is wanted; 0 where none keeps the floors.
    thresholds : tuple of ThresholdRow
        What campaigns for it are expected to find, by reading and budget.
    classes : tuple of str
        Those that items are of, where they are more than yes and no.
    limit : LabelLimit or None
        The labels that no honest interval can do without: of the best design with every rate known,
        and to see that what is clean is clean. For a half-width of one metric of yes and no.
    """

    metric: str
    within: float | None
    budget: int | None
    confidence: float
    source: str
    items: int
    predicted_yes: int | None = None
    readings: tuple[Reading, ...]
    designs: tuple[DesignRow, ...] = ()
    worst_case: int | None = None
    withins: tuple[WithinRow, ...] = ()
    budgets: tuple[BudgetRow, ...] = ()
    cheaper: tuple[CheaperRow, ...] = ()
    advice: tuple[str, ...] = ()
    cautions: tuple[str, ...] = ()
    replications: int
    seed: int
    judging: Judging | None = None
    threshold_for: str | None = None
    wanted: str | None = None
    thresholds: tuple[ThresholdRow, ...] = ()
    classes: tuple[str, ...] = ()
    limit: LabelLimit | None = None

    @property
    def labels(self) -> Cost | None:
        """Expected labels of the default design; None without `within`.

        For a threshold, those until it is settled; None with a budget.
        """
        return self.readings[0].labels

    def to_dict(self) -> dict[str, Any]:
        """Plan as plain values, without fields that were not requested."""
        values = asdict(self)
        if self.judging is None:
            del values["judging"]
        if self.threshold_for is None:
            for name in ("threshold_for", "wanted", "thresholds"):
                del values[name]
        del values["predicted_yes" if self.classes else "classes"]
        return values

    @property
    def headline(self) -> tuple[str, str]:
        """The headline: the most important words, and the details that belong to them."""
        name = metric_name(self.metric)
        sure = f"at {percent(self.confidence)}"
        if self.threshold_for is not None:
            return self._headline_of_threshold(f"a threshold with {self.threshold_for} {sure}")
        if self.labels is not None and self.within is not None:
            mean, between = self.labels.as_labels
            return f"{name} within ±{self.within:g} {sure}: about {mean} labels", f"({between})"
        width, between = self.budgets[0].half_width.as_width
        return f"{name} from {self.budget:,} labels {sure}: about {width}", f"({between})"

    def _headline_of_threshold(self, what: str) -> tuple[str, str]:
        reading = self.readings[0]
        own = [row for row in self.thresholds if row.supposed == reading.name]
        row = next((row for row in own if row.budget == self.budget), own[-1])
        if not reading.metric.high:
            return f"{what}: there is none", f"(if {reading.name})"
        certified = f"certified in {row.certified:.0%}"
        if row.budget is not None:
            return f"{what} from {row.budget:,} labels: {certified}", f"({self._of_best(row)})"
        mean, between = row.labels.as_labels
        about = "" if row.labels.beyond > _FEW else "about "
        headline = f"{what}: {about}{mean} labels until it is settled"
        return headline, f"({between}; {certified}, {self._of_best(row)})"

    def _of_best(self, row: ThresholdRow) -> str:
        return f"{row.share_of_best or 0.0:.2f} of the best {self.wanted}"

    @property
    def _read(self) -> str:
        read = f"{self.source}: {self.items:,} items"
        if self.classes:
            return f"{read} of {len(self.classes):,} classes"
        if self.threshold_for is not None:
            return read
        return f"{read}, {self.predicted_yes:,} predicted yes"

    def document(self) -> Document:
        """Labels to expect, the tables behind them, and advice."""
        return Document.of(
            "Plan",
            Headline(*self.headline),
            Paragraph(self._read, small=True),
            *_tables(self),
            Lines(self.advice),
            Notes(self.cautions),
        )

    __repr__ = Shown.__str__


_MOST = "90% of runs"  # heading of the range


def _tables(plan: Planning) -> list[Table]:
    return [
        Table(
            "expected labels by design",
            (*headed("design", "labels", _MOST, "vs random"), Column("", "remark")),
            tuple(
                (row.design, *row.labels.as_labels, _change(row), row.remark)
                for row in plan.designs
            ),
        ),
        _table_of_readings(plan),
        Table(
            "expected labels by half-width",
            headed("within", "labels", _MOST),
            tuple((f"±{row.within:.3g}", *row.labels.as_labels) for row in plan.withins),
        ),
        Table(
            f"expected half-width from {plan.budget or 0:,} labels",
            headed("design", "half-width", _MOST),
            tuple((row.design, *row.half_width.as_width) for row in plan.budgets),
        ),
        Table(
            "cheaper questions",
            headed("metric", "labels", _MOST),
            tuple(
                (f"{row.metric.replace('_', ' ')} within ±{plan.within:g}", *row.labels.as_labels)
                for row in plan.cheaper
            ),
        ),
        *([] if plan.judging is None else [_table_of_judging(plan.judging)]),
        *(_table_of_thresholds(plan, reading) for reading in plan.readings if plan.thresholds),
    ]


def _table_of_readings(plan: Planning) -> Table:
    return Table(
        "expected labels by assumption about the truth",
        headed("supposed", metric_name(plan.metric), "labels", _MOST, "at random"),
        tuple(
            (
                reading.name,
                f"{reading.metric.mean:.3f}",
                *reading.labels.as_labels,
                reading.random.as_labels[0],
            )
            for reading in plan.readings
            if reading.labels is not None and reading.random is not None
        ),
    )


def _table_of_thresholds(plan: Planning, reading: Reading) -> Table:
    rows = [row for row in plan.thresholds if row.supposed == reading.name]
    numbers = ("labels", "certified", "threshold", _MOST, str(plan.wanted))
    return Table(
        f"if {reading.name}: expected result" if len(plan.readings) > 1 else "expected result",
        headed("budget", *numbers, "of the best"),
        tuple(
            (
                "until settled" if row.budget is None else f"{row.budget:,}",
                row.labels.as_labels[0],
                f"{row.certified:.0%}",
                *_threshold_text(row.threshold),
                "–" if row.value is None else f"{row.value:.2f}",
                "–" if row.share_of_best is None else f"{row.share_of_best:.2f}",
            )
            for row in rows
        ),
    )


def _threshold_text(threshold: Cost | None) -> tuple[str, str]:
    if threshold is None:
        return "–", "–"
    return f"{threshold.mean:.4g}", f"{threshold.low:.4g} to {threshold.high:.4g}"


def _table_of_judging(judging: Judging) -> Table:
    without = judging.rows[0].cost
    return Table(
        f"what {judging.name} would save, at {judging.judge_cost:g} a judgement and "
        f"{judging.label_cost:g} a label",
        headed("rho", "campaign of", "judgements", "labels", "cost", "vs none", "within"),
        tuple(
            (
                "–" if row.rho is None else f"{row.rho:g}",
                "all, no judge" if row.rho is None else row.campaign,
                f"{row.judgements:,}",
                f"{row.labels:,}",
                f"{row.cost:,.{0 if row.cost >= 100 else 2}f}",
                "–" if row.rho is None else change_text(row.cost / without - 1),
                f"±{row.within:.3g}",
            )
            for row in judging.rows
        ),
    )


def _change(row: DesignRow) -> str:
    known = row.change and row.labels.beyond <= _FEW
    return change_text(row.change) if known else "–"
