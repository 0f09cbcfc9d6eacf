"""Record how somebody reviews, for the README and the first page of the documentation.

``python -m tests.browser.recording docs/figures`` writes ``reviewing.gif``: a real campaign, the
real pages, one picture for every key, and at the end the owner's page when the campaign
is done.
"""

import io
import sys
import tempfile
from pathlib import Path

from PIL import Image
from playwright.sync_api import Browser, Page, sync_playwright

from assay.core.types import Bools
from assay.demo import make_population
from assay.storage import Label
from tests.browser.house import SETTLED, House, Visit
from tests.browser.pictures import launched, spam_house

SIZE = (1024, 640)  # of a screen of 1280 x 800
ITEMS = 30_000
SPAM = (
    ("An urgent matter", "Dear friend,\n\nI have a proposal that will make both of us rich."),
    ("Last chance: 70% off", "This weekend only. Reply STOP to hear from us twice as often."),
    ("Your parcel is waiting", "Pay the customs fee of 1.99 within 24 hours: parcel.example"),
    ("You have won", "Our computer has drawn your address. Send us your bank details."),
)
OTHERS = (
    ("Minutes of Tuesday", "Hello all,\n\nattached are the minutes.\n\nBest,\nJonas"),
    ("Invoice 4711", "Dear Ms Weber,\n\nthe invoice for October is attached, as agreed."),
)


def record(chromium: Browser, file: Path, storage: str) -> None:
    """Serve a campaign, judge some items by the keyboard, and write the recording."""
    spam = make_population(seed=7)
    texts = [
        kind[number % len(kind)]
        for number, kind in enumerate(SPAM if truth else OTHERS for truth in spam.truth[:ITEMS])
    ]
    house = spam_house(storage, texts)
    desk = Visit(chromium, house, "ann")
    page = desk.open("/review")
    frames: list[tuple[Image.Image, int]] = []
    for _ in range(8):
        page.wait_for_timeout(SETTLED + 400)
        frames.append((_picture(page), 1400))
        shown = page.inner_text("main")
        page.keyboard.press("y" if any(title in shown for title, _ in SPAM) else "n")
    page.wait_for_timeout(SETTLED + 400)
    _finish(house, spam.truth)
    owner = Visit(chromium, house, "eve", role="owner")
    page = owner.open("/owner")
    page.wait_for_timeout(800)
    frames.append((_picture(page), 4000))
    house.close()
    save(frames, file)


def _finish(house: House, truth: Bools) -> None:
    """Judge until the campaign is done."""
    campaign, number = house.campaign(), 0
    while not campaign.done:
        number += 1
        items = campaign.review([], reviewer="ann", want=20).items
        sent = [
            Label(str(item.id), "yes" if truth[int(item.id)] else "no", key=f"{number}-{item.id}")
            for item in items
        ]
        campaign.review(sent, reviewer="ann")


def _picture(page: Page) -> Image.Image:
    return Image.open(io.BytesIO(page.screenshot())).convert("RGB").resize(SIZE)


def save(frames: list[tuple[Image.Image, int]], file: Path) -> None:
    """Write an animated GIF, in which each picture has colours of its own and a time in ms."""
    pictures = [picture.quantize(96, dither=Image.Dither.NONE) for picture, _ in frames]
    durations = [duration for _, duration in frames]
    first, *others = pictures
    first.save(file, save_all=True, append_images=others, duration=durations, loop=0, optimize=True)


def main() -> None:
    """Make the recording in the folder that is given."""
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        browser = launched(playwright)
        record(browser, Path(sys.argv[1], "reviewing.gif"), f"sqlite:///{folder}/labels.db")
        browser.close()


if __name__ == "__main__":
    main()
