"""A server that really runs: what it prints and logs, and whom it believes."""

from pathlib import Path

import httpx2
import pytest

from assay.errors import InputError
from assay.web import Options
from assay.web.serve import address_of, allowed_hosts, listen
from tests.web.serving import (
    PATIENCE,
    add_token,
    in_thread,
    make_campaign,
)


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
def test_a_proxy_is_believed_only_where_it_is_named(tmp_path: Path, proxy: str | None) -> None:
    storage = f"sqlite:///{tmp_path / 'web.db'}"
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
