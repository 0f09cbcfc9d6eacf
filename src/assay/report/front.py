"""First page of a report, for readers in a hurry: counts, who owns it, the trend, some errors."""

from dataclasses import dataclass

from assay.core.forecast import two_digits
from assay.errors import AssayError, counted
from assay.labelling import Labelling, mistakes_of
from assay.report.facts import Facts
from assay.results import Cell, Column, Document, Estimate, Paragraph, Table, clipped

_ERRORS = 5
_LONGEST = 120  # characters of a shown value
# Items of a metric, and what part of them: the share itself, or (True) what is left of it.
_COUNTED = {
    "precision": ("{} predicted positive", "are wrong", True),
    "accuracy": ("{}", "are predicted wrongly", True),
    "false_omission_rate": ("{} predicted negative", "are wrong", False),
    "negative_predictive_value": ("{} predicted negative", "are wrong", True),
    "prevalence": ("{}", "are positive", False),
}
# Metrics of a class whose size is not known.
_OF_HUNDRED = {
    "recall": ("positive items", "are missed by the classifier", True),
    "specificity": ("negative items", "are predicted positive", True),
    "false_positive_rate": ("negative items", "are predicted positive", False),
}


@dataclass(frozen=True)
class Front:
    """What the first page has beside the estimates; none of it is part of the JSON."""

    owners: tuple[str, ...] = ()  # names of the people with an owner's token
    trend: Document | None = None  # of a series: its periods
    errors: Document | None = None


def front_of(labelling: Labelling, *, trend: Document | None = None) -> Front:
    """Gather the first page of a campaign's report."""
    with labelling.read() as session:
        tokens = session.tokens(labelling.settings.name)
    owners = (each.name for each in tokens if each.role == "owner" and each.revoked_at is None)
    return Front(tuple(dict.fromkeys(owners)), trend, _errors(labelling))


def _errors(labelling: Labelling) -> Document | None:
    """Errors that the classifier was most sure of, with what reviewers saw."""
    classifiers = labelling.settings.strata.classifiers
    if labelling.settings.goal.threshold_for is not None:  # nothing is predicted yet
        return None
    try:
        errors = mistakes_of(labelling, classifier=classifiers[0])
    except AssayError:  # the report does not depend on it
        return None
    if not errors.rows:
        return None
    columns = (
        Column("item", "text"),
        Column("error", "text"),
        Column("score"),
        *(Column(name, "text", named=True) for name in errors.columns),
    )
    rows: tuple[tuple[str | Cell, ...], ...] = tuple(
        (
            str(row.id),
            Cell(row.kind, "bad"),
            "–" if row.score is None else f"{row.score:.3g}",
            *(clipped(str(row.shown.get(name, "")), _LONGEST) for name in errors.columns),
        )
        for row in errors.rows[:_ERRORS]
    )
    whose = f" of {classifiers[0]}" if len(classifiers) > 1 else ""
    caption = f"{min(len(errors), _ERRORS)} of {counted(len(errors), 'error')} among the labels"
    return Document(f"Most confident errors{whose}", (Table(caption, columns, rows),))


def counts_in_words(facts: Facts) -> Paragraph | None:
    """How many items the first metric is about, and how many of them are wrong.

    None for differences, metrics of classes, weighted items, and metrics that count nothing.
    """
    first = facts.metrics[0]
    estimate = first.estimate
    name = estimate.metric.partition(":")[0].replace(" ", "_")
    plain = " - " not in estimate.metric and estimate.value is not None
    if not plain or facts.population.weight_column is not None or "[" in estimate.metric:
        return None
    of_class = ":" in estimate.metric and facts.confusion
    if name in _COUNTED and not of_class:
        items, what, is_rest = _COUNTED[name]
        whole = items.format(counted(first.items, "item"))
        return Paragraph(f"Of {whole}, {_part(estimate, first.items, what, is_rest=is_rest)}.")
    if name in _OF_HUNDRED and not of_class:
        items, what, is_rest = _OF_HUNDRED[name]
        return Paragraph(f"Of 100 {items}, {_part(estimate, 100, what, is_rest=is_rest)}.")
    return None


def _part(estimate: Estimate, items: int, what: str, *, is_rest: bool) -> str:
    """Write the number of items in a part, with its interval.

    >>> from assay.results import Estimate
    >>> estimate = Estimate(
    ...     "precision", 0.7, 0.65, 0.75, 0.95, 0.018, 250, 0, None, "Wilson", False, None)
    >>> _part(estimate, 17_356, "are wrong", is_rest=True)
    'about 5,200 are wrong, between 4,300 and 6,100'
    """
    shares = (estimate.value or 0.0, estimate.low, estimate.high)
    value, *ends = (1 - share if is_rest else share for share in shares)
    low, high = (two_digits(items * end) for end in sorted(ends))
    number = two_digits(items * value)
    if low == high:
        return f"{number:,} {what}"
    return f"about {number:,} {what}, between {low:,} and {high:,}"
