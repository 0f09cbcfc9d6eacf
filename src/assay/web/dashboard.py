"""Dashboard: what the owner sees of a campaign, as values for a template."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter

from assay.campaign import Campaign
from assay.core.answers import Agreement
from assay.core.metrics import METRICS
from assay.errors import DesignError
from assay.labelling import history_in, reviewers_in, whose_classes
from assay.report import Curve, curve_of
from assay.results import (
    ConfusionCell,
    ConfusionMatrix,
    Estimate,
    HistoryPoint,
    JudgeFigure,
    JudgeQuality,
    Outlook,
    Pace,
    ReviewerRow,
    SliceRow,
    StratumRow,
    ends_text,
    goal_words,
    metric_name,
    notes_once,
    pace_of,
    plain_words,
    printable,
    shortened,
    state_text,
    value_text,
)

# Looks at rounds that wait for answers, whenever somebody has answered; shared by all metrics.
_LOOKS = 30
_PICTURES = 6  # at most; of more metrics, those that are farthest from their goals
_PAIRS = 12  # of classes that are confused, at most
_TONES = {"green": "good", "yellow": "warn", "red": "bad"}


@dataclass(frozen=True)
class Heading:
    """What the campaign is about: this does not change while people label."""

    title: str
    source: str
    items: int
    goal: str
    question: str


@dataclass(frozen=True)
class MetricView:
    """One metric as it is read, with its picture where it has one."""

    name: str
    value: str
    interval: str
    estimate: Estimate
    state: str
    tone: str
    curve: Curve | None


@dataclass(frozen=True)
class Bar:
    """A share and its interval as a bar: where each is, in percent of the bar's length."""

    part: float
    low: float
    high: float

    @property
    def span(self) -> float:
        """How long the interval is."""
        return self.high - self.low


@dataclass(frozen=True)
class StratumView:
    """A stratum as it is read; the bar is None where nothing can be said of its share."""

    row: StratumRow
    bar: Bar | None


@dataclass(frozen=True)
class SlicesView:
    """A metric in the slices of one column."""

    column: str
    headline: str
    rows: Sequence[tuple[SliceRow, Bar | None]]
    notes: Sequence[str]

    @property
    def doubts(self) -> bool:
        """Whether some have too few labels to say."""
        return any(row.too_few for row, _ in self.rows)


@dataclass(frozen=True)
class ConfusionView:
    """What the classifier takes for what, most often first; `more` are pairs that are left out."""

    headline: str
    rows: Sequence[tuple[ConfusionCell, Bar]]
    more: int


@dataclass(frozen=True)
class JudgeView:
    """How good a second opinion is that says yes or no."""

    headline: str
    rows: Sequence[tuple[JudgeFigure, Bar | None]]
    gaps: Sequence[str]
    notes: Sequence[str]

    @property
    def doubts(self) -> bool:
        """Whether some figures have too few labels to say."""
        return any(row.doubt for row, _ in self.rows)


@dataclass(frozen=True)
class Dashboard:
    """How a campaign stands."""

    sentence: str  # what is known, for people who want no details
    metrics: Sequence[MetricView]
    stopped: str | None  # why no more labels are needed
    met: bool  # whether that is what was wanted, and not only the end of the budget
    # Items that have an answer; `unjudged` counts those that could not be judged, by why.
    answers: int
    budget: int | None
    outlook: Outlook
    pace: Pace | None  # how fast people label; None where too few labels tell
    unjudged: Mapping[str, int]
    disputes: int
    begun: int | None  # items that wait for a further reviewer; None where every item is for one
    trouble: str  # why reviewers can get no more items, where that is so
    strata: Sequence[StratumView]
    counted: str  # what is counted of the labels in a stratum: yes, or correct predictions
    # What is taken for what, where there are more classes than yes and no.
    confusions: "Sequence[ConfusionView]"
    slices: Sequence[SlicesView]
    saved: str  # what second opinions save, in words
    judges: Sequence[JudgeView]  # how good those are that say yes or no
    confidence: float
    reviewers: Sequence[ReviewerRow]
    agreement: Agreement
    notes: Sequence[str]


def heading_of(campaign: Campaign) -> Heading:
    """Return what the campaign is about."""
    settings, goal = campaign.settings, campaign.settings.goal
    if not goal.single:
        first, *others = goal.targets
        title = f"{len(goal.targets)} metrics" if others else first.name
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
    """Return how a campaign stands."""
    settings, estimates = campaign.settings, campaign.estimates()
    labelling = campaign.desk.labelling
    history = history_in(labelling, unfinished=_LOOKS // len(estimates))
    answers = Counter(campaign.answers().values())
    budget = settings.goal.budget
    stopped = next(iter(estimates.values())).stopped
    at_least = settings.goal.at_least
    farthest = sorted(estimates.values(), key=attrgetter("distance"), reverse=True)[:_PICTURES]
    drawn = {estimate.metric for estimate in farthest}
    return Dashboard(
        sentence=" ".join((*_answer(campaign), plain_words(estimates))),
        metrics=[
            _metric_view(each, history.get(name, ()) if name in drawn else (), at_least)
            for name, each in estimates.items()
        ],
        stopped=stopped,
        met=stopped is not None and all(_is_met(each, at_least) for each in estimates.values()),
        answers=answers.total(),
        budget=budget,
        outlook=campaign.outlook(),
        pace=pace_of(labelling.moments),
        unjudged={each.value: answers[each] for each in settings.answers if not each.judged},
        disputes=len(campaign.disputes()),
        begun=None if settings.reviewing.per_item == 1 else labelling.half_reviewed,
        trouble=printable(labelling.trouble),
        strata=[_stratum_view(row) for row in shortened(campaign.strata())],
        counted=settings.strata.counted,
        confusions=_confusions(campaign),
        slices=_slices(campaign),
        confidence=settings.goal.confidence,
        reviewers=reviewers_in(labelling),
        agreement=campaign.agreement(),
        saved=_saved(campaign),
        judges=[_judge_view(each) for each in campaign.judges()],
        notes=[*settings.notes, *notes_once(estimates)],
    )


def _saved(campaign: Campaign) -> str:
    savings = campaign.savings()
    return "" if savings is None else savings.sentence


def _answer(campaign: Campaign) -> list[str]:
    """Return the answer of a campaign for a threshold, in words."""
    if campaign.settings.goal.threshold_for is None:
        return []
    return [f"{campaign.threshold()}."]


def _judge_view(quality: JudgeQuality) -> JudgeView:
    rows = [(row, _judge_bar(row)) for row in quality.rows]
    gaps, notes = quality.gap_lines(""), quality.notes
    return JudgeView(printable(quality.headline), rows, [printable(gap) for gap in gaps], notes)


def _judge_bar(row: JudgeFigure) -> Bar | None:
    """Return a figure as a bar; kappa has none, as it may be below 0."""
    if row.value is None or row.figure == "kappa":
        return None
    return Bar(*(100 * x for x in (row.value, row.low, row.high)))


def _stratum_view(row: StratumRow) -> StratumView:
    if row.rate is None or row.low is None or row.high is None:
        return StratumView(row, None)
    return StratumView(row, Bar(*(100 * x for x in (row.rate, row.low, row.high))))


def _confusions(campaign: Campaign) -> list[ConfusionView]:
    """Return what each classifier takes for what; of yes and no, or of several classes, nothing."""
    settings = campaign.settings
    if settings.is_binary or settings.classes.multilabel:
        return []
    return [_confusion(campaign.confusion(name)) for name in whose_classes(settings.strata)]


def _confusion(found: ConfusionMatrix) -> ConfusionView:
    wrong = found.confused
    rows = [
        (cell, Bar(*(100 * x for x in (cell.rate, cell.low, cell.high)))) for cell in wrong[:_PAIRS]
    ]
    whose = f"{found.classifier}: " if found.classifier else ""
    return ConfusionView(printable(f"{whose}{found.headline}"), rows, len(wrong) - len(rows))


def _slices(campaign: Campaign) -> list[SlicesView]:
    """Return the metric by every column that was named for slices."""
    if all(target.minus is not None for target in campaign.settings.goal.targets):
        return []  # of differences there are no slices
    views = []
    for column in campaign.settings.source.slices:
        try:
            found = campaign.slices(column)
        except DesignError:
            continue
        # Of more classes than yes and no it is accuracy, or a metric of one class.
        lowest = METRICS[re.split(r"[:\[]", found.metric)[0]].lowest
        rows = [(row, _slice_bar(row, lowest)) for row in found.rows]
        # What a note says after ";" is how a program would ask otherwise.
        notes = [note.partition(";")[0] for note in found.notes]
        views.append(SlicesView(printable(column), printable(found.headline), rows, notes))
    return views


def _slice_bar(row: SliceRow, lowest: float) -> Bar | None:
    if row.value is None:
        return None
    return Bar(*(100 * (x - lowest) / (1 - lowest) for x in (row.value, row.low, row.high)))


def _metric_view(
    estimate: Estimate, past: Sequence[HistoryPoint], at_least: float | None
) -> MetricView:
    state, colour = state_text(estimate)
    return MetricView(
        name=printable(metric_name(estimate.metric)),
        value=value_text(estimate),
        interval="[{}, {}]".format(*ends_text(estimate)),
        estimate=estimate,
        state=state,
        tone=_TONES[colour],
        curve=curve_of(estimate, past, at_least=at_least),
    )


def _is_met(estimate: Estimate, at_least: float | None) -> bool:
    if at_least is not None:
        return estimate.verdict is not None
    return estimate.is_near
