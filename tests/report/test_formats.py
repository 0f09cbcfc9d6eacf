"""A report as HTML, Markdown and JSON: whole, the same every time, and safe with any text."""

import json
import os
import re
import tomllib
from collections.abc import Iterator
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from markdown_it import MarkdownIt

import assay
from assay.errors import DOCUMENTS
from assay.report import Report
from assay.report.html import element
from assay.results import ConfusionCell, ConfusionMatrix, Table, printable
from tests.report.campaigns import make, make_several
from tests.report.hostile import poisoned

CORPUS: list[str] = json.loads((Path(__file__).parents[1] / "browser/xss.json").read_text())
KNOWN = {
    *("html", "head", "meta", "link", "title", "style", "body", "main", "header", "footer", "a"),
    *("h1", "h2", "p", "section", "span", "b", "dl", "div", "dt", "dd", "ul", "li", "pre", "code"),
    *("table", "caption", "thead", "tbody", "tr", "th", "td"),
    *("figure", "figcaption", "svg", "rect", "desc", "path", "details", "summary"),
}
RENDERER = MarkdownIt("commonmark", {"html": True}).enable("table")


class Reader(HTMLParser):
    """What is in a page: its elements with their attributes, and its texts."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self.open: list[str] = []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in ("meta", "link"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


@pytest.fixture(scope="module")
def report() -> Report:
    made = make(budget=80)
    made.label(60, lambda item: "cannot judge" if item % 9 == 0 else bool(made.truth[item]))
    return made.campaign.report()


@pytest.fixture(scope="module")
def several() -> Report:
    made = make_several(budget=60)
    made.label(60)
    return made.campaign.report()


def unsafe(page: str) -> Iterator[str]:
    """Tell what does not belong in a page that nobody may put anything into."""
    for tag, attributes in Reader(page).elements:
        if tag not in KNOWN:
            yield f"<{tag}>"
        for name, value in attributes.items():
            if name.startswith("on") or name in ("style", "src", "action"):
                yield f"{name}={value}"
            # A link to one of our own documents is loaded by nobody but who follows it.
            document = tag == "a" and re.fullmatch(
                rf"{re.escape(DOCUMENTS)}/[a-z_]+\.md", value or ""
            )
            if name == "href" and value != "data:," and not document:
                yield f"href={value}"


def test_the_page_is_well_formed_and_needs_nothing_from_elsewhere(
    report: Report, several: Report
) -> None:
    for each in (report, several):
        page = Reader(each.html)
        assert page.open == []
        assert list(unsafe(each.html)) == []
        assert "url(" not in each.html
        assert "@import" not in each.html
        policies = [
            attributes["content"]
            for _, attributes in page.elements
            if attributes.get("http-equiv") == "Content-Security-Policy"
        ]
        assert len(policies) == 1
        assert str(policies[0]).startswith("default-src 'none'; style-src 'unsafe-inline'; ")
        ids = [attributes["id"] for _, attributes in page.elements if "id" in attributes]
        assert len(ids) == len(set(ids)) > 5
        named = " ".join(str(a.get("aria-labelledby") or "") for _, a in page.elements)
        assert set(named.split()) <= set(ids)
        assert [tag for tag, _ in page.elements].count("h1") == 1


def test_hostile_texts_stay_texts(report: Report) -> None:
    bad = poisoned(report, CORPUS)
    assert list(unsafe(bad.html)) == []
    read = "".join(Reader(bad.html).texts)
    assert printable(bad.facts.campaign.name) in read  # unharmed
    # Were it not escaped, it would be noticed.
    raw = [text for text in CORPUS if "<script>" in text]
    assert raw
    assert list(unsafe(bad.html.replace("</h1>", f"</h1>{raw[0]}", 1))) != []


def test_what_says_that_it_is_html_is_not_escaped_and_nothing_else() -> None:
    assert element("p", "<b>", element("b", "&")) == "<p>&lt;b&gt;<b>&amp;</b></p>"
    assert element("p", title='" onload="x') == '<p title="&quot; onload=&quot;x"></p>'
    assert element("p", "\u202eback") == "<p>\\u202eback</p>"


def parsed(markdown: str) -> list[str]:
    """Return the kinds of all that is in a Markdown text."""
    kinds = []
    for token in RENDERER.parse(markdown):
        kinds.append(token.type)
        kinds += [child.type for child in token.children or ()]
    return kinds


def tables(markdown: str) -> list[list[list[str]]]:
    """Return the cells of every table, as a reader of Markdown sees them."""
    found: list[list[list[str]]] = []
    cell = False
    for token in RENDERER.parse(markdown):
        if token.type == "table_open":
            found.append([])
        if token.type == "tr_open":
            found[-1].append([])
        if cell and token.type == "inline":
            texts = (child.content for child in token.children or ())
            found[-1][-1].append("".join(texts))
        cell = token.type in ("th_open", "td_open")
    return found


def test_hostile_texts_make_no_markdown(report: Report) -> None:
    poison = poisoned(report, CORPUS)
    bad = poison.markdown
    kinds = parsed(bad)
    for never in ("html_inline", "html_block", "link_open", "image", "code_inline"):
        assert never not in kinds
    assert kinds.count("heading_open") == 1 + bad.count("\n## ")
    assert len(tables(bad)) >= len(tables(report.markdown))
    first = next(token for token in RENDERER.parse(bad) if token.type == "inline")
    seen = "".join(child.content for child in first.children or ())
    assert seen == " ".join(printable(poison.facts.campaign.name).split())
    unescaped = f"# {next(text for text in CORPUS if text.startswith('<'))}"
    assert {"html_inline", "html_block"} & set(parsed(unescaped))


KEYS = {
    *("format", "made_at", "assay", "campaign", "population", "how", "metrics", "answers"),
    *("outcome", "variable", "is_probability", "strata_interval", "strata"),
    *("reviewers", "agreement", "deviations", "slices", "saved", "judges", "notes"),
}


def test_json_is_what_to_dict_says_with_stable_keys(report: Report, several: Report) -> None:
    for each in (report, several):
        told = each.to_dict()
        assert json.loads(each.json) == told
        assert told["format"] == 1
        json.dumps(told, allow_nan=False)
    assert set(report.to_dict()) == KEYS


def test_the_same_state_gives_the_same_bytes(storage: str) -> None:
    made = make(storage=storage, budget=60)
    made.label(40)
    here = made.campaign.report()
    there = assay.load_campaign(storage=storage).report()
    for name in ("html", "markdown", "json"):
        assert getattr(here, name) == getattr(there, name)
    made.label(5)
    assert made.campaign.report().json != here.json
    assert here.to_dict()["answers"]["labels"] == 40  # a report does not change
    assert here.facts.made_at == there.facts.made_at <= made.campaign.report().facts.made_at


def test_campaigns_with_next_to_nothing() -> None:
    made = make(budget=40)
    empty = made.campaign.report()
    assert "unknown" in empty.markdown
    assert "In progress" in empty.html
    assert "<svg" not in empty.html
    assert empty.facts.made_at == empty.facts.campaign.created_at
    made.campaign.ask(1)
    made.label(1)
    one = made.campaign.report()
    assert one.to_dict()["answers"] | {"labels": 1, "unanswered": 0} == one.to_dict()["answers"]
    assert list(unsafe(one.html)) == []
    unscored = assay.create_campaign({"yes": [True] * 9}, predicted="yes", budget=5)
    unscored.tell({item.id: True for item in unscored.ask(5)})
    assert "<figure" not in unscored.report().html


def test_files(report: Report, tmp_path: Path) -> None:
    for suffix, kind in ((".html", "html"), (".md", "markdown"), (".json", "json")):
        target = tmp_path / f"report{suffix}"
        target.write_text("old")
        report.save(target)
        assert target.read_text(encoding="utf-8") == getattr(report, kind)
    assert len(list(tmp_path.iterdir())) == 3
    with pytest.raises(assay.InputError, match=r"one of: \.html, \.pdf, \.md, \.json"):
        report.save(tmp_path / "report.docx")
    with pytest.raises(assay.InputError, match="cannot be written: No such file"):
        report.save(tmp_path / "nowhere" / "report.md")


def test_a_write_that_fails_leaves_the_old_file(
    report: Report, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = tmp_path / "report.md"
    target.write_text("old")

    def full(_handle: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(assay.InputError, match="No space left"):
        report.save(target)
    assert [(each.name, each.read_text()) for each in tmp_path.iterdir()] == [("report.md", "old")]


def test_a_notebook_shows_it_in_a_frame_of_its_own(report: Report) -> None:
    ((tag, attributes),) = Reader(report._repr_html_()).elements
    assert tag == "iframe"
    assert attributes["srcdoc"] == report.html
    assert "sandbox" in attributes
    assert attributes["sandbox"] is None
    assert str(report).startswith("Report of 'campaign': precision 0.")
    assert repr(report) == str(report)


def test_documents_that_are_named_can_be_read_from_outside() -> None:
    campaign = assay.create_campaign({"p": [0.9, 0.8]}, score="p", threshold=0.5, within=0.1)
    made = campaign.report()
    address = tomllib.loads(Path("pyproject.toml").read_text())["project"]["urls"]["Source"]
    page = f"{address}/blob/main/docs/certainty.md"
    assert f'<a href="{page}" rel="noreferrer">docs/certainty.md</a>' in made.html
    assert f"[docs/certainty.md]({page})" in made.markdown
    for text in (made.html, made.markdown):
        for named in re.findall(r"docs/([a-z_]+)\.md", text):
            assert Path(f"docs/{named}.md").is_file()


def finished() -> assay.Campaign:
    """Return a campaign of three classes with every item labelled, two of which are confused."""
    rng = np.random.default_rng(3)
    truth = rng.choice(["cat", "dog", "<fish>"], 90)
    said = np.where((truth == "dog") & (rng.random(90) < 0.4), "cat", truth)
    campaign = assay.create_campaign({"said": said}, predicted="said", metric="macro_f1", budget=90)
    while not campaign.done:
        campaign.tell({item.id: str(truth[item.id]) for item in campaign.ask(45)})
    return campaign


def test_a_report_has_the_matrix_as_a_shaded_table_and_in_words() -> None:
    report = finished().report()
    html = report.html
    assert 'class="matrix"' in html
    assert "&lt;fish&gt;" in html
    assert "<fish>" not in html
    assert re.search(r'class="number level-9">100<', html)
    first = report.to_dict()["confusion"][0]
    wrong = [cell for cell in first["cells"] if cell["predicted"] != cell["truth"]]
    assert [(cell["predicted"], cell["truth"]) for cell in wrong] == [("cat", "dog")]
    assert "Most frequent confusion: predicted cat, truth dog" in report.markdown
    json.loads(report.json)


def test_a_report_of_yes_and_no_has_none() -> None:
    campaign = assay.create_campaign(
        {"y": [True, False]}, predicted="y", metric="accuracy", budget=1
    )
    report = campaign.report()
    assert "matrix" not in report.html.partition("</style>")[2]
    assert "confusion" not in report.to_dict()


def many(number: int) -> ConfusionMatrix:
    """Return a matrix of so many classes, each confused with the next."""
    names = tuple(f"class {place}" for place in range(number))
    cells: list[Any] = []
    for place, name in enumerate(names):
        other = names[(place + 1) % number]
        cells.append(ConfusionCell(name, name, 80.0, 0.8, 0.7, 0.9, 8))
        cells.append(ConfusionCell(name, other, 20.0 + place, 0.2, 0.1, 0.3, 2))
    return ConfusionMatrix(names, tuple(cells), dict.fromkeys(names, 100), 0.95)


def test_of_many_classes_those_with_most_errors_are_shown() -> None:
    pairs, table = (each for each in many(120).document().blocks if isinstance(each, Table))
    assert table.is_picture and len(table.rows) == 24
    assert "24 classes of 120" in table.note
    assert pairs.note == "and 108 more pairs with fewer items"


def test_classes_that_are_confused_stand_beside_each_other() -> None:
    order = many(6).order
    assert sorted(order) == [f"class {place}" for place in range(6)]
    beside = [abs(int(a[-1]) - int(b[-1])) for a, b in pairwise(order)]
    assert beside.count(1) + beside.count(5) >= 4
