"""Load a campaign: its settings are read, and its predictions only where they are given."""

from __future__ import annotations

from typing import TYPE_CHECKING

from assay.campaign.campaign import Campaign
from assay.labelling import confirm_source, find_campaign
from assay.storage import open_storage

if TYPE_CHECKING:
    from assay.predictions import Predictions


def load_campaign(
    name: str = "campaign",
    *,
    storage: str | None = None,
    predictions: object = None,
    confirm: bool = False,
) -> Campaign:
    """Go on with a campaign exactly where it stands.

    Parameters
    ----------
    name, storage : str
        As they were given to `create_campaign`.
    predictions : optional
        The predictions, needed only when the campaign outruns its reserve of cards and they
        cannot be read again from where they were. Of a campaign that was extended, a list of all
        parts, in the order in which they came.
    confirm : bool
        Agree to what the storage says about where they are: they are read from there with your
        rights, on this machine, until it says something else. Who made the campaign on this machine
        has agreed. It can be seen with ``assay confirm NAME``.
    """
    store = open_storage(storage)
    with store.read() as session:
        key, settings = find_campaign(session, name)
    found: Predictions | None = None
    if predictions is not None:
        from assay.labelling import check_same, read_again, scans_of

        found = read_again(scans_of(predictions, settings.source), settings)
        check_same(settings, found)
    if confirm:
        confirm_source(store, settings)
    return Campaign(store, key, settings, found)
