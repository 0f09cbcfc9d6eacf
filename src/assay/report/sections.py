"""Documents of a report in reading order: its numbers first, then its method."""

import json
import shlex
from collections.abc import Mapping
from operator import attrgetter
from typing import Any

from assay.core.metrics import METRICS
from assay.core.types import percent
from assay.errors import counted
from assay.report.charts import draw_curve, draw_reliability, figure_of
from assay.report.facts import Facts, MetricFacts
from assay.report.front import Front, counts_in_words
from assay.report.threshold_chart import curve_figures
from assay.results import (
    Block,
    Code,
    Document,
    Estimates,
    Figure,
    Lines,
    Notice,
    Page,
    Pairs,
    Paragraph,
    Table,
    ThresholdCurve,
    as_heading,
    difference_words,
    done_words,
    headed,
    plain_words,
)

FRONT = Front()


def page_of(facts: Facts, curve: ThresholdCurve | None = None, front: Front = FRONT) -> Page:
    """Report as a page: first what a reader in a hurry needs, then the method."""
    sections = [
        estimates(facts, front),
        front.trend,
        front.errors,
        _interval(facts),
        worth(facts),
        narrowing(facts),
        *_curve(curve),
        *(each.document() for each in (*facts.classes, *facts.confusion, *facts.slices)),
        _opinions(facts),
        _strata(facts),
        _reliability(facts),
        _unanswered(facts),
        _reviewers(facts),
        _deviations(facts),
        _population(facts),
        _design(facts),
        Document("Notes", (Lines(facts.notes),)) if facts.notes else None,
        _checking(facts),
    ]
    return Page(
        title=facts.campaign.name,
        subtitle=f"{_topic(facts)} · {facts.campaign.question}",
        sections=tuple(section for section in sections if section is not None),
        footer=f"As of {_time(facts.made_at)}, by Assay {facts.assay}.",
    )


def _topic(facts: Facts) -> str:
    items = counted(facts.population.items, "item")
    if len(facts.metrics) > 1:
        return f"{counted(len(facts.metrics), 'metric')} of {items}"
    return f"{as_heading(about(facts.metrics[0]))} of {items}"


# Numbers: estimates, savings, and history.

_PICTURES = 4  # at most; the metrics that are farthest from their goals
_RANDOM = (
    "The size of a random sample is an estimate, for Wilson's interval at this value and a "
    "single look. An interval made for a campaign that stops when it is narrow is wider at the "
    "same number of labels."
)
_RARE = {  # denominators of metrics that may be rare
    "positives": "Recall and F1 depend on positives. If these are rare, a random sample of all "
    "items finds few of them and needs many labels.",
    "negatives": "Specificity and the false positive rate depend on negatives. If these are "
    "rare, a random sample of all items finds few of them and needs many labels.",
    "positives or negatives": "Balanced accuracy and Matthews correlation depend on positives "
    "and negatives. If either are rare, a random sample of all items "
    "finds few of them and needs many labels.",
}
_EFFECTIVE = "Effective sample size: size of the simple random sample with the same variance."
_UNJUDGED = (
    "The estimate leaves out what could not be judged. These are the lower end of its interval if "
    "all of that, and all that has no answer, counted against the metric, and the upper end if all "
    "counted for it. Where that could move the estimate by more than the goal, it is the interval "
    "of the estimate; the last column has the one that takes unjudged items to be like the rest of "
    "their stratum."
)
_UNANSWERED = (
    "Items without an answer may differ from the rest. The interval is that of the complete "
    "rounds, or assumes the worst case, whichever is narrower."
)
_NO_SPREAD = "It is not given if the standard error is 0."


def estimates(facts: Facts, front: Front = FRONT) -> Document:
    """Estimates in a sentence, in counts and as a picture; whose they are, and of when."""
    several = len(facts.metrics) > 1
    every_estimate = _all_of(facts)
    blocks: list[Block] = [Paragraph(plain_words(every_estimate)), _notice(facts)]
    if facts.answer:
        blocks.insert(0, Paragraph(facts.answer))
    if (counts := counts_in_words(facts)) is not None:
        blocks.insert(-1, counts)
    blocks += every_estimate.figures[: 1 if several else 2]  # unjudged items have a section
    rows = [
        *([("Owner", ", ".join(front.owners))] if front.owners else []),
        ("As of", _time(facts.made_at)),
        ("Goal", facts.how.goal_words),
        ("Labels", _labels(facts)),
    ]
    return Document("The estimates" if several else "The estimate", (*blocks, Pairs(tuple(rows))))


def _interval(facts: Facts) -> Document:
    """How the interval was made, and its width."""
    first, several = facts.metrics[0].estimate, len(facts.metrics) > 1
    rows = [("Interval", f"{first.interval}; {first.holds}")]
    if not several:
        if first.within is not None:
            rows.append(("Half-width", f"{first.half_width:.4f}, goal {first.within:g}"))
        if first.standard_error is not None:
            rows.append(("Standard error", f"{first.standard_error:.4f}"))
    differences = (difference_words(each.estimate) for each in facts.metrics)
    rows += [("Difference", words) for words in differences if words]
    return Document("Method of the intervals" if several else "Interval", (Pairs(tuple(rows)),))


def worth(facts: Facts) -> Document:
    """Show the savings by the labels, compared with a random sample."""
    rows = tuple(
        (
            about(each),
            f"{each.estimate.labels:,}",
            "–" if each.effective_labels is None else f"{each.effective_labels:,.0f}",
            f"{each.items:,}",
            _at_random(each),
        )
        for each in facts.metrics
    )
    unknown = [each.estimate for each in facts.metrics if each.effective_labels is None]
    unseen = any(each.standard_error == 0 for each in unknown)
    headings = headed(
        "Metric", "Labels", "Effective sample size", "Of items", "Random sample, about"
    )
    blocks: list[Block] = [
        Table("Labels used, and labels a random sample would need", headings, rows),
        Paragraph(f"{_EFFECTIVE} {_NO_SPREAD}" if unseen else _EFFECTIVE, small=True),
        Paragraph(_RANDOM, small=True),
    ]
    if facts.population.weight_column is not None:
        blocks.append(Paragraph("Random samples are drawn by weight, too.", small=True))
    for rare, words in _RARE.items():
        names = tuple(name for name, kind in METRICS.items() if kind.depends_on == rare)
        if any(each.estimate.metric.startswith(names) for each in facts.metrics):
            blocks.append(Paragraph(words, small=True))
    return Document("Savings", tuple(blocks))


def narrowing(facts: Facts) -> Document | None:
    """Pictures of narrowing intervals; None while there is nothing to draw."""
    chosen = sorted(facts.metrics, key=attrgetter("estimate.distance"), reverse=True)[:_PICTURES]
    figures = [_figure(each, facts) for each in facts.metrics if each in chosen]
    drawn: list[Block] = [figure for figure in figures if figure is not None]
    if not drawn:
        return None
    if len(drawn) < len(facts.metrics):
        words = "Charts show the metrics that are farthest from their goals."
        drawn.append(Paragraph(words, small=True))
    return Document("Interval by number of labels", tuple(drawn))


def about(each: MetricFacts) -> str:
    """Name of a metric, for people."""
    return each.estimate.name


def _notice(facts: Facts) -> Notice:
    stopped = facts.campaign.stopped
    if stopped is None:
        return Notice("warn", "In progress: more labels are needed, and the numbers will change.")
    missed = [each for each in facts.metrics if each.state == "missed"]
    unsure = facts.how.goal.get("at_least") is not None and "undecided" in stopped
    unjudged = any(each.state == "unjudged" for each in facts.metrics)
    more = f" {len(missed):,} of {len(facts.metrics):,} goals are not reached." if missed else ""
    return Notice(
        "warn" if missed or unsure or unjudged else "good",
        f"Done: {done_words(_all_of(facts).values())}.{more}",
    )


def _all_of(facts: Facts) -> Estimates:
    return Estimates({each.estimate.metric: each.estimate for each in facts.metrics})


def _labels(facts: Facts) -> str:
    answers = facts.answers
    unjudged = answers.cannot_judge + answers.broken
    text = f"{answers.labels:,} in {counted(answers.rounds, 'round')}"
    if unjudged:
        text += f"; {unjudged:,} more could not be judged"
    if answers.unanswered:
        text += f"; {answers.unanswered:,} drawn items have no answer yet"
    return text


def _at_random(each: MetricFacts) -> str:
    at_random, labels = each.estimate.random_labels, each.estimate.labels
    if at_random is None:
        return "–"
    times = at_random / labels if labels else 0.0
    more = f" ({times:.1f} times)" if times >= 1.05 else ""
    return f"{at_random:,}{more}"


def _figure(each: MetricFacts, facts: Facts) -> Figure | None:
    at_least = facts.how.goal.get("at_least")
    curve = draw_curve(each.history, within=each.estimate.within, at_least=at_least)
    return None if curve is None else figure_of(curve, each.estimate)


# Method: draws, answers, deviations, and verification.


def _strata(facts: Facts) -> Document:
    share = f"Share of {facts.outcome}"
    part = "Share of items" if facts.population.weight_column is None else "Share of weight"
    headings = headed(
        "Stratum", "Items", part, "Drawn", "Labels", "Not judged", share, "From", "To"
    )
    rows = tuple(
        (
            each.stratum,
            f"{each.size:,}",
            f"{each.share:.1%}",
            *_counts(each, "drawn", "labels", "cannot_judge"),
            *("–" if end is None else f"{end:.3f}" for end in (each.rate, each.low, each.high)),
        )
        for each in facts.strata
    )
    confidence = facts.how.goal["confidence"]
    words = f"Intervals at {percent(confidence)}: {facts.strata_interval}."
    return Document("Strata", (Table("Labels by stratum", headings, rows, words),))


def _reliability(facts: Facts) -> Document | None:
    figure = draw_reliability(facts)
    if figure is None:
        return None
    words = (
        "Each dot is a stratum: its scores (x) and the outcome among its labels (y). A dot is at "
        "the middle of the stratum's scores or, if these have no known end, at the cut."
    )
    return Document("Outcome by score", (figure, Paragraph(words, small=True)))


def _unanswered(facts: Facts) -> Document:
    answers = facts.answers
    rows = [
        ("Drawn", counted(answers.drawn, "item")),
        ("Could not be judged", f"{answers.cannot_judge:,}"),
        ("Broken", f"{answers.broken:,}"),
        ("Without an answer", f"{answers.unanswered:,}"),
    ]
    if answers.half_reviewed or answers.disputed:
        rows.append(("Of these, waiting for another reviewer", f"{answers.half_reviewed:,}"))
        rows.append(("Of these, waiting for a ruling", f"{answers.disputed:,}"))
    blocks: list[Block] = [Pairs(tuple(rows))]
    if any(each.estimate.worst_case is not None for each in facts.metrics):
        blocks += [_all_of(facts).unjudged, Paragraph(_UNJUDGED, small=True)]
    if answers.unanswered:
        blocks.append(Paragraph(_UNANSWERED, small=True))
    return Document("Items without an answer", tuple(blocks))


def _reviewers(facts: Facts) -> Document:
    blocks: list[Block] = []
    if facts.reviewers:
        names = ("answers", "cannot_judge", "broken", "skipped", "late", "spare")
        headings = headed("Reviewer", *(name.replace("_", " ").capitalize() for name in names))
        rows = tuple((each.name, *_counts(each, *names)) for each in facts.reviewers)
        blocks.append(Table("Reviewers", headings, rows))
    else:
        blocks.append(Paragraph("No labels yet."))
    agreement = str(facts.agreement) if facts.agreement else "No item has two reviewers"
    blocks.append(Paragraph(f"{agreement[0].upper()}{agreement[1:]}."))
    return Document("Reviewers", tuple(blocks))


def _counts(each: object, *names: str) -> tuple[str, ...]:
    return tuple(f"{getattr(each, name):,}" for name in names)


def _deviations(facts: Facts) -> Document:
    deviations = facts.deviations
    rows = [
        ("Items with a changed answer", f"{deviations.revised_items:,}"),
        ("Answers revised, withdrawn", f"{deviations.revised:,}, {deviations.withdrawn:,}"),
        ("Late answers", f"{deviations.late:,} (counted like any other)"),
        ("Rulings", f"{deviations.rulings:,}"),
    ]
    if deviations.revised_items:
        rows += [
            (
                f"{as_heading(about(each))} with first answers",
                "not known" if each.first_value is None else f"{each.first_value:.3f}",
            )
            for each in facts.metrics
        ]
    if deviations.from_before:
        rows.append(("Labels from before the campaign", f"{deviations.from_before:,}"))
    if deviations.before is not None:
        rows.append(_before(deviations.before))
        rows.append(("Earlier answers of items not drawn yet", f"{deviations.waiting:,}"))
    return Document("Corrections, rulings and late answers", (Pairs(tuple(rows)),))


def _before(before: Mapping[str, Any]) -> tuple[str, str]:
    judged, gone = f"{before['judged']:,} judged items", f"{before['gone']:,}"
    if before["labels"] is None:
        return "Replaces", f"{before['campaign']}: {judged}, of which {gone} are gone"
    # The other campaigns still exist, and may have got more labels.
    names = ", ".join((before["campaign"], *before["others"]))
    return "Continues the labels of", f"{names}: {judged}, {gone} of them not in this campaign"


def _curve(curve: ThresholdCurve | None) -> list[Document]:
    if curve is None:
        return []
    section = curve.document()
    return [Document(section.title, (*curve_figures(curve), *section.blocks))]


def _opinions(facts: Facts) -> Document | None:
    """Show the savings by second opinions, and the quality of those that say yes or no."""
    blocks: list[Block] = [Paragraph(facts.saved)] if facts.saved else []
    blocks += [block for each in facts.judges for block in each.document().blocks]
    return Document("Second opinions", tuple(blocks)) if blocks else None


def _population(facts: Facts) -> Document:
    population, campaign = facts.population, facts.campaign
    rows = [
        ("Items", f"{population.items:,}"),
        ("From", population.source),
        ("Fingerprint", population.fingerprint),
        (
            "Ids",
            "row numbers" if population.id_column is None else f"column {population.id_column}",
        ),
        ("Created", _time(campaign.created_at)),
        ("First label", _time(campaign.first_label_at)),
        ("Last label", _time(campaign.last_label_at)),
    ]
    if population.weight_column is not None:
        text = f"by column {population.weight_column}; items are drawn in proportion to it"
        rows.insert(1, ("Items count", text))
    if population.sampled < population.items:
        text = f"{counted(population.sampled, 'item')}; the others do not affect the metric"
        rows.insert(1, ("Labels are drawn from", text))
    return Document("Population", (Pairs(tuple(rows)),))


def _design(facts: Facts) -> Document:
    how = facts.how
    rows = (
        ("Mode", f"{how.mode}: {how.promise}"),
        ("Design", how.design_words),
        ("Goal", how.goal_words),
        ("Seed", f"{how.seed}; with the item ids it fixes the order of the items"),
    )
    stored = json.dumps({"design": how.design, "goal": how.goal}, indent=2, ensure_ascii=False)
    return Document("Design", (Pairs(rows), Code(stored, "json")))


def _checking(facts: Facts) -> Document:
    name = shlex.quote(facts.campaign.name)
    commands = (
        f"assay verify {name}\n"
        f"assay report {name} -o report.json\n"
        f"assay verify {name} --report report.json\n"
        f"assay report {name} --bundle audit.zip\n"
        "assay verify audit.zip"
    )
    return Document(
        "Verification",
        (
            Paragraph(
                "Every number follows from the label log, the order of the items and the design. "
                "On the machine with the storage, the first command recomputes the estimates and "
                "the third a saved report. The bundle does the same anywhere, without the "
                "storage or the predictions."
            ),
            Code(commands, "bash"),
        ),
    )


def _time(stamp: str | None) -> str:
    return "–" if stamp is None else f"{stamp[:19].replace('T', ' ')} UTC"
