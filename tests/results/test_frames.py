"""Results as DataFrames and as plain values."""

import json
import sys
from dataclasses import replace
from typing import Any

import narwhals as nw
import numpy as np
import pandas as pd
import pytest

import assay
from assay.errors import InputError, MissingDependencyError
from assay.labelling import history_in
from assay.results.result import BACKENDS, Backend, frame_of

RNG = np.random.default_rng(3)
SCORE = RNG.random(400)
TRUTH = RNG.random(400) < SCORE


def _campaign(rounds: int = 3) -> assay.Campaign:
    campaign = assay.create_campaign(
        {"p": SCORE}, score="p", threshold=0.4, metrics=["precision", "recall"], within=0.05
    )
    for _ in range(rounds):
        labels: dict[Any, Any] = {item.id: bool(TRUTH[int(item.id)]) for item in campaign.ask(12)}
        campaign.tell({**labels, next(iter(labels)): "cannot judge"})
    return campaign


CAMPAIGN = _campaign()


def _columns(frame: Any) -> dict[str, list[Any]]:
    found = nw.from_native(frame, eager_only=True).to_dict(as_series=False)
    return {name: [None if pd.isna(each) else each for each in found[name]] for name in found}


@pytest.mark.parametrize("backend", BACKENDS)
def test_estimates_are_a_row_each(backend: Backend) -> None:
    estimates = CAMPAIGN.estimates()
    frame = estimates.to_frame(backend=backend)
    assert type(frame).__module__.split(".")[0] == backend
    columns = _columns(frame)
    assert columns["metric"] == list(estimates)
    for name in ("value", "low", "high", "labels", "cannot_judge", "within", "half_width"):
        assert columns[name] == [getattr(each, name) for each in estimates.values()]
    for place, each in enumerate(estimates.values()):
        for name in ("worst_case", "like_rest"):
            ends = (columns[f"{name}_low"][place], columns[f"{name}_high"][place])
            assert ends == (getattr(each, name) or (None, None))
        assert columns["notes"][place].splitlines() == list(each.notes)


@pytest.mark.parametrize("backend", BACKENDS)
def test_what_is_missing_stays_missing_and_no_row_has_the_same_columns(backend: Backend) -> None:
    nothing = assay.Estimates({})
    unsure = CAMPAIGN.estimates()["recall:classifier"]
    sure = assay.Estimates({"a": replace(unsure, verdict=True), "b": replace(unsure, verdict=None)})
    columns = _columns(sure.to_frame(backend=backend))
    assert columns["verdict"] == [True, None]
    assert columns["stopped"] == [None, None]
    empty = nothing.to_frame(backend=backend)
    assert list(_columns(empty)) == list(columns)
    # The nearest other way makes a sure no of what is not known.
    wrong = nw.from_dict({"verdict": [True, None]}, {"verdict": nw.Boolean()}, backend="pandas")
    assert wrong["verdict"].to_list() == [True, False]


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_campaigns_frames_say_what_its_methods_say(backend: Backend) -> None:
    labels = _columns(CAMPAIGN.to_frame("labels", backend=backend))
    answers = CAMPAIGN.answers()
    assert dict(zip(labels["id"], labels["answer"], strict=True)) == answers
    for item, positive in zip(labels["id"], labels["positive"], strict=True):
        assert positive in (None, bool(TRUTH[item]))
    strata = _columns(CAMPAIGN.to_frame("strata", backend=backend))
    assert strata["labels"] == [row.labels for row in CAMPAIGN.strata()]
    judged = [
        name
        for name, known in zip(labels["stratum"], labels["positive"], strict=True)
        if known is not None
    ]
    assert [judged.count(name) for name in strata["stratum"]] == strata["labels"]
    history = _columns(CAMPAIGN.to_frame("history", backend=backend))
    for metric, points in history_in(CAMPAIGN.desk.current()).items():
        rows = [row for row, name in enumerate(history["metric"]) if name == metric]
        assert [history["low"][row] for row in rows] == [point.low for point in points]
        assert [history["labels"][row] for row in rows] == [point.labels for point in points]


def test_ids_that_are_strings_stay_so() -> None:
    campaign = assay.create_campaign(
        {"url": ["007", "b"], "p": [0.9, 0.8]}, id="url", score="p", threshold=0.5, budget=2
    )
    campaign.tell({item.id: True for item in campaign.ask(2)})
    assert sorted(campaign.to_frame(backend="pyarrow")["id"].to_pylist()) == ["007", "b"]


def test_a_backend_that_is_not_there_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "polars", None)  # Python's own way to forbid an import
    with pytest.raises(MissingDependencyError, match="pip install polars"):
        CAMPAIGN.estimates().to_frame(backend="polars")
    wrong: Any = "panda"
    with pytest.raises(InputError, match="did you mean 'pandas'"):
        frame_of([], {"a": int}, backend=wrong)
    with pytest.raises(InputError, match="did you mean 'strata'"):
        CAMPAIGN.to_frame(wrong.replace("panda", "stratum"))


def test_items_and_strata_are_plain_values_for_json() -> None:
    item = CAMPAIGN.ask(1)[0]
    for result in (CAMPAIGN.estimates(), CAMPAIGN.strata()[0], item):
        assert json.loads(json.dumps(result.to_dict()))
    assert item.to_dict() == {"id": item.id, "shown": {}}
