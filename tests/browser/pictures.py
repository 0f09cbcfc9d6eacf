"""Make the pictures of the pages that the documentation shows.

``python -m tests.browser.pictures docs/figures``
"""

import shutil
import sys
import tempfile
from collections.abc import Sequence
from contextlib import chdir
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, Playwright, sync_playwright

from assay.campaign import create_campaign, load_campaign
from assay.demo import make_population
from assay.storage import Label
from assay.web import Options
from tests.browser.house import PHONE, House, Hub, Visit
from tests.browser.test_widget import show
from tests.web.serving import make_campaign

GUIDELINES = """# What is spam
A message that was sent to many people who did not ask for it, and wants something from them.

- It sells, begs, or phishes
- The sender hides who they are
- A newsletter that somebody subscribed to is not spam
"""
MESSAGES = (
    (
        "An urgent matter",
        "Dear friend,\n\nI have a proposal that will make both of us rich. Reply "
        "with your bank details, and the transfer will be made within three days.\n\n"
        "Yours in trust,\nMrs. Adaeze",
    ),
    (
        "Minutes of Tuesday",
        "Hello all,\n\nattached are the minutes. Please send corrections until "
        "Friday; the next meeting is on the 24th, in the small room.\n\nBest,\nJonas",
    ),
    ("Last chance: 70% off", "This weekend only. Unsubscribe at the foot of this message."),
)


def spam_house(storage: str, texts: Sequence[tuple[str, str]], **more: Any) -> House:
    """Serve a campaign of messages with these titles and texts."""
    return House(
        storage,
        Options(guidelines=GUIDELINES),
        predictions={
            "id": list(range(len(texts))),
            "p": make_population(seed=7).score[: len(texts)],
            "title": [title for title, _ in texts],
            "text": [text for _, text in texts],
        },
        score="p",
        threshold=0.5,
        show=["title", "text"],
        question="Is this message spam?",
        metric="precision",
        within=0.03,
        budget=None,
        name="spam-week-46",
        seed=7,
        **more,
    )


def pictures(chromium: Browser, folder: Path, storage: str) -> None:
    """Serve a campaign, let three people judge, and take the pictures."""
    spam = make_population(seed=7)
    texts = [MESSAGES[number % len(MESSAGES)] for number in range(30_000)]
    house = spam_house(storage, texts, reviewers_per_item=2, overlap=0.1)
    campaign = house.campaign()
    for number in range(80):  # a goal that is met has no item to show
        who = ("ann", "bob", "eve")[number % 3]
        items = campaign.review([], reviewer=who, want=2).items
        said = ["yes" if spam.truth[int(item.id)] else "no" for item in items]
        sent = [
            Label(str(item.id), answer, key=f"{number}-{item.id}")
            for item, answer in zip(items, said, strict=True)
        ]
        campaign.review(sent, reviewer=who)
    desk = Visit(chromium, house, "ann")
    phone = Visit(chromium, house, "bob", scheme="dark", viewport=PHONE)
    owner = Visit(chromium, house, "eve", role="owner")
    for name, visit, path in (
        ("page-review", desk, "/review"),
        ("page-review-phone", phone, "/review"),
        ("page-owner", owner, "/owner"),
        ("page-errors", owner, "/owner/errors"),
    ):
        page = visit.open(path)
        page.wait_for_timeout(800)
        page.screenshot(path=folder / f"{name}.png")
    house.close()


def report_pictures(chromium: Browser, folder: Path) -> None:
    """Take pictures of the report of a campaign that has met its goal, in light and dark."""
    spam = make_population(seed=7)
    columns = {"id": list(range(30_000)), "p": spam.score[:30_000]}
    campaign = create_campaign(
        columns,
        id="id",
        score="p",
        threshold=0.5,
        metric="precision",
        within=0.03,
        question="Is this message spam?",
        name="spam-week-46",
        seed=7,
    )
    while not campaign.done:
        batch = campaign.ask(20)
        campaign.tell({item.id: bool(spam.truth[int(item.id)]) for item in batch})
    campaign.report().save(folder / "report.html")
    for scheme in ("light", "dark"):
        page = chromium.new_page(color_scheme=scheme, viewport={"width": 900, "height": 1150})
        page.goto((folder / "report.html").absolute().as_uri())
        page.screenshot(path=folder / f"report-{scheme}.png")
    (folder / "report.html").unlink()


def widget_picture(chromium: Browser, folder: Path, storage: str) -> None:
    """Take a picture of the widget of a notebook."""
    texts = [MESSAGES[number % len(MESSAGES)] for number in range(60)]
    columns = {
        "id": [f"m{number}" for number in range(60)],
        "p": [0.5 + number / 130 for number in range(60)],
        "title": [title for title, _ in texts],
        "text": [text for _, text in texts],
    }
    campaign = make_campaign(
        storage,
        predictions=columns,
        show=["title", "text"],
        question="Is this message spam?",
        answers=("Spam", "Not spam"),
    )
    page = chromium.new_page(viewport={"width": 900, "height": 480})
    show(page, campaign)
    for key in "ny":
        page.wait_for_timeout(400)
        page.locator(".assay-label").press(key)
    page.wait_for_timeout(400)
    page.screenshot(path=folder / "widget.png", clip={"x": 0, "y": 0, "width": 882, "height": 414})


def new_picture(chromium: Browser, folder: Path) -> None:
    """Take a picture of the page on which a campaign is made."""
    spam = make_population(seed=7)
    rows = [
        f"m{number:05d},{spam.score[number]:.4f},{MESSAGES[number % len(MESSAGES)][0]}"
        for number in range(30_000)
    ]
    folder = folder.absolute()
    with tempfile.TemporaryDirectory() as name, chdir(name):  # so that paths are short
        file = Path(name) / "messages.csv"
        file.write_text("\n".join(["message_id,p_spam,subject", *rows]))
        hub = Hub(f"sqlite:///{name}/assay.db")
        page = Visit(chromium, hub, "owner", role="owner").open("/new")
        page.set_input_files("#file", file)
        page.fill("#question", "Is this message spam?")
        page.locator("#forecast", has_text="About").wait_for()
        page.screenshot(path=folder / "page-new.png", full_page=True)
        page.click("#start")
        page.wait_for_url("**/review")
        campaign = load_campaign("messages", storage=hub.storage)
        items = campaign.ask(60, reviewer="owner")
        campaign.tell(
            {each.id: bool(spam.truth[int(str(each.id)[1:])]) for each in items}, reviewer="owner"
        )
        create_campaign(
            {"said": ["cat", "dog", "owl"] * 200},
            predicted="said",
            metric="accuracy",
            within=0.05,
            name="pets",
            storage=hub.storage,
        )
        page.goto(f"{hub.url}/")
        page.screenshot(path=folder / "page-campaigns.png")
        hub.close()


def launched(playwright: Playwright) -> Browser:
    """Return the system's browser."""
    return playwright.chromium.launch(
        executable_path=shutil.which("chromium"), args=["--no-sandbox", "--disable-gpu"]
    )


def main() -> None:
    """Make the pictures in the folder that is given."""
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        browser = launched(playwright)
        pictures(browser, Path(sys.argv[1]), f"sqlite:///{folder}/labels.db")
        report_pictures(browser, Path(sys.argv[1]))
        widget_picture(browser, Path(sys.argv[1]), f"sqlite:///{folder}/widget.db")
        new_picture(browser, Path(sys.argv[1]))
        browser.close()


if __name__ == "__main__":
    main()
