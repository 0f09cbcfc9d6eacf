"""The reviewer's page, driven by the keyboard: leases, logging in and out."""

import pytest
from playwright.sync_api import Browser, Page, expect

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


def test_a_link_and_an_image_tell_the_other_site_nothing(
    open_house: OpenHouse, enter: Enter
) -> None:
    columns = {"id": [0], "p": [0.9], "link": ["https://a.example/x"]}
    columns["image"] = columns["link"]
    options = Options(links=("link",), images=("image",))
    house = open_house(options=options, predictions=columns, show=["link", "image"], budget=1)
    visit = enter(house)
    page = visit.open()
    shown(page)
    link, image = page.locator("#item a").first, page.locator("#item img")
    expect(link).to_have_attribute("rel", "noopener noreferrer")
    expect(link).to_have_attribute("target", "_blank")
    expect(image).to_have_attribute("referrerpolicy", "no-referrer")
    expect(image).to_have_attribute("alt", "Image in column image")
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


LEASE = 3.0  # seconds; the page looks again after a third of it
LONG = 4_500  # ms, in which a lease that nobody renews runs out

FOR_EVER = ("seen > renewed", "true")


def given(house: House, who: str) -> set[str]:
    """Return the items that somebody else is given now."""
    return {str(item.id) for item in house.campaign().ask(3, reviewer=who, lease=60)}


@pytest.fixture
def lease_house(open_house: OpenHouse) -> House:
    """A campaign of few items and short leases: what one has, others miss."""
    return open_house(options=Options(lease=LEASE), items=8, budget=4)


def move(page: Page) -> None:
    for step in range(LONG // 100):
        page.mouse.move(100 + 5 * step, 100)
        page.wait_for_timeout(100)


def test_a_page_that_somebody_uses_keeps_its_items(lease_house: House, enter: Enter) -> None:
    page = enter(lease_house).open()
    first = shown(page)
    move(page)
    assert first not in given(lease_house, "bob")
    assert shown(page) == first


@pytest.mark.parametrize("careless", [False, True])
def test_a_page_that_was_left_open_lets_them_go(
    lease_house: House, enter: Enter, careless: bool
) -> None:
    visit = enter(lease_house)
    if careless:
        visit.alter("review.js", FOR_EVER)
    page = visit.open()
    first = shown(page)
    page.wait_for_timeout(LONG)
    taken = given(lease_house, "bob")
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
    assert lease_house.said() == [(pressed[0][0], "yes")]


def test_an_answer_is_taken_from_whoever_comes_back(lease_house: House, enter: Enter) -> None:
    page = enter(lease_house).open()
    page.wait_for_timeout(LONG)
    pressed = press(page, "n")
    wait_until_saved(page)
    assert [(event.item_id, event.answer, event.late) for event in lease_house.events()] == [
        (pressed[0][0], "no", True)
    ]


def test_a_link_logs_in_and_leaves_no_token_behind(house: House, enter: Enter) -> None:
    visit = enter(house)
    visit.context.clear_cookies()
    token = house.token("max", role="owner")
    sent: list[str] = []
    visit.context.on("request", lambda request: sent.append(request.url))
    page = visit.open(f"/login#{token}")
    page.wait_for_url("**/owner")
    assert not any(token in url for url in sent)
    assert token not in page.evaluate("document.cookie + JSON.stringify(localStorage)")
    page.go_back()  # to the empty page before: the link is in no history
    assert page.url == "about:blank"
    page.goto(f"{house.url}/owner")
    page.get_by_role("button", name="Log out").click()
    page.wait_for_url("**/login")
    page.goto(f"{house.url}/owner")
    expect(page.get_by_role("heading", name="Log in")).to_be_visible()


def test_a_token_is_typed_by_hand_after_a_wrong_link(house: House, enter: Enter) -> None:
    visit = enter(house)
    visit.context.clear_cookies()
    page = visit.open("/login#an-old-link")
    expect(page.get_by_role("status")).to_have_text("this token is not valid here, or was revoked")
    assert page.url == f"{house.url}/login"
    page.keyboard.type(f" {house.token('ann')} ")
    page.keyboard.press("Enter")
    page.wait_for_url("**/review")
    house.close()
    page = visit.context.new_page()
    house.open()
    page.goto(f"{house.url}/login")
    house.close()
    page.get_by_label("Token").fill("x")
    page.keyboard.press("Enter")
    expect(page.get_by_role("status")).to_contain_text("No connection to the server")
    house.open()


def test_forms_are_known_as_ours_where_browsers_trust_no_address(
    chromium: Browser, open_house: OpenHouse
) -> None:
    """By plain http, browsers say less of where a request comes from."""
    house = open_house(options=Options(hosts=frozenset({"labels.local"})))
    address = house.url.replace("127.0.0.1", "labels.local")
    page = chromium.new_page()
    page.goto(f"{address}/login#{house.token('max', role='owner')}")
    page.wait_for_url("**/owner")
    page.get_by_role("button", name="Log out").click()
    page.wait_for_url("**/login")
    page.close()


def test_guidelines_are_markdown(open_house: OpenHouse, enter: Enter) -> None:
    text = "# Spam\n\n**Unwanted** mail\n\n1. sells\n2. begs\n\n```\nBUY <b>now</b>\n```"
    house = open_house(options=Options(guidelines=text))
    page = enter(house, role="owner").open()
    shown(page)
    guide = page.get_by_role("complementary", name="Guidelines")
    expect(guide.get_by_role("heading", name="Spam", level=3)).to_be_visible()
    expect(guide.locator("strong")).to_have_text("Unwanted")
    expect(guide.locator("ol li")).to_have_text(["sells", "begs"])
    expect(guide.locator("pre")).to_have_text("BUY <b>now</b>")
