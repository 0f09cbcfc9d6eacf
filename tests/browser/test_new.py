"""A new campaign in the browser: from a file to the first label."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from playwright.sync_api import Page, ViewportSize, expect

from assay import load_campaign
from assay.storage import open_store
from tests.browser.house import DESKTOP, PHONE, Enter, Hub, press, shown, wait_until_saved
from tests.browser.test_accessible import SMALL, hard_to_read, violations

ROWS = 3_000


@pytest.fixture
def hub(tmp_path: Path) -> Iterator[Hub]:
    hub = Hub(f"sqlite:///{tmp_path / 'assay.db'}")
    yield hub
    hub.close()


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Write predictions with the truth beside them."""
    rows = [
        f"m{number},{(number * 0.618034) % 1:.4f},text of {number},{number % 2}"
        for number in range(ROWS)
    ]
    path = tmp_path / "mail.csv"
    path.write_text("\n".join(["mail_id,p_spam,text,label", *rows]))
    return path


def drop(page: Page, file: Path) -> None:
    page.set_input_files("#file", file)
    expect(page.locator("#campaign")).to_be_visible()


@pytest.mark.parametrize("viewport", [DESKTOP, PHONE])
def test_from_a_file_to_the_first_label(
    hub: Hub, enter: Enter, file: Path, viewport: ViewportSize
) -> None:
    page = enter(hub, "owner", role="owner", viewport=viewport).open("/")
    drop(page, file)
    assert page.input_value("#id") == "mail_id"
    assert page.input_value("#score") == "p_spam"
    assert page.input_value("#threshold") == "0.5"
    seen = page.locator("#columns input:checked")
    assert [box.input_value() for box in seen.all()] == ["text"]
    page.fill("#question", "Is it spam?")
    expect(page.locator("#preview-question")).to_have_text("Is it spam?")
    expect(page.locator("#preview")).to_contain_text("text of 0")
    expect(page.locator("#forecast")).to_contain_text(f"of {ROWS:,} items")
    expect(page.locator("#command")).to_contain_text("--question 'Is it spam?'")
    page.get_by_role("button", name="Copy the command").click()
    expect(page.locator("#copied")).to_have_text("Copied.")
    assert not page.evaluate("document.documentElement.scrollWidth > innerWidth")
    assert hard_to_read(page) == page.evaluate(SMALL) == violations(page) == []
    page.click("#start")
    page.wait_for_url("**/c/mail/review")
    shown(page)
    press(page, "y")
    expect(page.locator("body")).to_contain_text("You 1")
    wait_until_saved(page)
    campaign = load_campaign("mail", storage=hub.storage)
    assert [event.answer for event in campaign.events()] == ["yes"]
    assert list(campaign.settings.source.seen) == ["text"]
    page.goto(f"{hub.url}/")
    page.locator(".manage summary").click()
    assert hard_to_read(page) == page.evaluate(SMALL) == violations(page) == []
    page.get_by_role("link", name="mail", exact=True).click()
    page.wait_for_url("**/c/mail/owner")


def test_what_is_wrong_is_said_beside_the_form(hub: Hub, enter: Enter, file: Path) -> None:
    visit = enter(hub, "owner", role="owner")
    page = visit.open("/new")
    page.fill("#path", str(file.with_name("nothing.csv")))
    page.get_by_role("button", name="Open").click()
    expect(page.locator("#file-state")).to_contain_text("nothing.csv")
    expect(page.locator("#campaign")).to_be_hidden()
    page.fill("#path", str(file))
    page.get_by_role("button", name="Open").click()
    expect(page.locator("#forecast")).to_contain_text("About")
    page.fill("#within", "often")
    expect(page.locator("#trouble")).to_contain_text("often is not a number")
    page.fill("#within", "10%")
    expect(page.locator("#command")).to_contain_text("--within 0.1")
    page.uncheck("#columns input[value=text]")
    expect(page.locator("#show-warning")).to_be_visible()
    visit.trouble.clear()  # the browser reports the answer 422 as an error
    assert file.read_text().startswith("mail_id")


def test_a_campaign_is_changed_renamed_and_deleted(hub: Hub, enter: Enter, file: Path) -> None:
    page = enter(hub, "owner", role="owner").open("/")
    drop(page, file)
    page.fill("#question", "Is it spam?")
    page.click("#start")
    page.wait_for_url("**/c/mail/review")
    page.goto(f"{hub.url}/")
    page.locator(".manage summary").first.click()
    page.get_by_role("link", name="Change").click()
    expect(page.locator("#question")).to_have_value("Is it spam?")
    page.fill("#question", "Is it a scam?")
    page.uncheck("#columns input[value=text]")
    page.select_option("#metric", "recall")
    page.get_by_role("button", name="Save").click()
    page.wait_for_url("**/c/mail/review")
    campaign = load_campaign("mail", storage=hub.storage)
    assert campaign.settings.question == "Is it a scam?"
    assert campaign.settings.goal.metric == "recall"
    assert list(campaign.settings.source.seen) == []
    page.goto(f"{hub.url}/")
    page.locator(".manage summary").first.click()
    page.get_by_label("New name").fill("scam")
    page.get_by_role("button", name="Rename").click()
    expect(page.get_by_role("link", name="scam", exact=True)).to_be_visible()
    for typed, left in (("mail", 1), ("scam", 0)):
        page.locator(".manage summary").first.click()
        page.get_by_label("Its name, to delete it").fill(typed)
        page.get_by_role("button", name="Delete").click()
        page.goto(f"{hub.url}/")
        with open_store(hub.storage).read() as session:
            assert len(session.names()) == left
    expect(page.get_by_role("heading", name="New campaign")).to_be_visible()


def test_classes_from_a_table_of_a_database(hub: Hub, enter: Enter, tmp_path: Path) -> None:
    names = ("cat", "dog", "owl")
    with closing(sqlite3.connect(tmp_path / "zoo.db")) as database, database:
        database.execute("CREATE TABLE pets (id INTEGER, predicted TEXT, text TEXT)")
        rows = [(number, names[number % 3], f"pet {number}") for number in range(600)]
        database.executemany("INSERT INTO pets VALUES (?, ?, ?)", rows)
    page = enter(hub, "owner", role="owner").open("/new")
    page.fill("#path", f"sqlite:///{tmp_path / 'zoo.db'}")
    page.fill("#table", "pets")
    page.get_by_role("button", name="Open").click()
    expect(page.locator("#command")).to_contain_text("--table pets")
    page.fill("#positive", "")
    page.select_option("#metric", "macro_f1")
    page.fill("#within", "0.1")
    page.fill("#name", "zoo")
    page.click("#start")
    page.wait_for_url("**/c/zoo/review")
    campaign = load_campaign("zoo", storage=hub.storage)
    assert campaign.settings.classes.names == names
    assert campaign.settings.goal.metric == "macro_f1"
