"""The owner's pages in a browser, with the keyboard."""

import json
import re
from itertools import count, pairwise
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

from playwright.sync_api import Page, expect

from assay.core.answers import Answer
from assay.storage import Label
from tests.browser.house import PHONE, SETTLED, Enter, House, OpenHouse, Visit

KEYS = (f"key {number}" for number in count())
OFTEN = ("const EVERY = 3000", "const EVERY = 150")  # so that no test waits long
TEAM = {"reviewers_per_item": 2, "overlap": 1.0}


def answer(house: House, token: str, said: str, want: int = 1) -> int:
    """Answer through the API, as a program does; return how many items there were."""
    items = post(house, token, {"submits": [], "want": want})["items"]
    submits = [{"key": next(KEYS), "item": item["id"], "answer": said} for item in items]
    post(house, token, {"submits": submits, "want": 0})
    return len(items)


def post(house: House, token: str, document: object) -> Any:
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    request = Request(f"{house.url}/api/review", json.dumps(document).encode(), headers)
    with urlopen(request, timeout=20) as response:
        return json.load(response)


def disagree(house: House, items: int) -> None:
    """Let two people say the opposite of so many items."""
    campaign = house.campaign()
    for who, said in (("ann", "yes"), ("bob", "no")):
        given = campaign.review([], reviewer=who, want=items).items
        campaign.review([Label(str(item.id), said, key=next(KEYS)) for item in given], reviewer=who)
    assert len(campaign.disputes()) == items


def owner(enter: Enter, house: House, path: str = "/owner", **how: Any) -> tuple[Visit, Page]:
    visit = enter(house, "eve", role="owner", **how)
    visit.alter("owner.js", OFTEN)
    return visit, visit.open(path)


def test_the_dashboard_follows_and_says_stop(enter: Enter, open_house: OpenHouse) -> None:
    house = open_house(budget=25)
    token = house.token("zoe")
    _, page = owner(enter, house)
    expect(page.locator("#labels")).to_have_text("0")
    expect(page.get_by_text("Live", exact=True)).to_be_visible()
    answer(house, token, "yes")
    expect(page.locator("#labels")).to_have_text("1")
    answer(house, token, "no", want=20)
    answer(house, token, "yes", want=3)
    expect(page.locator("#labels")).to_have_text("24")
    # What was opened, and where the keyboard was, stays so when all around it is new.
    page.locator("#rests-on > summary").focus()
    page.keyboard.press("Enter")
    expect(page.locator("#rests-on li").first).to_be_visible()
    expect(page.locator("#announce")).to_have_text("")
    answer(house, token, "no")
    expect(page.locator("#announce")).to_have_text("Done: the budget is used up")
    expect(page.locator(".stop")).to_be_visible()
    expect(page).to_have_title("Done: the budget is used up · Dashboard · spam · Assay")
    expect(page.locator("#rests-on li").first).to_be_visible()
    assert page.evaluate("document.activeElement.parentElement.id") == "rests-on"
    now = house.campaign().estimate()
    expect(page.locator("#value")).to_have_text(f"{now.value:.3f}")
    # A rule for all lines of a picture must not take away the interval's area.
    drawn = page.locator(".drawn-band").first.evaluate("each => getComputedStyle(each).fill")
    assert drawn != "none"


def press(page: Page, key: str) -> None:
    page.wait_for_timeout(SETTLED)
    page.keyboard.press(key)


def test_disputes_are_settled_with_the_keyboard(enter: Enter, open_house: OpenHouse) -> None:
    house = open_house(**TEAM)
    disagree(house, 4)
    waiting = [dispute.item for dispute in house.campaign().disputes()]
    _, page = owner(enter, house, "/owner/disputes")
    queue, item = page.locator("#queue"), page.locator("#item-title")
    expect(queue).to_have_text("Dispute 1 of 4")
    expect(page.locator("#item")).to_contain_text(waiting[0]["subject"])
    expect(page.get_by_text("bob")).to_be_hidden()
    page.locator("#who summary").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("row", name="bob no")).to_be_visible()
    press(page, "y")
    expect(queue).to_have_text("Dispute 1 of 3")
    expect(item).to_have_text(f"Item {waiting[1].id}")
    expect(page.get_by_text("bob")).to_be_hidden()
    expect(page.locator("#case")).to_be_focused()
    press(page, "s")  # later: the next one
    expect(item).to_have_text(f"Item {waiting[2].id}")
    press(page, "n")
    expect(item).to_have_text(f"Item {waiting[3].id}")
    press(page, "u")  # no, that was a slip
    expect(item).to_have_text(f"Item {waiting[2].id}")
    press(page, "c")
    expect(page.get_by_role("status")).to_contain_text("cannot judge")
    expect(queue).to_have_text("Dispute 2 of 2")
    press(page, "b")
    expect(queue).to_have_text("Dispute 1 of 1")
    press(page, "b")
    expect(page.get_by_role("heading", name="No disputes")).to_be_visible()
    expect(page.locator("#rulings")).to_be_hidden()
    campaign = house.campaign()
    assert campaign.disputes() == []
    ruled = [(e.item_id, e.answer, e.reviewer) for e in campaign.events() if e.ruling]
    ids = [each.id for each in waiting]
    said = [(0, "yes"), (2, "no"), (2, "cannot judge"), (3, "broken"), (1, "broken")]
    assert ruled == [(ids[k], answer, "eve") for k, answer in said]
    assert campaign.answers()[ids[2]] is Answer.CANNOT_JUDGE


def test_a_ruling_that_got_no_answer_is_sent_again_and_counts_once(
    enter: Enter, open_house: OpenHouse
) -> None:
    house = open_house(**TEAM)
    disagree(house, 2)
    visit, page = owner(enter, house, "/owner/disputes")
    # The server hears it, and the answer is lost on the way back.
    visit.context.route("**/api/ruling", lambda route: (route.fetch(), route.abort()))
    press(page, "y")
    expect(page.get_by_role("alert")).to_contain_text("Press the same key again")
    expect(page.locator("#queue")).to_have_text("Dispute 1 of 2")
    visit.context.unroute("**/api/ruling")
    press(page, "y")
    expect(page.locator("#queue")).to_have_text("Dispute 1 of 1")
    expect(page.get_by_role("alert")).to_be_hidden()
    assert [event.answer for event in house.events() if event.ruling] == ["yes"]


def test_files_in_and_out(enter: Enter, house: House, tmp_path: Path) -> None:
    _, page = owner(enter, house)
    page.get_by_label("Items", exact=True).fill("3")
    with page.expect_download() as coming:
        page.get_by_role("button", name="Download items").press("Enter")
    assert coming.value.suggested_filename == "spam-batch.csv"
    header, *lines = Path(coming.value.path()).read_text().splitlines()
    assert len(lines) == 3
    file = tmp_path / "answers.csv"
    file.write_text("\n".join([header, lines[0] + "yes", lines[1] + "perhaps", lines[2] + "no"]))
    page.get_by_label("File", exact=True).set_input_files(file)
    page.get_by_role("button", name="Upload answers").press("Enter")
    told = page.locator("#file-result")
    expect(told).to_contain_text("Nothing was recorded")
    expect(told).to_contain_text("line 3")
    assert house.events() == []
    file.write_text(file.read_text().replace("perhaps", "no"))
    page.get_by_label("File", exact=True).set_input_files(file)
    page.get_by_role("button", name="Upload answers").press("Enter")
    expect(told).to_contain_text("3 new")
    expect(page.locator("#labels")).to_have_text("3")
    with page.expect_download() as coming:
        page.get_by_role("button", name="Download labels").press("Enter")
    assert Path(coming.value.path()).read_text().count("yes") > 0


def test_a_reviewer_is_invited_with_the_keyboard(enter: Enter, house: House) -> None:
    visit, page = owner(enter, house)
    page.get_by_label("Their name").fill("<b>zoe")
    page.keyboard.press("Enter")
    link = page.get_by_role("textbox", name="The link for <b>zoe")
    expect(link).to_be_focused()
    expect(page.get_by_role("img", name="The link for <b>zoe as a QR code")).to_be_visible()
    address = link.input_value()
    page.get_by_label("Their name").fill("OWNER")
    page.keyboard.press("Enter")
    expect(page.locator("#invite-result")).to_contain_text("No link created")
    visit.context.clear_cookies()
    page.goto(address)
    expect(page.locator("#item")).to_be_visible()
    expect(page.locator(".who")).to_have_text("<b>zoe")


def test_pages_fit_a_phone_and_have_names(enter: Enter, open_house: OpenHouse) -> None:
    house = open_house(**TEAM, budget=None, within=0.05)
    disagree(house, 20)
    for dispute in house.campaign().disputes()[2:]:
        house.campaign().rule(dispute.item.id, "yes", reviewer="eve", key=next(KEYS))
    disagree_more = house.campaign()
    for who in ("ann", "bob"):
        given = disagree_more.review([], reviewer=who, want=20).items
        said = [Label(str(item.id), "yes", key=next(KEYS)) for item in given]
        disagree_more.review(said, reviewer=who)
    visit, page = owner(enter, house, viewport=PHONE, scheme="dark", touch=True)
    picture = page.get_by_role("img", name="Interval of precision by number of labels")
    expect(picture).to_be_visible()
    page.locator("#strata > summary").click()
    for name in ("Labels by stratum", "Answers by reviewer"):
        expect(page.get_by_role("table", name=name)).to_be_visible()
    levels = page.locator("h1, h2, h3").evaluate_all("all => all.map(h => Number(h.tagName[1]))")
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(later <= earlier + 1 for earlier, later in pairwise(levels))
    assert fits(page)
    assert not page.evaluate(CUT_OFF)
    disputes = visit.open("/owner/disputes")
    expect(disputes.get_by_role("button", name="Yes")).to_be_enabled()
    assert fits(disputes)
    for each in (page, disputes):
        boxes = each.locator("main button:visible, main select, main summary:visible")
        sizes = boxes.evaluate_all("all => all.map(e => e.getBoundingClientRect().height)")
        assert min(sizes) >= 44


CUT_OFF = """() => [...document.querySelectorAll("main *")]
  .filter((each) => !each.closest(".visually-hidden, svg, thead, .across"))
  .filter((each) => each.getBoundingClientRect().right > innerWidth + 1
    || (each.matches(".table-box") && each.scrollWidth > each.clientWidth))
  .map((each) => each.outerHTML.slice(0, 200))"""


def fits(page: Page) -> bool:
    """Tell whether nothing sticks out at the side."""
    return bool(page.evaluate("document.documentElement.scrollWidth <= innerWidth"))


def test_a_chart_says_its_numbers_where_the_pointer_is(enter: Enter, open_house: OpenHouse) -> None:
    house = open_house(budget=60)
    token = house.token("zoe")
    for said in ("yes", "no", "yes"):
        answer(house, token, said, want=20)
    _, page = owner(enter, house)
    square = page.get_by_role("img", name="Interval of precision by number of labels")
    square.hover(position={"x": 5, "y": 20})
    first = page.locator(".hover").inner_text()
    box = square.bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + box["width"] - 2, box["y"] + 20)
    now = house.campaign().estimate()
    expect(page.locator(".hover")).to_have_text(
        f"{now.labels} labels: {now.value:.3f} [{now.low:.3f}, {now.high:.3f}]"
    )
    assert re.match(r"\d+ labels: ", first)
    assert first != page.locator(".hover").inner_text()
    page.mouse.move(5, 5)
    expect(page.locator(".hover")).to_have_count(0)


def test_the_first_screen_needs_no_scrolling(enter: Enter, open_house: OpenHouse) -> None:
    house = open_house(budget=60)
    token = house.token("zoe")
    answer(house, token, "yes", want=20)
    answer(house, token, "no", want=20)
    _, page = owner(enter, house)
    for name in ("#sentence", "#value", ".picture", "#labels", "#left", "#steps li:last-child"):
        box = page.locator(name).bounding_box()
        assert box is not None
        assert box["y"] + box["height"] <= 800, name
