"""What a notebook shows: every word escaped, and bars that say what the numbers say."""

import re
from dataclasses import replace

import numpy as np
import pytest

import assay
from assay.results import Interval
from assay.results.document import scale_of
from assay.results.notebook import interval_bar
from tests.results.samples import ESTIMATE
from tests.results.test_documents import HARMLESS, HOSTILE, Reader


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
