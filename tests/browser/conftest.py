"""A browser for the tests that need one: started when first asked for, gone with the package."""

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, expect, sync_playwright

from tests.browser.house import PATIENCE, Enter, House, OpenHouse, Visit
from tests.torture.processes import Served

_PROGRAMS = ("chromium", "chromium-browser", "google-chrome")
_FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--host-resolver-rules=MAP labels.local 127.0.0.1",  # a name that is not this machine's own
]


# Not for the whole session: while it is there, asyncio runs in this thread, and tests elsewhere
# may want to run it themselves.
@pytest.fixture(scope="package")
def chromium() -> Iterator[Browser]:
    """The browser."""
    program = next(filter(None, map(shutil.which, _PROGRAMS)), None)
    if program is None:
        pytest.skip(f"no browser is installed: none of {', '.join(_PROGRAMS)} is on PATH")
    expect.set_options(timeout=PATIENCE)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=_FLAGS)
        yield browser
        browser.close()


@pytest.fixture
def open_house(tmp_path: Path) -> Iterator[OpenHouse]:
    """Serve campaigns: ``open_house(options=None, **create_campaign_keywords)``."""
    opened: list[House] = []

    def open_house(**changed: Any) -> House:
        opened.append(House(f"sqlite:///{tmp_path / f'house-{len(opened)}.db'}", **changed))
        return opened[-1]

    yield open_house
    for house in opened:
        house.close()


@pytest.fixture
def house(open_house: OpenHouse) -> House:
    """The campaign `spam`, served."""
    return open_house()


@pytest.fixture
def enter(chromium: Browser) -> Iterator[Enter]:
    """Let people visit a house; in none of their browsers may anything go wrong unnoticed.

    A test that means to see trouble, or a request to elsewhere, takes it from the lists.
    """
    visits: list[Visit] = []

    def enter(house: House | Served, *who: str, **how: Any) -> Visit:
        visits.append(Visit(chromium, house, *who, **how))
        return visits[-1]

    yield enter
    for visit in visits:
        visit.context.close()
    for visit in visits:
        assert visit.trouble == []
        assert visit.elsewhere == []
