"""Campaigns that go on with other predictions and all labels: extended or rebased."""

import json
from collections.abc import Sequence
from dataclasses import replace
from warnings import warn

import numpy as np

from assay.campaign.campaign import Campaign
from assay.campaign.carry_over import count_there, refuse_other_ids, replace_campaign
from assay.campaign.classes import classes_of_several
from assay.campaign.create import parts_of, settings_of
from assay.campaign.setup import Setup, set_up
from assay.core.goal import Asked
from assay.core.metrics import sides
from assay.core.types import Ints
from assay.core.vocabulary import Vocabulary
from assay.errors import AssayWarning, DesignError, PredictionsError, counted
from assay.labelling import (
    Settings,
    answered,
    card_row,
    depth,
    find_campaign,
    is_confirmed,
    more_cards,
    read_again,
    refuse_unconfirmed,
    scans_of,
    whereabouts,
)
from assay.predictions import Card, Predictions, Scan, Top, merge
from assay.storage import CardRow, Session, Store, open_storage


def extend_campaign(
    predictions: object, name: str = "campaign", *, storage: str | None = None
) -> Campaign:
    """Add new predictions to a campaign, keeping all labels.

    The strata keep their cuts and grow; the new items take their places among the cards in reserve.
    The earlier predictions are not read, and need not be available, until the reserve is used up.
    Answers count as after `rebase_campaign`. If the scores drift far from those that the strata
    were cut for, a rebase needs fewer labels.

    Parameters
    ----------
    predictions : path, DataFrame, Arrow table, mapping of arrays, `Scan` or `Predictions`
        The new items only, with the columns of the others. If the campaign has a condition on the
        rows (`assay.Scan`), it applies to a path, too.
    name, storage : str
        As given to `create_campaign`. The former campaign is kept under the name ``NAME until
        2026-11-15 12:00:03`` (UTC).

    Examples
    --------
    >>> import assay, tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> storage = f"sqlite:///{folder.name}/labels.db"
    >>> monday = {"url": ["a", "b", "c"], "p": [0.9, 0.8, 0.7]}
    >>> campaign = assay.create_campaign(
    ...     monday, id="url", score="p", threshold=0.5, budget=4, storage=storage)
    >>> estimate = campaign.tell({item.id: True for item in campaign.ask(3)})
    >>> tuesday = {"url": ["d", "e"], "p": [0.8, 0.3]}
    >>> campaign = assay.extend_campaign(tuesday, storage=storage)
    >>> [item.id for item in campaign.ask(4)], campaign.settings.source.rows
    (['d'], 5)
    >>> folder.cleanup()
    """
    store = open_storage(storage)
    with store.read() as session:
        key, old = find_campaign(session, name)
        _refuse_if_fixed(old)
        strata = old.strata
        judged = answered(session.labels(key))
        rounds = np.array(session.rounds(key, 0), dtype=np.int64).reshape(-1, strata.n_strata)
        reserve = _reserve(session, key, old)
    if old.source.columns["id"] is None and not isinstance(predictions, Predictions):
        raise PredictionsError(
            f"the items of campaign {name!r} have no ids but the numbers of their rows",
            details="new rows would get the same numbers",
            hint="create a campaign with id=..., a column of ids that stay",
        )
    scans = scans_of(predictions, old.source)
    new = read_again(scans, old)
    _refuse_misfit(new, old)
    settings = replace(
        old,
        strata=strata.grown(new.count(strata, scale=old.source.scale)),
        source=replace(old.source, parts=old.source.parts + parts_of(new, scans), by_score=None),
    )
    return replace_campaign(
        store,
        key,
        settings,
        _cards(reserve, new, settings, dealt=rounds.sum(axis=0)),
        gone=_still_gone(judged, new, settings),
        predictions=None,
        confirmed=is_confirmed(store, old),  # the old parts were neither read nor given
    )


def _refuse_if_fixed(settings: Settings) -> None:
    """Raise if new items would change what is known of the others."""
    goal, named = settings.goal, f"campaign {settings.name!r}"
    if not goal.single:
        several = "about several metrics or classifiers"
        what = several if settings.is_binary else f"of {len(settings.classes):,} classes"
        problem = f"{named} is {what} and"
        why = "its strata are cut by the items' ranks, which new items change"
    elif settings.epochs:
        problem = f"{named} is guaranteed, its strata were cut anew, and it"
        why = "bets from before the cut were on a population without the new items"
    elif goal.sample_of is not None:
        problem = f"the items of {named} are a random sample of {goal.sample_of:,}, and it"
        why = "later items are not part of that sample"
    elif settings.strata.weighted:
        problem = f"the items of {named} have weights, and it"
        why = "new items change the share of every weight"
    else:
        return
    hint = _rebase_hint(settings)
    raise DesignError(f"{problem} cannot be extended", details=why, hint=hint)


def _refuse_misfit(new: Predictions, old: Settings) -> None:
    """Raise if new predictions cannot join the population as it is cut."""
    refuse_other_ids(new, old)
    if any(new.fingerprint() == part.fingerprint for part in old.source.parts):
        raise PredictionsError(
            f"{new.source} is a part of campaign {old.name!r} already",
            hint="give predictions of new items",
        )
    cut, metric = set(old.strata.sides), old.goal.metric
    for side, there in ((True, new.positives), (False, new.size - new.positives)):
        if there and side in sides(metric) and not cut & {side, None}:
            word = "yes" if side else "no"
            raise PredictionsError(
                f"{new.source} has {counted(there, 'item')} predicted {word}, and until now there "
                "were none",
                details=f"{metric} needs labels of them, and there are no strata for them",
                hint=_rebase_hint(old),
            )
    low, high = new.score_range
    if old.source.scale == "probability" and not 0.0 <= low <= high <= 1.0:
        raise PredictionsError(
            f"scores of {new.source} run from {low} to {high}",
            details="all earlier scores lay between 0 and 1 and were treated as probabilities",
            hint=_rebase_hint(old),
        )


def _rebase_hint(settings: Settings) -> str:
    return (
        f"rebase_campaign({settings.name!r}, predictions=...) on the old and the new together "
        "keeps all labels, too"
    )


def _reserve(session: Session, key: int, settings: Settings) -> Top:
    """Cards in reserve.

    Prior labels lie on top, out of order; the cards below them are in order and complete.
    """
    sizes = settings.strata.sizes.tolist()
    decks = [
        [
            Card(settings.item_id(row.item_id), row.predicted, json.loads(row.shown))
            for row in session.cards(key, stratum, 0, size)
        ]
        for stratum, size in enumerate(sizes)
    ]
    whole = [len(deck) == size for deck, size in zip(decks, sizes, strict=True)]
    return Top(settings.source.description, decks, whole)


def _cards(reserve: Top, new: Predictions, settings: Settings, *, dealt: Ints) -> list[CardRow]:
    """Cards of old and new items, as deep as a new reserve or one that has grown."""
    counts = np.maximum(depth(settings), 2 * dealt).tolist()
    decks = new.deal(
        settings.strata, scale=settings.source.scale, seed=settings.seed, counts=counts
    )
    whole = [len(deck) < most for deck, most in zip(decks, counts, strict=True)]
    merged = merge([reserve, Top(new.source, decks, whole)], settings.seed)
    return [
        card_row(card, stratum, position)
        for stratum, (deck, most) in enumerate(zip(merged, counts, strict=True))
        for position, card in enumerate(deck[:most])
    ]


def _still_gone(judged: set[str], new: Predictions, settings: Settings) -> int:
    """Count judged items that are in no part; those in the new part have come back."""
    gone = 0 if settings.before is None else settings.before.gone
    return gone and gone - count_there(judged, new, settings)


def rebase_campaign(
    name: str = "campaign",
    *,
    storage: str | None = None,
    predictions: object = None,
    aux: Sequence[str] | None = None,
) -> Campaign:
    """Continue a campaign on changed predictions, keeping all labels.

    The predictions are read again and cut into strata anew; the design, the goal, the seed and the
    columns stay. Items have a permanent place in the order, so most judged items are drawn again:
    their answers count, and nobody is asked again. Answers to items that are not drawn (yet) wait,
    and do not count before: only a random sample may count.

    Parameters
    ----------
    name, storage : str
        As given to `create_campaign`. The former campaign is kept under the name ``NAME until
        2026-11-15 12:00:03`` (UTC).
    predictions : optional
        The current predictions. Default: read from their stored location. A list may hold several
        parts. If the campaign has a condition on the rows (`assay.Scan`), it applies to a path,
        too.
    aux : sequence of str, optional
        Columns that are second opinions from now on. Default: those of before. Their model is
        trained anew, on the labels so far. None may have been made with these labels.

    Returns
    -------
    Campaign
        Its ``settings.before`` has the number of judged items, and how many of them are gone.

    Notes
    -----
    The answers must not have made the predictions: a classifier that was trained on the judged
    items looks better on them than on others.

    Examples
    --------
    >>> import assay, tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> storage = f"sqlite:///{folder.name}/labels.db"
    >>> old = {"url": ["a", "b", "c"], "p": [0.9, 0.8, 0.7]}
    >>> campaign = assay.create_campaign(
    ...     old, id="url", score="p", threshold=0.5, budget=4, storage=storage)
    >>> estimate = campaign.tell({item.id: True for item in campaign.ask(3)})
    >>> new = {"url": ["a", "b", "d", "e"], "p": [0.9, 0.6, 0.8, 0.7]}
    >>> campaign = assay.rebase_campaign(storage=storage, predictions=new)
    >>> sorted(item.id for item in campaign.ask(4))
    ['d', 'e']
    >>> campaign.settings.before.judged, campaign.settings.before.gone
    (3, 1)
    >>> folder.cleanup()
    """
    store = open_storage(storage)
    with store.read() as session:
        key, old = find_campaign(session, name)
        judged = answered(session.labels(key))
    if predictions is None:
        scans = _where_they_were(store, old)
    else:
        scans = scans_of(predictions, old.source)
    if aux is not None or old.epochs:
        # Bets begin again, on strata that no label has influenced.
        old = _with_aux(old, old.source.aux if aux is None else aux)
    if old.classes.has_matrix:
        old = replace(old, classes=_classes_now(scans, old))
    renewed = read_again(scans, old)
    refuse_other_ids(renewed, old)
    if old.source.columns["id"] is None and not isinstance(predictions, Predictions):
        words = "the items have no ids but the numbers of their rows: where rows have moved, the "
        warn(f"{words}labels are now other items'", AssayWarning, stacklevel=2)
    if len(scans) < len(old.source.parts) and renewed.size < old.source.rows:
        given = f"made from {len(old.source.parts)} places, of which {len(scans)} is given"
        items = f"{renewed.size:,} items instead of {old.source.rows:,}"
        warn(f"campaign {name!r} was {given}: {items}", AssayWarning, stacklevel=2)
    again = replace(_begin_again(renewed, old), seed=old.seed)
    if again.columns.get("model") is not None and old.source.lessons is not None:
        again = replace(again, lessons=old.source.lessons)
    settings = settings_of(
        again,
        scans,
        name=name,
        reviewing=old.reviewing,
        slices=old.source.slices,
        scores=old.source.scores,
    )
    settings = replace(settings, series=old.series)
    return replace_campaign(
        store,
        key,
        settings,
        more_cards(settings, renewed, depth(settings)),
        gone=len(judged) - count_there(judged, renewed, settings),
        predictions=renewed,
        confirmed=True,
    )


def _classes_now(scans: Sequence[Scan], old: Settings) -> Vocabulary:
    """Classes of a campaign, followed by any further classes in the predictions."""
    columns = list(old.source.columns["classifiers"].values())
    beside = list(zip(scans, columns, strict=False))
    every = beside if old.source.compares else [(scans[0], each) for each in columns]
    known = classes_of_several(every, None, (), [old.classes], look=True)
    return old.classes if known is None else known


def _with_aux(settings: Settings, aux: Sequence[str]) -> Settings:
    """Replace the columns for a model in the settings, and drop the earlier model."""
    if isinstance(aux, str):
        raise DesignError(f"aux={aux!r} is one text", hint=f"give a list: aux=[{aux!r}]")
    source = settings.source
    columns = {name: each for name, each in source.columns.items() if name not in ("aux", "model")}
    # Strata by a model are of margins; the score's own scale was given, or is inferred from its
    # range.
    scale = source.scale if source.model is None else columns.get("scale", "probability")
    columns |= {"aux": list(aux)} if aux else {}
    scores = [name for name in source.scores if name not in source.aux]
    kept = dict.fromkeys([*scores, *aux] if source.kept else scores)
    again = replace(source, columns=columns, scale=scale, scores=tuple(kept))
    return replace(settings, source=again)


def _where_they_were(store: Store, settings: Settings) -> list[Scan]:
    refuse_unconfirmed(store, settings)
    try:
        return whereabouts(store, settings)
    except PredictionsError as error:
        raise PredictionsError(
            error.problem,
            details=f"campaign {settings.name!r} cannot read them again by itself",
            hint=f"rebase_campaign({settings.name!r}, predictions=...)",
        ) from None


def _begin_again(predictions: Predictions, old: Settings) -> Setup:
    """Cut other predictions with the settings of a campaign."""
    columns = dict(old.source.columns)
    return set_up(
        predictions,
        columns,
        Asked.again(old.goal),
        classifiers=columns.pop("classifiers", None),
        classes=None if old.is_binary else old.classes,
        # Probabilities are inferred from their range again: they may have become margins, but not
        # the reverse.
        scale=None if old.source.scale == "probability" else old.source.scale,
        design=old.design,
        doubted=False,
    )
