"""Campaigns of every kind: answers, the next items, estimates, strata, report and bundle."""

import sqlite3
import zipfile
from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import assay
from tests.campaign.test_recut import population as opined
from tests.golden.recorded import digest
from tests.kinds import KINDS, NAMES, SIZE, TRUTH, create, growing, label, table

RNG = np.random.default_rng(35)
TOPICS = ("bio", "cs", "math", "physics")
TRUE_TOPICS = dict(zip(NAMES, RNG.choice(TOPICS, SIZE, p=[0.1, 0.2, 0.4, 0.3]), strict=True))
PROBABILITIES = RNG.dirichlet([0.5] * len(TOPICS), SIZE)
PROBABILITIES[np.arange(SIZE), [TOPICS.index(each) for each in TRUE_TOPICS.values()]] += 0.5
PROBABILITIES = (PROBABILITIES / 1.5).round(6)
BOTH: dict[str, Any] = {name: {"score": name, "threshold": 0.5} for name in "pq"}


def topics() -> dict[str, Any]:
    """Predictions of four classes, with their probabilities."""
    most = PROBABILITIES.argmax(axis=1)
    columns = {f"p_{name}": PROBABILITIES[:, place] for place, name in enumerate(TOPICS)}
    said = [TOPICS[place] for place in most]
    return {"id": NAMES, "topic": said, "top": PROBABILITIES.max(axis=1), **columns}


def answer(campaign: assay.Campaign, truth: Mapping[str, Any], rounds: int = 3) -> None:
    """Label 20 items in each round."""
    for _ in range(rounds):
        campaign.tell({item.id: truth[str(item.id)] for item in campaign.ask(20)})


def compared(url: str) -> None:
    """A labelled campaign, and two classifiers compared with its labels."""
    label(create(url, metric="recall"))
    old, new = table(), {**table(slice(20, None)), "p": table(slice(20, None))["q"]}
    columns: dict[str, Any] = {"id": "id", "score": "p", "threshold": 0.5, "metric": "f1"}
    goal: dict[str, Any] = {"within": 0.2, "labels_from": "campaign"}
    label(assay.compare_campaign(old, new, **columns, **goal, storage=url), 1)


def classes(url: str) -> None:
    metrics = ["accuracy", "macro_f1", "cohen_kappa", "recall:cs", "top_2_accuracy"]
    given: dict[str, Any] = {"probabilities": "p_*", "metrics": metrics, "budget": 100}
    answer(assay.create_campaign(topics(), id="id", **given, storage=url), TRUE_TOPICS)


def multilabel(url: str) -> None:
    given: dict[str, Any] = {"probabilities": "p_*", "multilabel": True, "threshold": 0.3}
    truth = {name: [topic] if topic != "bio" else [] for name, topic in TRUE_TOPICS.items()}
    metrics = ["recall", "precision:cs"]
    campaign = assay.create_campaign(
        topics(), id="id", **given, metrics=metrics, budget=100, storage=url
    )
    answer(campaign, truth)


def threshold(url: str) -> None:
    given: dict[str, Any] = {"threshold_for": "recall >= 0.8", "threshold": None, "budget": 120}
    answer(create(url, **given), TRUTH, 4)


def yes_or_no(url: str) -> None:
    answer(create(url, at_least=0.5, budget=None), TRUTH, 4)


def centred(url: str) -> None:
    given: dict[str, Any] = {"metric": "f1", "within": 0.15, "design": assay.Design.centred()}
    answer(create(url, **given), TRUTH, 2)


def fixed(url: str) -> None:
    answer(create(url, metric="balanced_accuracy", design=assay.Design.fixed()), TRUTH)


def simple_random(url: str) -> None:
    answer(create(url, metric="specificity", design=assay.Design.simple_random()), TRUTH)


def second_opinions(url: str) -> None:
    """Strata that are cut again by a model of two columns."""
    columns, truth = opined(3_000)
    path = Path(url.removeprefix("sqlite:///")).with_name("predictions.parquet")
    pq.write_table(pa.table({name: columns[name] for name in ("url", "p", "judge", "lang")}), path)
    given: dict[str, Any] = {"aux": ["judge", "lang"], "metric": "accuracy", "within": 0.03}
    campaign = assay.create_campaign(path, id="url", score="p", threshold=0.5, **given, storage=url)
    answer(campaign, {str(name): positive for name, positive in truth.items()}, 12)
    assert campaign.settings.source.model is not None


def sample_of(url: str) -> None:
    answer(create(url, metric="accuracy", sample_of=9_000), TRUTH)


def simultaneous(url: str) -> None:
    metrics = {"precision:p": 0.2, "recall:q": 0.3}
    given: dict[str, Any] = {"classifiers": BOTH, "metrics": metrics, "simultaneous": True}
    answer(create(url, **given, sample_weight="impressions", budget=150), TRUTH)


def slice_targets(url: str) -> None:
    metrics = ["precision:p[language]", "accuracy:q[language=de]"]
    answer(create(url, classifiers=BOTH, metrics=metrics, budget=100), TRUTH)


OWN = [
    compared, classes, multilabel, threshold, yes_or_no, centred, fixed, simple_random,
    second_opinions, sample_of, simultaneous, slice_targets,
]  # fmt: skip
KIND = {make.__name__: make for make in [*KINDS, *OWN] if make is not growing}
_NAMES = {"followed": ("spam/one", "spam/two"), "compared": ("campaign", "comparison")}


def _text(content: bytes) -> str:
    """Text of a file; the rows of a database."""
    if not content.startswith(b"SQLite format 3"):
        return content.decode()
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.deserialize(content)
        return "\n".join(connection.iterdump())


def of_campaign(campaign: assay.Campaign, folder: Path) -> dict[str, Any]:
    """All results of a campaign: figures in the clear, documents by their digests."""
    report = campaign.report()
    campaign.bundle(folder / "golden.zip", shown=True)
    with zipfile.ZipFile(folder / "golden.zip") as bundle:
        # The manifest holds digests alone, and the script is code.
        names = [name for name in bundle.namelist() if not name.endswith((".py", "manifest.json"))]
        members = {name: digest(_text(bundle.read(name)), folder) for name in names}
    question, model = campaign.settings.goal.threshold_for, campaign.settings.source.model
    documents = {
        kind: digest(getattr(report, kind), folder) for kind in ("json", "markdown", "html")
    }
    if model is not None:  # the last bits of what is fitted differ by processor
        members |= dict.fromkeys(("settings.json", "campaign.db", "report.json"), "fitted")
        documents = dict.fromkeys(documents, "fitted")
    return {
        "commitment": "fitted" if model is not None else campaign.settings.commitment[:32],
        "answers": {str(item): str(answer) for item, answer in campaign.answers().items()},
        "next": [str(item.id) for item in campaign.ask(5, reviewer="zoe")],
        "estimates": {name: each.to_dict() for name, each in campaign.estimates().items()},
        "strata": [row.to_dict() for row in campaign.strata()],
        "threshold": campaign.threshold().to_dict() if question else None,
        "report": documents,
        "bundle": members,
    }


def values(name: str) -> Any:
    """Results of all campaigns of a kind."""
    make: Callable[[str], object] = KIND[name]
    with TemporaryDirectory() as folder:
        url = f"sqlite:///{folder}/golden.db"
        make(url)
        return {
            each: of_campaign(assay.load_campaign(each, storage=url), Path(folder))
            for each in _NAMES.get(name, ("campaign",))
        }
