"""Dashboard: the owner's view of a campaign, as values for templates."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from operator import attrgetter
from typing import Self

from assay.campaign import Campaign
from assay.core.answers import Agreement
from assay.core.types import percent
from assay.errors import DesignError, counted
from assay.labelling import history_in, reviewers_in, whose_classes
from assay.report import Html, blocks_of, curve_of, figure_of
from assay.results import (
    Block,
    Document,
    Estimate,
    Estimates,
    Figure,
    Mistakes,
    Outlook,
    Pace,
    Paragraph,
    ReviewerRow,
    done_words,
    ends_text,
    goal_words,
    metric_name,
    notes_once,
    pace_of,
    plain_words,
    printable,
    strata_table,
    value_text,
)

# Looks at rounds that wait for answers, whenever somebody has answered; shared by all metrics.
_LOOKS = 30
_PICTURES = 6  # at most; the metrics that are farthest from their goals
_STEPS = 3
_ENOUGH = 2  # reviewers: with fewer, another would be welcome


@dataclass(frozen=True)
class Heading:
    """Subject of the campaign, which does not change while people label."""

    title: str
    source: str
    items: int
    goal: str
    question: str


@dataclass(frozen=True)
class MetricView:
    """Metric, for people."""

    name: str
    value: str
    interval: str
    estimate: Estimate

    @classmethod
    def of(cls, estimate: Estimate) -> Self:
        """View of an estimate."""
        ends = "[{}, {}]".format(*ends_text(estimate))
        return cls(printable(estimate.name), value_text(estimate), ends, estimate)


@dataclass(frozen=True)
class Part:
    """Section of the page: a title, and a document as HTML."""

    title: str
    html: Html


@dataclass(frozen=True)
class Step:
    """Thing to do next: what, where, and why; `path` is below the campaign's address."""

    words: str
    path: str
    why: str


@dataclass(frozen=True)
class Dashboard:
    """First screen: state of a campaign, which follows every answer."""

    sentence: str  # summary for people who want no details
    metrics: Sequence[MetricView]
    stopped: str | None  # reason why no more labels are needed
    met: bool  # whether the goal is met, and not only the budget spent
    # Number of items with an answer; `unjudged` counts those that could not be judged, by reason.
    answers: int
    budget: int | None
    outlook: Outlook
    pace: Pace | None  # pace of labelling; None if there are too few labels
    unjudged: Mapping[str, int]
    disputes: int
    begun: int | None  # items that wait for a further reviewer; None if every item wants one
    trouble: str  # reason why reviewers can get no more items, if so
    figures: Html  # the estimates of several metrics
    curves: Html  # histories of some intervals
    drawn: int  # number of these
    steps: Sequence[Step]
    notes: Sequence[str]


@dataclass(frozen=True)
class Details:
    """What is below the first screen, and takes longer to find."""

    errors: Mistakes
    parts: Sequence[Part]  # slices, classes, confusion matrices, second opinions
    strata: Part
    reviewers: Sequence[ReviewerRow]
    agreement: Agreement


def heading_of(campaign: Campaign) -> Heading:
    """Subject of a campaign."""
    settings, goal = campaign.settings, campaign.settings.goal
    if not goal.single:
        first, *others = goal.targets
        title = f"{len(goal.targets)} metrics" if others else first.name.replace("_", " ")
        title = f"{title[:1].upper()}{title[1:]}"
    else:
        title = metric_name(goal.metric).capitalize()
    source = printable(settings.source.description)
    question = settings.question
    if not settings.is_binary:
        question += f" ({len(settings.classes):,} classes)"
    elif settings.reviewing.answers:
        question += " (yes: {}; no: {})".format(*settings.reviewing.answers)
    return Heading(title, source, settings.items, goal_words(goal), printable(question))


def dashboard_of(campaign: Campaign) -> Dashboard:
    """State of a campaign."""
    settings, estimates = campaign.settings, campaign.estimates()
    labelling, curves = campaign.desk.labelling, [*_curves(campaign, estimates)]
    answers = Counter(campaign.answers().values())
    budget = settings.goal.budget
    stopped = next(iter(estimates.values())).stopped
    at_least = settings.goal.at_least
    return Dashboard(
        sentence=" ".join((*_answer(campaign), plain_words(estimates))),
        metrics=[MetricView.of(each) for each in estimates.rows],
        stopped=done_words(estimates.values()) or None,
        met=stopped is not None and all(_is_met(each, at_least) for each in estimates.values()),
        answers=answers.total(),
        budget=budget,
        outlook=campaign.outlook(),
        pace=pace_of(labelling.moments),
        unjudged={each.value: answers[each] for each in settings.answers if not each.judged},
        disputes=len(campaign.disputes()),
        begun=None if settings.reviewing.per_item == 1 else labelling.half_reviewed,
        trouble=printable(labelling.trouble),
        figures=_html(estimates.figures),
        curves=_html(curves),
        drawn=len(curves),
        steps=[*islice(_steps(campaign, is_done=stopped is not None), _STEPS)],
        notes=[*settings.notes, *notes_once(estimates)],
    )


def details_of(campaign: Campaign) -> Details:
    """Errors, slices, classes, reviewers and strata of a campaign."""
    return Details(
        errors=campaign.errors(classifier=campaign.settings.strata.classifiers[-1]),
        parts=[_part(each) for each in _documents(campaign)],
        strata=_part(_strata(campaign)),
        reviewers=reviewers_in(campaign.desk.labelling),
        agreement=campaign.agreement(),
    )


def _steps(campaign: Campaign, *, is_done: bool) -> Iterator[Step]:
    """Yield what there is to do, the most urgent first."""
    labelling = campaign.desk.labelling
    if disputes := len(campaign.disputes()):
        words = f"Settle {counted(disputes, 'dispute')}"
        yield Step(words, "/owner/disputes", "reviewers disagree, and you decide")
    if is_done:
        yield Step("Download the report", "/owner/report", "one file, for whoever asked")
    elif not labelling.trouble:
        which = "next" if labelling.answered else "first"
        yield Step(f"Label the {which} items", "/review", "on a computer or a phone")
        if len(labelling.answers_of) < _ENOUGH:
            yield Step("Invite a reviewer", "#invite", "several people can label at once")
    if labelling.answered:
        yield Step("Look at the errors", "/owner/errors", "the most confident ones first")
    if campaign.settings.classes.is_yes_or_no:
        yield Step("Compare thresholds", "/owner/curve", "precision and recall at each")
    if is_done:
        yield Step("Download the labels", "/owner/export", "for training, or your own analysis")


def _answer(campaign: Campaign) -> list[str]:
    """Answer of a campaign for a threshold, in words."""
    if campaign.settings.goal.threshold_for is None:
        return []
    return [f"{campaign.threshold()}."]


def _html(blocks: Iterable[Block]) -> Html:
    return blocks_of(blocks, "dashboard")


def _part(document: Document) -> Part:
    return Part(document.title, _html(document.blocks))


def _documents(campaign: Campaign) -> Iterator[Document]:
    """Yield the documents below the estimates."""
    settings = campaign.settings
    yield from _slices(campaign)
    if not settings.is_binary:
        for name in whose_classes(settings.strata):
            yield campaign.by_class(name).document()
    if settings.classes.has_matrix:
        for name in whose_classes(settings.strata):
            yield campaign.confusion(name).document()
    savings, judges = campaign.savings(), campaign.judges()
    saved = [] if savings is None else [Paragraph(savings.sentence)]
    opinions = [block for each in judges for block in each.document().blocks]
    if saved or opinions:
        yield Document("Second opinions", (*saved, *opinions))


def _strata(campaign: Campaign) -> Document:
    counted = campaign.settings.strata.counted
    words = (
        f"Where labels went, and the share of {counted}"
        f"{' predictions' if counted == 'correct' else ''} among those that could be judged. The "
        f"line on a bar is the share's {percent(campaign.settings.goal.confidence)} interval "
        "(Wilson), for each stratum by itself, as if the number of its labels had been fixed "
        "before."
    )
    table = strata_table(campaign.strata(), counted)
    return Document("Strata", (Paragraph(words, small=True), table))


def _slices(campaign: Campaign) -> Iterator[Document]:
    """Yield the metric by every column that was named for slices."""
    if all(target.minus is not None for target in campaign.settings.goal.targets):
        return  # differences have no slices
    for column in campaign.settings.source.slices:
        try:
            slices = campaign.slices(column)
        except DesignError:
            continue
        # The part of a note after ";" is advice for programs.
        notes = tuple(note.partition(";")[0] for note in slices.notes)
        yield replace(slices, notes=notes).document()


def _curves(campaign: Campaign, estimates: Estimates) -> Iterator[Figure]:
    """Yield the histories of the intervals farthest from their goals."""
    history = history_in(campaign.desk.labelling, unfinished=_LOOKS // len(estimates))
    farthest = sorted(estimates.rows, key=attrgetter("distance"), reverse=True)[:_PICTURES]
    for each in estimates.rows:
        past = history.get(each.metric, ()) if each in farthest else ()
        if curve := curve_of(each, past, at_least=campaign.settings.goal.at_least):
            yield figure_of(curve, each)


def _is_met(estimate: Estimate, at_least: float | None) -> bool:
    if at_least is not None:
        return estimate.verdict is not None
    return estimate.is_near
