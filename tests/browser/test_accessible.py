"""For everybody: contrast, names and roles, the keyboard, fingers, small screens."""

import re
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal

import pytest
from playwright.sync_api import Page, ViewportSize, expect

import assay.report
import assay.web
from assay.core.answers import Answer
from assay.storage import Label
from assay.web import Options
from tests.browser.house import (
    DESKTOP,
    PHONE,
    Enter,
    House,
    OpenHouse,
    press,
    shown,
    wait_until_saved,
)

FOLDERS = (Path(str(package.__file__)).parent / "static" for package in (assay.web, assay.report))
SHEETS = [sheet for folder in FOLDERS for sheet in folder.glob("*.css")]
GUIDELINES = "# Spam\nUnwanted mail.\n\n- sells\n- begs"
READABLE = 4.5  # WCAG 2.2, 1.4.3: the least contrast of text


@pytest.fixture
def house(open_house: OpenHouse) -> House:
    """A campaign with all there is to see: guidelines, links, a dispute."""
    house = open_house(
        options=Options(guidelines=GUIDELINES, links=("subject",)),
        reviewers_per_item=2,
        overlap=1.0,
    )
    campaign = house.campaign()
    said = (("bob", Answer.YES), ("eve", Answer.NO))
    item = campaign.ask(1, reviewer="bob")[0].id
    campaign.desk.record([Label(str(item), answer, who) for who, answer in said])
    return house


# Every text that can be seen, with its colour and the first colour behind it.
TEXTS = """() => {
  const found = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const node = walker.currentNode.parentElement;
    const hidden = !node.checkVisibility() || node.closest(".visually-hidden, :disabled, svg");
    if (hidden || !walker.currentNode.data.trim()) continue;
    let behind = node;
    const colour = () => getComputedStyle(behind).backgroundColor;
    while (colour() === "rgba(0, 0, 0, 0)" && behind.parentElement) behind = behind.parentElement;
    found.push([walker.currentNode.data.trim(), getComputedStyle(node).color, colour()]);
  }
  return found;
}"""


def luminance(colour: str) -> float:
    """WCAG 2.2, relative luminance."""
    *channels, alpha = [float(each) for each in [*re.findall(r"[\d.]+", colour), "1"][:4]]
    assert alpha == 1, colour
    linear = [
        value / 12.92 if value <= 0.04045 else ((value + 0.055) / 1.055) ** 2.4
        for value in (channel / 255 for channel in channels)
    ]
    return sum(part * value for part, value in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def contrast(one: str, other: str) -> float:
    darker, lighter = sorted((luminance(one), luminance(other)))
    return (lighter + 0.05) / (darker + 0.05)


def hard_to_read(page: Page) -> list[Any]:
    texts = page.evaluate(TEXTS)
    assert len(texts) > 4
    return [each for each in texts if contrast(each[1], each[2]) < READABLE]


def test_contrast_is_computed_right() -> None:
    assert contrast("rgb(0, 0, 0)", "rgb(255, 255, 255)") == pytest.approx(21)
    assert contrast("rgb(119, 119, 119)", "rgb(255, 255, 255)") == pytest.approx(4.48, abs=0.005)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_all_text_can_be_read(house: House, enter: Enter, scheme: Literal["light", "dark"]) -> None:
    visit = enter(house, role="owner", scheme=scheme)
    page = visit.open()
    shown(page)
    assert hard_to_read(page) == []
    visit.context.set_offline(True)
    press(page, "y")
    expect(page.locator("#saved-sign")).to_have_text("!")
    assert hard_to_read(page) == []
    visit.context.set_offline(False)
    wait_until_saved(page)
    page.keyboard.press("w")
    page.locator("#comment-text").fill("x" * 2_001)
    assert hard_to_read(page) == []
    page.locator("#comment-text").fill("")
    page.keyboard.press("Escape")
    page.keyboard.press("?")
    assert hard_to_read(page) == []
    for path in ("/owner", "/owner/campaigns", "/owner/disputes", "/login", "/nowhere"):
        page.goto(house.url + path)
        assert hard_to_read(page) == [], path


def test_colours_are_in_one_place() -> None:
    literal = re.compile(r"#[0-9a-f]{3,8}\b|\b(?:rgb|hsl|oklch|lab)a?\(", re.IGNORECASE)
    sheets = {path.name: literal.findall(path.read_text()) for path in SHEETS}
    assert sheets.pop("tokens.css")
    assert not any(sheets.values()), sheets


def test_nothing_is_animated() -> None:
    for path in SHEETS:
        assert not re.search("transition|animation|@keyframes", path.read_text()), path


def test_what_a_screen_reader_is_told(house: House, enter: Enter) -> None:
    page = enter(house).open()
    item = shown(page)
    expect(page.locator("body")).to_match_aria_snapshot(
        f"""
        - link "Skip to the content"
        - banner:
          - link "Assay"
          - button "Log out"
        - main:
          - heading "Is it positive?" [level=1]
          - progressbar "The team's part of the budget"
          - region "Item {item}":
            - heading "Item {item}" [level=2]
            - term: subject
            - definition
          - complementary "Guidelines":
            - group:
              - heading "Guidelines" [level=2]
              - heading "Spam" [level=3]
              - list:
                - listitem: sells
          - group "Your answer":
            - button "Yes"
            - button "No"
            - button "Cannot judge"
            - button "Skip for now"
            - button "Broken item"
            - button "Comment"
            - button "Undo" [disabled]
            - button "Goal"
            - button "Help"
        """
    )
    # Every new item gets the focus, so that it is read; trouble is said by a live region.
    expect(page.locator("#item")).to_be_focused()
    press(page, "y")
    expect(page.locator("#item")).to_be_focused()
    expect(page.locator("#announce")).to_have_attribute("aria-live", "polite")
    reached = []
    for _ in range(6):
        page.keyboard.press("Tab")
        reached.append(page.evaluate("document.activeElement.innerText").split()[0])
    assert reached == ["Guidelines", "Guidelines", "Yes", "No", "Cannot", "Skip"]


SMALL = """() => [...document.querySelectorAll("a, button, summary, input, select")]
  .filter((node) => node.checkVisibility() && !node.closest("dd, .skip-link, p a:not(.button)"))
  .map((node) => [node.innerText, node.closest("label") ?? node])
  .map(([text, node]) => [text, node.getBoundingClientRect()])
  .filter(([, box]) => Math.min(box.width, box.height) < 44)
  .map(([text, box]) => [text, box.width, box.height])"""

# What would have to be scrolled sideways.
WIDE = "() => document.documentElement.scrollWidth - document.documentElement.clientWidth"


def test_fingers_and_small_screens(house: House, enter: Enter) -> None:
    visit = enter(house, role="owner", viewport=PHONE, touch=True)
    page = visit.open()
    shown(page)
    for path in ("/review", "/owner", "/owner/campaigns", "/owner/disputes", "/login"):
        page.goto(house.url + path)
        assert page.evaluate(SMALL) == [], path
        for width in (PHONE["width"], 320):
            page.set_viewport_size({"width": width, "height": PHONE["height"]})
            assert page.evaluate(WIDE) <= 0, (path, width)


MOVED = """
window.moved = [];
new PerformanceObserver((list) => {
  for (const entry of list.getEntries()) moved.push(...entry.sources.map(({node}) => node?.id));
}).observe({type: "layout-shift", buffered: true});
"""


@pytest.mark.parametrize("size", [PHONE, DESKTOP])
def test_nothing_moves_from_item_to_item(
    open_house: OpenHouse, enter: Enter, size: ViewportSize
) -> None:
    texts = ["short", "long " * 800, "x\n" * 40]
    columns = {"id": list(range(3)), "p": [0.9, 0.8, 0.7], "text": texts}
    house = open_house(predictions=columns, show=["text"], options=Options(guidelines=GUIDELINES))
    visit = enter(house, viewport=size)
    visit.context.add_init_script(MOVED)
    page = visit.open()
    for _ in range(3):
        shown(page)
        box = page.get_by_role("button", name="Help").bounding_box()
        assert box is not None
        assert box["y"] + box["height"] <= size["height"]
        press(page, "y")
    wait_until_saved(page)
    assert page.evaluate("moved") == []


AXE = files("axe_playwright_python").joinpath("axe.min.js").read_text(encoding="utf-8")


def violations(page: Page) -> list[tuple[str, str]]:
    """Ask axe-core for what is wrong, by its rules and the elements."""
    page.evaluate(AXE)
    found = page.evaluate("axe.run()")
    assert len(found["passes"]) > 10  # it has looked
    return [(each["id"], each["nodes"][0]["html"]) for each in found["violations"]]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing(house: House, enter: Enter, scheme: Literal["light", "dark"]) -> None:
    campaign = house.campaign()
    for who in ("zoe", "yve"):
        batch = campaign.ask(10, reviewer=who)
        campaign.tell({item.id: str(item.id) > "m030" for item in batch}, reviewer=who)
    visit = enter(house, role="owner", scheme=scheme)
    page = visit.open()
    shown(page)
    assert violations(page) == []
    paths = ("", "/errors?verdict=all", "/curve", "/campaigns", "/disputes")
    for path in (*(f"/owner{each}" for each in paths), "/login", "/nowhere"):
        page.goto(house.url + path)
        assert violations(page) == [], path
    page.evaluate("document.querySelector('h1').innerHTML = '<img src=x>'")
    assert "image-alt" in dict(violations(page))
