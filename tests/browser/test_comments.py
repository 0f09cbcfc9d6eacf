"""Comments on the pages: a key away, never in the way, and only text to whoever reads them."""

from playwright.sync_api import Page, expect

from assay.storage import Label
from tests.browser.house import SETTLED, Enter, House, OpenHouse, press, shown, wait_until_saved

HOSTILE = '<img src="https://a.example/x" onerror="alert(1)">=1+1'
TEAM = {"reviewers_per_item": 2, "overlap": 1.0}


def write(page: Page, text: str) -> None:
    page.wait_for_timeout(SETTLED)
    page.keyboard.press("w")
    expect(page.locator("#comment-text")).to_be_focused()
    page.keyboard.type(text)


def said(house: House) -> list[tuple[str, str, str]]:
    return [(event.item_id, event.answer, event.comment) for event in house.events()]


def test_a_comment_goes_with_the_answer_and_comes_back_with_undo(
    house: House, enter: Enter
) -> None:
    page = enter(house).open()
    first = shown(page)
    expect(page.locator("#comment")).to_be_hidden()
    write(page, "yes, no? syncb")  # none of these keys answers
    page.keyboard.press("Shift+Enter")
    page.keyboard.type(HOSTILE)
    assert shown(page) == first
    page.keyboard.press("Enter")
    expect(page.locator("#item")).to_be_focused()
    expect(page.locator("#comment-text")).to_be_visible()  # what will be sent can be seen
    press(page, "y")
    wait_until_saved(page)
    comment = f"yes, no? syncb\n{HOSTILE}"
    assert said(house) == [(first, "yes", comment)]
    assert shown(page) != first
    expect(page.locator("#comment")).to_be_hidden()
    press(page, "u")
    assert shown(page) == first
    expect(page.locator("#comment-text")).to_have_value(comment)
    page.locator("#comment-text").fill("shorter")
    page.wait_for_timeout(400)  # a click is no answer to an item that has just come
    page.locator("[data-answer=no]").click()
    wait_until_saved(page)
    assert said(house)[1:] == [(first, "withdrawn", ""), (first, "no", "shorter")]


def test_what_was_written_beside_a_skipped_item_waits_for_it(
    open_house: OpenHouse, enter: Enter
) -> None:
    house = open_house(items=8, budget=4)
    page = enter(house).open()
    first = shown(page)
    write(page, "not sure yet")
    page.keyboard.press("Enter")
    press(page, "s")
    while shown(page) != first:
        expect(page.locator("#comment")).to_be_hidden()
        press(page, "y")
        wait_until_saved(page)
    expect(page.locator("#comment-text")).to_have_value("not sure yet")
    press(page, "n")
    wait_until_saved(page)
    answers = [(item, comment) for item, answer, comment in said(house) if answer != "skip"]
    assert answers[-1] == (first, "not sure yet")
    assert {comment for _, comment in answers[:-1]} == {""}


def test_a_comment_that_is_too_long_is_not_sent_and_not_lost(house: House, enter: Enter) -> None:
    page = enter(house).open()
    first = shown(page)
    write(page, "")
    page.locator("#comment-text").fill("🦉" * 2_000)
    expect(page.locator("#comment-wrong")).to_be_hidden()
    page.locator("#comment-text").fill("🦉" * 2_001)
    expect(page.get_by_role("alert")).to_have_text(
        "2,001 characters, and at most 2,000 can be kept: shorten it."
    )
    page.keyboard.press("Enter")
    page.wait_for_timeout(SETTLED)
    page.keyboard.press("y")
    expect(page.locator("#comment-text")).to_be_focused()
    assert (shown(page), house.said()) == (first, [])
    page.keyboard.press("End")
    page.keyboard.press("Backspace")
    page.keyboard.press("Enter")
    press(page, "y")
    wait_until_saved(page)
    assert said(house) == [(first, "yes", "🦉" * 2_000)]


def test_who_rules_sees_comments_as_text_and_writes_one(
    open_house: OpenHouse, enter: Enter
) -> None:
    house = open_house(**TEAM)
    campaign = house.campaign()
    for who, answer in (("ann", "yes"), ("bob", "no")):
        item = str(campaign.review([], reviewer=who, want=1).items[0].id)
        label = Label(item, answer, key=who, comment=f"{HOSTILE} by {who}")
        campaign.review([label], reviewer=who)
    visit = enter(house, "eve", role="owner")
    page = visit.open("/owner/disputes")
    comments = page.get_by_role("list", name="Comments")
    expect(comments.get_by_role("listitem")).to_have_text(
        [f"no: {HOSTILE} by bob", f"yes: {HOSTILE} by ann"]
    )
    expect(page.locator("#answers-title")).to_be_visible()
    assert page.locator("#case img").count() == 0
    write(page, "y: by the book")
    page.keyboard.press("Enter")
    page.wait_for_timeout(SETTLED)
    page.keyboard.press("y")
    expect(page.locator("#ruled")).to_contain_text("is decided: yes")
    expect(page.locator("#comment")).to_be_hidden()
    last = house.events()[-1]
    assert (last.item_id, last.answer, last.ruling, last.comment) == (
        item,
        "yes",
        True,
        "y: by the book",
    )
    reviewer = enter(house, "carol").open()
    shown(reviewer)
    assert "by ann" not in reviewer.content()
