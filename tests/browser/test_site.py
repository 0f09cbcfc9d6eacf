"""The documentation as a site: built strictly, and looked at in a real browser."""

import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Literal

import pytest
from playwright.sync_api import Browser, expect

import assay
from docs.hooks.reference import commands
from tests.docs.blocks import ROOT

Scheme = Literal["light", "dark"]
BACKGROUND: dict[Scheme, str] = {"light": "rgb(255, 255, 255)", "dark": "rgb(30, 33, 41)"}


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site. Every warning is an error: dead links, lost anchors, pages not in the menu."""
    folder = tmp_path_factory.mktemp("site")
    built = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)],
        cwd=ROOT,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        encoding="utf-8",
        timeout=180,
        check=False,
    )
    assert built.returncode == 0, built.stderr
    return folder


class Quiet(SimpleHTTPRequestHandler):
    """Files, without a line about each."""

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


@pytest.fixture(scope="module")
def address(site: Path) -> Iterator[str]:
    """Where the site is served."""
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(site))) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def test_every_page_is_there_with_every_public_name_and_option(site: Path) -> None:
    for page in (ROOT / "docs").rglob("*.md"):
        assert (site / page.relative_to(ROOT / "docs").with_suffix(".html")).exists()
    python = (site / "reference/python.html").read_text()
    for name in assay.__all__:
        assert name.startswith("_") or f'id="assay.{name}"' in python, name
    said = (site / "reference/command_line.html").read_text()
    for words, command in commands():
        _, _, after = said.partition(f'id="{words.replace(" ", "-")}"')
        own, _, _ = after.partition("</table>")
        for parameter in command.params:
            for name in parameter.opts:
                assert not name.startswith("-") or re.search(rf"{name}\b", own), f"{words} {name}"


def test_nothing_is_loaded_from_elsewhere(site: Path) -> None:
    loads = re.compile(r"<(?:script|link|img|iframe)[^>]+(?:src|href)=[\"']?(?:https?:)?//")
    for page in site.rglob("*.html"):
        assert not loads.search(page.read_text()), page.name
    assert loads.search('<script src="https://cdn.example/mathjax.js">')


def test_search_works_when_the_site_is_opened_from_a_folder(site: Path, chromium: Browser) -> None:
    page = chromium.new_page()
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(f"{site.as_uri()}/howto/rare_recall.html")  # in a folder: paths are relative
    page.get_by_placeholder("Search").click()
    page.get_by_placeholder("Search").press_sequentially("kappa")
    found = page.locator(".md-search-result__link[href*='/reviewing.html']")
    expect(found.first).to_be_visible(timeout=20_000)
    found.first.click()
    expect(page).to_have_url(re.compile("^file:.*/reviewing.html"))
    page.close()
    assert [url for url in asked if not url.startswith(site.as_uri())] == []


@pytest.mark.parametrize("scheme", BACKGROUND)
def test_a_browser_shows_it_and_says_nothing(
    address: str, chromium: Browser, scheme: Scheme
) -> None:
    context = chromium.new_context(color_scheme=scheme)
    said: list[str] = []
    asked: list[str] = []
    context.on("console", lambda message: said.append(message.text))
    context.on("weberror", lambda error: said.append(str(error.error)))
    context.on("request", lambda request: asked.append(request.url))
    page = context.new_page()
    for name in ("tutorial", "reference/command_line", "reference/python", "methods"):
        page.goto(f"{address}/{name}.html")
        background = page.evaluate("getComputedStyle(document.body).backgroundColor")
        assert background == BACKGROUND[scheme]
        wider = page.evaluate("document.documentElement.scrollWidth - innerWidth")
        assert wider <= 0, f"{name} is wider than the window"
    within = page.locator("math[display=inline]")  # a sentence, and stays there
    assert within.count() == page.locator(":is(p, th, td, li) math[display=inline]").count() > 0
    fraction = page.locator(".equation mfrac").first.bounding_box()
    assert fraction is not None and fraction["height"] > 30  # set as a fraction, not as a line
    page.get_by_placeholder("Search").click()
    page.get_by_placeholder("Search").press_sequentially("fraud")
    found = page.locator(".md-search-result__link", has_text="Recall of a rare class")
    expect(found.first).to_be_visible(timeout=20_000)
    context.close()
    assert said == []
    assert [url for url in asked if not url.startswith(address)] == []
