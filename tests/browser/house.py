"""A campaign served from a thread of this process, and people who visit it with a browser."""

import socket
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any, Literal

import uvicorn
from playwright.sync_api import (
    Browser,
    BrowserContext,
    ConsoleMessage,
    Dialog,
    Page,
    Request,
    Route,
    ViewportSize,
    expect,
)
from starlette.types import ASGIApp

import assay
from assay.campaign.campaign import Campaign
from assay.storage import StoredLabel
from assay.web import Options, new_token
from assay.web import serve as web_app
from assay.web.middleware import cookie_name
from tests.torture.processes import Served
from tests.web.serving import add_token, make_campaign

DESKTOP: ViewportSize = {"width": 1280, "height": 800}
PHONE: ViewportSize = {"width": 390, "height": 844}

IMPATIENT = ("sender.js", ("PAUSES = [1,", "PAUSES = [0.2,"))  # what `Visit.alter` takes

PATIENCE = 30_000  # ms: no test is about speed, and a machine may have other things to do

SETTLED = 170  # ms: a new item takes no answer in its first 150

# Init scripts run in every page before its own, whatever its policy says.
_WATCH = """
addEventListener("securitypolicyviolation", (event) => {
  console.error(`CSP violation: ${event.violatedDirective} ${event.blockedURI}`);
});
"""


class House:
    """A server on a loopback port. It can be closed, and opened again at the same address."""

    def __init__(self, storage: str, options: Options | None = None, **changed: Any) -> None:
        self.storage, self.options = storage, options or Options()
        self.name = make_campaign(storage, **changed).name
        self._port = 0
        self.open()

    def open(self) -> None:
        """Serve, as a process that was just started would."""
        listening = socket.create_server(("127.0.0.1", self._port))
        self._port = listening.getsockname()[1]
        self.url = f"http://127.0.0.1:{self._port}"
        config = uvicorn.Config(self.app(), log_config=None, timeout_graceful_shutdown=1)
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(target=self._server.run, args=([listening],), daemon=True)
        self._thread.start()
        while not self._server.started:
            time.sleep(0.005)

    def app(self) -> ASGIApp:
        """Return what is served."""
        return web_app.make_app(self.campaign(), self.options)

    def close(self) -> None:
        """Stop, and answer nobody any more."""
        self._server.should_exit = True
        self._thread.join(20)

    def campaign(self) -> Campaign:
        """Return the campaign as somebody else reads it from the storage."""
        return assay.load_campaign(self.name, storage=self.storage)

    def token(self, who: str, role: str = "reviewer") -> str:
        """Return a new token."""
        return add_token(self.storage, role, who, self.name)

    def events(self) -> list[StoredLabel]:
        """Return all that was recorded."""
        return self.campaign().events()

    def said(self) -> list[tuple[str, str]]:
        """Return the items and answers that were recorded, in order."""
        return [(event.item_id, event.answer) for event in self.events()]


class Hub(House):
    """A server of all campaigns of a storage, for whoever started it; at first there are none."""

    def __init__(self, storage: str) -> None:
        self.storage, self.name, self._port = storage, "", 0
        self.local = new_token()
        self.options = Options(every=True, local_token=self.local)
        self.open()

    def app(self) -> ASGIApp:
        """Return what is served."""
        return web_app.make_hub(self.storage, self.options)

    def token(self, who: str, role: str = "owner") -> str:
        """Return the token of whoever started the server: nobody else has one."""
        assert (who, role) == ("owner", "owner")
        return self.local


class Visit:
    """Somebody's browser at a house, and all that went wrong in it."""

    def __init__(
        self,
        chromium: Browser,
        house: House | Served,
        who: str = "ann",
        *,
        role: str = "reviewer",
        viewport: ViewportSize = DESKTOP,
        scheme: Literal["light", "dark"] = "light",
        touch: bool = False,
    ) -> None:
        self.house, self.who, self.role = house, who, role
        self.trouble: list[str] = []
        self.elsewhere: list[str] = []
        self.warnings: list[str] = []  # that answers would be lost, as a browser asks
        self.context: BrowserContext = chromium.new_context(
            viewport=viewport, color_scheme=scheme, has_touch=touch
        )
        self.context.set_default_timeout(PATIENCE)
        self.context.add_init_script(_WATCH)
        self.context.route(lambda url: not url.startswith(house.url), lambda route: route.abort())
        self.context.on("request", self._requested)
        self.context.on("dialog", self._asked)
        self.context.on("console", self._logged)
        self.context.on("weberror", lambda error: self.trouble.append(str(error.error)))
        self.log_in()

    def log_in(self) -> None:
        """Get a new token, and come with its cookie from now on."""
        token = self.house.token(who=self.who, role=self.role)
        cookie = cookie_name(self.house.url.removeprefix("http://"))
        self.context.add_cookies([{"name": cookie, "value": token, "url": self.house.url}])

    def open(self, path: str = "/review") -> Page:
        """Open a page in a tab of its own."""
        page = self.context.new_page()
        page.goto(self.house.url + path)
        return page

    def alter(self, file: str, *changes: tuple[str, str]) -> None:
        """Let this browser get another file than there is: with a mistake, or without a wait."""

        def answer(route: Route) -> None:
            there = route.fetch()
            text = there.text()
            for old, new in changes:
                assert old in text
                text = text.replace(old, new)
            route.fulfill(response=there, body=text)

        self.context.route(f"**/static/{file}", answer)

    def leave(self) -> list[str]:
        """Close the browser; return what went wrong, which is then what the test meant to see."""
        self.context.close()
        wrong, self.trouble, self.elsewhere = self.trouble, [], []
        return wrong

    def _requested(self, request: Request) -> None:
        if not request.url.startswith((self.house.url, "data:", "blob:")):
            self.elsewhere.append(request.url)

    def _asked(self, dialog: Dialog) -> None:
        kept = self.warnings if dialog.type == "beforeunload" else self.trouble
        kept.append(f"dialog: {dialog.message}")
        dialog.accept()

    def _logged(self, message: ConsoleMessage) -> None:
        # A request that fails is what many tests are about; the rest of the console is trouble.
        if message.type == "error" and "Failed to load resource" not in message.text:
            self.trouble.append(message.text)


def shown(page: Page) -> str:
    """Return the id of the item on the screen."""
    name = page.locator("#item-name")
    expect(name).to_be_visible()
    return name.inner_text().removeprefix("Item ")


def press(page: Page, keys: str | Sequence[str]) -> list[tuple[str, str]]:
    """Press keys, one for each item; return what was shown when each was pressed."""
    pressed = []
    for key in keys:
        item = shown(page)
        page.wait_for_timeout(SETTLED)
        page.keyboard.press(key)
        pressed.append((item, key))
    return pressed


def wait_until_saved(page: Page) -> None:
    """Wait until the page says that all answers are saved."""
    expect(page.locator("#saved-words")).to_have_text("All answers saved")


def wait_for(page: Page, come: Callable[[], bool]) -> None:
    """Wait until something is so; a browser goes on only while its page waits."""
    deadline = time.monotonic() + PATIENCE / 1000
    while not come():
        assert time.monotonic() < deadline, "it did not come"
        page.wait_for_timeout(50)


OpenHouse = Callable[..., House]
Enter = Callable[..., Visit]
