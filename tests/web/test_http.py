"""The counter: one at a time, in the order in which they came, on the campaign as it is now."""

import asyncio
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from threading import Event

import pytest
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

import assay
from assay import Campaign
from assay.web.auth import needs
from assay.web.queue import Counter
from assay.web.serve import ROUTES
from tests.web.conftest import Web
from tests.web.serving import PATIENCE, run_apart


def test_one_at_a_time_in_order(web: Web) -> None:
    counter = Counter(web.campaign)
    began: list[int] = []
    ended: list[int] = []

    def work(number: int, _campaign: Campaign) -> int:
        began.append(number)
        time.sleep(0.002)
        ended.append(number)
        assert began == ended
        return number

    async def all_at_once() -> list[int]:
        turns = (counter.call(partial(work, number)) for number in range(30))
        return list(await asyncio.gather(*turns))

    assert run_apart(all_at_once()) == list(range(30))
    counter.close()
    counter._worker = ThreadPoolExecutor(max_workers=4)
    with pytest.raises(AssertionError):
        run_apart(all_at_once())
    counter.close()


LOOKING, GO_ON = Event(), Event()


@needs("reviewer")
async def look_long(request: Request) -> Response:
    def look(_campaign: Campaign) -> bool:
        LOOKING.set()
        return GO_ON.wait(PATIENCE)

    await request.app.state.counter.call(look)
    return PlainTextResponse("looked")


def test_logging_in_does_not_wait_for_the_campaign(make_web: Callable[..., Web]) -> None:
    """A look at a large campaign may take its time."""
    web = make_web(routes=(*ROUTES, Route("/long", look_long)))
    with ThreadPoolExecutor(1) as other:
        long = other.submit(web.client("owner").get, "/long")
        assert LOOKING.wait(PATIENCE)
        assert web.client("reviewer").get("/").status_code == 303
        assert not long.done()
        GO_ON.set()
        assert long.result().status_code == 200


def test_a_rebase_does_not_need_a_new_server(web: Web) -> None:
    reviewer = web.client("reviewer")
    turn = reviewer.post("/api/review", json={"want": 3}).json()
    submits = [
        {"key": f"k{number}", "item": item["id"], "answer": "yes"}
        for number, item in enumerate(turn["items"])
    ]
    assert reviewer.post("/api/review", json={"submits": submits[:2]}).json()["team"] == 2
    changed = {
        "id": [f"m{number:03d}" for number in range(80)],
        "p": [((number * 0.6180339887) + 0.1) % 1 for number in range(80)],
        "subject": ["changed"] * 80,
    }
    assay.rebase_campaign("spam", storage=web.storage, predictions=changed)
    assert not web.campaign.desk.is_current
    told = reviewer.post("/api/review", json={"submits": submits[:2], "want": 20}).json()
    assert {each["status"] for each in told["receipts"]} == {"again"}
    assert "changed" in str(told["items"])
    dashboard = web.client("owner").get("/owner")
    assert dashboard.status_code == 200
    assert web.client("reviewer").get("/").status_code == 303  # tokens go on, too
