"""The notebook's widget in a browser, with a stand-in for the notebook's model of it."""

from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

import assay
from assay.campaign.widget import Labeller
from tests.browser.house import PATIENCE, SETTLED
from tests.web.serving import make_campaign

pytest.importorskip("anywidget")

HOSTILE = "<img src=x onerror=document.title='struck'>\n<b>bold</b>"

# As anywidget has it: get, on, off and send; messages go to the kernel, which is this test.
_SHOW = """async ([esm, css, words]) => {
  const heard = new Set();
  const model = {
    get: (name) => ({ words })[name],
    on: (name, act) => heard.add(act),
    off: (name, act) => heard.delete(act),
    send: (message) => kernel(message).then((reply) => {
      if (reply) for (const act of heard) act(reply);
    }),
  };
  const style = document.createElement("style");
  style.textContent = css;
  document.head.append(style);
  addEventListener("keydown", () => { window.leaked = true; });
  const there = await import(URL.createObjectURL(new Blob([esm], { type: "text/javascript" })));
  there.default.render({ model, el: document.getElementById("cell") });
}"""

_MINUTE_LATER = """() => {
  const now = performance.now.bind(performance);
  performance.now = () => now() + 60_000;
}"""


class Kernel:
    """Answers messages, but not while it is `busy`."""

    def __init__(self, campaign: assay.Campaign) -> None:
        self._labeller, self.busy = Labeller(campaign.desk, "ann"), False
        self.messages = list[Any]()

    def __call__(self, message: Any) -> dict[str, Any] | None:
        self.messages.append(message)
        return None if self.busy else self._labeller.reply(message)


def show(page: Page, campaign: assay.Campaign) -> Kernel:
    """Show the widget as a notebook does."""
    kernel, state = Kernel(campaign), campaign.widget(reviewer="ann").get_state()
    page.expose_function("kernel", kernel)
    page.set_content(
        '<!doctype html><meta name="color-scheme" content="light dark"><div id="cell"></div>'
    )
    page.evaluate(_SHOW, [state["_esm"], state["_css"], state["words"]])
    return kernel


def test_clicks_and_keys_are_stored_at_once_and_hostile_text_is_text(
    chromium: Browser, storage: str
) -> None:
    columns = {
        "id": [f"m{number}" for number in range(40)],
        "p": [0.5 + number / 100 for number in range(40)],
        "text": [f"{number}: {HOSTILE}" for number in range(40)],
    }
    campaign = make_campaign(
        storage, predictions=columns, show=["text"], answers=("Spam", "Not spam")
    )
    page = chromium.new_page()
    page.set_default_timeout(PATIENCE)
    trouble: list[str] = []
    page.on("pageerror", lambda error: trouble.append(str(error)))
    kernel = show(page, campaign)
    text, foot = page.locator(".assay-item dd"), page.locator(".assay-foot").first
    expect(text).to_contain_text("<b>bold</b>")
    assert page.locator(".assay-label :is(img, b)").count() == 0

    def said() -> list[tuple[str, str]]:
        there = assay.load_campaign("spam", storage=storage)
        return [(event.item_id, event.answer) for event in there.events()]

    def number() -> str:
        return f"m{text.inner_text().partition(':')[0]}"

    first = number()
    page.wait_for_timeout(400)  # a double click is no answer to two items
    page.get_by_role("button", name="Not spam").click()
    expect(foot).to_have_text("You 1 · team 1 of at most 30 · all saved")
    assert said() == [(first, "no")]
    page.wait_for_timeout(SETTLED)
    second = number()
    page.keyboard.press("y")
    expect(foot).to_contain_text("You 2")
    page.wait_for_timeout(SETTLED)
    page.keyboard.press("u")
    expect(foot).to_contain_text("You 1 ·")
    assert number() == second
    page.wait_for_timeout(SETTLED)
    page.keyboard.press("c")
    expect(foot).to_contain_text("You 2")
    page.wait_for_timeout(SETTLED)
    page.keyboard.press("s")
    expect(foot).to_contain_text("all saved")
    told = [(first, "no"), (second, "yes"), (second, "withdrawn"), (second, "cannot judge")]
    assert said()[:4] == told and said()[4][1] == "skip"
    assert page.evaluate("window.leaked") is None  # keys of the notebook do nothing meanwhile

    # A kernel that is busy: nothing is said to be saved before it is.
    kernel.busy = True
    page.wait_for_timeout(SETTLED)
    third = number()
    page.keyboard.press("y")
    expect(foot).to_contain_text("1 not saved yet")
    assert len(said()) == 5
    kernel.busy = False
    page.evaluate(_MINUTE_LATER)
    expect(foot).to_contain_text("all saved")
    assert said()[5:] == [(third, "yes")]
    assert page.title() == "" and trouble == []
    page.close()
