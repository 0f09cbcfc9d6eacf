"""Ten thousand random and hostile inputs: a result or an `AssayError`, and never a NaN.

`Any` is what a caller can pass, whatever the signature says.
"""

import json
import math
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import assay
from assay.core.estimate import Estimator, estimate
from assay.core.forms import ratio
from assay.core.metrics import METRICS
from assay.core.tallies import Tallies
from tests.torture.sizes import sized

SCALARS: st.SearchStrategy[Any] = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(max_size=8),
    st.binary(max_size=4),
    st.complex_numbers(),
    st.dates(),
    st.just(object()),
    st.sampled_from(
        ["precision", "recall", "perc", "opt", "wilson", "yes", "NA", "\ud800", "\x00"]
    ),
)
ANYTHING = st.one_of(
    SCALARS, st.lists(SCALARS, max_size=3), st.dictionaries(st.text(), SCALARS, max_size=2)
)
WORDS = st.sampled_from([*METRICS, "eqsz", "km", "gmm", "opt-a1", "uni", "smoothed", "jeffreys"])


def plain(value: object) -> None:
    """Check that a result holds no NaN and can be written as strict JSON."""
    json.dumps(value, allow_nan=False)


@settings(max_examples=sized(400, 2500))
@given(st.dictionaries(st.sampled_from([*vars(assay.Design()), "colour"]), ANYTHING | WORDS))
def test_designs(values: dict[str, Any]) -> None:
    try:
        design = assay.Design.from_dict(values)
    except assay.AssayError:
        return
    plain(design.to_dict())
    assert assay.Design.from_json(design.to_json()) == design


@settings(max_examples=sized(350, 2000))
@given(ANYTHING | WORDS, ANYTHING, ANYTHING, ANYTHING)
def test_goals(metric: Any, within: Any, budget: Any, confidence: Any) -> None:
    try:
        goal = assay.Goal(metric, within=within, budget=budget, confidence=confidence)
    except assay.AssayError:
        return
    plain(goal.to_dict())
    assert goal.worst_case >= 1


@settings(max_examples=sized(250, 1500))
@given(st.data())
def test_estimates_of_any_tallies(data: st.DataObject) -> None:
    strata = data.draw(st.integers(1, 5))
    sizes = data.draw(st.lists(st.integers(1, 10**12), min_size=strata, max_size=strata))
    n = [data.draw(st.integers(0, min(size, 10**6))) for size in sizes]
    x = [data.draw(st.integers(0, labels)) for labels in n]
    yes = data.draw(st.lists(st.booleans(), min_size=strata, max_size=strata))
    metric = ratio(data.draw(st.sampled_from([*METRICS])), np.array(sizes, float), np.array(yes))
    kind: Estimator = "smoothed" if data.draw(st.booleans()) else "unbiased"
    moments = estimate(Tallies(sizes, n, x), metric, kind, replacement=data.draw(st.booleans()))
    assert metric.lowest - 1e-12 <= float(moments.value) <= 1 + 1e-12
    assert 0 <= float(moments.variance) <= ((1 - metric.lowest) / 2) ** 2


COLUMN = st.one_of(
    st.lists(st.floats(), max_size=12),
    st.lists(st.floats(0, 1), min_size=3, max_size=12),
    st.lists(st.booleans(), max_size=12),
    st.lists(st.integers(-(2**70), 2**70), max_size=12),
    st.lists(st.integers(0, 1), max_size=12),
    st.lists(st.text(max_size=3), max_size=12),
    st.lists(SCALARS, max_size=12),
    st.just(np.zeros((3, 2))),
    ANYTHING,
)


def drive(source: Any, **more: Any) -> None:
    """Make a campaign and run it to its end, answering by chance."""
    campaign = assay.create_campaign(source, **more)
    answers = ["yes", "no", "no", "cannot judge"]
    for turn in range(8):
        before = campaign.estimate()
        plain(before.to_dict())
        assert before.value is None or before.low <= before.value <= before.high
        items = campaign.ask(5)
        told = {item.id: answers[(turn + place) % 4] for place, item in enumerate(items)}
        after = campaign.tell(told)
        plain(after.to_dict())
        assert not math.isnan(after.half_width)
        assert bool(items) != campaign.done or after.stopped or not items
        plain([vars(row) for row in campaign.strata()])
        str(after), repr(campaign), after._repr_html_()


@pytest.mark.filterwarnings("ignore::assay.AssayWarning")
@settings(max_examples=sized(350, 2000))
@given(st.data())
def test_campaigns_over_any_predictions(data: st.DataObject) -> None:
    size = data.draw(st.integers(0, 30))
    healthy: dict[str, Any] = {
        "p": [((7 * i) % 31) / 31 for i in range(size)],
        "yes": [i % 3 != 0 for i in range(size)],
        "id": [f"item {i}" for i in range(size)],
    }
    source: Any = dict(healthy)
    for name in data.draw(st.sets(st.sampled_from(["p", "yes", "id"]), max_size=2)):
        source[name] = data.draw(COLUMN)
    if data.draw(st.booleans()):
        try:
            source = pd.DataFrame(source)
        except (ValueError, TypeError, OverflowError, AttributeError):
            return  # pandas itself does not take these columns
    more: dict[str, Any] = {
        "score": data.draw(st.sampled_from(["p", "q", None])),
        "predicted": data.draw(st.sampled_from(["yes", None, "p"])),
        "id": data.draw(st.sampled_from(["id", None])),
        "threshold": data.draw(st.sampled_from([None, None, 0.5]) | SCALARS),
        "metric": data.draw(WORDS),
        "budget": data.draw(st.sampled_from([None, 10, 35])),
        "within": data.draw(st.sampled_from([None, 0.1])),
        "at_least": data.draw(st.sampled_from([None, 0.8])),
        "design": data.draw(
            st.sampled_from(
                [
                    assay.Design(bins=3),
                    assay.Design.fixed(),
                    assay.Design.guaranteed(),
                    assay.Design(bins=2, interval="jeffreys", estimator="unbiased"),
                    assay.Design.simple_random(),
                    assay.Design.bennett_carvalho(),
                    assay.Design.kumar_raj(strata="gmm", bins=3, first_per_stratum=2),
                    assay.Design.kumar_raj(strata="sqrt", bins=2, allocation="pro"),
                ]
            )
        ),
    }
    try:
        drive(source, **more)
    except assay.AssayError as error:
        assert str(error)


@settings(max_examples=sized(100, 500))
@given(st.dictionaries(st.integers(0, 12) | st.text(max_size=2) | st.floats(), ANYTHING) | ANYTHING)
def test_telling_anything(labels: Any) -> None:
    campaign = assay.create_campaign(
        {"p": [i / 10 for i in range(10)]}, score="p", threshold=0.2, budget=6
    )
    campaign.ask(6)
    before = campaign.answers()
    try:
        plain(campaign.tell(labels).to_dict())
    except assay.AssayError:
        assert campaign.answers() == before
