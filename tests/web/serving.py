"""Campaigns for the page, and one that is served from a thread of this process."""

import asyncio
from collections.abc import Coroutine, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from threading import Thread
from typing import Any, TypeVar

import assay
from assay import Campaign, Design
from assay.storage import open_store
from assay.web import Options, digest_of, new_token
from assay.web.connections import Limits
from assay.web.serve import address_of, listen, make_app, make_server

T = TypeVar("T")

PATIENCE = 40.0  # seconds to wait for a busy machine


def make_campaign(storage: str, *, items: int = 60, **changed: Any) -> Campaign:
    """Make the campaign `spam`, of items that show a subject; `changed` goes to the library."""
    scores = [round((number * 0.6180339887 + 0.1) % 1, 6) for number in range(items)]
    columns = {
        "id": [f"m{number:03d}" for number in range(items)],
        "p": scores,
        "subject": [f"subject of item {number}" for number in range(items)],
    }
    given: dict[str, Any] = {"predictions": columns, "id": "id", "score": "p", "threshold": 0.5}
    given |= {"show": ["subject"], "budget": 30, "name": "spam", "storage": storage}
    given |= changed
    return assay.create_campaign(given.pop("predictions"), **given)


def make_campaign_without_predictions(storage: str, **changed: Any) -> Campaign:
    """Make a campaign that can give out 40 items; for more, its predictions are no longer there."""
    items = 600  # in one stratum all but a few, so that the reserve, which is even, ends soon
    columns = {
        "id": [f"m{number:03d}" for number in range(items)],
        "p": [min(0.5 + 0.03 * number, 0.999) for number in range(items)],
        "subject": [f"subject of item {number}" for number in range(items)],
    }
    design = Design(strata="equal", bins=16, allocation="pps")
    made = make_campaign(storage, predictions=columns, budget=300, design=design, **changed)
    return assay.load_campaign(made.name, storage=storage)


def add_token(storage: str, role: str, who: str, name: str = "spam") -> str:
    """Return a new token, as `assay token add` makes it."""
    token = new_token()
    with open_store(storage).write() as session:
        session.add_token(name, role, who, digest_of(token))
    return token


def run_apart(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine to its end in a thread of its own: in this one a browser's loop may run."""
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, work).result()


@contextmanager
def in_thread(
    campaign: Campaign,
    options: Options | None = None,
    proxy: str | None = None,
    limits: Limits | None = None,
) -> Iterator[str]:
    """Serve a campaign from a thread of this process, which starts at once; give its address."""
    listening = listen("127.0.0.1", 0, limits)
    server = make_server(make_app(campaign, options or Options()), listening, proxy=proxy)
    thread = Thread(target=server.run, args=([listening],))
    thread.start()
    try:
        yield address_of(listening, "127.0.0.1")
    finally:
        server.should_exit = True
        thread.join(PATIENCE)


def of_classes(classes: Sequence[str] | Mapping[str, Any], items: int = 60) -> dict[str, Any]:
    """Return what `make_campaign` is given for a campaign of so many classes."""
    names = list(classes)
    columns = {
        "id": [f"m{number:03d}" for number in range(items)],
        "topic": [names[number * 7 % len(names)] for number in range(items)],
        "p": [round(0.3 + 0.7 * ((number * 0.6180339887) % 1), 6) for number in range(items)],
        "subject": [f"subject of item {number}" for number in range(items)],
    }
    given = {"predictions": columns, "threshold": None, "predicted": "topic", "classes": classes}
    return {**given, "metrics": ["accuracy", "macro_f1"]}


def of_label_sets(classes: Sequence[str] | Mapping[str, Any], items: int = 60) -> dict[str, Any]:
    """Return the same for items that may have several of so many classes."""
    names = list(classes)
    scores = [
        [round((number * 0.6180339887 + place * 0.3247179) % 1, 6) for place in range(len(names))]
        for number in range(items)
    ]
    columns = {
        "id": [f"m{number:03d}" for number in range(items)],
        "p": scores,
        "subject": [f"subject of item {number}" for number in range(items)],
    }
    given = {"predictions": columns, "threshold": 0.5, "score": None, "probabilities": "p"}
    return {**given, "classes": classes, "multilabel": True, "metrics": ["precision", "recall"]}
