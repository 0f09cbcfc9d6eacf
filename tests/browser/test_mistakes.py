"""Labelled items in a browser: beside the table, below a row on a phone, with the keyboard."""

from playwright.sync_api import Page, expect

from tests.browser.house import PHONE, SETTLED, Enter, House, OpenHouse
from tests.browser.test_accessible import SMALL, hard_to_read
from tests.web.test_mistakes import truth


def labelled(open_house: OpenHouse) -> House:
    """Serve a campaign with answers, some of which contradict the classifier."""
    house = open_house(metric="accuracy", budget=40)
    campaign = house.campaign()
    campaign.tell({item.id: truth(item) for item in campaign.ask(40)}, reviewer="ann")
    return house


def chosen(page: Page) -> str:
    return page.locator("tr[aria-current] .open").inner_text()


def test_keys_go_through_the_items(enter: Enter, open_house: OpenHouse) -> None:
    house = labelled(open_house)
    wrong = [str(row.id) for row in house.campaign().errors()]
    page = enter(house, "eve", role="owner").open("/owner/errors")
    expect(page.locator("#panel-title")).to_have_text(f"Item {wrong[0]}")
    page.keyboard.press("j")
    page.keyboard.press("j")
    page.keyboard.press("k")
    assert chosen(page) == wrong[1]
    expect(page.locator("#panel-item")).to_contain_text(f"subject of item {int(wrong[1][1:])}")
    page.keyboard.press("t")
    page.keyboard.type("irony, short")
    page.keyboard.press("Enter")
    expect(page.locator("#tagged")).to_have_text("Saved.")
    expect(page.locator("tr[aria-current] .tags")).to_have_text("irony, short")
    assert house.campaign().errors()[1].tags == ("irony", "short")
    assert hard_to_read(page) == []
    page.get_by_role("link", name="Second look").click()
    expect(page.locator("#queue")).to_contain_text("Second look")
    other = "no" if house.campaign().answers()[wrong[1]] == "yes" else "yes"
    expect(page.get_by_role("button", name="Broken item")).to_be_enabled()
    page.wait_for_timeout(SETTLED)
    page.keyboard.press(other[0])
    page.wait_for_url("**/owner/errors")
    assert [event.answer for event in house.events() if event.ruling] == [other]
    assert wrong[1] not in [str(row.id) for row in house.campaign().errors()]


def test_on_a_phone_the_item_is_below_its_row(enter: Enter, open_house: OpenHouse) -> None:
    house = labelled(open_house)
    page = enter(house, "eve", role="owner", viewport=PHONE, touch=True).open("/owner/errors")
    expect(page.locator("#panel")).to_be_hidden()
    page.locator(".open").nth(2).tap()
    row, panel = page.locator("tr[data-item]").nth(2), page.locator("#panel")
    above, below = row.bounding_box(), panel.bounding_box()
    assert above is not None
    assert below is not None
    assert 0 <= below["y"] - above["y"] - above["height"] < 40
    assert page.evaluate(SMALL) == hard_to_read(page) == []
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
