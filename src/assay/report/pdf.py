"""PDF of a report: printed by a browser on this machine, without a window."""

import asyncio
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from assay.errors import InputError, MissingDependencyError

_NAMES = (
    *("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome"),
    *("microsoft-edge", "microsoft-edge-stable", "msedge"),
)
_OTHERS = (  # where installers put them outside of PATH
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
    "/Applications/Microsoft Edge.app/Contents/MacOS/Microsoft Edge",
    r"C:\Program Files\Google\Chrome\Application\chrome.exe",
    r"C:\Program Files (x86)\Microsoft\Edge\Application\msedge.exe",
)
_PLAYWRIGHT = ("chromium-*/chrome-*/chrome", "chromium_headless_shell-*/*/*headless*shell")
_SECONDS = 60


def printed(html: str) -> bytes:
    """PDF of a page; raise if there is no browser, or if it fails."""
    browser = next(_browsers(), None)
    if browser is None:
        raise MissingDependencyError(
            "a PDF is printed by Chromium, Chrome or Edge, and none is found",
            hint="write the HTML, -o report.html, open it in any browser, and print it as PDF",
        )
    with tempfile.TemporaryDirectory(prefix="assay-", ignore_cleanup_errors=True) as folder:
        page, made = Path(folder) / "report.html", Path(folder) / "report.pdf"
        page.write_text(html, encoding="utf-8")
        words = [
            *(browser, "--headless", "--disable-gpu", "--no-pdf-header-footer"),
            *(f"--user-data-dir={folder}/profile", f"--print-to-pdf={made}"),
            *(["--no-sandbox"] if _is_root() else []),  # it refuses to start otherwise
            page.as_uri(),
        ]
        with ThreadPoolExecutor(1) as thread:  # a notebook's own has a loop that is running
            said = thread.submit(asyncio.run, _run(words)).result()
        if not made.is_file():
            raise InputError(
                f"{browser} could not print the report",
                details=said[-300:],
                hint="write the HTML, -o report.html, and print it in a browser",
            )
        return made.read_bytes()


async def _run(words: list[str]) -> str:
    """Run a program until it ends, or for some time; return what it said."""
    pipe = asyncio.subprocess.PIPE
    program = await asyncio.create_subprocess_exec(*words, stdout=pipe, stderr=pipe)
    try:
        _, said = await asyncio.wait_for(program.communicate(), _SECONDS)
    except TimeoutError:
        program.kill()
        await program.wait()
        return f"it has not ended after {_SECONDS} seconds"
    return said.decode(errors="replace")


def _browsers() -> Iterator[str]:
    """Browsers that can print without a window: on PATH, installed, or Playwright's."""
    yield from filter(None, map(shutil.which, _NAMES))
    yield from (path for path in _OTHERS if Path(path).is_file())
    cache = Path.home() / ("Library/Caches" if sys.platform == "darwin" else ".cache")
    folder = Path(os.environ.get("PLAYWRIGHT_BROWSERS_PATH") or cache / "ms-playwright")
    yield from (str(path) for name in _PLAYWRIGHT for path in sorted(folder.glob(name)))


def _is_root() -> bool:
    return hasattr(os, "geteuid") and os.geteuid() == 0
