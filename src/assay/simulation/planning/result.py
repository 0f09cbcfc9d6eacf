"""Planning: the expected labels of each design, ranges, and sentences."""

from dataclasses import asdict, dataclass
from typing import Any, Literal

from assay.results import (
    change_text,
    html_block,
    html_headline,
    html_remarks,
    html_table,
    text_table,
)

_FEW = 0.05  # of all evaluations: the others make up the range


@dataclass(frozen=True)
class Cost:
    """Labels, or a half-width: the mean, and the ends between which nine evaluations in ten lie.

    `beyond` is the share of evaluations that were not followed to their end: they take more labels
    than `high`, and the mean is of the labels that they had then.
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
    """What one design is expected to take.

    `change` is against simple random sampling, -0.4 for 40% fewer labels; `remark` says what is to
    be known of the design.
    """

    design: str
    labels: Cost
    change: float
    remark: str


@dataclass(frozen=True)
class Reading:
    """What is supposed about the truth, and what follows for the metric and for its cost.

    `metric` is the metric's supposed value, with the range where the truth is not fixed; `labels`
    are those of the design by default and `random` those of simple random sampling, both None
    where no `within` was given.
    """

    name: str
    words: str
    metric: Cost
    labels: Cost | None
    random: Cost | None


@dataclass(frozen=True)
class WithinRow:
    """What another half-width would cost."""

    within: float
    labels: Cost


@dataclass(frozen=True)
class BudgetRow:
    """The half-width that a design is expected to reach with the budget."""

    design: str
    half_width: Cost


@dataclass(frozen=True)
class CheaperRow:
    """A question that costs less, and its labels."""

    metric: str
    labels: Cost


Way = Literal["none", "all items", "judged items"]


@dataclass(frozen=True)
class JudgeRow:
    """What an evaluation with a judge is expected to cost.

    Attributes
    ----------
    rho : float or None
        The correlation of the judge's verdict with the outcome; None without a judge.
    campaign : {"none", "all items", "judged items"}
        What labels are drawn from; ``none`` without a judge.
    judgements, labels : int
    cost : float
        Of both together.
    within : float
        The goal of such a campaign. One of judged items only has a tighter one, because these are
        a sample themselves.
    """

    rho: float | None
    campaign: Way
    judgements: int
    labels: int
    cost: float
    within: float


@dataclass(frozen=True)
class Judging:
    """What a judge that costs money would save.

    Attributes
    ----------
    name : str
        The judge's column.
    judge_cost, label_cost : float
        Of one judgement, and of one label.
    items : int
        That the metric needs labels of, and that could be judged.
    rows : tuple of JudgeRow
        Without a judge first; then two ways to use one, for each rho.
    """

    name: str
    judge_cost: float
    label_cost: float
    items: int
    rows: tuple[JudgeRow, ...]

    @property
    def cheapest(self) -> dict[float, JudgeRow]:
        """The cheapest row of each rho; that without a judge where no way costs less."""
        none, *others = self.rows
        found: dict[float, JudgeRow] = {}
        for row in others:
            if row.rho is not None:
                found[row.rho] = min(found.get(row.rho, none), row, key=lambda each: each.cost)
        return found


@dataclass(frozen=True)
class TextTable:
    """A table as people read it, wherever they do."""

    title: str
    headings: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class Planning:
    """What an evaluation is likely to cost. Made by `assay.plan`.

    Attributes
    ----------
    metric, within, budget, confidence
        The goal.
    source, items, predicted_yes
        The predictions.
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
    """

    metric: str
    within: float | None
    budget: int | None
    confidence: float
    source: str
    items: int
    predicted_yes: int
    readings: tuple[Reading, ...]
    designs: tuple[DesignRow, ...]
    worst_case: int | None
    withins: tuple[WithinRow, ...]
    budgets: tuple[BudgetRow, ...]
    cheaper: tuple[CheaperRow, ...]
    advice: tuple[str, ...]
    cautions: tuple[str, ...]
    replications: int
    seed: int
    judging: Judging | None = None

    @property
    def labels(self) -> Cost | None:
        """The labels that the design by default is expected to need; None without `within`."""
        return self.readings[0].labels

    def to_dict(self) -> dict[str, Any]:
        """Return the plan as plain values; without `judging` where no cost of a judge was given."""
        values = asdict(self)
        if self.judging is None:
            del values["judging"]
        return values

    @property
    def headline(self) -> tuple[str, str]:
        """What it comes to in a line: the most important words, and what belongs to them."""
        name = self.metric.replace("_", " ")
        sure = f"at {100 * self.confidence:.4g}%"
        if self.labels is not None and self.within is not None:
            mean, between = self.labels.as_labels
            return f"{name} within ±{self.within:g} {sure}: about {mean} labels", f"({between})"
        width, between = self.budgets[0].half_width.as_width
        return f"{name} from {self.budget:,} labels {sure}: about {width}", f"({between})"

    @property
    def tables(self) -> tuple[TextTable, ...]:
        """All tables, in the order in which they are read."""
        return tuple(table for table in _tables(self) if table.rows)

    def __str__(self) -> str:
        parts = [" ".join(self.headline)]
        parts += [_set_in_columns(table) for table in self.tables]
        parts.append("\n".join([*self.advice, *(f"note: {each}" for each in self.cautions)]))
        return "\n\n".join(parts)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        tables = (
            part
            for table in self.tables
            for part in (
                html_headline(table.title, ""),
                html_table(table.headings, table.rows),
            )
        )
        return html_block(
            html_headline(*self.headline),
            *tables,
            html_remarks([*self.advice, *(f"note: {each}" for each in self.cautions)]),
        )


def _tables(plan: Planning) -> list[TextTable]:
    most = ("nine in ten",)
    return [
        TextTable(
            "labels that each design is expected to need",
            ("design", "labels", *most, "vs random", ""),
            tuple(
                (
                    row.design,
                    *row.labels.as_labels,
                    _change(row),
                    row.remark,
                )
                for row in plan.designs
            ),
        ),
        TextTable(
            "what is supposed about the truth",
            ("supposed", plan.metric.replace("_", " "), "labels", *most, "at random"),
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
        ),
        TextTable(
            "what another half-width would cost",
            ("within", "labels", *most),
            tuple((f"±{row.within:.3g}", *row.labels.as_labels) for row in plan.withins),
        ),
        TextTable(
            f"what {plan.budget or 0:,} labels would give",
            ("design", "half-width", *most),
            tuple((row.design, *row.half_width.as_width) for row in plan.budgets),
        ),
        TextTable(
            "cheaper questions",
            ("metric", "labels", *most),
            tuple(
                (f"{row.metric.replace('_', ' ')} within ±{plan.within:g}", *row.labels.as_labels)
                for row in plan.cheaper
            ),
        ),
        *([] if plan.judging is None else [_table_of_judging(plan.judging)]),
    ]


def _table_of_judging(judging: Judging) -> TextTable:
    without = judging.rows[0].cost
    return TextTable(
        f"what {judging.name} would save, at {judging.judge_cost:g} a judgement and "
        f"{judging.label_cost:g} a label",
        ("rho", "campaign of", "judgements", "labels", "cost", "vs none", "within"),
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


def _set_in_columns(table: TextTable) -> str:
    return "\n".join(
        [table.title, *(f"  {line}" for line in text_table(table.headings, table.rows))]
    )
