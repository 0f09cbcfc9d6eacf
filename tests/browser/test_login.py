"""Logging in and out with a browser: by link or by hand, and nothing of the token stays behind."""

from playwright.sync_api import Browser, expect

from assay.web import Options
from tests.browser.house import Enter, House, OpenHouse


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
