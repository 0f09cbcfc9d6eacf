"""Two model versions, or two weeks: the difference, from labels where it is decided."""

from collections.abc import Mapping, Sequence
from typing import Any

from assay.beginning import begin_with_several
from assay.campaign import Campaign
from assay.create import find_campaign, open_storage, settings_of
from assay.design import Design
from assay.errors import DesignError, InputError
from assay.predictions import Scan
from assay.predictions.compared import ComparedPredictions, read_compared
from assay.predictions.scan import as_scan
from assay.reserve import depth, more_cards
from assay.settings import Reviewing, Settings
from assay.store import Store
from assay.succession import go_on_beside, refuse_other_ids

__all__ = ["compare_campaign", "comparison_settings", "given_columns"]


def compare_campaign(
    old: object,
    new: object,
    *,
    id: str | None = None,
    score: str | None = None,
    predicted: str | None = None,
    threshold: float | None = None,
    positive: str | float | None = None,
    show: Sequence[str] = (),
    names: tuple[str, str] = ("old", "new"),
    metric: str = "precision",
    within: float | None = None,
    level_within: float | None = None,
    budget: int | None = None,
    confidence: float = 0.95,
    labels_from: str | Sequence[str] = (),
    design: Design | None = None,
    question: str | None = None,
    reviewers_per_item: int = 1,
    overlap: float = 0.0,
    name: str = "comparison",
    storage: str | None = None,
    seed: int | None = None,
) -> Campaign:
    """Start a campaign for the difference between two sets of predictions.

    Labels go where the two disagree: an item that both say the same of counts for little, or for
    nothing. Every label of an item that is drawn again counts, and nobody is asked again; an item
    has its place in the order for ever, so most are.

    Parameters
    ----------
    old, new : path, SQL query, DataFrame, Arrow table, mapping of arrays, `Scan`, `Predictions`
        As in `create_campaign`: what two model versions said of the same items, or one classifier
        of two weeks' items; some items may be in one of them only. Both are read into memory.
    id, score, predicted, threshold, positive, show
        The columns, of both; an id is needed. Where they have different names, a query gives them
        one: ``SELECT url, p_v2 AS p FROM 'new.parquet'``.
    names : (str, str)
        What the two are called.
    metric : str
        As in `create_campaign`.
    within, budget, confidence
        The goal: an interval of half-width `within` for the difference, or so many answers.
    level_within : float, optional
        The half-width that is wanted of the new one's metric itself. Without it, it is told as
        exactly as the labels for the difference allow.
    labels_from : str or sequence of str
        Campaigns in the same storage whose labels are used again. They must have asked the same
        question; their seed is taken.
    design, question, reviewers_per_item, overlap, name, storage, seed
        As in `create_campaign`.

    Returns
    -------
    Campaign
        Its metrics are ``precision:new - precision:old`` and, where `level_within` is given,
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
    precision:new - precision:old 0.333 [0.333, 0.333] at 95%, 2 labels: every item has been \
looked at
    """
    store = open_storage(storage)
    formers = [labels_from] if isinstance(labels_from, str) else list(labels_from)
    before = _formers(store, formers)
    question, seed = _as_before(before, question, seed)
    columns = given_columns(
        score=score, predicted=predicted, threshold=threshold, positive=positive
    )
    one, other = _two_names(names)
    found = read_compared(
        [old, new], classifiers={one: columns, other: columns}, id=id, show=show, seed=seed
    )
    for each in before:
        refuse_other_ids(found, each)
    settings = comparison_settings(
        found,
        [as_scan(old), as_scan(new)],
        columns=columns,
        around={"id": id, "show": show},
        metrics=_targets(metric, one, other, within, level_within),
        budget=budget,
        confidence=confidence,
        design=design,
        reviewing=Reviewing(question, reviewers_per_item, overlap),
        name=name,
        seed=seed,
    )
    _refuse_other_questions(before, settings.question)
    cards = more_cards(settings, found, depth(settings))
    return go_on_beside(store, formers, settings, cards, found=found)


def given_columns(**columns: object) -> dict[str, object]:
    """Return the columns that were named."""
    return {role: column for role, column in columns.items() if column is not None}


def comparison_settings(
    found: ComparedPredictions,
    scans: Sequence[Scan],
    *,
    columns: Mapping[str, object],
    around: Mapping[str, Any],
    metrics: Sequence[str],
    budget: int | None,
    confidence: float,
    design: Design | None,
    reviewing: Reviewing,
    name: str,
    seed: int,
) -> Settings:
    """Return what is fixed of a new comparison.

    Parameters
    ----------
    found, scans
        The predictions side by side, and where they were read from.
    columns, around
        Of both classifiers; and the columns of the ids and of what people see.
    metrics : sequence of str
        The targets.
    budget, confidence, design, reviewing, name, seed
        As in `create_campaign`.
    """
    beginning = begin_with_several(
        found,
        around,
        classifiers=dict.fromkeys(found.classifiers, columns),
        metric="",
        metrics=metrics,
        within=None,
        budget=budget,
        confidence=confidence,
        simultaneous=False,
        design=design,
        seed=seed,
    )
    return settings_of(beginning, scans, name=name, seed=seed, reviewing=reviewing)


def _targets(
    metric: str, one: str, other: str, within: float | None, level: float | None
) -> list[str]:
    difference = f"{metric}:{other} - {metric}:{one}"
    wanted = [difference if within is None else f"{difference} within {within!r}"]
    if level is not None:
        wanted.append(f"{metric}:{other} within {level!r}")
    return wanted


def _two_names(names: object) -> tuple[str, str]:
    if isinstance(names, Sequence) and not isinstance(names, str) and len(names) == 2:
        one, other = names
        return one, other
    raise InputError(f"names={names!r}", details="two names: of the earlier and of the later")


def _formers(store: Store, names: Sequence[str]) -> list[Settings]:
    with store.read() as session:
        return [find_campaign(session, name)[1] for name in names]


def _as_before(
    before: Sequence[Settings], question: str | None, seed: int | None
) -> tuple[str | None, int]:
    """Return the question and the seed of the campaigns whose labels are used again."""
    for settings in before:
        if question is None:
            question = settings.reviewing.question
        if seed is None:
            seed = settings.seed
        elif settings.seed != seed:
            raise DesignError(
                f"campaign {settings.name!r} has seed {settings.seed}, and {seed} is wanted",
                details="with another seed other items are drawn, and few labels are used again",
                hint="leave out the seed; of campaigns with different seeds, name one only",
            )
    return question, 0 if seed is None else seed


def _refuse_other_questions(before: Sequence[Settings], question: str) -> None:
    for settings in before:
        if settings.question != question:
            raise DesignError(
                f"campaign {settings.name!r} asked another question: {settings.question!r}",
                details=f"now it is {question!r}; a label answers the question that was asked",
                hint="leave that campaign out of labels_from, or ask the same: "
                f"question={settings.question!r}",
            )
