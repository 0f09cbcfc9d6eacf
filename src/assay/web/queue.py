"""Queue of the requests for a campaign: one at a time, but reviewers' turns are grouped.

Waiting for the disk takes longer than all other work of a reviewer's turn. So all waiting turns are
done in one transaction, and each is answered when that is on disk (group commit).
"""

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from time import monotonic
from typing import Any, Generic, TypeVar, cast

from assay.campaign import Campaign, Desk
from assay.errors import AssayError, StorageError
from assay.labelling import ReplacedError, TurnReply, TurnRequest, find_campaign
from assay.results import Turn
from assay.storage import Store, TokenRow

A = TypeVar("A")
B = TypeVar("B")
T = TypeVar("T")

_MOST = 100  # turns in a transaction: other programs wait for it, too
_SOON = 1.0  # seconds; a later failure has waited for the storage, and would do so again
_PATIENCE = 8.0  # seconds until people learn that the storage does not answer; pages send again


class Together(Generic[A, B]):
    """Work on all waiting calls at once, in a worker's thread.

    `work`: takes a list, and returns a result for each; an exception is raised in its own call.
    """

    def __init__(
        self, worker: ThreadPoolExecutor, work: Callable[[list[A]], Sequence[B | Exception]]
    ) -> None:
        self.worker, self._work = worker, work
        self._waiting: deque[tuple[A, Future[B]]] = deque()

    async def call(self, given: A) -> B:
        """Wait for the result of a call; raise if it waits long."""
        future: Future[B] = Future()
        self._waiting.append((given, future))
        self.worker.submit(self._take)
        try:
            async with asyncio.timeout(_PATIENCE):
                return await asyncio.wrap_future(future)
        except TimeoutError:
            raise StorageError(
                f"the storage has not answered for {_PATIENCE:.0f} seconds",
                details="what was saved before is safe; what was sent now may be stored yet",
                hint="try again in a moment: nothing is stored twice",
            ) from None

    def _take(self) -> None:
        calls: list[tuple[A, Future[B]]] = []
        while self._waiting and len(calls) < _MOST:
            argument, future = self._waiting.popleft()
            if future.set_running_or_notify_cancel():
                calls.append((argument, future))
        if not calls:
            return  # taken along by an earlier call
        results = _result_of(self._work, [argument for argument, _ in calls])
        if isinstance(results, Exception):
            results = [results] * len(calls)
        for (_, future), result in zip(calls, results, strict=True):
            if isinstance(result, Exception):
                future.set_exception(result)
            else:
                future.set_result(result)


@dataclass(frozen=True)
class _Asked:
    """Turn: the callables that make the request and process the answer, with the campaign."""

    request: Callable[[Campaign], TurnRequest]
    finish: Callable[[Campaign, Turn], Any]


class Counter:
    """Campaign behind one worker thread.

    A campaign caches the storage, and is not thread-safe. Waiting requests hold no thread, so that
    logging in never has to wait for them.
    """

    def __init__(self, campaign: Campaign) -> None:
        self._campaign = campaign
        self._worker = ThreadPoolExecutor(max_workers=1, thread_name_prefix="assay-counter")
        self._turns = Together(self._worker, self._take_turns)
        looker = ThreadPoolExecutor(max_workers=1, thread_name_prefix="assay-tokens")
        self._tokens = Together(looker, self._look_up)
        self._files = ThreadPoolExecutor(max_workers=1, thread_name_prefix="assay-files")
        self._grower = ThreadPoolExecutor(max_workers=1, thread_name_prefix="assay-reserve")
        self._growing: Future[None] = Future()
        self._growing.set_result(None)

    @property
    def name(self) -> str:
        """Name of the campaign, which a rebase does not change."""
        return self._campaign.name

    @property
    def has_curve(self) -> bool:
        """Whether there is a threshold to move: for yes and no only."""
        return self._campaign.settings.classes.is_yes_or_no

    @property
    def identity(self) -> str:
        """Identifier among campaigns of the same name, which a rebase does not change."""
        return self._campaign.desk.identity

    @property
    def store(self) -> Store:
        """Store of the campaign; unlike the campaign, it can be used from any thread."""
        return self._campaign.desk.store

    async def find_token(self, digest: str) -> TokenRow | None:
        """Token with this digest, as it is stored now; without waiting for a turn."""
        return (await self._tokens.call(digest))[0]

    async def call(self, function: Callable[[Campaign], T]) -> T:
        """Call a function with the campaign in its current state."""
        return await asyncio.get_running_loop().run_in_executor(self._worker, self._call, function)

    async def aside(self, function: Callable[[Campaign], T]) -> T:
        """Call a function with a separate copy of the campaign, so that nobody waits.

        For slow work: label files and reports.
        """
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._files, lambda: function(self._read_anew()))

    async def turn(
        self, request: Callable[[Campaign], TurnRequest], finish: Callable[[Campaign, Turn], T]
    ) -> T:
        """Process a reviewer's turn; it is on disk afterwards.

        Only a reviewer who has nothing else to do waits while predictions are read.
        """
        asked = _Asked(request, finish)
        while True:
            made, reply = await self._turns.call(asked)
            if reply.short is None or reply.turn.receipts or reply.turn.items:
                return cast(T, made)
            await asyncio.wrap_future(self._growing)

    def close(self) -> None:
        """Let the workers end after their current work."""
        for worker in (self._worker, self._tokens.worker, self._files, self._grower):
            worker.shutdown()

    def _look_up(self, digests: list[str]) -> list[tuple[TokenRow | None]]:
        with self.store.read() as session:
            tokens = session.tokens_with(self.name, digests)
        return [(tokens.get(digest),) for digest in digests]

    def _call(self, function: Callable[[Campaign], T]) -> T:
        if not self._campaign.desk.is_current:
            self._campaign = self._read_anew()
        return function(self._campaign)

    def _read_anew(self) -> Campaign:
        with self.store.read() as session:
            campaign = find_campaign(session, self.name)
        return Campaign(self.store, *campaign, None)

    def _take_turns(self, asked: list[_Asked]) -> list[tuple[Any, TurnReply] | Exception]:
        try:
            results = self._do(asked)
        except ReplacedError:
            if self._campaign.desk.is_current:
                raise
            self._campaign = self._read_anew()  # the replacement has its labels
            results = self._do(asked)
        self._grow([each[1] for each in results if not isinstance(each, Exception)])
        return results

    def _do(self, asked: list[_Asked]) -> list[tuple[Any, TurnReply] | Exception]:
        requests = [_result_of(each.request, self._campaign) for each in asked]
        replies = iter(self._review([each for each in requests if isinstance(each, TurnRequest)]))
        results: list[tuple[Any, TurnReply] | Exception] = []
        for each, request in zip(asked, requests, strict=True):
            reply = request if isinstance(request, Exception) else next(replies)
            if isinstance(reply, Exception):
                results.append(reply)
                continue
            made = _result_of(each.finish, self._campaign, reply.turn)
            results.append(made if isinstance(made, Exception) else (made, reply))
        return results

    def _review(self, requests: list[TurnRequest]) -> list[TurnReply | Exception]:
        """Handle requests in one transaction; if that fails, each by itself.

        An invalid request must not fail the others.
        """
        if not requests:
            return []
        began = monotonic()
        replies = _result_of(self._campaign.desk.assignments.turns, requests)
        if not isinstance(replies, Exception):
            return list(replies)
        if isinstance(replies, ReplacedError):
            raise replies
        results: list[TurnReply | Exception] = []
        for request in requests:
            if len(requests) > 1 and monotonic() - began < _SOON:
                results += self._review([request])
            else:
                results.append(replies)
        return results

    def _grow(self, replies: Sequence[TurnReply]) -> None:
        """Read predictions in another thread, if cards are missing or soon will be."""
        if self._growing.done():
            desk = self._campaign.desk
            missing = next((reply.short for reply in replies if reply.short is not None), None)
            if missing is not None:
                self._growing = self._grower.submit(desk.labelling.grow, missing)
            elif desk.labelling.soon_short is not None:
                self._growing = self._grower.submit(desk.labelling.grow_early)
            elif desk.hold_for_recut():
                # With a separate copy of the campaign: reviewers go on with this one until the new
                # one has replaced it, or wait for that if the campaign bets.
                if not desk.settings.design.bets:
                    desk.put_off_recut()
                self._growing = self._grower.submit(self._recut, desk)

    def _recut(self, desk: Desk) -> None:
        """Cut the strata anew, if the labels say so; a failure is retried with more labels."""
        try:
            with suppress(AssayError):
                self._read_anew().desk.recut()
        finally:
            if desk.settings.design.bets:
                desk.put_off_recut()


def _result_of(function: Callable[..., T], *given: object) -> T | Exception:
    """Call a function; catch an exception, for the caller to raise."""
    future: Future[T] = Future()
    with _Raised(future):
        future.set_result(function(*given))
    error = future.exception()
    return error if isinstance(error, Exception) else future.result()


class _Raised:
    """Set a future's exception to the one raised in the block."""

    def __init__(self, future: "Future[Any]") -> None:
        self._future = future

    def __enter__(self) -> None:
        pass

    def __exit__(self, _kind: object, error: BaseException | None, _at: object) -> bool:
        if isinstance(error, Exception):
            self._future.set_exception(error)
        return isinstance(error, Exception)
