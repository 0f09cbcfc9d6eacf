"""Classes on the reviewer's page, chosen by the keyboard alone, and by fingers."""

from typing import Any

import pytest
from playwright.sync_api import Page, expect

from assay.core.answers import Answer
from assay.storage import Label
from tests.browser.house import (
    PHONE,
    SETTLED,
    Enter,
    House,
    OpenHouse,
    press,
    shown,
    wait_until_saved,
)
from tests.browser.test_accessible import SMALL, WIDE
from tests.web.serving import of_classes

SIX = ["biology", "computer science", "economics", "mathematics", "physics", "statistics"]
KEYS = {str(key): name for key, name in enumerate(SIX, 1)}
KEYS |= {"0": "none of these", "c": "cannot judge", "b": "broken", "s": "skip"}

# Some of them end, begin and go on alike; one is written with signs that few keyboards have.
FIELDS = ["algebra", "analysis", "cryptography", "Économétrie", "geometry", "graph theory"]
MANY: dict[str, Any] = {
    f"{field} {number}": {
        "guideline": f"What is mainly about {field}.\nOtherwise choose what it is about.",
        "aliases": [f"code-{100 * place + number}"],
    }
    for number in range(20)
    for place, field in enumerate(FIELDS)
}


@pytest.fixture
def many(open_house: OpenHouse) -> House:
    """A campaign of 120 classes."""
    return open_house(**of_classes(MANY, items=240))


def options(page: Page) -> list[str]:
    """Return the names that are listed first, in their order."""
    return page.locator("#class-list .class-name").all_inner_texts()


def active(page: Page) -> str | None:
    """Return the name of the option that Enter would choose, as a screen reader finds it."""
    found = page.evaluate(
        """() => {
            const id = document.getElementById("class-text").getAttribute("aria-activedescendant");
            const option = id && document.getElementById(id);
            return option && [option.getAttribute("aria-selected"),
                              option.querySelector(".class-name").textContent];
        }"""
    )
    assert found is None or found[0] == "true"
    return found and str(found[1])


def choose(page: Page, *keys: str) -> str:
    """Type into the box, and press Enter; return the item that was shown."""
    item = shown(page)
    page.wait_for_timeout(SETTLED)
    for key in keys:
        if key.startswith("Arrow"):
            page.keyboard.press(key)
        else:
            page.keyboard.type(key)
    page.keyboard.press("Enter")
    return item


def test_six_classes_have_a_key_each(open_house: OpenHouse, enter: Enter) -> None:
    house = open_house(**of_classes(SIX))
    page = enter(house).open()
    expect(page.locator("#question")).to_have_text("Which class is it?")
    pressed = press(page, "1620cb5s")
    wait_until_saved(page)
    assert house.said() == [(item, KEYS[key]) for item, key in pressed]
    press(page, "uu")  # back through the skip and the class before it
    assert shown(page) == pressed[6][0]
    pressed += press(page, "3")
    wait_until_saved(page)
    assert house.said()[-3:] == [
        (pressed[7][0], "withdrawn"),
        (pressed[6][0], "withdrawn"),
        (pressed[6][0], "economics"),
    ]
    assert page.locator("#classes").count() == 0


def test_a_sitting_of_120_classes_with_the_keyboard_alone(many: House, enter: Enter) -> None:
    page = enter(many).open()
    shown(page)
    page.keyboard.press("t")
    expect(page.locator("#class-text")).to_be_focused()
    told = []

    page.keyboard.type("GEOMETRY 1")  # what begins so, in the order of the vocabulary
    assert options(page)[:3] == ["geometry 1", "geometry 10", "geometry 11"]
    assert active(page) == "geometry 1"
    told.append((choose(page, "ArrowDown"), "geometry 10"))
    expect(page.locator("#class-text")).to_be_focused()  # the keyboard stays for the next item
    expect(page.locator("#class-text")).to_have_value("")
    expect(page.locator("#announce")).to_contain_text("subject of item")
    told.append((choose(page, "economet"), "Économétrie 0"))  # without the accents
    told.append((choose(page, "code-519"), "graph theory 19"))  # another word for it
    told.append((choose(page, "theory 7"), "graph theory 7"))  # not how it begins
    told.append((choose(page, "nometrie 3"), "Économétrie 3"))  # nor how a word of it does
    wait_until_saved(page)
    assert many.said() == told


def test_what_was_chosen_last_is_on_top(many: House, enter: Enter) -> None:
    visit = enter(many)
    page = visit.open()
    shown(page)
    assert options(page) == list(MANY)[:100]  # nothing is first because it was predicted
    page.locator("#class-list").evaluate("(list) => list.scrollTo(0, list.scrollHeight)")
    expect(page.get_by_role("option", name="Broken item")).to_be_attached()
    assert options(page)[:120] == list(MANY)
    page.keyboard.press("t")
    for text in ("algebra 3", "analysis 4", "algebra 3"):
        choose(page, text)
    shown(page)
    assert options(page)[:4] == ["algebra 3", "analysis 4", "algebra 0", "analysis 0"]
    assert active(page) is None  # so that Enter alone answers nothing
    expect(page.get_by_role("group", name="Recently used")).to_be_visible()
    item = choose(page, "ArrowDown", "ArrowDown")
    wait_until_saved(page)
    assert many.said()[-1] == (item, "analysis 4")
    again = visit.open()  # kept in this browser
    shown(again)
    assert options(again)[:2] == ["analysis 4", "algebra 3"]
    other = enter(many, "bob").open()
    assert shown(other)
    assert options(other)[0] == "algebra 0"


def test_other_answers_from_the_box_and_beside_it(many: House, enter: Enter) -> None:
    page = enter(many).open()
    told = [(shown(page), "cannot judge")]
    press(page, "c")
    told.append((shown(page), "none of these"))
    press(page, "0")
    page.keyboard.press("t")
    told.append((choose(page, "none of"), "none of these"))
    told.append((choose(page, "xyzzy", "ArrowDown"), "cannot judge"))  # no class is called so
    told.append((choose(page, "broken"), "broken"))
    wait_until_saved(page)
    assert many.said() == told
    page.keyboard.type("alg")
    page.keyboard.press("Escape")  # first the text, then the box is left
    expect(page.locator("#class-text")).to_have_value("")
    expect(page.locator("#class-text")).to_be_focused()
    page.keyboard.press("Escape")
    expect(page.locator("#item")).to_be_focused()
    press(page, "u")
    assert shown(page) == told[-1][0]
    page.keyboard.press("w")
    page.keyboard.type("half a page")
    page.keyboard.press("Enter")
    page.keyboard.press("t")
    choose(page, "algebra 5")
    wait_until_saved(page)
    event = many.events()[-1]
    assert (event.answer, event.comment) == ("algebra 5", "half a page")


def test_enter_twice_is_one_answer(many: House, enter: Enter) -> None:
    page = enter(many).open()
    shown(page)
    page.keyboard.press("t")
    page.wait_for_timeout(SETTLED)
    page.keyboard.type("algebra 5")
    for _ in range(3):
        page.keyboard.press("Enter")
    wait_until_saved(page)
    assert len(many.said()) == 1


def test_what_a_screen_reader_is_told(many: House, enter: Enter) -> None:
    page = enter(many).open()
    shown(page)
    page.keyboard.press("t")
    page.keyboard.type("Économétrie 1")
    expect(page.locator("#class-count")).to_have_text("11 of 120 classes")
    expect(page.get_by_role("group", name="Your answer")).to_match_aria_snapshot(
        """
        - group "Your answer":
          - combobox "Class" [expanded]: Économétrie 1
          - status: 11 of 120 classes
          - listbox "Classes":
            - group:
              - 'option "Économétrie 1: What is mainly about Économétrie." [selected]'
              - 'option "Économétrie 10: What is mainly about Économétrie."'
          - button "None of these"
          - button "Cannot judge"
          - button "Skip for now"
        """
    )
    page.keyboard.type("zzz")
    expect(page.locator("#class-count")).to_have_text("No class has this name or a similar one")


def test_fingers_and_a_keyboard_on_the_screen(many: House, enter: Enter) -> None:
    page = enter(many, viewport=PHONE, touch=True).open()
    item = shown(page)
    expect(page.locator("#class-list")).to_be_hidden()
    assert (page.evaluate(SMALL), page.evaluate(WIDE)) == ([], 0)
    page.locator("#class-open").tap()  # the list, without a keyboard
    expect(page.locator("#class-list")).to_be_visible()
    expect(page.locator("#class-text")).not_to_be_focused()
    heights = page.locator("[role=option]").evaluate_all(
        "(all) => all.map((node) => node.getBoundingClientRect().height)"
    )
    assert len(heights) >= 100 and min(heights) >= 44
    page.wait_for_timeout(400)
    page.get_by_role("option", name="geometry 7").tap()
    wait_until_saved(page)
    assert many.said() == [(item, "geometry 7")]
    expect(page.locator("#class-list")).to_be_hidden()  # the next item has all of the screen

    page.locator("#class-text").tap()
    page.set_viewport_size({"width": PHONE["width"], "height": 420})  # what a keyboard leaves
    page.keyboard.type("algebra")
    for part, least in (("#item", 80), ("#class-text", 44), ("#class-list", 100)):
        box = page.locator(part).bounding_box()
        assert box is not None
        assert box["y"] >= 0 and box["y"] + box["height"] <= 420, part
        assert box["height"] >= least, part
    expect(page.locator("#item")).to_contain_text("subject of item")
    assert page.evaluate(WIDE) <= 0


def test_a_thousand_classes_answer_at_once(open_house: OpenHouse, enter: Enter) -> None:
    names = {f"{word} {number}": f"About {word}." for number in range(250) for word in FIELDS[:4]}
    names["<img src=x onerror=alert(1)>"] = "<b>hostile</b>"
    house = open_house(**of_classes(names, items=1_001))
    page = enter(house).open()
    shown(page)
    page.keyboard.press("t")
    assert len(options(page)) == 100  # the others when they are scrolled to, or walked to
    for _ in range(14):
        page.keyboard.press("PageDown")
    assert active(page) == list(names)[8 * 14 - 1]
    took = page.evaluate(
        """() => {
            const box = document.getElementById("class-text");
            return ["a", "al", "algebra 1", ""].map((text) => {
                const began = performance.now();
                box.value = text;
                box.dispatchEvent(new Event("input"));
                document.getElementById("class-list").getBoundingClientRect(); // laid out, too
                return performance.now() - began;
            });
        }"""
    )
    assert sorted(took)[1] < 500, took  # ms, and the machine may be busy
    choose(page, "Econometrie 249")
    choose(page, "<img")
    wait_until_saved(page)
    assert [answer for _, answer in house.said()] == ["Économétrie 249", [*names][-1]]
    assert page.locator("#class-list img, #class-list b").count() == 0


def test_rulings_among_many_classes(open_house: OpenHouse, enter: Enter) -> None:
    house = open_house(**of_classes(MANY, items=240), reviewers_per_item=2, overlap=1.0)
    campaign = house.campaign()
    items = [str(item.id) for item in campaign.ask(2, reviewer="bob")]
    for who, word in (("bob", "algebra 1"), ("eve", "algebra 2")):
        campaign.desk.record([Label(item, Answer(word), who) for item in items])
    page = enter(house, "ann", role="owner").open("/owner/disputes")
    expect(page.locator("#queue")).to_contain_text("Dispute 1 of 2")
    page.wait_for_timeout(SETTLED)
    page.keyboard.press("t")
    page.keyboard.type("econometrie 9")
    page.keyboard.press("Enter")
    expect(page.locator("#ruled")).to_contain_text("is decided: Économétrie 9")
    expect(page.locator("#queue")).to_contain_text("Dispute 1 of 1")
    expect(page.locator("#class-text")).to_be_focused()
    page.keyboard.press("Escape")
    page.wait_for_timeout(SETTLED)
    page.keyboard.press("0")
    expect(page.locator("#case")).to_contain_text("No disputes")
    answers = [answer.value for answer in house.campaign().answers().values()]
    assert sorted(answers) == ["none of these", "Économétrie 9"]
