"""What a notebook shows: every word escaped, and bars that say what the numbers say."""

import re
from dataclasses import replace
from html import unescape
from html.parser import HTMLParser
from typing import Any

import numpy as np
import pytest

import assay
from assay.audit.books import Checked, Verification
from assay.results.html import interval_bar, scale_of

HOSTILE = "<script>alert(1)</script>\"'&<img src=x onerror=alert(2)>"
ESTIMATE = assay.Estimate(
    "precision", 0.93, 0.91, 0.95, 0.95, 0.01, 400, 2, (0.92, 0.94), "", True, HOSTILE, (HOSTILE,)
)


class Reader(HTMLParser):
    """Reads tags and words, and notices what is left open."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.words, self._open = "", list[str]()
        self.feed(html)
        assert not self._open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self._open.append(tag)
        assert not any(name.startswith("on") for name, _ in attrs)

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words += f"{data} "


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


def _views() -> dict[str, str]:
    campaign = _campaign()
    both = assay.Estimates({HOSTILE: replace(ESTIMATE, metric=HOSTILE), "f1": ESTIMATE})
    rng = np.random.default_rng(0)
    score = rng.random(500)
    population = assay.Population(y_true=rng.random(500) < score, y_score=score, threshold=0.5)
    simulated = assay.simulate(
        population, designs={HOSTILE: assay.Design()}, within=0.2, replications=3, workers=1
    )
    found = Verification(HOSTILE, (Checked(HOSTILE, 3, (HOSTILE,), (HOSTILE,)),))
    return {
        "estimate": ESTIMATE._repr_html_(),
        "estimates": both._repr_html_(),
        "campaign": campaign._repr_html_(),
        "simulation": simulated._repr_html_(),
        "verification": found._repr_html_(),
    }


VIEWS = _views()
HARMLESS = {
    "b",
    "circle",
    "div",
    "path",
    "span",
    "svg",
    "table",
    "tbody",
    "td",
    "text",
    "th",
    "thead",
    "tr",
}


@pytest.mark.parametrize("name", VIEWS)
def test_a_view_is_whole_and_shows_hostile_words_as_words(name: str) -> None:
    _check(VIEWS[name])
    with pytest.raises(AssertionError):
        _check(unescape(VIEWS[name]))


def _check(view: str) -> None:
    page = Reader(view)
    assert page.tags <= HARMLESS
    assert HOSTILE in page.words


def test_a_campaign_shows_its_curve_and_the_labels_left() -> None:
    """The line of the estimate ends at the estimate, read by the numbers at the picture's edges."""
    score = np.linspace(0.1, 1, 3000)
    campaign = assay.create_campaign({"p": score}, score="p", threshold=0.5, within=0.03)
    begun = campaign._repr_html_()
    assert "Labels left: too few labels to say" in begun and 'viewBox="0 0 1000' not in begun
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
    assert f"after {now.labels:,} from {now.low:.3f} to {now.high:.3f}" in view
    assert not {"script", "style", "image", "a"} & Reader(view).tags


def test_a_view_says_what_print_says() -> None:
    words = " ".join(Reader(VIEWS["estimate"]).words.split())
    for line in str(ESTIMATE).splitlines():
        assert " ".join(line.split()) in words


def _drawn(svg: str) -> tuple[list[float], list[float], float]:
    """Return where the bar begins and ends, the bracket's ends, and the dot."""
    bar = re.search(r'M([\d.]+) [\d.]+H([\d.]+)" stroke-width="6"', svg)
    marks, dot = re.findall(r"M([\d.]+) 1V", svg), re.search(r'cx="([\d.]+)"', svg)
    assert bar and dot
    return [float(end) for end in bar.groups()], [float(end) for end in marks], float(dot[1])


def test_the_bar_is_where_the_numbers_are_and_the_bracket_holds_it_when_the_goal_is_met() -> None:
    """The picture is 340 wide with margins of 44: a scale from 0 to 1 has 252 units."""
    for low, high, value, within in ((0.2, 0.6, 0.5, 0.25), (0.2, 0.6, 0.5, 0.15)):
        bar, bracket, dot = _drawn(interval_bar(low, high, value, scale=(0.0, 1.0), within=within))
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


CONTROLS = "<b>\x1b[2J\u202ecod.exe\x07\r=1+1"
LONG = "z" * 1_000_000


def _views_of(text: str) -> dict[str, Any]:
    """Everything that a notebook shows of a text that somebody else has written."""
    score = np.linspace(0.1, 1, 300)
    columns = {"p": score, "g": [text if number % 2 else "plain" for number in range(300)]}
    campaign = assay.create_campaign(
        columns,
        score="p",
        threshold=0.5,
        slices=["g"],
        name=text[:200],
        question=text[:9000],
        within=0.2,
    )
    campaign.tell({item.id: True for item in campaign.ask(40)})
    rng = np.random.default_rng(0)
    score = rng.random(200)
    population = assay.Population(y_true=rng.random(200) < score, y_score=score, threshold=0.5)
    return {
        "campaign": campaign,
        "slices": campaign.slices("g"),
        "estimates": assay.Estimates({text: replace(ESTIMATE, metric=text), "f1": ESTIMATE}),
        "estimate": replace(ESTIMATE, stopped=text, notes=(text,)),
        "simulation": assay.simulate(
            population, designs={text: assay.Design()}, within=0.2, replications=2, workers=1
        ),
        "verification": Verification(text, (Checked(text, 3, (text,), (text,)),)),
    }


@pytest.mark.parametrize("text", [CONTROLS, LONG], ids=["controls", "a long text"])
def test_what_a_notebook_shows_moves_nothing_and_ends(text: str) -> None:
    for name, shown in _views_of(text).items():
        view = shown._repr_html_()
        assert Reader(view).tags <= HARMLESS, name
        assert not re.search("[\x00-\x08\x0b-\x1f\u202a-\u202e\u2066-\u2069]", view), name
        assert len(view) < 40_000, name


def test_names_have_an_end() -> None:
    columns = {"p": np.linspace(0.1, 1, 50)}
    for name in ("x" * 201, "a\0b", "\ud800"):
        with pytest.raises(assay.AssayError, match="a campaign cannot be called"):
            assay.create_campaign(columns, score="p", threshold=0.5, budget=5, name=name)
    with pytest.raises(assay.AssayError, match="a question of 10,001 characters"):
        assay.create_campaign(columns, score="p", threshold=0.5, budget=5, question="?" * 10_001)
    with pytest.raises(assay.AssayError, match="at most 200") as refused:
        assay.create_campaign(
            columns,
            classifiers={LONG: {"score": "p", "threshold": 0.5}},
            metric="precision",
            budget=5,
        )
    assert len(str(refused.value)) < 400
