"""A report in a real browser: it asks for nothing; its curve moves by keyboard and touch."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import numpy as np
import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect

import assay
from assay.cli.curve import curve_file
from assay.core.types import Bools
from assay.report import Report
from tests.browser.house import DESKTOP, PHONE, Enter, House, OpenHouse
from tests.browser.test_accessible import WIDE, hard_to_read
from tests.report.campaigns import make
from tests.report.hostile import poisoned

CORPUS: list[str] = json.loads((Path(__file__).parent / "xss.json").read_text())
Scheme = Literal["light", "dark"]


@pytest.fixture(scope="module")
def report() -> Report:
    """The report of a campaign with all there is to see."""
    made = make(budget=120)
    made.label(80, lambda item: "cannot judge" if item % 9 == 0 else bool(made.truth[item]))
    return made.campaign.report()


class Reading:
    """Somebody who opens reports as files; all that happens is written down."""

    def __init__(self, chromium: Browser, folder: Path) -> None:
        self._chromium, self._folder = chromium, folder
        self.happened: list[str] = []
        self.asked: list[str] = []
        self._contexts: list[BrowserContext] = []

    def open(self, html: str, scheme: Scheme = "light", *, phone: bool = False) -> Page:
        file = self._folder / f"{len(self._contexts)}.html"
        file.write_text(html, encoding="utf-8")
        context = self._chromium.new_context(
            color_scheme=scheme, viewport=PHONE if phone else DESKTOP
        )
        self._contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: self.happened.append(f"console: {message.text}"))
        page.on("pageerror", lambda error: self.happened.append(f"error: {error}"))
        page.on("popup", lambda popup: self.happened.append(f"popup: {popup.url}"))
        page.on("framenavigated", lambda frame: self._went(frame.url, file.as_uri()))
        page.on("request", lambda request: self.asked.append(request.url))
        context.on("dialog", lambda dialog: self._said(dialog.message, dialog.dismiss))
        page.goto(file.as_uri())
        self.asked.remove(file.as_uri())
        return page

    def _went(self, url: str, meant: str) -> None:
        if url != meant:
            self.happened.append(f"went to: {url}")

    def _said(self, message: str, dismiss: object) -> None:
        self.happened.append(f"dialog: {message}")
        if callable(dismiss):
            dismiss()

    def close(self) -> None:
        for context in self._contexts:
            context.close()


@pytest.fixture
def reading(chromium: Browser, tmp_path: Path) -> Iterator[Reading]:
    """Somebody who reads."""
    somebody = Reading(chromium, tmp_path)
    yield somebody
    somebody.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_can_be_read_and_is_silent(report: Report, reading: Reading, scheme: Scheme) -> None:
    page = reading.open(report.html, scheme)
    expect(page.locator(".strip")).to_be_in_viewport()  # without scrolling
    for picture in page.locator("details").all():
        picture.locator("summary").click()
    assert hard_to_read(page) == []
    dark = page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(30, 32, 33)"
    assert dark == (scheme == "dark")
    images = page.get_by_role("img").all()
    strip, *charts = images
    assert str(strip.get_attribute("aria-label")).startswith("The interval from 0.")
    assert len(charts) == 2
    assert all(chart.locator("title").text_content() for chart in charts)
    assert page.get_by_role("heading", level=1).inner_text() == "campaign"
    assert len(page.get_by_role("table").all()) >= 5
    page.wait_for_timeout(50)
    assert reading.happened == reading.asked == []


def test_it_fits_a_phone_and_paper(report: Report, reading: Reading) -> None:
    page = reading.open(report.html, phone=True)
    for width in (PHONE["width"], 320):
        page.set_viewport_size({"width": width, "height": 800})
        assert page.evaluate(WIDE) <= 0
    page.emulate_media(media="print", color_scheme="dark")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert page.pdf().startswith(b"%PDF")


def test_hostile_texts_in_every_place_do_nothing(report: Report, reading: Reading) -> None:
    # In turn, so that every text is in some places, and every place has had some of them.
    for start in range(0, len(CORPUS), 60):
        bad = poisoned(report, CORPUS[start:] + CORPUS[:start])
        page = reading.open(bad.html)
        page.wait_for_timeout(30)
        assert page.locator("script, iframe, img, object, embed, base, form, a").count() == 0
    assert reading.happened == reading.asked == []


def test_a_page_that_forgets_to_escape_is_noticed(report: Report, reading: Reading) -> None:
    slip = '</h1><img src="http://127.0.0.1:9/x.png"><script>alert(1)</script>'
    careless = report.html.replace("</h1>", slip, 1)
    reading.open(careless).wait_for_timeout(50)
    assert reading.asked == ["http://127.0.0.1:9/x.png"]
    # The page's own policy has stopped both, and said so.
    assert len(reading.happened) >= 2
    assert all("Content Security Policy" in each for each in reading.happened)
    reading.open(careless.replace("Content-Security-Policy", "x", 1)).wait_for_timeout(50)
    assert "dialog: 1" in reading.happened


def made(tmp_path: Path) -> tuple[Path, Bools]:
    rng = np.random.default_rng(5)
    score = rng.beta(0.6, 0.8, 4000)
    file = tmp_path / "p.csv"
    file.write_text("p\n" + "\n".join(map(repr, score.tolist())) + "\n")
    return file, rng.random(4000) < score


def judged(house: House, truth: Bools) -> None:
    campaign = house.campaign()
    while not campaign.done:
        campaign.tell({item.id: bool(truth[int(item.id)]) for item in campaign.ask(100)})


def test_the_threshold_moves_by_keyboard_and_touch(
    enter: Enter, open_house: OpenHouse, tmp_path: Path
) -> None:
    file, truth = made(tmp_path)
    house = open_house(
        predictions=file, score="p", threshold=0.5, metric="accuracy", budget=200, id=None, show=()
    )
    judged(house, truth)
    page = enter(house, "olga", role="owner").open("/owner/curve")
    slider = page.get_by_role("slider", name="Move the threshold")
    slider.focus()
    at, recall = page.locator(".curve-at"), page.locator('[data-metric="recall"] td')
    before = float(recall.first.inner_text())
    for _ in range(20):
        page.keyboard.press("ArrowRight")
    assert float(recall.first.inner_text()) < before
    page.keyboard.press("Home")
    expect(at).to_contain_text("yes to 100.0%")
    expect(recall.first).to_have_text("1.000")
    assert "recall 1.000" in (slider.get_attribute("aria-valuetext") or "")
    page.keyboard.press("End")
    expect(at).to_contain_text("yes to 0.0%")
    phone = enter(house, "otto", role="owner", viewport=PHONE, touch=True).open("/owner/curve")
    box = phone.get_by_role("slider").bounding_box()
    assert box is not None and box["height"] >= 44
    phone.touchscreen.tap(box["x"] + 10, box["y"] + box["height"] / 2)
    expect(phone.locator('[data-metric="recall"] td').first).to_have_text("1.000")
    assert phone.evaluate("document.documentElement.scrollWidth <= innerWidth")
    for each in (page, phone):
        assert each.evaluate(_MISPLACED) == []


# The slider is as long as the picture's axis, no letter of the picture is cut off, and what is
# known at the threshold needs no scrolling.
_MISPLACED = """() => {
  const svg = document.querySelector(".curve-picture"), around = svg.getBoundingClientRect();
  const slider = document.querySelector("input[type=range]").getBoundingClientRect();
  const scale = around.width / 760, found = [];
  if (Math.abs(slider.left - around.left - 52 * scale) > 6) found.push("slider begins elsewhere");
  if (Math.abs(around.right - 20 * scale - slider.right) > 6) found.push("slider ends elsewhere");
  for (const text of svg.querySelectorAll("text")) {
    const box = text.getBoundingClientRect();
    const inside = box.left >= around.left - 1 && box.right <= around.right + 1;
    if (!inside) found.push(text.textContent);
  }
  const table = document.querySelector(".curve table").parentElement;
  if (table.scrollWidth > table.clientWidth) found.push("the table is cut off");
  return found;
}"""


def test_the_saved_page_moves_without_a_server(chromium: Browser, tmp_path: Path) -> None:
    file, truth = made(tmp_path)
    campaign = assay.create_campaign(file, score="p", threshold=0.5, metric="f1", budget=150)
    while not campaign.done:
        campaign.tell({item.id: bool(truth[int(item.id)]) for item in campaign.ask(50)})
    saved = tmp_path / "curve.html"
    saved.write_bytes(curve_file(campaign.curve(), "spam", "html"))
    page = chromium.new_page()
    page.goto(saved.as_uri())
    slider = page.get_by_role("slider")
    slider.focus()
    page.keyboard.press("Home")
    expect(page.locator('[data-metric="recall"] td').first).to_have_text("1.000")
    for size in (DESKTOP, PHONE):
        page.set_viewport_size(size)
        assert page.evaluate(_MISPLACED) == []
    page.close()
