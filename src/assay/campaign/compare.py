"""Comparison campaigns: the difference between two model versions or two weeks."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from assay.campaign.campaign import Campaign
from assay.campaign.carry_over import refuse_other_ids, start_beside
from assay.campaign.classes import refuse_of_weeks, with_classes
from assay.campaign.create import settings_of
from assay.campaign.setup import set_up
from assay.core.design import Design
from assay.core.goal import Asked
from assay.core.rules import refuse
from assay.core.targets import written
from assay.core.vocabulary import Vocabulary
from assay.errors import DesignError, InputError
from assay.labelling import Reviewing, Settings, find_campaign
from assay.options import picked
from assay.predictions import (
    Columns,
    Given,
    IdColumns,
    Predictions,
    ScoreOf,
    ScoreScale,
    as_scan,
    key_name,
    read_compared,
    refuse_bad_show,
    shown_with,
    stays_in_place,
    with_top,
)
from assay.storage import open_storage, open_store


def compare_campaign(
    old: object,
    new: object,
    *,
    id: IdColumns | None = None,
    score: str | None = None,
    predicted: str | None = None,
    threshold: float | None = None,
    positive: str | float | None = None,
    score_of: ScoreOf | None = None,
    scale: ScoreScale | None = None,
    show: Sequence[str] = (),
    sample_weight: str | None = None,
    slices: Sequence[str] = (),
    aux: Sequence[str] = (),
    classes: Given | None = None,
    probabilities: str | None = None,
    names: tuple[str, str] = ("old", "new"),
    metric: str | None = None,
    within: float | None = None,
    level_within: float | None = None,
    budget: int | None = None,
    confidence: float = 0.95,
    labels_from: str | Sequence[str] = (),
    design: Design | None = None,
    question: str | None = None,
    reviewers_per_item: int | None = None,
    overlap: float | None = None,
    name: str = "comparison",
    storage: str | None = None,
    seed: int | None = None,
) -> Campaign:
    """Create a campaign for the difference between two sets of predictions.

    Labels go where the two disagree: an item with equal predictions counts for little, or for
    nothing. Every earlier label of an item that is drawn again counts, and nobody is asked again.
    An item has a permanent place in the order, so this holds for most items.

    Parameters
    ----------
    old, new : path, SQL query, DataFrame, Arrow table, mapping of arrays, `Scan`, `Predictions`
        As in `create_campaign`: predictions of two model versions on the same items, or of one
        classifier on two weeks' items. Some items may be in only one of them. If one stays in
        place, an engine joins them by id (docs/any_size.md). They are read into memory with more
        classes than yes and no, or with `aux` if neither DuckDB nor Spark reads both.
    id, score, predicted, threshold, positive, score_of, scale, show
        Columns of both; an id is required. If their names differ, rename them in a query: ``SELECT
        url, p_v2 AS p FROM 'new.parquet'``.
    sample_weight : str, optional
        As in `create_campaign`: a column of both. An item in both has one weight, because one label
        counts for both. For weeks with weights of their own, use `follow_campaign`.
    slices : sequence of str
        As in `create_campaign`: columns of both, for `Campaign.slices` of the new one's metric,
        which is among the targets if `level_within` is given.
    aux : sequence of str
        Columns of both with second opinions, as in `create_campaign`. For an item in both, the
        later values count. Excludes `labels_from`.
    classes, probabilities
        As in `create_campaign`. Default: all classes that either names, and those of the campaigns
        whose labels are used again. A class in only one of the two is kept.
    names : (str, str)
        Names of the two.
    metric : str, optional
        As in `create_campaign`: any metric of yes and no (default: precision); with more classes
        any over all of them (default: accuracy), or of one: ``recall:CLASS``.
    within, budget, confidence
        Goal: an interval of half-width `within` for the difference, or `budget` answers.
    level_within : float, optional
        Requested half-width of the new one's metric itself. Default: whatever width the labels for
        the difference allow.
    labels_from : str or sequence of str
        Campaigns in the same storage whose labels are used again. They must have asked the same
        question; their seed is taken. If they disagree, the most recent answer counts.
    question, reviewers_per_item, overlap
        As in `create_campaign`; default: as in these campaigns.
    design, name, storage, seed
        As in `create_campaign`.

    Returns
    -------
    Campaign
        Its metrics are ``precision:new - precision:old`` and, if `level_within` is given,
        ``precision:new``.

    Examples
    --------
    >>> import assay
    >>> old = {"url": ["a", "b", "c", "d"], "p": [0.9, 0.8, 0.7, 0.2]}
    >>> new = {"url": ["a", "b", "c", "d"], "p": [0.9, 0.3, 0.8, 0.7]}
    >>> campaign = assay.compare_campaign(old, new, id="url", score="p", threshold=0.5, budget=9)
    >>> truth = {"a": True, "b": False, "c": True, "d": True}
    >>> while batch := campaign.ask():
    ...     estimate = campaign.tell({item.id: truth[item.id] for item in batch})
    >>> print(estimate)
    precision:new - precision:old +0.333 [+0.333, +0.333] at 95%, 2 labels: every item has been \
reviewed
    """
    sources = [labels_from] if isinstance(labels_from, str) else list(labels_from)
    # Without labels of existing campaigns, the storage defaults to memory as for any new one.
    store = open_storage(storage) if sources else open_store(storage)
    refuse({"aux": list(aux), "labels_from": sources[0] if sources else None})
    with store.read() as session:
        before = [find_campaign(session, each)[1] for each in sources]
    vocabularies = [each.classes for each in before]
    refuse_of_weeks([metric or ""], vocabularies)
    seed = _seed_of(before, seed)
    reviewing = _reviewing_of(before, question, reviewers_per_item, overlap)
    columns = picked(Columns, locals()).of_one
    one, other = _two_names(names)
    classifiers = with_top({one: columns, other: columns}, 1)
    refuse_bad_show(slices, "slices")
    id = key_name(id)
    shown = list(dict.fromkeys([*shown_with(id, show), *slices]))
    scores: tuple[str, ...] = () if score is None else (score,)
    if not aux:  # with aux they are kept, as are all its columns
        scores = scores_to_keep([old, new], id, shown, scores)
    kept = list(dict.fromkeys([*shown, *scores]))
    refuse_bad_show(aux, "aux")
    further: dict[str, Any] = {"aux": list(aux), "sample_weight": sample_weight}
    around: dict[str, Any] = {name: value for name, value in further.items() if value}
    read = partial(
        _read, [old, new], classifiers=classifiers, id=id, show=kept, seed=seed, **around
    )
    predictions, known = with_classes(
        read,
        [(old, columns), (new, columns)],
        classes=classes,
        metrics=[] if metric is None else [metric],
        before=vocabularies,
    )
    metric = metric or ("precision" if known is None else "accuracy")
    for each in before:
        refuse_other_ids(predictions, each)
    if known is not None:
        refuse_names_of_classes(predictions.classifiers, known)
    targets = _targets(metric, one, other, within, level_within)
    setup = set_up(
        predictions,
        {"id": id, "show": shown_with(id, show), **around},
        Asked(metrics=targets, budget=budget, confidence=confidence),
        classifiers=classifiers,
        classes=known,
        design=design,
        seed=seed,
        bind=True,
    )
    scans = [as_scan(old), as_scan(new)]
    settings = settings_of(
        setup, scans, name=name, reviewing=reviewing, slices=slices, scores=scores
    )
    refuse_other_questions(before, settings)
    return start_beside(store, sources, settings, predictions=predictions)


def _read(
    scans: Sequence[object], classes: Vocabulary | None, **columns: Any
) -> tuple[Predictions, Vocabulary | None]:
    return read_compared(scans, classes=classes, **columns), classes


def scores_to_keep(
    scans: Sequence[object], id: str | None, shown: Sequence[str], scores: tuple[str, ...]
) -> tuple[str, ...]:
    """Columns of scores that are kept with every card.

    Predictions that stay in place would be read again for them, so they keep scores only together
    with other columns. `shown`, `scores`: columns that reviewers see, and columns of scores.
    """
    return scores if shown or not any(stays_in_place(scan, id) for scan in scans) else ()


def _targets(
    metric: str, one: str, other: str, within: float | None, level: float | None
) -> list[str]:
    difference = f"{metric}:{other} - {metric}:{one}"
    levels = [] if level is None else [written(f"{metric}:{other}", level)]
    return [written(difference, within), *levels]


def _two_names(names: object) -> tuple[str, str]:
    if isinstance(names, Sequence) and not isinstance(names, str) and len(names) == 2:
        one, other = names
        if one != other:
            return one, other
    raise InputError(f"names={names!r}", details="give two different names, the earlier first")


def _seed_of(before: Sequence[Settings], seed: int | None) -> int:
    """Seed of the campaigns whose labels are used again."""
    for settings in before:
        if seed is None:
            seed = settings.seed
        elif settings.seed != seed:
            raise DesignError(
                f"campaign {settings.name!r} has seed {settings.seed}, not {seed}",
                details="another seed draws other items, so few labels would be reused",
                hint="leave out the seed; of campaigns with different seeds, name one only",
            )
    return 0 if seed is None else seed


def _reviewing_of(
    before: Sequence[Settings], question: str | None, per_item: int | None, share: float | None
) -> Reviewing:
    """How people judge; the default is taken from the earlier campaigns."""
    first = before[0].reviewing if before else Reviewing()
    for settings in before:
        again = settings.reviewing
        first = replace(
            first, question=first.question or again.question, answers=first.answers or again.answers
        )
        most = (again.per_item, again.share)
        if most > (first.per_item, first.share):
            first = replace(first, per_item=most[0], share=most[1])
    return reviewing_with(first, question=question, per_item=per_item, share=share)


def reviewing_with(before: Reviewing, **given: Any) -> Reviewing:
    """How people judge: as before, except for the given options."""
    return replace(before, **{name: value for name, value in given.items() if value is not None})


def refuse_names_of_classes(names: Sequence[str], classes: Vocabulary) -> None:
    """Raise if a classifier or period has the name of a class: metrics name both."""
    for name in names:
        if name in classes.names:
            raise InputError(
                f"{name!r} is the name of a class, and of one of the two",
                details=f"precision:{name} is ambiguous",
                hint="choose other names for the two, or for the period",
            )


def refuse_other_questions(before: Sequence[Settings], settings: Settings) -> None:
    """Raise if labels of earlier campaigns do not answer the current question."""
    for each in before:
        if each.is_binary != settings.is_binary:
            ours, theirs = (
                "of yes and no" if one.is_binary else f"of {len(one.classes):,} classes"
                for one in (settings, each)
            )
            raise DesignError(
                f"campaign {each.name!r} is {theirs}, and this one is {ours}",
                details="its labels do not answer this question",
                hint="use none of its labels",
            )
        if each.question != settings.question:
            raise DesignError(
                f"campaign {each.name!r} asked another question: {each.question!r}",
                details=f"now it is {settings.question!r}; a label answers the question that was "
                "asked",
                hint=f"ask the same: question={each.question!r}; or use none of its labels",
            )
        then, now = each.reviewing, settings.reviewing
        if then.answers and now.answers and then.answers != now.answers:
            raise DesignError(
                f"campaign {each.name!r} called its answers {' and '.join(then.answers)}, not "
                f"{' and '.join(now.answers)}",
                details="a yes there may be a no here",
                hint="use none of its labels, or campaigns with the same names of answers",
            )
        if now.per_item < then.per_item or now.share < then.share:
            raise DesignError(
                f"campaign {each.name!r} has {then.per_item} reviewers on a share of "
                f"{then.share:g} of the items, and {now.per_item} on {now.share:g} are wanted",
                details="what its reviewers disagree on would count by the first answer",
                hint="leave out reviewers_per_item and overlap, or want at least as many",
            )
