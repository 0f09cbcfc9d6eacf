"""Several classes of an item on the reviewer's page, by the keyboard alone, and by fingers."""

from typing import Literal

import pytest
from playwright.sync_api import Page, expect

from assay.core.answers import Answer
from assay.storage import Label
from tests.browser.house import PHONE, SETTLED, Enter, OpenHouse, shown, wait_until_saved
from tests.browser.test_accessible import hard_to_read
from tests.web.serving import of_label_sets

Scheme = Literal["light", "dark"]
SCHEMES: tuple[Scheme, ...] = ("light", "dark")
FEW = {"fraud": "Somebody is deceived.", "spam": "", "toxic": "", "off topic": ""}
MANY = {f"{field} {number}": "" for number in range(8) for field in ("algebra", "graphs", "logic")}


def answer(page: Page, *keys: str) -> str:
    """Press keys, one after another, and return the item that was shown."""
    item = shown(page)
    page.wait_for_timeout(SETTLED)
    for key in keys:
        page.keyboard.press(key)
    return item


def pressed(page: Page) -> list[str]:
    """Return the classes whose buttons are pressed in."""
    return page.locator("[aria-pressed=true] > span").all_inner_texts()


@pytest.mark.parametrize("scheme", SCHEMES)
def test_keys_choose_and_enter_sends(open_house: OpenHouse, enter: Enter, scheme: Scheme) -> None:
    house = open_house(**of_label_sets(FEW))
    page = enter(house, scheme=scheme).open()
    expect(page.locator("#question")).to_have_text("Which classes does it have?")
    shown(page)
    expect(page.locator("#picked-count")).to_have_text("Choose all that it has")
    told = [(answer(page, "3", "1", "Enter"), "fraud|toxic")]  # in the vocabulary's order
    shown(page)
    assert pressed(page) == []  # nothing of it is left for the next item
    told.append((answer(page, "2", "4", "2", "Enter"), "off topic"))  # pressed again: taken back
    told.append((answer(page, "0"), "none of these"))
    told.append((answer(page, "1", "c"), "cannot judge"))
    wait_until_saved(page)
    assert house.said() == told

    page.wait_for_timeout(SETTLED)
    page.keyboard.press("Enter")  # nothing is chosen: nothing is sent
    expect(page.locator("#announce")).to_contain_text("No class is chosen")
    assert len(house.said()) == len(told)

    answer(page, "2", "3")
    expect(page.locator("#picked-count")).to_have_text("2 classes chosen")
    assert hard_to_read(page) == []
    item = answer(page, "Enter")
    assert answer(page, "u") != item
    assert shown(page) == item
    assert pressed(page) == ["spam", "toxic"]  # what was chosen is chosen again
    answer(page, "3", "Enter")
    wait_until_saved(page)
    assert house.said()[-1] == (item, "spam")


@pytest.mark.parametrize("scheme", SCHEMES)
def test_many_classes_are_typed_and_taken_back(
    open_house: OpenHouse, enter: Enter, scheme: Scheme
) -> None:
    house = open_house(**of_label_sets(MANY))
    page = enter(house, scheme=scheme).open()
    item = shown(page)
    page.keyboard.press("t")
    page.wait_for_timeout(SETTLED)
    for text in ("logic 3", "algebra 5", "graphs 1", "algebra 5"):
        page.keyboard.type(text)
        page.keyboard.press("Enter")
        expect(page.locator("#class-text")).to_have_value("")
    expect(page.locator("#picked-count")).to_have_text("2 classes chosen")
    assert page.locator(".chip").all_inner_texts() == ["graphs 1 ×", "logic 3 ×"]
    expect(page.get_by_role("option", name="logic 3, chosen").first).to_be_visible()
    assert hard_to_read(page) == []
    page.keyboard.press("Enter")  # with nothing typed
    wait_until_saved(page)
    assert house.said() == [(item, "graphs 1|logic 3")]
    expect(page.locator("#class-text")).to_be_focused()
    assert page.locator(".chip").count() == 0


def test_fingers_and_many_classes(open_house: OpenHouse, enter: Enter) -> None:
    house = open_house(**of_label_sets(MANY))
    page = enter(house, viewport=PHONE, touch=True).open()
    item = shown(page)
    page.locator("#class-open").tap()
    page.wait_for_timeout(400)
    for name in ("algebra 2", "graphs 0"):
        page.get_by_role("option", name=name).first.tap()
    assert page.locator(".chip").count() == 2
    box = page.locator("#send").bounding_box()
    assert box is not None and box["y"] + box["height"] <= PHONE["height"]
    page.locator("#send").tap()
    wait_until_saved(page)
    assert house.said() == [(item, "graphs 0|algebra 2")]


def test_a_ruling_has_several_classes_too(open_house: OpenHouse, enter: Enter) -> None:
    house = open_house(**of_label_sets(FEW), reviewers_per_item=2, overlap=1.0)
    campaign = house.campaign()
    [item] = [str(item.id) for item in campaign.ask(1, reviewer="bob")]
    for who, word in (("bob", "fraud|spam"), ("eve", "spam")):
        campaign.desk.record([Label(item, Answer(word), who)])
    page = enter(house, "ann", role="owner").open("/owner/disputes")
    expect(page.locator("#case")).to_contain_text("fraud, spam")
    page.wait_for_timeout(SETTLED)
    for key in ("1", "2", "Enter"):
        page.keyboard.press(key)
    expect(page.locator("#ruled")).to_contain_text("is decided: fraud, spam")
    assert [*house.campaign().answers().values()] == ["fraud|spam"]
