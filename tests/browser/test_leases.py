"""How long a page keeps items for its reviewer: as long as somebody is there."""

import pytest
from playwright.sync_api import Page, expect

from assay.web import Options
from tests.browser.house import Enter, House, OpenHouse, press, shown, wait_until_saved

LEASE = 3.0  # seconds; the page looks again after a third of it
LONG = 4_500  # ms, in which a lease that nobody renews runs out

FOR_EVER = ("seen > renewed", "true")


def given(house: House, who: str) -> set[str]:
    """Return the items that somebody else is given now."""
    return {str(item.id) for item in house.campaign().ask(3, reviewer=who, lease=60)}


@pytest.fixture
def house(open_house: OpenHouse) -> House:
    """A campaign of few items and short leases: what one has, others miss."""
    return open_house(options=Options(lease=LEASE), items=8, budget=4)


def move(page: Page) -> None:
    for step in range(LONG // 100):
        page.mouse.move(100 + 5 * step, 100)
        page.wait_for_timeout(100)


def test_a_page_that_somebody_uses_keeps_its_items(house: House, enter: Enter) -> None:
    page = enter(house).open()
    first = shown(page)
    move(page)
    assert first not in given(house, "bob")
    assert shown(page) == first


@pytest.mark.parametrize("careless", [False, True])
def test_a_page_that_was_left_open_lets_them_go(house: House, enter: Enter, careless: bool) -> None:
    visit = enter(house)
    if careless:
        visit.alter("review.js", FOR_EVER)
    page = visit.open()
    first = shown(page)
    page.wait_for_timeout(LONG)
    taken = given(house, "bob")
    assert (first in taken) is not careless
    if careless:
        return

    # Whoever comes back is shown something that nobody else has.
    asked: list[str] = []
    visit.context.on("request", lambda request: asked.append(request.url))
    page.wait_for_timeout(600)
    assert asked == []
    page.mouse.move(50, 50)
    expect(page.locator("#item-name")).not_to_have_text(f"Item {first}")
    assert shown(page) not in taken
    pressed = press(page, "y")
    wait_until_saved(page)
    assert house.said() == [(pressed[0][0], "yes")]


def test_an_answer_is_taken_from_whoever_comes_back(house: House, enter: Enter) -> None:
    page = enter(house).open()
    page.wait_for_timeout(LONG)
    pressed = press(page, "n")
    wait_until_saved(page)
    assert [(event.item_id, event.answer, event.late) for event in house.events()] == [
        (pressed[0][0], "no", True)
    ]
