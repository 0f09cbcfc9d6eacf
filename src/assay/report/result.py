"""Sections of a report about its numbers: estimates, what they are worth, how they came about."""

from collections.abc import Sequence
from operator import attrgetter

from assay.core.metrics import METRICS
from assay.report.blocks import Block, Figure, Headline, Notice, Pairs, Paragraph, Section, Table
from assay.report.charts import draw_curve, figure_of
from assay.report.facts import Facts, MetricFacts
from assay.results import as_heading, difference_words, ends_text, metric_name, value_text

_PICTURES = 4  # at most; of more metrics, those that are farthest from their goals
_RANDOM = (
    "What a random sample would take is an estimate: at this value, for Wilson's interval, looked "
    "at once. The interval here is wider for the same labels where it is made for a stop at a "
    "narrow look."
)
_RECALL = (
    "Recall and F1 are about positives. A random sample of all items finds few of them where they "
    "are rare, and then takes many labels."
)
_SPECIFICITY = (
    "Specificity and the false positive rate are about negatives. A random sample of all items "
    "finds few of them where they are rare, and then takes many labels."
)
_CLASSES = (
    "Balanced accuracy and Matthews correlation are about positives and negatives alike. A random "
    "sample of all items finds few of those that are rare, and then takes many labels."
)
_EFFECTIVE = (
    "The effective sample size is the simple random sample of the same items that would vary as "
    "much."
)
_NO_SPREAD = (
    "It is not told where the standard error is 0: no spread was seen, or none is left, and a "
    "random sample would have to be of all items to vary as little."
)


def estimates(facts: Facts) -> Section:
    """Return the estimates, with all that makes them readable."""
    several = len(facts.metrics) > 1
    first = facts.metrics[0].estimate
    blocks: list[Block] = [_notice(facts)]
    blocks.append(_estimates_table(facts.metrics) if several else _headline(facts.metrics[0]))
    rows = [("Interval", f"{first.interval}; {first.holds}"), ("Goal", facts.how.goal_words)]
    if not several:
        if first.within is not None:
            rows.append(("Half-width", f"{first.half_width:.4f}, wanted {first.within:g}"))
        if first.standard_error is not None:
            rows.append(("Standard error", f"{first.standard_error:.4f}"))
    rows.append(("Labels", _labels(facts)))
    told = (difference_words(each.estimate) for each in facts.metrics)
    rows += [("Difference", words) for words in told if words]
    return Section("The estimates" if several else "The estimate", (*blocks, Pairs(tuple(rows))))


def worth(facts: Facts) -> Section:
    """Return what the labels are worth beside a random sample."""
    rows = tuple(
        (
            about(each),
            f"{each.estimate.labels:,}",
            _number(each.effective_labels),
            f"{each.items:,}",
            _at_random(each),
        )
        for each in facts.metrics
    )
    unseen = any(
        each.effective_labels is None and each.estimate.standard_error == 0
        for each in facts.metrics
    )
    headings = ("Metric", "Labels", "Effective sample size", "Of items", "At random, about")
    blocks: list[Block] = [
        Table("Labels, and what a random sample would take", headings, rows),
        Paragraph(f"{_EFFECTIVE} {_NO_SPREAD}" if unseen else _EFFECTIVE, small=True),
        Paragraph(_RANDOM, small=True),
    ]
    if facts.population.weight_column is not None:
        blocks.append(Paragraph("Random samples are of items by weight, too.", small=True))
    for rare, words in (
        ("positives", _RECALL),
        ("negatives", _SPECIFICITY),
        ("positives or negatives", _CLASSES),
    ):
        names = tuple(name for name, kind in METRICS.items() if kind.depends_on == rare)
        if any(each.estimate.metric.startswith(names) for each in facts.metrics):
            blocks.append(Paragraph(words, small=True))
    return Section("What the labels are worth", tuple(blocks))


def narrowing(facts: Facts) -> Section | None:
    """Return the pictures of intervals that narrow; None while there is nothing to draw."""
    chosen = sorted(facts.metrics, key=attrgetter("estimate.distance"), reverse=True)[:_PICTURES]
    figures = [_figure(each, facts) for each in facts.metrics if each in chosen]
    drawn: list[Block] = [figure for figure in figures if figure is not None]
    if not drawn:
        return None
    if len(drawn) < len(facts.metrics):
        drawn.append(
            Paragraph("Pictures are of the metrics that are farthest from their goals.", small=True)
        )
    return Section("How the interval narrowed", tuple(drawn))


def about(each: MetricFacts) -> str:
    """Return a metric's name as it is read."""
    return metric_name(each.estimate.metric)


def _notice(facts: Facts) -> Notice:
    stopped = facts.campaign.stopped
    if stopped is None:
        return Notice("warn", "Not finished: more labels are needed, and the numbers will change.")
    missed = [each for each in facts.metrics if each.state == "missed"]
    unsure = facts.how.goal.get("at_least") is not None and "cannot say" in stopped
    unjudged = any(each.state == "unjudged" for each in facts.metrics)
    tone = "warn" if missed or unsure or unjudged else "good"
    more = f" {len(missed):,} of {len(facts.metrics):,} goals are missed." if missed else ""
    return Notice("warn" if tone == "warn" else "good", f"Stopped: {stopped}.{more}")


def _headline(each: MetricFacts) -> Headline:
    low, high = ends_text(each.estimate)
    waiting = f", {each.estimate.open:,} open" if each.estimate.open else ""
    sure = f"at {100 * each.estimate.confidence:.4g}% confidence{waiting}"
    value = f"{value_text(each.estimate)} [{low}, {high}]"
    return Headline(as_heading(about(each)), value, sure)


def _estimates_table(metrics: Sequence[MetricFacts]) -> Table:
    return Table(
        "Every metric, with its interval and its goal",
        ("Metric", "Estimate", "From", "To", "Confidence", "±", "Goal", "Labels", "State"),
        tuple(
            (
                about(each),
                "–" if each.estimate.value is None else value_text(each.estimate),
                *ends_text(each.estimate),
                f"{100 * each.estimate.confidence:.4g}%",
                f"{each.estimate.half_width:.4f}",
                "–" if each.estimate.within is None else f"{each.estimate.within:g}",
                f"{each.estimate.labels:,}",
                each.state,
            )
            for each in metrics
        ),
        texts=(8,),
    )


def _labels(facts: Facts) -> str:
    answers = facts.answers
    unjudged = answers.cannot_judge + answers.broken
    told = f"{answers.labels:,} in {answers.rounds:,} rounds"
    if unjudged:
        told += f"; {unjudged:,} more could not be judged"
    if answers.unanswered:
        told += f"; {answers.unanswered:,} drawn items have no answer yet"
    return told


def _at_random(each: MetricFacts) -> str:
    if each.random_labels is None:
        return "–"
    times = each.random_labels / each.estimate.labels if each.estimate.labels else 0.0
    more = f" ({times:.1f} times)" if times >= 1.05 else ""
    return f"{_number(each.random_labels)}{more}"


def _number(labels: float | None) -> str:
    return "–" if labels is None else f"{labels:,.0f}"


def _figure(each: MetricFacts, facts: Facts) -> Figure | None:
    at_least = facts.how.goal.get("at_least")
    curve = draw_curve(each.history, within=each.estimate.within, at_least=at_least)
    if curve is None:
        return None
    goal = "the limit asked about" if each.estimate.within is None else "the goal"
    if each.estimate.within is not None:
        goal = f"±{each.estimate.within:g}, the goal"
    return figure_of(curve, about(each), goal)
