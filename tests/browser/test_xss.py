"""Hostile texts wherever a person or a file can put one: nothing runs, all is shown as it is."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from unicodedata import normalize
from urllib.parse import quote

import pytest
from playwright.sync_api import expect

from assay.core.answers import Answer
from assay.storage import Label
from assay.web import Options
from tests.browser.house import Enter, House, OpenHouse, Visit, shown

CORPUS: list[str] = json.loads((Path(__file__).parent / "xss.json").read_text())
ALL = " ".join(CORPUS)  # what is escaped sign by sign can be tried all at once
WHO = max(CORPUS, key=len)  # no name may be as long as all of them


def rotated(by: int) -> list[str]:
    return CORPUS[by:] + CORPUS[:by]


def test_the_corpus_is_large_and_has_no_doubles() -> None:
    assert len(set(CORPUS)) == len(CORPUS) >= 100


# Answers item after item; a clock that runs ahead saves the wait that every new item asks for.
ANSWER_ALL = """async () => {
  const now = performance.now.bind(performance);
  let ahead = 0;
  performance.now = () => now() + (ahead += 1000);
  const [item, done] = ["item", "view-done"].map((id) => document.getElementById(id));
  const texts = (selector) => [...item.querySelectorAll(selector)].map((node) => node.textContent);
  const seen = [];
  while (done.hidden) {
    const name = item.querySelector("h2").textContent;
    if (!item.hidden && name !== seen.at(-1)?.[0]) {
      seen.push([name, texts("dd"), texts("a")]);
      document.body.dispatchEvent(new KeyboardEvent("keydown", {key: "n", bubbles: true}));
    }
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
  return seen;
}"""


def test_items(open_house: OpenHouse, enter: Enter) -> None:
    columns: dict[str, Any] = {"id": CORPUS, "p": [0.9] * len(CORPUS)}
    columns |= {"text": rotated(1), "link": rotated(2), "image": rotated(3)}
    house = open_house(
        options=Options(links=("link",), images=("image",)),
        predictions=columns,
        show=["text", "link", "image"],
        budget=len(CORPUS),
    )
    visit = enter(house)
    visit.alter("review.js", ("QUEUED = 3", "QUEUED = 20"))  # answers go together, which is faster
    page = visit.open()
    shown(page)
    seen = page.evaluate(ANSWER_ALL)
    rows = zip(CORPUS, rotated(1), rotated(2), rotated(3), strict=True)
    expected = {f"Item {name}": values for name, *values in rows}
    assert {name: values for name, values, _ in seen} == expected
    linked = {text for _, _, links in seen for text in links}
    assert linked == {text for text in CORPUS if text.startswith("https://") and is_plain(text)}
    # Images were asked for, and nothing else was fetched.
    assert all(url.startswith("https://") for url in visit.elsewhere)
    assert 0 < len(visit.elsewhere) <= len(linked)
    visit.elsewhere.clear()


INSIDE = """() => [...document.querySelectorAll("#item-body dd *")].flatMap((node) =>
  [node.localName, ...[...node.attributes].map((each) => `@${each.name}`)])"""
ELEMENTS = {
    *("p", "ul", "ol", "li", "strong", "em", "code", "pre", "blockquote", "hr", "b", "div", "span"),
    "button",
}
ATTRIBUTES = {
    *("@class", "@role", "@aria-label", "@aria-level", "@tabindex", "@type", "@title", "@start")
}
WRAPPED = (
    *("{}", "**{}**", "*{}*", "`{}`", "[{}]({})", "![{}](https://elsewhere.test/{})", "# {}"),
    *("> {}", "- {}", "1. {}", "```{}\n{}\n```", "<a href='{}'>"),
)


def test_items_with_structure(open_house: OpenHouse, enter: Enter) -> None:
    """Markdown, code, JSON and conversations: elements of our own, and the text as it was."""
    pairs = list(zip(CORPUS, rotated(1), strict=True))
    texts = {
        "md": "\n\n".join(each.replace("{}", text) for text in CORPUS[::2] for each in WRAPPED),
        "odd": "\n\n".join(each.replace("{}", text) for text in CORPUS[1::2] for each in WRAPPED),
        "long": "# long\n" + "[" * 100_000,  # searched for links, it would stop the page
        "code": ALL,
        "json": json.dumps([{one: two} for one, two in pairs]),
        "turns": json.dumps([{"role": one, "content": two} for one, two in pairs]),
    }
    house = open_house(
        options=Options(kinds=dict.fromkeys(["md", "odd", "long"], "markdown") | {"code": "code"}),
        predictions={
            "id": ["a", "b"],
            "p": [0.9, 0.9],
            **{name: [text] * 2 for name, text in texts.items()},
        },
        show=list(texts),
        budget=2,
    )
    visit = enter(house)
    visit.alter("review.js", ("QUEUED = 3", "QUEUED = 1"))
    page = visit.open()
    shown(page)
    field = page.locator(".field:has(.field-name:text-is('long')) dd")
    assert field.locator(".md-heading").count() == 0
    held = set(page.evaluate(INSIDE))
    assert held <= ELEMENTS | ATTRIBUTES
    assert held > {"strong", "em", "code", "pre", "blockquote", "ol", "ul"}
    assert page.locator(".turn").count() == len(CORPUS)
    for name, text in texts.items():
        page.get_by_role("button", name=f"Show {name} as text").press("Enter")
        assert (
            page.locator(f".field:has(.field-name:text-is('{name}')) dd").evaluate(
                "node => node.textContent"
            )
            == text
        )
    careless = enter(house, "bob")
    careless.alter("rich.js", ("node.append(...children);", "node.innerHTML = children.join('');"))
    shown(careless.open())
    assert careless.leave() != []


def is_plain(address: str) -> bool:
    return address.isprintable() and "@" not in address and " " not in address


@pytest.fixture
def hostile(open_house: OpenHouse) -> House:
    """A campaign with hostile names, question, guidelines, columns, reviewers and keys."""
    count = 3
    columns: dict[str, Any] = {"an id": [ALL, *CORPUS[: count - 1]], "a p": [0.9] * count}
    columns |= {name: [value] * count for name, value in zip(CORPUS, rotated(1), strict=True)}
    house = open_house(
        options=Options(guidelines="\n\n".join(CORPUS), links=tuple(CORPUS)),
        predictions=columns,
        id="an id",
        score="a p",
        show=CORPUS,
        question=ALL,
        name=WHO,
        budget=count,
        reviewers_per_item=2,
        overlap=1.0,
    )
    campaign = house.campaign()
    item = campaign.ask(1, reviewer=CORPUS[0])[0].id
    answers = [Answer.YES, *[Answer.NO] * (len(CORPUS) - 1)]
    pairs = zip(CORPUS, answers, strict=True)
    campaign.desk.record(
        [Label(str(item), answer, name, comment=ALL[:2_000]) for name, answer in pairs]
    )
    keys = [Label(str(item), "cannot judge", key=key) for key in CORPUS if len(key) <= 100]
    campaign.review(keys, reviewer=WHO)
    return house


def look_at_every_page(visit: Visit) -> dict[str, str]:
    """Return the whole text of every page that a person may see."""
    texts = {}
    page = visit.context.new_page()
    for path in (
        "/review",
        "/owner",
        "/owner/disputes",
        "/owner/campaigns",
        "/login",
        f"/{quote(ALL, safe='')}",
    ):
        page.goto(visit.house.url + path)
        if path == "/review":
            expect(
                page.locator("#item, #view-done, #view-wait").locator("visible=true")
            ).to_be_visible()
        texts[path[:20]] = page.evaluate("document.documentElement.textContent")
    return texts


def test_everything_else(hostile: House, enter: Enter) -> None:
    visit = enter(hostile, WHO, role="owner")
    texts = look_at_every_page(visit)
    # The question and, beside it, the campaign's name; the dashboard has the name alone.
    for path in ("/review", "/owner/disputes"):
        assert ALL in texts[path].replace(WHO, "", 1), path
    assert texts["/owner"].count(WHO) > 1  # the campaign and a reviewer are called so
    for text in CORPUS:
        pieces = [piece.strip() for piece in text.splitlines()]
        assert all(piece in texts["/review"] for piece in pieces)
        assert text in texts["/owner/disputes"]
        assert normalize("NFC", text).strip() in texts["/owner"]  # as reviewers are called


def was_blocked(trouble: Sequence[str]) -> bool:
    """Whether the policy stopped a script: by our own listener's line, or by the browser's.

    The listener's comes later, and not at all where the page is left before.
    """
    return any("CSP violation" in each or "Content Security Policy" in each for each in trouble)


def test_a_page_that_trusts_texts_is_noticed(hostile: House, enter: Enter) -> None:
    visit = enter(hostile)
    safe = "text.append(...valueNodes(name, kind, value, address));"
    visit.alter("item.js", (safe, "text.innerHTML = value;"))
    page = visit.open()
    for _ in range(50):  # not until something is seen: one of them leads away from the page
        if not was_blocked(visit.trouble):
            page.wait_for_timeout(100)
    wrong = visit.leave()
    assert was_blocked(wrong), wrong
