"""Stored campaigns: renamed, deleted, or replaced while nobody has answered."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from assay.campaign.campaign import Campaign
from assay.errors import DesignError, StorageError, counted, is_storable, printable
from assay.labelling import Settings, find_campaign
from assay.results import Forecast
from assay.storage import RETIRED, Session, Store

_LONGEST_NAME = 200


def refuse_bad_name(name: str) -> None:
    """Raise if a campaign cannot have this name."""
    if not isinstance(name, str) or not name.strip():
        raise DesignError(f"the name of a campaign must not be empty, got {name!r}")
    if RETIRED.fullmatch(name):
        raise DesignError(
            f"a campaign cannot be called {printable(name[:40])!r}: Assay gives such names to "
            "campaigns that others have replaced"
        )
    if len(name) > _LONGEST_NAME or not is_storable(name):
        raise DesignError(
            f"a campaign cannot be called {printable(name[:40])!r}, with {len(name):,} characters",
            details=f"a name has at most {_LONGEST_NAME}, which every database can store",
        )


def rename_campaign(
    store: Store, name: str, new: str, *, force: bool = False, asked_by: str = ""
) -> None:
    """Give a campaign another name; its tokens stay valid, and its tags stay.

    With `force`, also while reviewers have items of it; `asked_by`: a reviewer who may have some.
    """
    refuse_bad_name(new)
    with store.write() as session:
        key, settings = find_campaign(session, name)
        if settings.series is not None:
            raise StorageError(
                f"campaign {name!r} is a period of series {settings.series.name!r}, whose periods "
                "keep their names"
            )
        if not force:
            _refuse_in_use(session, key, name, asked_by)
        session.rename(name, new)
        session.rename_tokens(name, new)
        session.rename_tags(name, new)


def with_forecast(campaign: Campaign, forecast: Forecast) -> Campaign:
    """Store the forecast of a new campaign with it."""
    desk = campaign.desk
    settings = replace(desk.settings, forecast=forecast)
    with desk.store.write() as session:
        key, _ = find_campaign(session, campaign.name)
        session.change(key, settings.to_dict())
    return Campaign(desk.store, key, settings, desk.labelling.predictions_at_hand)


def delete_campaign(store: Store, name: str, *, force: bool = False, asked_by: str = "") -> int:
    """Delete a campaign, the earlier ones that it has replaced, its tokens and tags.

    Returns its number of label events. What stays are numbers and the commitment, so that
    `verify` and bundles do not take the gaps for damage, and still count the campaign.
    """
    with store.write() as session:
        key, settings = find_campaign(session, name)
        _refuse_earlier_period(session, settings)
        if not force:
            _refuse_in_use(session, key, name, asked_by)
        labels = len(session.labels(key))
        for each, of_each in [(key, settings), *_replaced_by(session, settings)]:
            session.delete_staged(each)
            session.delete(each, _trace(session, each, of_each))
        session.delete_tokens(name)
        session.delete_tags(name)
    return labels


@contextmanager
def replacing(store: Store, name: str, *, asked_by: str = "") -> Iterator[None]:
    """Let the block create a campaign in place of one that nobody has answered.

    Tokens stay valid. If the block fails, the campaign is as it was.
    """
    with store.write() as session:
        key, _ = find_campaign(session, name)
        if labels := session.labels(key):
            raise StorageError(
                f"campaign {name!r} has {counted(len(labels), 'label')}, and is not replaced",
                hint="choose another name, or delete it first: assay campaign delete",
            )
        _refuse_in_use(session, key, name, asked_by)
        aside = session.retire(name)
    try:
        yield
    except BaseException:
        with store.write() as session:
            session.rename(aside, name)
        raise
    with store.write() as session:
        key, settings = find_campaign(session, aside)
        session.delete(key, _trace(session, key, settings))


def _refuse_in_use(session: Session, key: int, name: str, asked_by: str) -> None:
    """Raise if reviewers have items of a campaign, other than whoever asks."""
    claims = [each for each in session.all_live_claims(key) if each.reviewer != asked_by]
    if claims:
        who = sorted({claim.reviewer for claim in claims})
        more = f" and {len(who) - 5:,} more" if len(who) > 5 else ""
        raise StorageError(
            f"campaign {name!r} is in use: {len(claims):,} of its items are with "
            f"{', '.join(map(repr, who[:5]))}{more}",
            hint="stop `assay serve`, and wait until they have answered; or add --force",
        )


def _refuse_earlier_period(session: Session, settings: Settings) -> None:
    """Raise if later periods of a series are compared with this one."""
    if settings.series is None:
        return
    names = (name for name in session.names() if name.startswith(f"{settings.series.name}/"))
    others = [find_campaign(session, name)[1] for name in names if not RETIRED.fullmatch(name)]
    later = [
        each.name
        for each in others
        if each.series is not None and each.series.number > settings.series.number
    ]
    if later:
        raise StorageError(
            f"campaign {settings.name!r} is a period of series {settings.series.name!r}, and "
            f"{later[-1]!r} is compared with it",
            hint=f"delete later periods first: {later[-1]!r}",
        )


def _replaced_by(session: Session, settings: Settings) -> Iterator[tuple[int, Settings]]:
    """Earlier campaigns that a campaign has replaced, each with all its labels."""
    while (before := settings.before) is not None and RETIRED.fullmatch(before.campaign):
        continued = session.names(mentioning=json.dumps(before.campaign))
        if before.campaign not in session.names() or continued != [settings.name]:
            return  # deleted before, or another campaign uses its labels, too
        key, settings = find_campaign(session, before.campaign)
        yield key, settings


def _trace(session: Session, key: int, settings: Settings) -> dict[str, Any]:
    return {
        "fingerprint": settings.source.fingerprint,
        "commitment": settings.commitment,
        "labels": len(session.labels(key)),
    }
