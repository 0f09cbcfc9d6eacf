"""Periods of a series, and which settings a new one must keep."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from assay.core.groups import refuse_bad_names
from assay.core.metrics import METRICS, canonical_metric
from assay.core.targets import Target, class_targets
from assay.core.vocabulary import Vocabulary
from assay.errors import DesignError, InputError, PredictionsError, StorageError
from assay.labelling import Part, Series, Settings, find_campaign, whereabouts
from assay.predictions import Predictions, Scan, as_scan, engine_of
from assay.storage import Session, Store


@dataclass(frozen=True)
class Member:
    """A period's stored campaign."""

    key: int
    settings: Settings
    series: Series


def members(session: Session, series: str) -> list[Member]:
    """Periods of a series, oldest first."""
    periods = []
    for name in session.names():
        # A period that was rebased is kept under another name, and no longer counts.
        if name.startswith(f"{series}/") and " until " not in name:
            key, settings = find_campaign(session, name)
            if settings.series is not None and settings.series.name == series:
                periods.append(Member(key, settings, settings.series))
    return sorted(periods, key=lambda member: member.series.number)


def refuse_if_begun(session: Session, *, series: Series) -> None:
    """Raise if another process has meanwhile begun a period."""
    there = [member.series.period for member in members(session, series.name)]
    if len(there) > series.number:
        raise StorageError(
            f"another process has started period {there[-1]!r} of series {series.name!r} meanwhile",
            hint="check `assay follow`, and begin the next period",
        )


def refuse_without_ids(id: str | None, predictions: object) -> None:
    """Raise if items have no ids: a series must recognise items that return."""
    if id is None and not isinstance(predictions, Predictions):
        raise PredictionsError(
            "a series needs ids",
            details="only ids show which items occur again in the next period",
            hint="name their column: id='url'",
        )


def refuse_change(
    last: Member,  # the period before
    *,
    # metrics, seed, aux, sample_weight: as requested; empty or None by default.
    metrics: Sequence[str],
    seed: int | None,
    aux: Sequence[str] | None,
    sample_weight: str | None,
) -> None:
    """Raise if an option would make the periods incomparable."""
    if aux is not None and bool(aux) != bool(last.settings.source.aux):
        there = (
            f"has aux={list(last.settings.source.aux)!r}"
            if last.settings.source.aux
            else "has no aux="
        )
        raise DesignError(
            f"series {last.series.name!r} {there}, and {list(aux)!r} is requested",
            details="with second opinions each period has labels of its own, without them labels "
            "count again: a series is of one kind",
            hint="leave it out, or start another series",
        )
    if sample_weight is not None and not last.settings.strata.weighted:
        raise DesignError(
            f"series {last.series.name!r} has no sample_weight=, and {sample_weight!r} is "
            "requested",
            details="in earlier periods every item counts the same",
            hint="leave it out, or start another series",
        )
    classes = None if last.settings.is_binary else last.settings.classes
    asked = ", ".join(following(last.series, metrics, classes).metrics) if metrics else None
    for what, requested, is_now in (
        ("metric", asked, ", ".join(last.series.metrics)),
        ("seed", seed, last.settings.seed),
    ):
        if requested is not None and requested != is_now:
            raise DesignError(
                f"series {last.series.name!r} has {what} {is_now!r}, and {requested!r} is "
                "requested",
                hint=f"leave it out, or start another series with {what} {requested!r}",
            )


def following(series: Series, metrics: Sequence[str], classes: Vocabulary | None) -> Series:
    """Series with the metrics to follow, in their canonical spelling.

    `metrics`: as given; the default is precision, or accuracy with more classes.
    """
    if classes is None:
        names = [_followed(each) for each in metrics or ["precision"]]
    else:
        every = [
            class_targets(each, [series.period], classes, None) for each in metrics or ["accuracy"]
        ]
        names = [_written(target) for targets in every for target in targets]
    first, *more = dict.fromkeys(names)
    return replace(series, metric=first, more=tuple(more))


def _followed(metric: str) -> str:
    name = canonical_metric(metric)
    if not METRICS[name].is_of_classifier:
        raise DesignError(
            f"{name} cannot be followed: it does not depend on the classifier",
            hint=f"create a campaign of each period with metric={name!r}",
        )
    return name


def _written(target: Target) -> str:
    if target.minus is not None:
        raise DesignError(
            f"{target.name} is a difference, but a series shows the changes of its metrics anyway",
            hint="name the metric alone: accuracy, macro_f1, recall:CLASS",
        )
    return f"{target.metric}:{target.label}" if target.label else target.metric


def refuse_bad_name(what: str, name: object) -> None:
    """Raise if a series or a period cannot have this name."""
    try:
        refuse_bad_names([str(name)])
    except InputError:
        raise InputError(
            f"a {what} cannot be called {str(name)[:200]!r}",
            details="a name has at most 200 letters, digits, _ . and -",
        ) from None


def scan_before(store: Store, settings: Settings, previous: object) -> Scan:
    """Location of the previous period's predictions."""
    if previous is not None:
        return as_scan(previous)
    part = settings.source.parts[-1]
    if part.scan is None:
        raise PredictionsError(
            f"the predictions of {settings.name!r} were given in memory: {part.description}",
            details="the change is estimated from both periods' predictions",
            hint="give them again with previous=...",
        )
    (scan,) = whereabouts(store, settings, [part])
    try:
        engine_of(scan, None)  # looks for files
    except PredictionsError as error:
        raise PredictionsError(
            error.problem,
            details=f"these are the predictions of {settings.name!r}, with which Assay "
            "compares the next period",
            hint="give their present place: previous=... (--previous FILE)",
        ) from None
    return scan


def check_same_before(then: Part, now: Predictions, last: Member) -> None:
    """Raise if predictions are not those of the previous period."""
    if now.fingerprint() != then.fingerprint:
        raise PredictionsError(
            f"{now.source} differs from the predictions of period {last.series.period!r}",
            details=f"then {then.rows:,} rows, now {now.size:,}; some id, score or predicted label "
            "differs",
            hint="keep each period's predictions in a file of its own, and give those of the "
            "period before with previous= (--previous)",
        )
