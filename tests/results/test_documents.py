"""Every result, by every writer, and a campaign in a notebook: nothing in them is obeyed."""

import io
import json
import re
from collections.abc import Callable
from dataclasses import replace
from html import unescape
from html.parser import HTMLParser
from typing import Any

import numpy as np
import pytest
from markdown_it import MarkdownIt
from rich.console import Console

import assay
from assay.cli.render import view_of
from assay.report import blocks_of
from assay.results import (
    Cell,
    Column,
    Document,
    Interval,
    Shown,
    Table,
    Writer,
    notebook_of,
    text_of,
)
from assay.results.document import scale_of
from assay.results.notebook import interval_bar
from tests.results.samples import ESTIMATE, samples

HOSTILE = "<script>alert(1)</script>\"'&<img src=x onerror=alert(2)> | *b* [l](javascript:x)"
CONTROLS = "<b>\x1b[2J\u202ecod.exe\x07\r=1+1"
LONG = "z" * 1_000_000
HARMLESS = {
    *("b", "circle", "desc", "div", "figure", "li", "p", "path", "pre", "rect", "span", "svg"),
    *("caption", "dd", "dl", "dt", "table", "tbody", "td", "text", "th", "thead", "title", "tr"),
    "ul",
}
BAD, WORD = samples(HOSTILE), samples("cats")
MARKDOWN = MarkdownIt("commonmark", {"html": True}).enable("table")


def in_terminal(document: Document, width: int = 80) -> str:
    screen = Console(file=io.StringIO(), width=width, force_terminal=False)
    screen.print(view_of(document))
    assert isinstance(screen.file, io.StringIO)
    return screen.file.getvalue()


def page_of(document: Document) -> str:
    return blocks_of(document.blocks)


def dashboard_of(document: Document) -> str:
    return blocks_of(document.blocks, "dashboard")


HTML: dict[Writer, Callable[[Document], str]] = {
    "notebook": notebook_of,
    "page": page_of,
    "dashboard": dashboard_of,
}


class Reader(HTMLParser):
    """Reads tags and words, and notices what is left open."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.words, self._open = "", list[str]()
        self.feed(html)
        assert not self._open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        self._open.append(tag)
        assert not any(name.startswith("on") for name, _ in attrs)

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words += f"{data} "


def texts(result: Shown, writer: Writer) -> list[str]:
    """Return the captions, headings and cells that a writer has room for."""
    found = []
    for table in result.document().blocks:
        if isinstance(table, Table) and not (table.is_picture and writer != "page"):
            columns, rows = table.shown(writer)
            cells = [
                (each.brief if writer == "terminal" else "") or each.text
                for row in rows
                for each in row
            ]
            found += [table.caption, table.note, *(each.heading for each in columns), *cells]
    return [text for text in found if text]


@pytest.mark.parametrize("name", BAD)
def test_html_is_whole_and_shows_hostile_words_as_words(name: str) -> None:
    for write in HTML.values():
        view = write(BAD[name].document())
        assert {tag for tag, _ in Reader(view).tags} <= HARMLESS
        assert "<script>alert(1)</script>" in Reader(view).words
        with pytest.raises(AssertionError):  # were it not escaped, it would be noticed
            assert {tag for tag, _ in Reader(unescape(view)).tags} <= HARMLESS


@pytest.mark.parametrize("name", BAD)
def test_markdown_shows_hostile_words_as_words(name: str) -> None:
    kinds, words = [], ""
    for token in MARKDOWN.parse(BAD[name].to_markdown()):
        kinds += [token.type, *(child.type for child in token.children or ())]
        words += "".join(child.content for child in token.children or ())
    assert not {"html_inline", "html_block", "link_open", "image", "em_open"} & set(kinds)
    assert "<script>alert(1)</script>" in words


@pytest.mark.parametrize("text", [CONTROLS, LONG], ids=["controls", "a long text"])
def test_nothing_moves_other_texts_and_all_ends(text: str) -> None:
    for name, result in samples(text).items():
        document = result.document()
        writers = [text_of, notebook_of, page_of, *([in_terminal] if len(text) < 99 else [])]
        for write in writers:
            view = write(document)
            assert not re.search("[\x00-\x08\x0b-\x1f\u202a-\u202e\u2066-\u2069]", view), name
        assert len(notebook_of(document)) < 60_000, name


@pytest.mark.parametrize("name", WORD)
def test_every_writer_has_the_same_cells(name: str) -> None:
    result = WORD[name]
    shown: dict[Writer, str] = {
        "text": str(result),
        "terminal": in_terminal(result.document(), 400),
        "markdown": result.to_markdown().replace("\\", ""),
        **{writer: Reader(write(result.document())).words for writer, write in HTML.items()},
    }
    for writer, words in shown.items():
        said = " ".join(words.split()).lower()
        for text in texts(result, writer):
            assert " ".join(text.lower().split()) in said, (writer, text)


@pytest.mark.parametrize("name", WORD)
def test_a_terminal_of_80_columns_is_wide_enough(name: str) -> None:
    assert max(map(len, in_terminal(WORD[name].document()).splitlines())) <= 80


@pytest.mark.parametrize("name", WORD)
def test_tables_of_a_page_can_be_heard(name: str) -> None:
    """Each has a caption, names its columns and rows, and can be reached by keyboard."""
    tables = [each for each in WORD[name].document().blocks if isinstance(each, Table)]
    for write in (page_of, dashboard_of):
        found = Reader(write(WORD[name].document())).tags
        tags = [tag for tag, _ in found]
        assert tags.count("caption") == tags.count("table") == len(tables)
        regions = [given for tag, given in found if given.get("role") == "group"]
        assert [(given["tabindex"], given["aria-label"]) for given in regions] == [
            ("0", table.caption) for table in tables
        ]
        heads = [given for tag, given in found if tag == "th"]
        assert all(given["scope"] in ("col", "row") for given in heads)
        assert all(given["dir"] == "auto" for given in heads if given["scope"] == "row")
    for tag, given in Reader(notebook_of(WORD[name].document())).tags:
        assert tag != "th" or given["scope"] in ("col", "row")
        assert (
            tag != "svg" or given.get("aria-label") or given.get("role") != "img" or name == "trend"
        )


@pytest.mark.parametrize("name", WORD)
def test_a_result_is_also_values(name: str) -> None:
    result: Any = WORD[name]
    json.dumps(result.to_dict(), allow_nan=False)
    if name not in (
        "estimate",
        "threshold",
        "trend",
        "simulation",
        "curves",
        "plan",
        "verification",
    ):
        assert result.to_frame(backend="pyarrow").num_rows == len(result.rows)


def test_texts_are_folded_where_a_terminal_is_narrow_and_remarks_have_a_line() -> None:
    columns = (Column("publisher", "text"), Column("labels"), Column("", "remark"))
    names = ["a-publisher-of-thirty-letters!", "c" * 90]
    table = Table("By publisher", columns, tuple((each, "9,000", "too few") for each in names))
    lines = [each.rstrip() for each in in_terminal(Document("", (table,))).splitlines()]
    assert lines[0] == "By publisher"
    assert [line.split() for line in lines[1:]] == [
        ["publisher", "labels"],
        [names[0], "9,000"],
        ["too", "few"],
        ["c" * 72, "9,000"],
        ["c" * 18],
        ["too", "few"],
    ]
    assert {len(line) for line in lines if line.endswith(("labels", "9,000"))} == {80}
    wide = in_terminal(Document("", (table,)), 120).splitlines()
    assert wide[2].split()[1:] == ["9,000", "too", "few"]


def test_a_column_is_left_out_where_there_is_no_room_for_it_or_nothing_in_it() -> None:
    columns = (Column("a", "text"), Column("b", only=("page",)), Column("", "remark"))
    table = Table("t", columns, (("x", "1", ""), (Cell("y"), "2", "")))
    assert [each.heading for each in table.shown("text")[0]] == ["a"]
    assert [each.heading for each in table.shown("page")[0]] == ["a", "b"]


def _campaign() -> assay.Campaign:
    score = np.linspace(0.1, 1, 300)
    campaign = assay.create_campaign(
        {"p": score},
        score="p",
        threshold=0.5,
        name=HOSTILE,
        question=HOSTILE,
        metrics=["precision", "recall"],
        within=0.1,
    )
    campaign.tell({item.id: True for item in campaign.ask(20)})
    return campaign


def test_a_campaign_shows_hostile_words_as_words() -> None:
    page = Reader(_campaign()._repr_html_())
    assert {tag for tag, _ in page.tags} <= HARMLESS
    assert HOSTILE in page.words


def test_a_campaign_shows_its_curve_and_the_labels_left() -> None:
    """The line of the estimate ends at the estimate, read by the numbers at the picture's edges."""
    score = np.linspace(0.1, 1, 3000)
    campaign = assay.create_campaign({"p": score}, score="p", threshold=0.5, within=0.03)
    begun = campaign._repr_html_()
    assert "Labels left: too few labels" in begun and 'viewBox="0 0 1000' not in begun
    for _ in range(4):
        campaign.tell({item.id: int(item.id) % 7 > 0 for item in campaign.ask(20)})
    view, now = campaign._repr_html_(), campaign.estimate()
    left = campaign.outlook()
    assert left.answers is not None and left.answers > 50
    assert f"Labels left: about {left.answers:,} (a forecast" in view
    texts = re.findall(r'text-anchor="(\w+)"[^>]*>([\d.,]+)<', view)
    upwards = [float(text) for side, text in texts if side == "end"]
    top, bottom = upwards[1], upwards[-1]  # the first is the start of the bar's scale
    most = float([text for side, text in texts if side == "middle"][-1].replace(",", ""))
    line = re.search(r'<path d="M([^"]+)"[^>]*stroke-width="1.6"', view)
    assert line is not None
    x, y = map(float, line[1].split()[-1].split(","))
    assert x / 1000 * most == pytest.approx(now.labels, abs=0.1)
    assert top - y / 1000 * (top - bottom) == pytest.approx(now.value, abs=1e-3)
    assert f"from {now.low:.3f} to {now.high:.3f} after {now.labels:,}" in view
    assert not {"script", "style", "image", "a"} & {tag for tag, _ in Reader(view).tags}


def _drawn(svg: str) -> tuple[list[float], list[float], float]:
    """Return where the bar begins and ends, the bracket's ends, and the dot."""
    bar = re.search(r'M([\d.]+) [\d.]+H([\d.]+)" stroke-width="6"', svg)
    marks, dot = re.findall(r"M([\d.]+) 1V", svg), re.search(r'cx="([\d.]+)"', svg)
    assert bar and dot
    return [float(end) for end in bar.groups()], [float(end) for end in marks], float(dot[1])


def test_the_bar_is_where_the_numbers_are_and_the_bracket_holds_it_when_the_goal_is_met() -> None:
    """The picture is 340 wide with margins of 44: a scale from 0 to 1 has 252 units."""
    for low, high, value, within in ((0.2, 0.6, 0.5, 0.25), (0.2, 0.6, 0.5, 0.15)):
        bar, bracket, dot = _drawn(interval_bar(Interval(low, high, value, (0.0, 1.0), within)))
        assert bar == pytest.approx([44 + 252 * low, 44 + 252 * high], abs=0.06)
        assert dot == pytest.approx(44 + 252 * value, abs=0.06)
        met = (high - low) / 2 <= within
        assert (bracket[0] <= bar[0] and bar[1] <= bracket[1]) == met
    # Around the value, as one might draw it, a bracket would leave out a part of a bar that is met.
    assert 0.5 - 0.25 > 0.2


def test_the_scale_is_round_and_holds_all() -> None:
    rng = np.random.default_rng(1)
    for low, width in rng.random((200, 2)) * (0.9, 0.1):
        start, end = scale_of([low, low + width])
        assert start <= low + 1e-9 and low + width <= end + 1e-9
        assert end - start <= max(5 * width, 0.0101) + 1e-9


def test_differences_and_shares_have_scales_of_their_own() -> None:
    gain = replace(ESTIMATE, metric="f1:a - f1:b", value=0.01, low=-0.01, high=0.03)
    view = assay.Estimates({"f1:a - f1:b": gain, "f1:a": replace(ESTIMATE, metric="f1:a")})
    scales = re.findall(r"on a scale from (\S+) to (\S+)\"", view._repr_html_())
    assert scales == [("-0.05", "0.05"), ("0.9", "0.95")]
