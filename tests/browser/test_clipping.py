"""The item on the reviewer's page: all of it is seen, or that there is more."""

from collections.abc import Sequence

import pytest
from playwright.sync_api import Page, ViewportSize, expect

from tests.browser.house import PHONE, Enter, OpenHouse, press, shown, wait_until_saved

SIZES: tuple[ViewportSize, ...] = (
    {"width": 1024, "height": 768},
    {"width": 1366, "height": 768},
    {"width": 1920, "height": 1080},
    PHONE,
    {"width": 320, "height": 568},
)
PARAGRAPH = "The minutes are attached, and corrections are welcome until Friday. " * 4
ITEMS = {
    "one short column": {"title": "Win a prize"},
    "short columns": {"title": "Win a prize", "sender": "lottery@example.com"},
    "wide columns": {"title": "Win a prize, today and " * 3, "sender": "one of the senders " * 4},
    "a long column": {"title": "Minutes", "text": "\n\n".join([PARAGRAPH] * 12)},
    "many columns": {f"column {number}": f"value {number}" for number in range(14)},
}
# What was wrong: the card of short items had one height, and nothing said that there is more.
LOOK = """node => {
  const box = node.getBoundingClientRect();
  const button = document.querySelector("#more button");
  const cue = button.getBoundingClientRect();
  const last = [...node.querySelectorAll("dd")].at(-1).getBoundingClientRect();
  const answers = [...document.querySelectorAll("[data-answer]")];
  return {
    fits: node.scrollHeight <= node.clientHeight && last.bottom <= box.bottom,
    cue:
      button.checkVisibility({ visibilityProperty: true }) &&
      cue.top > box.top &&
      cue.bottom <= box.bottom,
    end: Math.max(...answers.map((button) => button.getBoundingClientRect().bottom)),
  };
}"""


def items(kind: str) -> dict[str, Sequence[object]]:
    columns: dict[str, Sequence[object]] = {
        name: [value] * 40 for name, value in ITEMS[kind].items()
    }
    return {
        "id": [f"m{number}" for number in range(40)],
        "p": [0.5 + number / 90 for number in range(40)],
        **columns,
    }


def look(page: Page) -> dict[str, float]:
    """Return whether the item fits its card or the cue is seen, and where the answers end."""
    shown(page)
    page.wait_for_timeout(50)  # sizes are observed after the next frame
    found: dict[str, float] = page.locator("#item").evaluate(LOOK)
    return found


@pytest.mark.parametrize("kind", ITEMS)
def test_an_item_is_seen_whole_or_a_cue_says_that_there_is_more(
    kind: str, open_house: OpenHouse, enter: Enter
) -> None:
    house = open_house(predictions=items(kind), show=list(ITEMS[kind]))
    page = enter(house).open()
    for size in SIZES:
        page.set_viewport_size(size)
        seen = look(page)
        assert seen["fits"] != seen["cue"], (size, seen)
        assert seen["end"] <= size["height"], size  # the answers stay in reach
        room = size["height"] - seen["end"]
        assert seen["fits"] or room < 100, size  # no empty space below what scrolls
        if "short" in kind and size["height"] > 600:
            assert seen["fits"], size


@pytest.mark.parametrize("kind", ["short columns", "many columns"])
def test_a_comment_leaves_enough_of_the_item_on_a_low_screen(
    kind: str, open_house: OpenHouse, enter: Enter
) -> None:
    house = open_house(predictions=items(kind), show=list(ITEMS[kind]))
    page = enter(house, viewport={"width": 1024, "height": 548}).open()
    shown(page)
    page.keyboard.press("w")
    expect(page.get_by_role("textbox", name="Comment")).to_be_focused()
    assert page.locator("#item").evaluate("node => node.clientHeight") >= 140
    page.get_by_role("button", name="Help").scroll_into_view_if_needed()
    expect(page.get_by_role("button", name="Help")).to_be_in_viewport(ratio=0.9)


def test_the_cue_scrolls_to_the_end_and_answers_nothing(
    open_house: OpenHouse, enter: Enter
) -> None:
    house = open_house(predictions=items("a long column"), show=["title", "text"])
    page = enter(house, viewport=PHONE, touch=True).open()
    item, more = shown(page), page.get_by_role("button", name="More below")
    for _ in range(30):
        if not more.is_visible():
            break
        more.tap()
        page.wait_for_timeout(50)
        expect(page.locator("#item")).to_be_focused()  # so that keys scroll, too
    assert look(page)["cue"] is False
    end = "node => node.scrollHeight - node.scrollTop - node.clientHeight"
    assert page.locator("#item").evaluate(end) <= 1
    assert (shown(page), house.said()) == (item, [])
    press(page, "y")
    wait_until_saved(page)
    assert house.said() == [(item, "yes")]
    expect(more).to_be_visible()  # the next item is seen from its beginning
