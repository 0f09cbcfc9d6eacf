"""Progress of a campaign: its interval so far, labels still needed, and its reviewers' part."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from itertools import pairwise
from math import ceil, floor, log10, sqrt
from typing import Any, Literal, Self

from assay.core.answers import Answer
from assay.core.forecast import LITTLE, labels_at_width, two_digits
from assay.core.standing import Standing
from assay.errors import counted
from assay.results.estimate import Estimate, Item
from assay.storage import Label


@dataclass(frozen=True)
class HistoryPoint:
    """Estimate of a metric after a complete round; `value` is None if undefined."""

    labels: int
    value: float | None
    low: float
    high: float

    @classmethod
    def of(cls, standing: Standing) -> Self:
        """Add the current point of a metric."""
        now = standing.look
        value = float(now.moments.value) if now.moments.defined else None
        return cls(standing.labels, value, float(now.low), float(now.high))


def thinned(points: Sequence[HistoryPoint], at_most: int) -> list[HistoryPoint]:
    """At most so many of the points, evenly spaced by their labels; the last is kept.

    >>> points = [HistoryPoint(labels, 0.5, 0.4, 0.6) for labels in (3, 5, 6, 50, 60, 90, 100)]
    >>> [point.labels for point in thinned(points, 4)]
    [6, 50, 60, 100]
    """
    if len(points) <= at_most:
        return list(points)
    most = points[-1].labels
    # The last point of every stretch of labels.
    by_stretch = {-(-point.labels * at_most // max(most, 1)): point for point in points}
    by_stretch.pop(0, None)  # before the first label
    return list(by_stretch.values())


@dataclass(frozen=True)
class Savings:
    """Labels saved by second opinions.

    >>> Savings(0.42, 0.35, 0.5, 12).words
    'second opinions: about 42% (35% to 50%) of the labels that strata by the score would need; \
12 answers from before are not in the new sample'
    """

    # Labels that strata by second opinions take, as a share of those that strata by the score would
    # take, each with its best allocation.
    share: float
    # low, high: interval, by resampling the judged items. It is rough: it covers the truth less
    # often than its confidence says.
    low: float
    high: float
    # Answers from before the strata were cut anew, to items that are not drawn again.
    not_drawn: int

    @property
    def sentence(self) -> str:
        """Sentence under a heading of its own."""
        words = self.words.partition(": ")[2]
        return f"{words[:1].upper()}{words[1:]}."

    @property
    def words(self) -> str:
        """Full sentence."""
        summary = (
            f"second opinions: about {self.share:.0%} ({self.low:.0%} to {self.high:.0%}) of the "
            "labels that strata by the score would need"
        )
        if not self.not_drawn:
            return summary
        answers = counted(self.not_drawn, "answer")
        verb = "is" if self.not_drawn == 1 else "are"
        return f"{summary}; {answers} from before {verb} not in the new sample"


# Forecast of the labels that a goal still takes.

_NEARLY_ALL = 0.9  # of the items
_SAVES_LITTLE = (
    "stratification saves little here: the scores say too little about where the errors are"
)


@dataclass(frozen=True)
class Forecast:
    """Labels that a new campaign is expected to take if its scores are calibrated.

    >>> Forecast(210, 250, 9_000).words
    'about 210 labels; random sampling would need about 250'
    >>> Forecast(210, 215, 9_000).cautions
    ('stratification saves little here: the scores say too little about where the errors are',)
    """

    labels: int
    random: int  # labels of a simple random sample with an interval of the same width
    items: int  # items that labels are drawn from

    @classmethod
    def rounded(cls, labels: float, random: float, items: int) -> Self:
        """Forecast with as many digits as it deserves."""
        return cls(min(two_digits(labels), items), min(two_digits(random), items), items)

    def to_dict(self) -> dict[str, Any]:
        """Numbers and cautions as plain values."""
        return {**asdict(self), "cautions": [*self.cautions]}

    @property
    def words(self) -> str:
        """Both numbers."""
        return f"about {self.labels:,} labels; {self.at_random}"

    @property
    def at_random(self) -> str:
        """Labels that random sampling needs."""
        return f"random sampling would need about {self.random:,}"

    @property
    def cautions(self) -> tuple[str, ...]:
        """What to know before the first label, in sentences."""
        if self.labels >= _NEARLY_ALL * self.items:
            return (
                f"nearly all of the {self.items:,} items that the metric is about must be "
                "labelled: a wider interval needs fewer",
            )
        return (_SAVES_LITTLE,) if self.labels > (1 - LITTLE) * self.random else ()


_LEAST = 20  # labels; with fewer, the interval is no basis for a forecast


@dataclass(frozen=True)
class Outlook:
    """Forecast of the further answers that a goal takes, with its basis."""

    answers: int | None  # rounded to two digits if a forecast; None if unknown
    words: str  # basis of the number, or the reason why there is none

    @property
    def text(self) -> str:
        """Forecast and basis in a sentence.

        >>> Outlook(240, "a forecast").text, Outlook(None, "too few labels to say").text
        ('Labels left: about 240 (a forecast)', 'Labels left: too few labels to say')
        """
        if self.answers is None:
            return f"Labels left: {self.words}"
        about = "about " if self.words.startswith("a forecast") else ""
        return f"Labels left: {about}{self.answers:,} ({self.words})"


def outlook_of(
    estimates: Mapping[str, Estimate],  # as from `Campaign.estimates`
    *,
    answers: int,  # number of items with an answer
    items: int,  # number of items that may be asked for
    budget: int | None,  # number of answers that may be asked for
    # Half-width that no label reduces: the items are a sample themselves.
    of_sample: float = 0.0,
    forecast: Forecast | None = None,  # made before the first answer
) -> Outlook:
    """Forecast of the further answers that a goal takes.

    With several metrics, the one that takes most. Items that cannot be judged are assumed to stay
    as frequent as they have been.
    """
    every = list(estimates.values())
    if any(each.stopped is not None for each in every):
        return Outlook(0, "none")
    left = None if budget is None else max(budget - answers, 0)
    with_width = [each for each in every if each.within is not None]
    more: float | None = None
    if not with_width:
        words = "unknown: it depends on how close the truth is to the limit"
    elif min(each.labels for each in with_width) < _LEAST:
        words = "too few labels for a forecast"
        if forecast is not None:
            more, words = max(forecast.labels - answers, 1.0), "a forecast from the scores"
    elif of_sample >= min(each.within or 1.0 for each in with_width):
        words = f"unreachable: the sample of items alone contributes ±{of_sample:.2g}"
    else:
        more = max(_more(each, items, of_sample) for each in with_width)
        words = "a forecast from the present width"
        if more <= 0:
            return Outlook(None, "one more round must confirm the width")
    if left is not None and (more is None or left <= more):
        return Outlook(
            left, "until the budget is used up" + (", before the goal is reached" if more else "")
        )
    return Outlook(None if more is None else _two_digits(more), words)


def cautions_of(estimates: Iterable[Estimate], forecast: Forecast | None) -> tuple[str, ...]:
    """Cautions on what stratification saves: by the labels so far, before by the forecast."""
    known = [each for each in estimates if each.random_labels and each.labels >= 2 * _LEAST]
    if known:
        saved = any(each.labels <= (1 - LITTLE) * (each.random_labels or 0) for each in known)
        return () if saved else (_SAVES_LITTLE,)
    return () if forecast is None else forecast.cautions


def _more(estimate: Estimate, items: int, of_sample: float) -> float:
    """Forecast of the further answers that a metric takes."""
    within = estimate.within or 1.0
    width = estimate.half_width_like_rest
    if width <= within:
        return 0.0
    now, then = (sqrt(max(each**2 - of_sample**2, 0.0)) for each in (width, within))
    labels = labels_at_width(estimate.labels, now, then, max(items, 1))
    return (labels - estimate.labels) * (1 + estimate.cannot_judge / estimate.labels)


def _two_digits(number: float) -> int:
    """Round up to two digits, enough for a forecast.

    >>> [_two_digits(number) for number in (0.4, 7.2, 234.5, 12_345)]
    [1, 8, 240, 13000]
    """
    step: int = 10 ** max(floor(log10(max(number, 1.0))) - 1, 0)
    return ceil(number / step) * step


# Pace of labelling.

_PAUSE = timedelta(minutes=30)  # a longer pause starts a new session
_WINDOW = timedelta(hours=1)
_AT_LEAST = timedelta(minutes=1)  # of labelling, and five labels: less is not enough for a pace
_FEWEST = 5
_FILE = 20  # labels of one moment; more came from a file, and are not a person's pace
REMEMBERED = 2_000  # labels whose times are kept: more than people give in an hour


@dataclass(frozen=True)
class Pace:
    """Items labelled per hour, when people last labelled."""

    an_hour: int
    # Period of the count: the last hour before the last label, from its first label on, or since
    # the last pause of half an hour.
    minutes: int

    def hours(self, labels: int) -> str:
        """Duration of so many labels at this pace, in words.

        >>> [Pace(60, 25).hours(labels) for labels in (5, 50, 240)]
        ['about 10 minutes', 'about 50 minutes', 'about 4 hours']
        """
        minutes = 60 * labels / self.an_hour
        if minutes < 60:
            return f"about {max(10 * ceil(minutes / 10), 10)} minutes"
        hours = _two_digits(minutes / 60)
        return f"about {hours:,} hour{'' if hours == 1 else 's'}"


def pace_of(moments: Sequence[str]) -> Pace | None:
    """Pace of labelling; None if there were too few labels.

    `moments`: times of the items' first labels, oldest first, as ISO 8601.

    >>> pace_of([f"2026-11-16T09:{minute:02d}:00+00:00" for minute in range(0, 30, 2)])
    Pace(an_hour=30, minutes=28)
    """
    times = [time for moment in moments if (time := _time(moment)) is not None]
    together = Counter(times)
    times = [time for time in times if together[time] <= _FILE]
    if not times:
        return None
    since = times[-1] - _WINDOW
    for earlier, later in pairwise(times):
        if later - earlier > _PAUSE:
            since = max(since, later)
    sitting = [time for time in times if since <= time <= times[-1]]
    span = sitting[-1] - sitting[0]
    if len(sitting) < _FEWEST or span < _AT_LEAST:
        return None
    # Time starts with the first label: its own work lies before.
    an_hour = (len(sitting) - 1) * timedelta(hours=1) / span
    return Pace(round(an_hour), round(span / timedelta(minutes=1)))


def _time(text: str) -> datetime | None:
    """Parse a stored time; None if it is invalid, which `assay verify` reports."""
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        return None
    return None if time.tzinfo is None else time


# Messages between a campaign and its reviewers.


@dataclass(frozen=True)
class Recorded:
    """Outcome of answers that were recorded together."""

    new: int
    revised: int
    unchanged: int
    # Number of new labels that do not count: their items had all the answers they want.
    spare: int


@dataclass(frozen=True)
class Receipt:
    """Outcome of a label that a page has sent."""

    key: str
    # ``saved``: on disk. ``again``: sent before, and on disk. ``conflict``: another label was sent
    # under this key, and stands. ``refused``: the item was not given to this reviewer.
    status: Literal["saved", "again", "conflict", "refused"]
    # It came after the lease, and counts by the same rule as any other.
    late: bool = False
    message: str = ""  # message to the reviewer, if it was not saved


@dataclass(frozen=True)
class Turn:
    """Reply to a reviewer: receipts, and the next items.

    `state` is ``wait`` if there is nothing for this reviewer now but may be later; `yours` and
    `team` count items with an answer.
    """

    receipts: tuple[Receipt, ...]
    items: tuple[Item, ...]
    state: Literal["go on", "wait", "done"]
    yours: int
    team: int


@dataclass(frozen=True)
class Dispute:
    """Item on which its reviewers disagree, with the label of each, by their names."""

    item: Item
    labels: Mapping[str, Label]

    @property
    def answers(self) -> Mapping[str, Answer]:
        """Answer of each reviewer."""
        return {name: Answer(label.answer) for name, label in self.labels.items()}


@dataclass(frozen=True)
class ReviewerRow:
    """Work of one reviewer in the campaign.

    `answers` counts items; `late` and `spare` are among them. `last_at` is the time of their last
    label.
    """

    name: str
    answers: int
    cannot_judge: int
    broken: int
    skipped: int
    late: int
    spare: int
    last_at: str
