"""A resumed campaign stands where the interrupted one did; a killed one has lost nothing."""

import gc
import os
import weakref
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import assay
from assay.core.types import Bools
from assay.labelling.state import without_collection


def population(size: int = 5000) -> tuple[dict[str, Any], Bools]:
    rng = np.random.default_rng(1)
    score = rng.random(size)
    columns: dict[str, Any] = {"p": score, "yes": score > 0.3, "q": score**2}
    columns["topic"] = np.array(["ham", "spam", "scam"])[np.digitize(score, [0.4, 0.8])]
    columns["each"] = rng.dirichlet([1, 2, 1], size)
    return columns, rng.random(size) < score


ONE: dict[str, Any] = {"score": "p", "predicted": "yes"}
KINDS: dict[str, dict[str, Any]] = {
    "default": ONE,
    "guaranteed": {**ONE, "design": assay.Design.guaranteed()},
    "bennett-carvalho": {**ONE, "design": assay.Design.bennett_carvalho()},
    "random": {**ONE, "design": assay.Design.simple_random()},
    "several": {
        "classifiers": {"a": ONE, "b": ("q", 0.3)},
        "metrics": ["precision:a", "recall:b within 0.08", "f1:a - f1:b", "prevalence"],
        "within": None,
        "budget": 150,
    },
    "classes": {"predicted": "topic", "score": "p", "metric": "macro_f1", "within": 0.1},
    "ranked classes": {"probabilities": "each", "metrics": ["top_2_accuracy", "accuracy"]}
    | {"classes": ["ham", "spam", "scam"], "within": 0.08},
}


@pytest.mark.filterwarnings("ignore::assay.AssayWarning")
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("break_every", [1, 7])
def test_going_on_after_a_break_changes_nothing(kind: str, break_every: int, storage: str) -> None:
    columns, truth = population()
    wanted: dict[str, Any] = {"within": 0.06, "seed": 5, **KINDS[kind]}
    whole, broken = (
        assay.create_campaign(columns, **wanted, storage=url) for url in ("sqlite://", storage)
    )
    said = np.where(truth, "spam", "ham") if "classes" in kind else truth
    turn = 0
    while not whole.done:
        turn += 1
        if turn % break_every == 0:
            broken = assay.load_campaign(storage=storage)
        items = whole.ask(13)
        assert all(item.shown == {} for item in items)  # no ranks either
        assert broken.ask(13) == items
        labels = {item.id: said[int(item.id)] for item in items}
        assert broken.tell(labels) == whole.tell(labels)
    assert broken.done
    assert broken.ask(5) == []


def test_a_full_disk_is_told_and_loses_nothing(storage: str) -> None:
    columns, truth = population()
    campaign = assay.create_campaign(
        columns, score="p", predicted="yes", budget=3000, storage=storage
    )

    def allow_pages(more: int) -> None:
        with campaign.desk.labelling.read() as session:
            pragma = session._connection.exec_driver_sql
            pages = pragma("PRAGMA page_count").scalar_one()
            pragma(f"PRAGMA max_page_count = {pages + more}")

    allow_pages(3)
    told: set[int | str] = set()
    with pytest.raises(assay.StorageError, match="full"):
        while True:
            for item in campaign.ask(50):
                campaign.tell({item.id: truth[int(item.id)]})
                told.add(item.id)
    assert told
    assert set(campaign.answers()) == told
    allow_pages(10_000)
    resumed = assay.load_campaign(storage=storage)
    assert set(resumed.answers()) == told
    assert campaign.ask(20) == resumed.ask(20)


def open_files(storage: str) -> int:
    files = (os.path.realpath(each) for each in Path("/proc/self/fd").iterdir())
    return sum(each.startswith(storage.removeprefix("sqlite:///")) for each in files)


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="the system lists no open files")
def test_a_campaign_that_nobody_holds_closes_its_storage_at_once(storage: str) -> None:
    columns, _ = population()
    campaign = assay.create_campaign(columns, **ONE, budget=20, storage=storage)
    campaign.ask(20)
    gc.disable()
    try:
        assert open_files(storage) > 0
        del campaign
        assert open_files(storage) == 0
        assay.load_campaign(storage=storage).estimate()
        assert open_files(storage) == 0
    finally:
        gc.enable()


def test_what_is_garbage_after_a_small_read_is_still_young() -> None:
    """Old objects are collected seldom: programs that load many campaigns would only grow."""

    class Circle:
        def __init__(self) -> None:
            self.own = self

    with without_collection():
        gone = weakref.ref(Circle())
    gc.collect(1)
    assert gone() is None
