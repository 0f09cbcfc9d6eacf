"""Make the pictures of pages that show their own campaign.

``python -m tests.docs.pictures docs/figures`` types the blocks of each page up to a point, as its
reader does, serves the campaign, and photographs it.
"""

import os
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import Browser, ViewportSize, sync_playwright

from assay.web import Options
from tests.browser.house import House, Visit
from tests.browser.pictures import launched
from tests.docs.blocks import ROOT, RUN, blocks_of
from tests.docs.prepare import FILES
from tests.docs.running import Reader, program

PICTURES = (
    ("tutorial.md", "assay serve", "week-46", "/review", "", "tutorial-label"),
    ("howto/llm_judge.md", "import assay", "pairs", "/review", "", "page-pairs"),
    ("cases.md", "assay status moderation", "moderation", "/owner", "By language", "page-slices"),
)
"""The document, the first block not to type, the campaign, its page, a section of it, the file."""
VIEWPORT: ViewportSize = {"width": 1000, "height": 660}


class Standing(House):
    """A house for a campaign that is there already."""

    def __init__(self, storage: str, name: str) -> None:
        self.storage, self.options, self.name = storage, Options(), name
        self._port = 0
        self.open()


def photograph(chromium: Browser, house: House, path: str, part: str, file: Path) -> None:
    """Take a picture of a page as its owner sees it, or of the part with some title."""
    visit = Visit(chromium, house, "ann", role="owner", viewport=VIEWPORT)
    page = visit.open(path)
    page.wait_for_timeout(1500)
    if part:
        heading = page.get_by_role("heading", name=part)
        page.locator("section", has=heading).last.screenshot(path=file)
    else:
        page.screenshot(path=file)
    visit.leave()
    house.close()


def main(folder: Path) -> None:
    """Make the pictures in a folder."""
    with (
        tempfile.TemporaryDirectory() as programs,
        program(Path(programs)) as path,
        sync_playwright() as playwright,
    ):
        chromium = launched(playwright)
        for page, until, name, shown, part, picture in PICTURES:
            with tempfile.TemporaryDirectory() as place:
                if prepare := FILES.get(f"docs/{page}"):
                    prepare(Path(place))
                os.chdir(place)
                reader = Reader(Path(place), path)
                for block in blocks_of(ROOT / "docs" / page):
                    if block.text.startswith(until):
                        break
                    if block.language in RUN and block.not_run is None:
                        reader.type(block)
                house = Standing(f"sqlite:///{place}/assay.db", name)
                photograph(chromium, house, shown, part, folder / f"{picture}.png")
        chromium.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve())
