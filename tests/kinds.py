"""Campaigns of every kind, small: what checks and bundles must cope with.

Each is made once a process; whoever asks for it again is given a copy of its storage.
"""

import sqlite3
import tempfile
from collections.abc import Callable
from contextlib import closing
from functools import wraps
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import assay
from assay.storage import Label

SIZE = 300
RNG = np.random.default_rng(30)
SCORES, OTHER = RNG.random((2, SIZE)).round(4)
LANGUAGES = [("de", "en", None)[row % 3] for row in range(SIZE)]
NAMES = [f"{row:04d}" for row in range(SIZE)]
TRUTH = dict(zip(NAMES, (RNG.random(SIZE) < SCORES).tolist(), strict=True))
SEEN = np.exp(1.5 * RNG.standard_normal(SIZE))


def table(rows: slice = slice(None)) -> dict[str, Any]:
    columns = {"id": NAMES, "p": SCORES, "q": OTHER, "impressions": SEEN, "language": LANGUAGES}
    return {name: values[rows] for name, values in columns.items()}


TOPICS = np.array(["bio", "cs", "math", "physics"])
BY_TOPIC: dict[str, Any] = {"id": "id", "predicted": "topic", "score": "p"}


def topics(size: int = 400) -> tuple[dict[str, Any], Any]:
    """Return predictions of items of four classes, in two languages, and what they are."""
    rng = np.random.default_rng(3)
    truth = rng.choice(4, size, p=[0.1, 0.2, 0.4, 0.3])
    score = rng.uniform(0.3, 1, size)
    said = np.where(rng.random(size) < score, truth, rng.integers(0, 4, size))
    lang = np.where(rng.random(size) < 0.3, "de", "en")
    return {"id": np.arange(size), "topic": TOPICS[said], "p": score, "lang": lang}, TOPICS[truth]


def create(url: str, rows: slice = slice(None), **more: Any) -> assay.Campaign:
    given: dict[str, Any] = {"id": "id", "budget": 60, "seed": 6, "storage": url, **more}
    if "classifiers" not in given:
        given = {"score": "p", "threshold": 0.4, **given}
    return assay.create_campaign(table(rows), **given)


def label(campaign: assay.Campaign, rounds: int = 2) -> assay.Campaign:
    for _ in range(rounds):
        items = campaign.ask(15)
        said: dict[Any, object] = {item.id: TRUTH[str(item.id)] for item in items}
        if items:
            said[items[0].id] = "cannot judge"
        campaign.tell(said, reviewer="ann")
    return campaign


def finish(
    campaign: assay.Campaign,
    truth: Any,
    batch: int = 50,
    *,
    most: float = float("inf"),
    reviewer: str = "",
) -> list[Any]:
    """Answer to the end, or until so many were asked for; return the ids in their order.

    The truth is an array, a mapping or a function of an item's id.
    """
    said = truth.__getitem__ if hasattr(truth, "__getitem__") else truth
    asked: list[Any] = []
    while len(asked) < most and (items := campaign.ask(batch)):
        campaign.tell({item.id: said(item.id) for item in items}, reviewer=reviewer)
        asked += [item.id for item in items]
    return asked


def shallow(patch: pytest.MonkeyPatch, cards: int, where: str = "create") -> None:
    """Let so few cards be laid down of each stratum that some are soon missing."""
    patch.setattr(
        f"assay.campaign.{where}.depth", lambda settings: [cards] * settings.strata.n_strata
    )


_FOLDER = tempfile.TemporaryDirectory(prefix="assay-kinds-")


def once(make: Callable[[str], None]) -> Callable[[str], None]:
    """Make a kind once, and copy it where a new file of SQLite is wanted."""
    made = Path(_FOLDER.name) / f"{make.__name__}.db"

    @wraps(make)
    def copy(url: str) -> None:
        wanted = Path(url.removeprefix("sqlite:///"))
        if not url.startswith("sqlite:///") or wanted.exists():
            return make(url)
        if not made.exists():
            make(f"sqlite:///{made}")
        with closing(sqlite3.connect(made)) as source, closing(sqlite3.connect(wanted)) as target:
            source.backup(target)
        return None

    return copy


@once
def revised(url: str) -> None:
    campaign = label(create(url, design=assay.Design.guaranteed()))
    first, second, *_ = campaign.answers()
    campaign.tell({first: "yes", second: "no"}, reviewer="ann", revise=True)
    campaign.tell({first: "no", second: "yes"}, reviewer="bob", revise=True)
    label(campaign, 1)


@once
def several(url: str) -> None:
    classifiers = {name: {"score": name, "threshold": 0.5} for name in "pq"}
    metrics = ["precision", "recall:p - recall:q", "f1:p - f1:q", "accuracy:q", "prevalence"]
    label(create(url, classifiers=classifiers, metrics=metrics))


@once
def recycled(url: str) -> None:
    """Paper 3: some samples are complete, and that of the no-set has begun."""
    classifiers = {name: {"score": name, "threshold": 0.5} for name in "pq"}
    metrics = ["precision:p", "recall:q"]
    asked: dict[str, Any] = {
        "within": 0.2,
        "budget": None,
        "design": assay.Design.recycle(option="sample"),
    }
    label(create(url, classifiers=classifiers, metric=metrics, **asked), 6)


@once
def from_before(url: str) -> None:
    label(create(url, metric="accuracy", labels={name: TRUTH[name] for name in NAMES[:40]}), 1)


@once
def rebased(url: str) -> None:
    before = label(create(url, metric="recall"))
    item, *_ = before.ask(5, reviewer="bob")
    after = assay.rebase_campaign(storage=url, predictions=table(slice(0, 250)))
    after.review([Label(str(item.id), "yes", key="late")], reviewer="bob")
    label(after, 1)


@once
def extended(url: str) -> None:
    label(create(url, slice(0, 250), metric="f1"))
    label(assay.extend_campaign(table(slice(250, None)), storage=url), 1)


@once
def team(url: str) -> None:
    campaign = create(url, reviewers_per_item=2, overlap=0.6)
    rng = np.random.default_rng(1)
    words = ["yes", "no", "yes", "no", "broken", "cannot judge", "skip", "withdrawn"]
    for turn in range(40):
        name = ("ann", "bob", "eve")[turn % 3]
        items = campaign.review([], reviewer=name, want=3).items
        said = [words[place] for place in rng.integers(len(words), size=len(items))]
        submits = [
            Label(str(item.id), word, key=f"{turn} {item.id}")
            for item, word in zip(items, said, strict=True)
        ]
        campaign.review(submits, reviewer=name)
        if turn % 10 == 9 and (disputes := campaign.disputes()):
            campaign.rule(disputes[0].item.id, True, reviewer="owner", key=f"ruling {turn}")
    assert campaign.disputes()


@once
def sampled_by_others(url: str) -> None:
    label(create(url, metric="accuracy", design=assay.Design.kumar_raj(strata="km")))


@once
def smoothed(url: str) -> None:
    label(create(url, design=assay.Design.bennett_carvalho()))


@once
def growing(url: str) -> None:
    """Cards that were laid down a few at a time."""
    with pytest.MonkeyPatch.context() as patch:
        shallow(patch, 1)
        campaign = create(url)
    n_strata = campaign.settings.strata.n_strata
    label(campaign, 3)
    with campaign.desk.store.read() as session:
        assert sum(session.reserve(campaign.desk.labelling.key, n_strata)) > 2 * n_strata


@once
def weighted(url: str) -> None:
    label(create(url, metric="recall", sample_weight="impressions"), 3)


@once
def sliced(url: str) -> None:
    label(create(url, slices=["language"], show=["q"]))


@once
def followed(url: str) -> None:
    """Two periods of a series: the second goes on with labels of the first."""
    columns: dict[str, Any] = {"id": "id", "score": "p", "threshold": 0.5, "budget": 40}
    series: dict[str, Any] = {"series": "spam", "storage": url}
    label(assay.follow_campaign(table(), period="one", **columns, **series), 1)
    later = table(slice(30, None))
    label(assay.follow_campaign(later, period="two", previous=table(), **series), 1)


KINDS = [
    *(revised, several, recycled, from_before, rebased, extended, team, sampled_by_others),
    *(smoothed, growing, weighted, sliced, followed),
]
