"""Answers that wait in the browser: none is lost, and none is recorded twice."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, Route, expect

import assay
from assay.storage import open_store
from tests.browser.house import IMPATIENT, Enter, House, OpenHouse, press, shown, wait_until_saved
from tests.browser.test_review import told
from tests.torture.processes import Served, serving
from tests.web.serving import make_campaign

API = "**/api/review"


def state(page: Page) -> str:
    return page.locator("#saved").inner_text().replace("\n", " ")


def test_offline_and_back(house: House, enter: Enter) -> None:
    visit = enter(house)
    page = visit.open()
    shown(page)
    visit.context.set_offline(True)
    pressed = press(page, "yn")
    words = page.locator("#saved-words")
    expect(words).to_have_text("2 answers wait in this browser: no connection")
    assert ", trying again in " in state(page)
    expect(page.locator("#announce")).to_contain_text("no connection")
    pressed += press(page, "c")
    expect(page.get_by_role("heading", name="No more items here for now")).to_be_visible()

    # What never left this browser is dropped by undo, and leaves no trace in the log.
    page.keyboard.press("u")
    assert shown(page) == pressed.pop()[0]
    expect(words).to_have_text("2 answers wait in this browser: no connection")
    assert house.said() == []
    visit.context.set_offline(False)
    wait_until_saved(page)
    assert house.said() == told(pressed)
    expect(page.locator("#announce")).to_have_text("All answers saved")


def lose(page: Page, *, heard: bool) -> None:
    """Let the next request get no answer; the server may have heard it."""

    def lost(route: Route) -> None:
        page.context.unroute(API)
        if heard:
            route.fetch()
        route.abort()

    page.context.route(API, lost)


def test_a_connection_that_drops_neither_loses_nor_doubles(house: House, enter: Enter) -> None:
    visit = enter(house)
    visit.alter(*IMPATIENT)
    page = visit.open()
    pressed = []
    for heard in (True, False):
        shown(page)
        lose(page, heard=heard)
        pressed += press(page, "y")
        wait_until_saved(page)
    assert house.said() == told(pressed)


@pytest.fixture
def served(tmp_path: Path, storage: str) -> Iterator[Served]:
    """A server in a process of its own, which can be killed."""
    make_campaign(storage)
    with serving(storage, tmp_path) as (server,):
        yield server


def test_a_server_that_is_killed_and_comes_back(served: Served, enter: Enter) -> None:
    visit = enter(served)
    page = visit.open()
    pressed = press(page, "y")
    wait_until_saved(page)
    served.kill()
    pressed += press(page, "nc")
    expect(page.locator("#saved-words")).to_contain_text("2 answers wait in this browser")
    served.start()
    page.reload()
    wait_until_saved(page)
    pressed += press(page, "b")
    wait_until_saved(page)
    campaign = assay.load_campaign(served.name, storage=served.storage)
    assert [(event.item_id, event.answer) for event in campaign.events()] == told(pressed)


def test_a_revoked_token_keeps_the_answers(house: House, enter: Enter) -> None:
    visit = enter(house)
    page = visit.open()
    pressed = press(page, "y")
    wait_until_saved(page)
    with open_store(house.storage).write() as session:
        for row in session.tokens(house.name):
            session.revoke_token(house.name, row.id)
    pressed += press(page, "n")
    expect(page.get_by_text("You are logged out")).to_be_visible()
    expect(page.locator("#saved-words")).to_have_text("1 answer waits in this browser")
    assert house.said() == told(pressed[:1])
    visit.log_in()
    page.get_by_role("button", name="Try again").click()
    wait_until_saved(page)
    expect(page.get_by_text("You are logged out")).to_be_hidden()
    assert house.said() == told(pressed)


def test_what_somebody_said_is_never_taken_for_somebody_elses(house: House, enter: Enter) -> None:
    visit = enter(house)
    page = visit.open()
    shown(page)
    visit.who = "bob"
    visit.log_in()  # in another tab, while this page is still ann's
    pressed = press(page, "y")
    expect(page.get_by_text("this page belongs to another reviewer")).to_be_visible()
    other = visit.open()
    shown(other)
    expect(other.locator("#saved-words")).to_have_text("All answers saved")
    assert house.said() == []
    visit.who = "ann"
    visit.log_in()
    page.reload()
    assert len(visit.warnings) == 1  # the browser asks before it leaves a page with such answers
    wait_until_saved(page)
    assert [(event.item_id, event.reviewer) for event in house.events()] == [(pressed[0][0], "ann")]


NAME_ALONE = (
    ("new Outbox(campaign, campaignId, person)", "new Outbox(campaign, person)"),
    ("campaign_id: campaignId, ", ""),
)


@pytest.mark.parametrize("careless", [False, True])
def test_what_waits_never_goes_to_a_campaign_of_the_same_name_elsewhere(
    open_house: OpenHouse, enter: Enter, careless: bool
) -> None:
    house, other = open_house(), open_house()
    other.close()
    other.campaign().review([], reviewer="ann", want=3)  # the same items: it would take answers
    visit = enter(house)
    if careless:
        visit.alter("review.js", *NAME_ALONE)
    page = visit.open()
    shown(page)
    visit.context.set_offline(True)
    pressed = press(page, "y")
    expect(page.locator("#saved-words")).to_contain_text("1 answer waits in this browser")

    # At the same address there is another campaign now, alike in all but where it is kept.
    house.close()
    house.storage, other.storage = other.storage, house.storage
    house.open()
    visit.log_in()
    visit.context.set_offline(False)
    if careless:
        wait_until_saved(page)
    else:
        expect(page.get_by_text("this page belongs to another campaign")).to_be_visible()
    page.reload()
    assert shown(page)
    wait_until_saved(page)
    assert bool(house.said()) is careless

    house.close()
    house.storage, other.storage = other.storage, house.storage
    house.open()
    visit.log_in()
    page.reload()
    shown(page)
    wait_until_saved(page)
    assert house.said() == ([] if careless else told(pressed))


def test_two_tabs(house: House, enter: Enter) -> None:
    visit = enter(house)
    one, other = visit.open(), visit.open()
    assert shown(one) == shown(other)
    pressed = press(one, "y")
    expect(other.locator("#item-name")).not_to_have_text(f"Item {pressed[0][0]}")
    pressed += press(other, "n") + press(one, "c") + press(other, "y")
    wait_until_saved(one)
    wait_until_saved(other)
    assert sorted(house.said()) == sorted(told(pressed))
    assert len({item for item, _ in pressed}) == 4


PLANT = """([whose, entries]) => {
  for (const entry of entries) {
    const name = `assay ${JSON.stringify(whose)} waiting ${entry.key}`;
    localStorage.setItem(name, JSON.stringify(entry));
  }
}"""


def test_answers_that_are_not_taken_are_shown_and_keep_nothing_back(
    house: House, enter: Enter
) -> None:
    page = enter(house).open()
    good = shown(page)
    planted = [
        {"key": "k1", "item": "never asked for", "answer": "yes", "turn": 1, "sent": False},
        {"key": "k2", "item": good, "answer": "perhaps", "turn": 2, "sent": False},
        {"key": "k3", "item": good, "answer": "no", "turn": 3, "sent": False},
    ]
    whose = [house.name, house.campaign().desk.identity, "ann"]
    page.evaluate(PLANT, [whose, planted])
    page.reload()
    notice = page.locator("#aside")
    expect(notice).to_contain_text("2 answers were not taken")
    expect(notice).to_contain_text("Item never asked for, “yes”: this item was not assigned to you")
    expect(notice).to_contain_text(f"Item {good}, “perhaps”: 'answer' must be one of")
    wait_until_saved(page)
    assert house.said() == [(good, "no")]
    page.reload()
    for left in ("1 answer was not taken", ""):
        notice.get_by_role("button").first.click()
        expect(notice).to_contain_text(left)
    expect(notice).to_be_hidden()


def test_a_browser_that_keeps_nothing_says_so(house: House, enter: Enter) -> None:
    visit = enter(house)
    visit.context.add_init_script("Storage.prototype.setItem = () => { throw new Error('full'); };")
    page = visit.open()
    shown(page)
    visit.context.set_offline(True)
    pressed = press(page, "y")
    expect(page.locator("#saved-words")).to_have_text(
        "1 answer waits in this page: do not close it: no connection"
    )
    visit.context.set_offline(False)
    wait_until_saved(page)
    assert house.said() == told(pressed)
