"""The reviewer's page, driven by the keyboard."""

from playwright.sync_api import Page, expect

from assay.web import Options
from tests.browser.house import Enter, House, OpenHouse, press, shown, wait_until_saved

ANSWERS = {"y": "yes", "n": "no", "c": "cannot judge", "b": "broken", "s": "skip"}


def told(pressed: list[tuple[str, str]]) -> list[tuple[str, str]]:
    return [(item, ANSWERS[key]) for item, key in pressed]


def test_a_sitting_with_the_keyboard_alone(house: House, enter: Enter) -> None:
    visit = enter(house)
    page = visit.open(f"/login#{house.token('ann')}")
    page.wait_for_url("**/review")
    expect(page.locator("#question")).to_have_text("Is it positive?")
    pressed = press(page, "yncbs")
    wait_until_saved(page)
    assert house.said() == told(pressed)
    assert [event.reviewer for event in house.events()] == ["ann"] * 5
    expect(page.locator("#progress")).to_have_text("You 4 · team 4 of at most 30")

    # Two steps back, through the skip and the broken one, and another answer to each.
    press(page, "uu")
    assert shown(page) == pressed[3][0]
    pressed += press(page, "nn")
    wait_until_saved(page)
    assert [item for item, _ in pressed[5:]] == [pressed[3][0], pressed[4][0]]
    taken_back = [(pressed[4][0], "withdrawn"), (pressed[3][0], "withdrawn")]
    assert house.said() == [*told(pressed[:5]), *taken_back, *told(pressed[5:])]
    answers = {item: answer.value for item, answer in house.campaign().answers().items()}
    assert answers == dict(told(pressed))


def test_help_by_key_and_keys_switched_off(house: House, enter: Enter) -> None:
    page = enter(house).open()
    first = shown(page)
    page.keyboard.press("?")
    expect(page.get_by_role("dialog", name="Keys and answers")).to_be_visible()
    page.wait_for_timeout(200)
    page.keyboard.press("y")  # answers nothing behind the dialog
    page.get_by_label("Answer with single keys").uncheck()
    page.keyboard.press("Escape")
    page.keyboard.press("y")
    assert shown(page) == first
    page.get_by_role("button", name="Yes").focus()
    page.keyboard.press("Enter")
    wait_until_saved(page)
    assert house.said() == [(first, "yes")]


def hold(page: Page) -> None:
    page.wait_for_timeout(200)
    for _ in range(3):
        page.keyboard.down("y")
        page.wait_for_timeout(160)
    page.keyboard.up("y")


def hurry(page: Page) -> None:
    page.wait_for_timeout(200)
    page.evaluate(
        """for (let i = 0; i < 2; i += 1) {
            document.body.dispatchEvent(new KeyboardEvent("keydown", {key: "y", bubbles: true}));
        }"""
    )


def double_click(page: Page) -> None:
    page.wait_for_timeout(400)
    page.get_by_role("button", name="Yes").dblclick()


GUARDS = (
    (" || event.repeat", ""),
    ("SETTLE = 150", "SETTLE = 0"),
    ("DOUBLE_CLICK = 350", "DOUBLE_CLICK = 0"),
)


def test_one_press_is_one_answer(house: House, enter: Enter) -> None:
    careful, careless = enter(house, "ann"), enter(house, "bob")
    careless.alter("keys.js", *GUARDS)
    page = careful.open()
    first = shown(page)
    for keys in ("Control+y", "Alt+y", "Meta+y"):
        page.wait_for_timeout(60)
        page.keyboard.press(keys)
    assert shown(page) == first
    for tab, once in ((page, True), (careless.open(), False)):
        for act in (hold, hurry, double_click):
            before = len(house.said())
            shown(tab)
            act(tab)
            wait_until_saved(tab)
            assert (len(house.said()) - before == 1) is once, act


def test_the_next_item_is_there_at_once(house: House, enter: Enter) -> None:
    visit = enter(house)
    page = visit.open()
    first = shown(page)
    page.wait_for_timeout(200)
    visit.context.route("**/api/review", lambda _: None)  # never answered
    after = page.evaluate(
        """() => {
            document.body.dispatchEvent(new KeyboardEvent("keydown", {key: "y", bubbles: true}));
            const seen = (id) => document.getElementById(id).textContent;
            return [seen("item-name"), seen("saved-words")];
        }"""
    )
    assert after[0] not in ("", f"Item {first}")
    assert after[1] == "Saving…"


def test_waiting_for_others_and_the_end(open_house: OpenHouse, enter: Enter) -> None:
    house = open_house(items=8, budget=4)
    other = house.campaign()
    taken = other.ask(4, reviewer="bob")
    visit = enter(house)
    visit.alter("review.js", ("LOOK_AGAIN = 4_000", "LOOK_AGAIN = 200"))
    page = visit.open()
    expect(page.get_by_role("heading", name="Nothing for you just now")).to_be_visible()
    words = "wait for other reviewers, or for a decision"  # whichever it is, they may not know
    expect(page.locator("#view-wait")).to_contain_text(words)
    expect(page.get_by_role("button", name="Yes")).to_be_disabled()
    other.tell({item.id: True for item in taken[:3]}, reviewer="bob")
    expect(page.locator("#progress")).to_contain_text("team 3 of at most 4")
    other.tell({taken[3].id: False}, reviewer="bob")
    expect(page.get_by_role("heading", name="That is all. Thank you!")).to_be_visible()
    expect(page.locator("#view-done")).to_be_focused()


def test_links_and_images_only_where_asked_for_and_only_https(
    open_house: OpenHouse, enter: Enter
) -> None:
    secure, plain, script = "https://a.example/x", "http://a.example/x", "javascript:alert(1)"
    addresses = [secure, plain, script]
    columns = {
        "id": list(range(3)),
        "p": [0.9, 0.8, 0.7],
        "link": addresses,
        "image": addresses,
        "text": addresses,
    }
    house = open_house(
        options=Options(links=("link",), images=("image",)),
        predictions=columns,
        show=["link", "image", "text"],
    )
    visit = enter(house)
    page = visit.open()
    for _ in range(3):
        address = addresses[int(shown(page))]
        assert page.locator("#item dd").all_inner_texts() == [address] * 3
        links, images = page.locator("#item a"), page.locator("#item img")
        assert links.count() == (2 if address == secure else 0)
        assert images.count() == (1 if address == secure else 0)
        if address == secure:
            for name, value in {"rel": "noopener noreferrer", "target": "_blank"}.items():
                expect(links.first).to_have_attribute(name, value)
            expect(images).to_have_attribute("referrerpolicy", "no-referrer")
            expect(images).to_have_attribute("alt", "Image in column image")
        press(page, "n")
    assert set(visit.elsewhere) == {secure}
    visit.elsewhere.clear()


def test_long_texts_and_other_scripts_can_be_read(open_house: OpenHouse, enter: Enter) -> None:
    long = "\n".join(f"line {number}" for number in range(300)) + "x" * 2000
    texts = [long, "שלום עולם\nשורה שנייה", ""]
    columns = {"id": list(range(3)), "p": [0.9, 0.8, 0.7], "text": texts}
    house = open_house(predictions=columns, show=["text"])
    page = enter(house).open()
    for _ in range(3):
        text, value = texts[int(shown(page))], page.locator("#item dd")
        assert value.inner_text() == (text or "(empty)")
        expect(value).to_have_attribute("lang", "")
        right_to_left = value.evaluate("node => getComputedStyle(node).direction") == "rtl"
        assert right_to_left == text.startswith("ש")
        if text == long:
            # The item has the focus, so the keys that scroll do; the answers stay where they are.
            where = page.get_by_role("button", name="Yes").bounding_box()
            page.keyboard.press("End")
            page.locator("#item").evaluate(
                """node => new Promise((scrolled) => {
                    const look = () => (node.scrollTop > 500 ? scrolled() : setTimeout(look, 20));
                    look();
                })"""
            )
            assert page.get_by_role("button", name="Yes").bounding_box() == where
        press(page, "n")


def test_the_reviewers_own_goal_for_today(house: House, enter: Enter) -> None:
    visit = enter(house)
    page = visit.open()
    press(page, "y")
    wait_until_saved(page)
    expect(page.locator("#today")).to_be_hidden()
    page.keyboard.press("g")
    expect(page.get_by_label("Your goal for today")).to_be_focused()
    page.keyboard.type("2")
    page.keyboard.press("Escape")
    expect(page.locator("#today-words")).to_have_text("Today 1 of 2")
    press(page, "n")
    expect(page.locator("#today-words")).to_have_text("Today 2 of 2: your goal")
    expect(page.locator("#announce")).to_have_text("Your goal for today, 2, is reached.")
    wait_until_saved(page)
    page.reload()
    expect(page.locator("#today-words")).to_have_text("Today 2 of 2: your goal")
    assert "goal" not in str(house.events())
    page.keyboard.press("g")
    page.get_by_label("Your goal for today").fill("")
    page.keyboard.press("Escape")
    expect(page.locator("#today")).to_be_hidden()
