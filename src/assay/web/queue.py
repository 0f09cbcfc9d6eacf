"""Queue of the requests for a campaign, one at a time."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from assay.campaign import Campaign
from assay.labelling import find_campaign
from assay.storage import Store

T = TypeVar("T")


class Counter:
    """A campaign behind one worker thread.

    A campaign keeps what it has read of the storage, and is not made for several threads. Requests
    that wait for their turn hold no thread, so that logging in never has to wait for them.
    """

    def __init__(self, campaign: Campaign) -> None:
        self._campaign = campaign
        self._worker = ThreadPoolExecutor(max_workers=1, thread_name_prefix="assay-counter")

    @property
    def name(self) -> str:
        """The campaign's name, which a rebase does not change."""
        return self._campaign.name

    @property
    def store(self) -> Store:
        """Where the campaign is kept; unlike the campaign, it can be used from any thread."""
        return self._campaign.store

    async def call(self, function: Callable[[Campaign], T]) -> T:
        """Return what a function makes of the campaign as it stands now."""
        return await asyncio.get_running_loop().run_in_executor(self._worker, self._call, function)

    def close(self) -> None:
        """Let the worker end when it has done what it was given."""
        self._worker.shutdown()

    def _call(self, function: Callable[[Campaign], T]) -> T:
        if not self._campaign.is_current:
            with self.store.read() as session:
                found = find_campaign(session, self.name)
            self._campaign = Campaign(self.store, *found, None)
        return function(self._campaign)
