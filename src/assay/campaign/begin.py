"""Ways to begin a period: alone, with last period's lessons, or as a comparison with it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import starmap
from typing import Any, Self
from warnings import warn

import numpy as np

from assay.campaign.campaign import Campaign
from assay.campaign.carry_over import refuse_other_ids, start_beside
from assay.campaign.classes import classes_of_several
from assay.campaign.compare import refuse_names_of_classes, refuse_other_questions, scores_to_keep
from assay.campaign.create import settings_of
from assay.campaign.periods import Member, check_same_before, refuse_if_begun, refuse_without_ids
from assay.campaign.recut import lessons_from
from assay.campaign.setup import Setup, by_lessons, seed_after, set_up
from assay.core.design import Design
from assay.core.evaluation import Prior
from assay.core.goal import Asked
from assay.core.rules import refuse
from assay.core.targets import written
from assay.core.vocabulary import Vocabulary
from assay.errors import AssayWarning, DesignError
from assay.labelling import Reviewing, Series, Settings
from assay.predictions import (
    NOWHERE,
    Given,
    Predictions,
    Scan,
    are_alike,
    as_scan,
    code_of_both,
    predictions_of_both,
    read_compared,
)
from assay.storage import Store

# For an unnamed classifier: options default to the previous period's.
OF_ONE = ("score", "predicted", "threshold", "positive", "score_of", "scale")


# As many strata as the later comparisons have: with equal cuts, most cards keep their order.
_BINS = 8


@dataclass(frozen=True, eq=False)
class Period:
    """A period to begin, with all its options."""

    store: Store
    predictions: object
    series: Series
    columns: Mapping[str, Any]  # of the classifier
    shared: Mapping[str, Any]  # columns of the ids, of what people see, of weights
    asked: Asked
    reviewing: Reviewing
    seed: int
    classes: Vocabulary | None = None
    last: Member | None = None

    @property
    def name(self) -> str:
        """Name of its campaign."""
        return f"{self.series.name}/{self.series.period}"

    def on(self, own: Mapping[str, Any], **shared: Any) -> Self:
        """Period with the previous one's columns where none are given."""
        columns = {**own, **self.columns}
        return replace(self, columns=columns, shared={**self.shared, **shared})

    def begin(self, setup: Setup, before: Sequence[Settings] = ()) -> Campaign:
        """Store the campaign of a period without a comparison.

        `setup`: the predictions, read and cut; `before`: campaigns whose labels count again.
        """
        scans = [as_scan(self.predictions)]
        settings = settings_of(setup, scans, name=self.name, reviewing=self.reviewing)
        for each in before:
            refuse_other_ids(setup.predictions, each)
        return self.start(settings, setup.predictions, before)

    def start(
        self, settings: Settings, predictions: Predictions, before: Sequence[Settings]
    ) -> Campaign:
        """Store the campaign beside those whose labels count again."""
        refuse_other_questions(before, settings)
        return start_beside(
            self.store,
            [each.name for each in before],
            replace(settings, series=self.series),
            predictions=predictions,
            check=partial(refuse_if_begun, series=self.series),
        )


def begin_with_lessons(period: Period, previous: object = None) -> Campaign:
    """Begin a period with second opinions, using the previous period's lessons."""
    series, last = period.series, period.last
    if series.more:
        raise DesignError(
            f"{len(series.metrics)} metrics are followed beside aux=",
            details="with second opinions a period is of one metric",
            hint="name one metric; or leave out aux=",
        )
    refuse({"change_within": series.change_within}, {"aux": True})
    refuse_without_ids(period.shared["id"], period.predictions)
    first = {name: period.columns.get(name) for name in OF_ONE[:4]}
    read = {**period.shared, **first, **period.columns}
    lessons = None
    if last is not None:
        lessons, missing = lessons_from(period.store, last.settings.name, read, previous)
        if missing:
            warn(
                f"period {last.series.period!r} has learned from columns that are not there now: "
                f"{', '.join(missing)}; the first strata are by the score",
                AssayWarning,
                stacklevel=4,
            )
    setup = set_up(
        period.predictions,
        read,
        replace(period.asked, metric=series.metric),
        classes=period.classes,
        scale=read.get("scale"),
        seed=seed_after(period.seed, lessons),
        bind=True,
    )
    return period.begin(by_lessons(setup, lessons))


def begin_alone(period: Period) -> Campaign:
    """Begin the first period or, with sample weights, any."""
    series, within = period.series, period.asked.within
    refuse_without_ids(period.shared["id"], period.predictions)
    weighted = "sample_weight" in period.shared
    refuse({"change_within": series.change_within}, {"sample_weight": weighted})
    if period.classes is not None:
        refuse_names_of_classes([series.period], period.classes)
    targets = [written(f"{metric}:{series.period}", within) for metric in series.metrics]
    setup = set_up(
        period.predictions,
        period.shared,
        replace(period.asked, within=None, metrics=targets),
        classifiers={series.period: period.columns},
        classes=period.classes,
        design=Design(bins=_BINS),
        seed=period.seed,
    )
    return period.begin(setup, [] if period.last is None else [period.last.settings])


def begin_as_comparison(
    period: Period, last: Member, before: Scan, classes: Given | None
) -> Campaign:
    """Begin a period as a comparison with the one before."""
    old, series, shared = last.settings, period.series, period.shared
    then = old.source.columns["classifiers"][last.series.period]
    both = {last.series.period: then, series.period: period.columns}
    scores = _shared_scores(both, [before, period.predictions], shared)
    kept = {**shared, "show": list(dict.fromkeys([*shared["show"], *scores]))}
    known = None
    if not old.is_binary:
        of_now = [(period.predictions, period.columns)]
        known = classes_of_several(of_now, classes, series.metrics, [old.classes], look=True)
    columns: dict[str, Any] = {"classifiers": both, **kept, "seed": period.seed}
    predictions = read_compared([before, period.predictions], classes=known, **columns)
    _refuse_changed(predictions, before, last, known, columns)
    setup = set_up(
        predictions,
        shared,
        replace(period.asked, within=None, metrics=_targets(period, last, predictions)),
        classifiers=both,
        classes=known,
        design=old.design,
        seed=period.seed,
        bind=True,
    )
    scans = [before, as_scan(period.predictions)]
    settings = settings_of(
        setup, scans, name=period.name, reviewing=period.reviewing, scores=scores
    )
    refuse_other_questions([old], settings)
    campaign = Campaign(period.store, last.key, old, None)
    if not campaign.done:
        warn(
            f"period {last.series.period!r} is in progress: using its labels so far",
            AssayWarning,
            stacklevel=4,
        )
    settings = replace(settings, prior=prior_of(campaign, predictions, settings))
    return period.start(settings, predictions, [old])


def _refuse_changed(
    predictions: Predictions,
    before: Scan,
    last: Member,
    known: Vocabulary | None,
    columns: Mapping[str, Any],
) -> None:
    """Refuse periods that the last one's labels do not belong to."""
    old = last.settings
    # With more classes now, the fingerprint is that of the former numbers.
    same = known is None or known.names == old.classes.names
    then_read = (
        predictions if same else read_compared([before, before], classes=old.classes, **columns)
    )
    check_same_before(old.source.parts[-1], then_read.parts[0], last)
    refuse_other_ids(predictions, old)
    if known is not None:
        refuse_names_of_classes(predictions.classifiers, known)


def _shared_scores(
    both: Mapping[str, Mapping[str, Any]], scans: Sequence[object], shared: Mapping[str, Any]
) -> tuple[str, ...]:
    """Column of scores to keep with the cards, if both periods have the same one."""
    named = {columns.get("score") for columns in both.values()}
    scores = tuple(str(name) for name in named if name is not None and len(named) == 1)
    return scores_to_keep(scans, shared["id"], shared["show"], scores)


def _targets(period: Period, last: Member, predictions: Predictions) -> list[str]:
    """Metrics of this period, and their changes since the last one."""
    series, within = period.series, period.asked.within
    targets = {f"{metric}:{series.period}": within for metric in series.metrics}
    change = within if series.change_within is None else series.change_within
    for metric in series.metrics:
        if not are_alike(predictions, metric):  # otherwise there is no change to estimate: it is 0
            first, second = series.period, last.series.period
            targets[f"{metric}:{first} - {metric}:{second}"] = change
    return list(starmap(written, targets.items()))


_WORTH = 0.5  # weight of a last period's label for where to look now


def prior_of(campaign: Campaign, predictions: Predictions, settings: Settings) -> Prior | None:
    """Last period's labels by the part in which their items would be if they were new.

    Labels of items that are still present count directly, and need no prior.
    """
    strata, classes = settings.strata, settings.classes
    answers = {item: answer for item, answer in campaign.answers().items() if answer.judged}
    label = settings.goal.targets[0].label
    items = predictions.find(list(answers), variable="rank", scale=settings.source.scale)
    labels, positives = np.zeros((2, len(strata.parts)))
    for answer, item in zip(answers.values(), items, strict=True):
        predicted = (
            NOWHERE if item is None else predictions_of_both(item.card.predicted, len(classes))[0]
        )
        if item is None or predicted == NOWHERE:
            continue
        code = int(code_of_both(np.array(NOWHERE), np.array(predicted), len(classes)))
        stratum = int(strata.assign(np.array([item.value]), np.array([code]))[0])
        if stratum >= 0 and strata.has_part(stratum, code):
            place = strata.part_of(stratum, code)
            labels[place] += _WORTH
            outcome = label or ("yes" if settings.is_binary else classes.names[predicted])
            positives[place] += _WORTH * (answer == outcome)
    return Prior(tuple(labels.tolist()), tuple(positives.tolist()))
