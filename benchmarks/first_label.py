"""Seconds from `assay open` in an empty folder to the first stored label, by a browser script.

The file is a CSV of 150,000 rows. The script drops it on the page, waits for the forecast, starts
the campaign, answers the first item, and waits until the answer is saved. Goal: 60 s.

Run with ``python -m benchmarks.first_label [--rows 150000] [--runs 3]``.
"""

import argparse
import os
import re
import shutil
import signal
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from playwright.sync_api import Browser, expect, sync_playwright

PATIENCE = 120_000  # ms


def written(folder: Path, rows: int) -> Path:
    """Write the predictions."""
    score = np.random.default_rng(7).beta(0.6, 0.9, rows)
    lines = (f"m{n},{value:.5f},Message {n} about this and that" for n, value in enumerate(score))
    path = folder / "messages.csv"
    path.write_text("\n".join(["message_id,p_spam,text", *lines]))
    return path


def first_label(browser: Browser, folder: Path, file: Path) -> float:
    """Return the seconds of one run in a new folder."""
    began, told = time.monotonic(), folder / "told.txt"
    words = [sys.executable, "-m", "assay", "open", str(folder / "assay.db"), "--no-browser"]
    streams = [
        (os.POSIX_SPAWN_OPEN, stream, str(told), os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        for stream in (1, 2)
    ]
    server = os.posix_spawn(sys.executable, words, os.environ, file_actions=streams)
    try:
        while not (links := re.findall(r"http\S+#\S{43}", told.read_text())):
            time.sleep(0.02)
        label(browser, links[0], file)
        return time.monotonic() - began
    finally:
        os.kill(server, signal.SIGINT)
        os.waitpid(server, 0)


def label(browser: Browser, login: str, file: Path) -> None:
    """Make a campaign of the file, and answer its first item."""
    page = browser.new_page()
    page.set_default_timeout(PATIENCE)
    page.goto(login)
    page.set_input_files("#file", file)
    page.fill("#question", "Is this message spam?")
    expect(page.locator("#forecast")).to_contain_text("About", timeout=PATIENCE)
    page.click("#start")
    page.locator("#item-name").wait_for()
    page.wait_for_timeout(200)  # a new item takes no answer in its first 150 ms
    page.keyboard.press("y")
    expect(page.locator("#saved-words")).to_have_text("All answers saved", timeout=PATIENCE)
    page.close()


def main() -> None:
    """Measure, and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=150_000)
    parser.add_argument("--runs", type=int, default=3)
    asked = parser.parse_args()
    with TemporaryDirectory() as name, sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox"]
        )
        file = written(Path(name), asked.rows)
        for run in range(asked.runs):
            folder = Path(name) / str(run)
            folder.mkdir()
            print(f"{first_label(browser, folder, file):.1f} s to the first label", flush=True)
        browser.close()


if __name__ == "__main__":
    main()
