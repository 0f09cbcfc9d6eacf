"""A server that really runs: what it prints and logs, whom it believes, who is served first."""

import asyncio
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from threading import Event

import httpx2
import pytest
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from assay import Campaign
from assay.errors import InputError
from assay.web import Options
from assay.web.auth import needs
from assay.web.queue import Counter
from assay.web.serve import ROUTES, address_of, allowed_hosts, listen
from tests.web.conftest import Web
from tests.web.serving import PATIENCE, add_token, in_thread, make_campaign, run_apart


def test_names_are_taken_without_their_ports() -> None:
    given = ["Labels.example:8000", "[::1]:9", "::1", "10.0.0.7:80", " a_b-c.d "]
    names = {"labels.example", "::1", "10.0.0.7", "a_b-c.d"}
    assert allowed_hosts("0.0.0.0", given) == {"0.0.0.0", *names}
    for wrong in ("http://labels.example", "labels.example/x", "*", "", "a b", "a@b", "ä.example"):
        with pytest.raises(InputError, match="not the name of a server"):
            allowed_hosts("0.0.0.0", [wrong])


def test_people_are_told_an_address_that_they_can_type() -> None:
    with listen("0.0.0.0", 0) as everywhere:
        port = everywhere.getsockname()[1]
        told = address_of(everywhere, "0.0.0.0", ["labels.local:8000", "other.local"])
        assert told == f"http://labels.local:{port}"
        assert address_of(everywhere, "10.0.0.7", ["labels.local"]) == f"http://10.0.0.7:{port}"


@pytest.mark.parametrize("proxy", [None, "127.0.0.1", "10.1.2.3"])
def test_a_proxy_is_believed_only_where_it_is_named(storage: str, proxy: str | None) -> None:
    campaign = make_campaign(storage)
    token = add_token(storage, "reviewer", "ann")
    options = Options(hosts=allowed_hosts("127.0.0.1", ["Labels.example.org"]))
    headers = {"host": "labels.example.org", "x-forwarded-proto": "https"}
    headers |= {"origin": "https://labels.example.org", "sec-fetch-site": "same-origin"}
    with (
        in_thread(campaign, options, proxy) as address,
        httpx2.Client(base_url=address, trust_env=False, timeout=PATIENCE) as client,
    ):
        answer = client.post("/login", json={"token": token}, headers=headers)
        assert client.get("/login", headers={"host": "evil.example"}).status_code == 421
    assert answer.status_code == 200
    assert ("secure" in answer.headers["set-cookie"].lower()) == (proxy == "127.0.0.1")


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
