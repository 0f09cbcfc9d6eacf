"""Sections of a report about its method, in reading order."""

import json
import shlex
from collections.abc import Mapping
from typing import Any

from assay.report.blocks import Block, Code, Document, Lines, Pairs, Paragraph, Section, Table
from assay.report.charts import draw_reliability
from assay.report.facts import Facts
from assay.report.result import about, estimates, narrowing, worth
from assay.results import as_heading, value_text


def document_of(facts: Facts) -> Document:
    """Return a report as a page."""
    sections = [
        estimates(facts),
        worth(facts),
        narrowing(facts),
        *_slices(facts),
        _strata(facts),
        _reliability(facts),
        _unanswered(facts),
        _reviewers(facts),
        _deviations(facts),
        _population(facts),
        _design(facts),
        _notes(facts),
        _checking(facts),
    ]
    return Document(
        title=facts.campaign.name,
        subtitle=f"{_topic(facts)} · {facts.campaign.question}",
        sections=tuple(section for section in sections if section is not None),
        footer=f"As of {_time(facts.made_at)}, by Assay {facts.assay}.",
    )


def _topic(facts: Facts) -> str:
    if len(facts.metrics) > 1:
        return f"{len(facts.metrics):,} metrics of {facts.population.items:,} items"
    return f"{as_heading(about(facts.metrics[0]))} of {facts.population.items:,} items"


def _strata(facts: Facts) -> Section:
    share = f"Share of {facts.outcome}"
    part = "Share of items" if facts.population.weight_column is None else "Share of weight"
    headings = ("Stratum", "Items", part, "Drawn", "Labels", "Not judged", share)
    rows = tuple(
        (
            each.stratum,
            f"{each.size:,}",
            f"{each.share:.1%}",
            f"{each.drawn:,}",
            f"{each.labels:,}",
            f"{each.cannot_judge:,}",
            "–" if each.rate is None else f"{each.rate:.3f}",
            f"{each.low:.3f}",
            f"{each.high:.3f}",
        )
        for each in facts.strata
    )
    confidence = facts.how.goal["confidence"]
    words = f"Intervals of the shares at {100 * confidence:.4g}%: {facts.strata_interval}."
    return Section(
        "Strata",
        (Table("Labels by stratum", (*headings, "From", "To"), rows), Paragraph(words, small=True)),
    )


def _reliability(facts: Facts) -> Section | None:
    figure = draw_reliability(facts)
    if figure is None:
        return None
    words = (
        "A stratum's scores across, and what was found among its labels upwards. A dot stands in "
        "the middle of the scores or, where these have no known end, at the cut."
    )
    return Section("Scores and what was found", (figure, Paragraph(words, small=True)))


def _unanswered(facts: Facts) -> Section:
    answers = facts.answers
    rows = [
        ("Drawn", f"{answers.drawn:,} items"),
        ("Could not be judged", f"{answers.cannot_judge:,}"),
        ("Broken", f"{answers.broken:,}"),
        ("Without an answer", f"{answers.unanswered:,}"),
    ]
    if answers.half_reviewed or answers.disputed:
        rows.append(("Of these, waiting for another reviewer", f"{answers.half_reviewed:,}"))
        rows.append(("Of these, waiting for a ruling", f"{answers.disputed:,}"))
    blocks: list[Block] = [Pairs(tuple(rows))]
    bounds = tuple(
        (
            about(each),
            value_text(each.estimate),
            f"{each.estimate.cannot_judge:,}",
            f"{each.estimate.worst_case[0]:.3f}",
            f"{each.estimate.worst_case[1]:.3f}",
        )
        for each in facts.metrics
        if each.estimate.worst_case is not None
    )
    if bounds:
        headings = ("Metric", "Estimate", "Not judged", "From", "To")
        blocks.append(Table("The interval, whatever the unjudged items are", headings, bounds))
        blocks.append(
            Paragraph(
                "The estimate leaves out what could not be judged. These are the lower end of its "
                "interval if all of that, and all that has no answer, counted against the metric, "
                "and the upper end if all counted for it; the table of strata says where it lies.",
                small=True,
            )
        )
    if answers.unanswered:
        blocks.append(
            Paragraph(
                "Items without an answer need not be like the rest: the interval is that of the "
                "complete rounds, or takes them at their worst, whichever is narrower.",
                small=True,
            )
        )
    return Section("Items without an answer", tuple(blocks))


def _reviewers(facts: Facts) -> Section:
    blocks: list[Block] = []
    if facts.reviewers:
        headings = ("Reviewer", "Answers", "Cannot judge", "Broken", "Skipped", "Late", "Spare")
        rows = tuple(
            (
                each.name,
                f"{each.answers:,}",
                f"{each.cannot_judge:,}",
                f"{each.broken:,}",
                f"{each.skipped:,}",
                f"{each.late:,}",
                f"{each.spare:,}",
            )
            for each in facts.reviewers
        )
        blocks.append(Table("What each reviewer has done", headings, rows))
    else:
        blocks.append(Paragraph("Nobody has judged an item."))
    told = str(facts.agreement) if facts.agreement else "No item was judged by two reviewers"
    blocks.append(Paragraph(f"{told[0].upper()}{told[1:]}."))
    return Section("Reviewers", tuple(blocks))


def _deviations(facts: Facts) -> Section:
    found = facts.deviations
    rows = [
        ("Items whose answer has changed", f"{found.revised_items:,}"),
        ("Answers revised, withdrawn", f"{found.revised:,}, {found.withdrawn:,}"),
        ("Late answers", f"{found.late:,}; they count like any other"),
        ("Rulings", f"{found.rulings:,}"),
    ]
    if found.revised_items:
        rows += [
            (
                f"{as_heading(about(each))} with first answers",
                "not known" if each.first_value is None else f"{each.first_value:.3f}",
            )
            for each in facts.metrics
        ]
    if found.from_before:
        rows.append(("Labels from before the campaign", f"{found.from_before:,}"))
    if found.before is not None:
        rows.append(_before(found.before))
        rows.append(("Earlier answers that wait to be drawn", f"{found.waiting:,}"))
    return Section("What did not go straight", (Pairs(tuple(rows)),))


def _before(before: Mapping[str, Any]) -> tuple[str, str]:
    judged, gone = f"{before['judged']:,} judged items", f"{before['gone']:,}"
    if before["labels"] is None:
        return "Took the place of", f"{before['campaign']}: {judged}, of which {gone} are gone"
    # Where labels are counted, the others are still there, and may have got more.
    names = ", ".join((before["campaign"], *before["others"]))
    return "Goes on with labels of", f"{names}: {judged}, of which {gone} are not asked about here"


def _slices(facts: Facts) -> list[Section]:
    return [
        Section(
            f"By {each.column}",
            (
                Table(
                    each.headline,
                    each.headings,
                    tuple((row.slice, *row.cells, row.verdict) for row in each.rows),
                    texts=(len(each.headings) - 1,),
                ),
                *(Paragraph(note, small=True) for note in each.notes),
            ),
        )
        for each in facts.slices
    ]


def _population(facts: Facts) -> Section:
    found, campaign = facts.population, facts.campaign
    rows = [
        ("Items", f"{found.items:,}"),
        ("From", found.source),
        ("Fingerprint", found.fingerprint),
        ("Ids", "row numbers" if found.id_column is None else f"column {found.id_column}"),
        ("Created", _time(campaign.created_at)),
        ("First label", _time(campaign.first_label_at)),
        ("Last label", _time(campaign.last_label_at)),
    ]
    if found.weight_column is not None:
        told = f"by column {found.weight_column}, and drawn in proportion to it"
        rows.insert(1, ("Items count", told))
    if found.sampled < found.items:
        told = f"{found.sampled:,} items: the others tell nothing about the metric"
        rows.insert(1, ("Labels are drawn from", told))
    return Section("Population", (Pairs(tuple(rows)),))


def _design(facts: Facts) -> Section:
    how = facts.how
    rows = (
        ("Mode", f"{how.mode}: {how.promise}"),
        ("Design", how.design_words),
        ("Goal", how.goal_words),
        ("Seed", f"{how.seed}: with an item's id it fixes the item's place in the order"),
    )
    stored = json.dumps({"design": how.design, "goal": how.goal}, indent=2, ensure_ascii=False)
    return Section("Design", (Pairs(rows), Code(stored, "json")))


def _notes(facts: Facts) -> Section | None:
    return Section("Notes", (Lines(facts.notes),)) if facts.notes else None


def _checking(facts: Facts) -> Section:
    name = shlex.quote(facts.campaign.name)
    commands = (
        f"assay verify {name}\n"
        f"assay report {name} -o report.json\n"
        f"assay verify {name} --report report.json\n"
        f"assay report {name} --bundle audit.zip\n"
        "assay verify audit.zip"
    )
    return Section(
        "How to check it",
        (
            Paragraph(
                "Every number follows from the log of labels, the order of the items and the "
                "design. Where the campaign is kept, the first command recomputes the estimates "
                "and the third all of a saved report; the bundle does the same elsewhere, without "
                "the storage or the predictions."
            ),
            Code(commands, "bash"),
        ),
    )


def _time(stamp: str | None) -> str:
    return "–" if stamp is None else f"{stamp[:19].replace('T', ' ')} UTC"
