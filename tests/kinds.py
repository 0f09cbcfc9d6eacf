"""Campaigns of every kind, small: what checks and bundles must cope with."""

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


def revised(url: str) -> None:
    campaign = label(create(url, design=assay.Design.guaranteed()))
    first, second, *_ = campaign.answers()
    campaign.tell({first: "yes", second: "no"}, reviewer="ann", revise=True)
    campaign.tell({first: "no", second: "yes"}, reviewer="bob", revise=True)
    label(campaign, 1)


def several(url: str) -> None:
    classifiers = {name: {"score": name, "threshold": 0.5} for name in "pq"}
    metrics = ["precision", "recall:p - recall:q", "f1:p - f1:q", "accuracy:q", "prevalence"]
    label(create(url, classifiers=classifiers, metrics=metrics))


def from_before(url: str) -> None:
    label(create(url, metric="accuracy", labels={name: TRUTH[name] for name in NAMES[:40]}), 1)


def rebased(url: str) -> None:
    before = label(create(url, metric="recall"))
    item, *_ = before.ask(5, reviewer="bob")
    after = assay.rebase_campaign(storage=url, predictions=table(slice(0, 250)))
    after.review([Label(str(item.id), "yes", key="late")], reviewer="bob")
    label(after, 1)


def extended(url: str) -> None:
    label(create(url, slice(0, 250), metric="f1"))
    label(assay.extend_campaign(table(slice(250, None)), storage=url), 1)


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


def sampled_by_others(url: str) -> None:
    label(create(url, metric="accuracy", design=assay.Design.kumar_raj(strata="km")))


def smoothed(url: str) -> None:
    label(create(url, design=assay.Design.bennett_carvalho()))


def growing(url: str) -> None:
    """Cards that were laid down a few at a time."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            "assay.campaign.create.depth", lambda settings: [1] * settings.strata.n_strata
        )
        campaign = create(url)
    n_strata = campaign.settings.strata.n_strata
    label(campaign, 3)
    with campaign.store.read() as session:
        assert sum(session.reserve(campaign._labelling.key, n_strata)) > 2 * n_strata


def weighted(url: str) -> None:
    label(create(url, metric="recall", sample_weight="impressions"), 3)


def sliced(url: str) -> None:
    label(create(url, slices=["language"], show=["q"]))


def followed(url: str) -> None:
    """Two periods of a series: the second goes on with labels of the first."""
    columns: dict[str, Any] = {"id": "id", "score": "p", "threshold": 0.5, "budget": 40}
    series: dict[str, Any] = {"series": "spam", "storage": url}
    label(assay.follow_campaign(table(), period="one", **columns, **series), 1)
    later = table(slice(30, None))
    label(assay.follow_campaign(later, period="two", previous=table(), **series), 1)


KINDS = [
    revised,
    several,
    from_before,
    rebased,
    extended,
    team,
    sampled_by_others,
    smoothed,
    growing,
    weighted,
    sliced,
    followed,
]
