"""Rebase of a campaign on changed predictions, with all its labels."""

from dataclasses import replace
from warnings import warn

from assay.campaign.campaign import Campaign
from assay.campaign.carry_over import count_there, refuse_other_ids, replace_campaign
from assay.campaign.create import settings_of
from assay.campaign.setup import Setup, set_up
from assay.core.targets import Target
from assay.errors import AssayWarning, PredictionsError
from assay.labelling import (
    Settings,
    answered,
    depth,
    find_campaign,
    more_cards,
    read_again,
    scans_of,
    whereabouts,
)
from assay.predictions import Predictions, Scan
from assay.storage import open_storage


def rebase_campaign(
    name: str = "campaign", *, storage: str | None = None, predictions: object = None
) -> Campaign:
    """Go on with a campaign on predictions that have changed, and keep all labels.

    The predictions are read again and cut into strata anew; the design, the goal, the seed and the
    columns stay. Items keep their place in the order for ever, so most of those that were judged
    are drawn again: their answers count, and nobody is asked again. Answers to items that are not
    drawn (yet) wait, and are not counted before: only a random sample may count.

    Parameters
    ----------
    name, storage : str
        As they were given to `create_campaign`. The campaign as it was is kept under the name
        ``NAME until 2026-11-15 12:00:03`` (UTC).
    predictions : optional
        The predictions as they are now; when left out, they are read from where they were. A list
        may hold several parts. Where the campaign was made with a condition on the rows
        (`assay.Scan`), it holds for a path, too.

    Returns
    -------
    Campaign
        Its ``settings.before`` says how many items had been judged, and how many of these are
        gone.

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
    scans = _where_they_were(old) if predictions is None else scans_of(predictions, old.source)
    found = read_again(scans, old)
    refuse_other_ids(found, old)
    if old.source.columns["id"] is None and not isinstance(predictions, Predictions):
        warn(
            "the items have no ids but the numbers of their rows: where rows have moved, the "
            "labels are now other items'",
            AssayWarning,
            stacklevel=2,
        )
    if len(scans) < len(old.source.parts) and found.size < old.source.rows:
        warn(
            f"campaign {name!r} was made from {len(old.source.parts)} places, of which "
            f"{len(scans)} is given: {found.size:,} items instead of {old.source.rows:,}",
            AssayWarning,
            stacklevel=2,
        )
    again = _begin_again(found, old)
    settings = settings_of(
        again,
        scans,
        name=name,
        seed=old.seed,
        reviewing=old.reviewing,
        slices=old.source.slices,
    )
    settings = replace(settings, series=old.series)
    return replace_campaign(
        store,
        key,
        settings,
        more_cards(settings, found, depth(settings)),
        gone=len(judged) - count_there(judged, found, settings),
        predictions=found,
    )


def _where_they_were(settings: Settings) -> list[Scan]:
    try:
        return whereabouts(settings.source)
    except PredictionsError as error:
        raise PredictionsError(
            error.problem,
            details=f"campaign {settings.name!r} cannot read them again by itself",
            hint=f"rebase_campaign({settings.name!r}, predictions=...), or assay rebase FILE",
        ) from None


def _begin_again(found: Predictions, old: Settings) -> Setup:
    """Cut other predictions as a campaign was made."""
    goal, columns = old.goal, dict(old.source.columns)
    first = goal.targets[0]
    return set_up(
        found,
        columns,
        classifiers=columns.pop("classifiers", None),
        metric=first.metric,
        metrics=None if goal.single else [_written(target) for target in goal.targets],
        within=first.within if goal.single else None,
        budget=goal.budget,
        confidence=goal.confidence,
        simultaneous=goal.simultaneous,
        at_least=goal.at_least,
        # Probabilities are told by their range again: they may have become margins, not the
        # reverse.
        scale=None if old.source.scale == "probability" else old.source.scale,
        design=old.design,
    )


def _written(target: Target) -> str:
    return target.name if target.within is None else f"{target.name} within {target.within!r}"
