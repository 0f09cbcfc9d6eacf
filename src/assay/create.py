"""Make a campaign, or go on with one."""

import os
from collections.abc import Sequence
from numbers import Integral
from os import PathLike
from typing import Any
from warnings import warn

from assay.campaign import Campaign
from assay.core import deck
from assay.core.strata import Strata, stratify
from assay.core.variable import SCALES, Scale, scale_of
from assay.design import Design, Goal, check_together, default_design, price_of_peeking
from assay.earlier import Earlier, find_earlier
from assay.errors import AssayWarning, DesignError
from assay.predictions import Predictions, read_predictions, sides_to_cut
from assay.reserve import Reserve, card_row, check_same
from assay.settings import Settings, Source
from assay.store import Session, open_store

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
    at_least: float | None = None,
    design: Design | None = None,
    labels: object = None,
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
    at_least : float, optional
        Another goal: to know whether the metric is at least this, yes or no, at this confidence.
    design : Design, optional
        How to sample; by default ``Design()``, or ``Design.guaranteed()`` with `at_least`.
    labels : path, mapping or pairs, optional
        Labels of items that were drawn at random before, of all items or of each predicted label's:
        a CSV or Parquet file with columns ``id`` (or named like `id`) and ``label``, or ids and
        answers. They count as the first round, also towards a budget, and are never asked for
        again.
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
    goal = Goal(metric, within=within, budget=budget, confidence=confidence, at_least=at_least)
    design = default_design(goal) if design is None else design
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
    if price := price_of_peeking(design, goal):
        warn(price, AssayWarning, stacklevel=2)
    earlier = (
        None
        if labels is None
        else _earlier(labels, found, design, strata=strata, id=id, scale=kind)
    )
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
        if earlier is not None:
            _go_on_from(session, key, earlier, strata)
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


def _earlier(
    labels: object,
    found: Predictions,
    design: Design,
    *,
    strata: Strata,
    id: str | None,
    scale: Scale,
) -> Earlier:
    """Find the labels from before, and warn of what makes them doubtful."""
    if design.bets:
        raise DesignError(
            "a guaranteed campaign cannot go on from labels that were there before",
            details="its theorem is about bets that are placed before each card is drawn",
            hint="leave out the labels, or go on from them with another design",
        )
    earlier = find_earlier(
        labels,
        found,
        id_column=id,
        variable=design.variable,
        scale=scale,
        sides=[layer.side for layer in strata.layers],
    )
    if len(strata.layers) > 1 and earlier.one_side:
        warn(
            f"all {len(earlier.cards):,} labels from before are of items predicted "
            f"{earlier.one_side}; of the others none is known yet",
            AssayWarning,
            stacklevel=3,
        )
    if earlier.doubt:
        warn(earlier.doubt, AssayWarning, stacklevel=3)
    return earlier


def _go_on_from(session: Session, key: int, earlier: Earlier, strata: Strata) -> None:
    """Store the labels from before as the first round: their cards lie on top of the decks."""
    counts = [0] * strata.n_strata
    rows = []
    for card, stratum in zip(earlier.cards, earlier.strata(strata).tolist(), strict=True):
        rows.append(card_row(card, stratum, counts[stratum]))
        counts[stratum] += 1
    session.add_cards(key, rows)
    session.add_round(key, 0, counts)
    # No look counts before the second round is complete (Figure 1 of paper 1), but these labels may
    # be all that the goal takes: an empty round lets the campaign look at them.
    session.add_round(key, 1, [0] * strata.n_strata)
    told = [(row.item_id, answer.value) for row, answer in zip(rows, earlier.answers, strict=True)]
    session.add_labels(key, told, reviewer="before")


def _strata(found: Predictions, design: Design, goal: Goal, scale: Scale) -> Strata:
    """Cut the predictions that the metric needs labels for."""
    layers = sides_to_cut(
        design, goal.metric, positives=found.positives, size=found.size, source=found.source
    )
    profiles = found.profile(design.variable, scale, layers)
    return stratify(profiles, variable=design.variable, method=design.strata, bins=design.bins)
