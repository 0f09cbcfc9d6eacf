"""Make a campaign, or go on with one."""

import os
from collections.abc import Sequence
from numbers import Integral
from os import PathLike
from typing import Any

from assay.campaign import Campaign
from assay.core import deck
from assay.core.strata import Strata, stratify
from assay.core.variable import SCALES, Scale, scale_of
from assay.design import Design, Goal, check_together
from assay.errors import DesignError
from assay.predictions import Predictions, read_predictions, sides_to_cut
from assay.reserve import Reserve, check_same
from assay.settings import Settings, Source
from assay.store import open_store

__all__ = ["create_campaign", "load_campaign"]


def create_campaign(
    predictions: object,
    *,
    score: str | None = None,
    predicted: str | None = None,
    id: str | None = None,
    threshold: float | None = None,
    positive: str | float | None = None,
    show: Sequence[str] = (),
    scale: Scale | None = None,
    metric: str = "precision",
    within: float | None = None,
    budget: int | None = None,
    confidence: float = 0.95,
    design: Design | None = None,
    name: str = "campaign",
    storage: str | None = None,
    seed: int = 0,
) -> Campaign:
    """Start an evaluation.

    Parameters
    ----------
    predictions : path, DataFrame, Arrow table, mapping of arrays, or `Predictions`
        One row for each item that the classifier was applied to.
    score : str, optional
        The column with the classifier's score. Without it there are no strata to gain from.
    predicted : str, optional
        The column with the predicted label: true or false, 1 or 0, or any value with `positive`.
        Without it, items with a score of at least `threshold` are predicted positive.
    id : str, optional
        The column with the items' ids, integers or strings. Without it the row number.
    threshold : float, optional
        Where the predicted label changes. With `predicted`, the two are checked to agree.
    positive : optional
        The value of `predicted` that means yes.
    show : sequence of str
        Columns that reviewers see.
    scale : {"probability", "margin"}, optional
        What the score is, where the design stratifies by confidence; otherwise told by its range.
    metric : str
        ``precision``, ``recall``, ``f1``, ``accuracy``, ``false_omission_rate``, ``prevalence``.
    within, budget, confidence
        The goal: an interval of half-width `within` at this confidence, or so many answers.
    design : Design, optional
        How to sample; by default ``Design()``.
    name, storage : str
        What the campaign is called and where it is kept: ``sqlite:///file.db``, the environment's
        ``ASSAY_STORAGE``, or else in memory.
    seed : int
        Fixes every draw. The same seed and id give an item the same place in the order for ever.

    Examples
    --------
    >>> import assay
    >>> campaign = assay.create_campaign(
    ...     {"p": [0.9, 0.8, 0.7, 0.2], "yes": [True, True, True, False]},
    ...     score="p", predicted="yes", metric="precision", budget=3)
    >>> while not campaign.done:
    ...     batch = campaign.ask(2)
    ...     estimate = campaign.tell({item.id: item.id != 2 for item in batch})
    >>> print(estimate)
    precision 0.667 [0.667, 0.667] at 95%, 3 labels: every item has been looked at
    """
    goal = Goal(metric, within=within, budget=budget, confidence=confidence)
    design = Design() if design is None else design
    if not isinstance(design, Design):
        raise DesignError(f"design must be a Design, got {design!r}")
    if not isinstance(name, str) or not name.strip():
        raise DesignError(f"a campaign's name must be a word or more, got {name!r}")
    columns: dict[str, Any] = {
        "score": score,
        "predicted": predicted,
        "id": id,
        "threshold": threshold,
        "positive": positive,
        "show": show,
    }
    if isinstance(seed, Integral) and not isinstance(seed, bool):
        seed = int(seed)  # numpy's integers too; what is no seed is refused below
    deck.key(seed)
    found = read_predictions(predictions, **columns)
    kind = scale_of(*found.score_range) if scale is None else _known_scale(scale)
    strata = _strata(found, design, goal, kind)
    check_together(design, goal, strata.n_strata)
    source = Source(
        description=found.source,
        path=os.fspath(predictions) if isinstance(predictions, str | PathLike) else None,
        columns={**columns, "show": list(show)},
        fingerprint=found.fingerprint(),
        rows=found.size,
        id_kind=found.id_kind,
        scale=kind,
    )
    settings = Settings(name, design, goal, strata, seed, source)
    store = open_store(_storage(storage))
    with store.write() as session:
        key = session.create(name, settings.to_dict())
        Reserve(key, settings, found).fill(session)
    return Campaign(store, key, settings, found)


def load_campaign(
    name: str = "campaign", *, storage: str | None = None, predictions: object = None
) -> Campaign:
    """Go on with a campaign exactly where it stands.

    Parameters
    ----------
    name, storage : str
        As they were given to `create_campaign`.
    predictions : optional
        The predictions, needed only when the campaign outruns its reserve of cards and they
        cannot be read again from where they were.
    """
    store = open_store(_storage(storage))
    with store.read() as session:
        key, values = session.find(name)
    settings = Settings.from_dict(values)
    found: Predictions | None = None
    if predictions is not None:
        found = read_predictions(predictions, **settings.source.columns)
        check_same(settings, found)
    return Campaign(store, key, settings, found)


def _storage(url: str | None) -> str | None:
    return os.environ.get("ASSAY_STORAGE") if url is None else url


def _known_scale(scale: str) -> Scale:
    for known in ("probability", "margin"):
        if scale == known:
            return known
    raise DesignError(f"unknown scale {scale!r}", details=f"scales: {', '.join(SCALES)}")


def _strata(found: Predictions, design: Design, goal: Goal, scale: Scale) -> Strata:
    """Cut the predictions that the metric needs labels for."""
    layers = sides_to_cut(
        design, goal.metric, positives=found.positives, size=found.size, source=found.source
    )
    profiles = found.profile(design.variable, scale, layers)
    return stratify(profiles, variable=design.variable, method=design.strata, bins=design.bins)
