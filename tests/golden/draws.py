"""Draws: fingerprint, commitment and the first 50 ids of every layout, whatever reads it."""

from collections.abc import Callable
from functools import partial
from tempfile import TemporaryDirectory
from typing import Any
from uuid import uuid4

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
import pytest

import assay
from assay import Scan
from assay.errors import AssayError
from tests.golden.recorded import without_names
from tests.predictions.contract import scan_by

HERE = ("memory", "duckdb", "csv", "sqlite")
STARTED = ("postgres", "clickhouse", "spark")
SIZE = 1_200
FIRST = 50
RNG = np.random.default_rng(9)
TOPICS = ("bio", "cs", "math")
SCORE: dict[str, Any] = {"score": "p", "threshold": 0.5}
BOTH: dict[str, Any] = {"new": SCORE, "old": {"score": "q", "predicted": "said"}}

Read = Callable[[pa.Table], Any]


def made() -> pa.Table:
    """Predictions with a column for every role."""
    p, q, margin = RNG.beta(0.5, 1, SIZE), RNG.random(SIZE), RNG.normal(0, 2, SIZE)
    each = RNG.dirichlet([0.7, 1, 2], SIZE)
    return pa.table(
        {
            "id": RNG.permutation(10 * SIZE)[:SIZE],
            "url": [f"https://é.org/{row * 7919 % 10007}" for row in range(SIZE)],
            "day": [f"d{row % 3}" for row in range(SIZE)],
            "rank": np.arange(SIZE) // 3,
            "p": p,
            "q": q,
            "margin": margin,
            "said": q > 0.4,
            "sure": np.where(q > 0.4, q, 1 - q),
            "topic": [TOPICS[place] for place in each.argmax(axis=1)],
            **{f"p_{name}": each[:, place] for place, name in enumerate(TOPICS)},
            "views": RNG.lognormal(0, 1.5, SIZE),
            "lang": RNG.choice(["de", "en", "nl"], SIZE).tolist(),
        }
    )


TABLE = made()
LATER = TABLE.slice(400).set_column(TABLE.column_names.index("p"), "p", TABLE["q"].slice(400))


def _new(**asked: Any) -> Callable[[Read], assay.Campaign]:
    given: dict[str, Any] = {"id": "id", "budget": 200, "seed": 5, **asked}
    return lambda read: assay.create_campaign(read(TABLE), **given)


def _compared(**asked: Any) -> Callable[[Read], assay.Campaign]:
    given: dict[str, Any] = {"id": "id", **SCORE, "budget": 200, "seed": 5, **asked}
    return lambda read: assay.compare_campaign(read(TABLE.slice(0, 900)), read(LATER), **given)


def _extended(read: Read) -> assay.Campaign:
    first = read(TABLE.slice(0, 900))
    with TemporaryDirectory() as folder:
        url = f"sqlite:///{folder}/assay.db"
        begun = assay.create_campaign(first, id="id", **SCORE, budget=200, storage=url)
        begun.tell({item.id: "yes" for item in begun.ask(20)})
        return assay.extend_campaign(read(TABLE.slice(900)), storage=url)


Make = Callable[[Read], assay.Campaign]

FAMILIES: dict[str, dict[str, Make]] = {
    "ids": {
        "integer ids": _new(**SCORE),
        "text ids": _new(**SCORE, id="url", metric="accuracy"),
        "ids of two columns": _new(**SCORE, id=["day", "rank"], metric="recall"),
        "no ids": _new(**SCORE, id=None),
    },
    "scores": {
        "no score": _new(predicted="said", metric="recall"),
        "score and predicted label": _new(score="q", predicted="said", metric="f1"),
        "score of the predicted label": _new(score="sure", predicted="said", score_of="predicted"),
        "margin": _new(score="margin", threshold=0.3, metric="f1"),
    },
    "designs": {
        "guaranteed": _new(
            **SCORE, design=assay.Design.guaranteed(), slices=["lang"], show=["url"]
        ),
        "paper 2": _new(**SCORE, metric="accuracy", design=assay.Design.kumar_raj(strata="km")),
        "weights": _new(**SCORE, sample_weight="views", metric="recall"),
        "second opinions": _new(**SCORE, aux=["q", "lang"], metric="accuracy"),
        "threshold": _new(score="p", threshold_for="precision >= 0.8"),
    },
    "several classifiers": {
        "several": _new(classifiers=BOTH, metrics=["precision", "recall:new - recall:old"]),
        "several, text ids": _new(classifiers=BOTH, id="url", metrics=["f1"]),
        "several, weights": _new(classifiers=BOTH, sample_weight="views", metrics=["accuracy"]),
        "several, slices": _new(classifiers=BOTH, metrics=["precision:new[lang]"]),
    },
    "classes": {
        "classes": _new(predicted="topic", score="p", metrics=["accuracy", "macro_f1"]),
        "classes, probabilities": _new(probabilities="p_*", metrics=["accuracy", "top_2_accuracy"]),
        "classes, weights": _new(predicted="topic", score="p", sample_weight="views"),
        "multilabel": _new(probabilities="p_*", multilabel=True, threshold=0.4, metric="recall"),
    },
    "two sets": {
        "comparison": _compared(),
        "comparison, text ids": _compared(id="url", metric="f1"),
        "comparison, weights": _compared(sample_weight="views"),
        "comparison, classes": _compared(
            score="p", threshold=None, predicted="topic", metric="accuracy"
        ),
        "extension": _extended,
    },
}
"""Layouts of predictions. An engine that has to be started has one test for each family."""

LAYOUTS = {name: make for family in FAMILIES.values() for name, make in family.items()}


def stored(table: pa.Table, engine: str, request: pytest.FixtureRequest) -> Scan:
    """Write a table where an engine reads it."""
    folder = request.getfixturevalue("tmp_path")
    path = folder / f"{uuid4().hex}.{'csv' if engine == 'csv' else 'parquet'}"
    write = pa_csv.write_csv if engine == "csv" else pq.write_table
    write(table, path)
    return scan_by(request, "duckdb" if engine == "csv" else engine, path)


def values(name: str, engine: str, request: pytest.FixtureRequest) -> dict[str, Any]:
    """The draw of a layout, or what an engine says where it refuses the layout."""
    try:
        campaign = LAYOUTS[name](partial(stored, engine=engine, request=request))
    except AssayError as error:
        return {"refused": without_names(str(error)).splitlines()}
    asked = [item.id for item in campaign.ask(FIRST)]
    ids = list(asked)
    while len(ids) < FIRST:  # a design may have rounds of its own size
        campaign.tell(dict.fromkeys(asked, "yes"))
        asked = [item.id for item in campaign.ask(FIRST - len(ids))]
        ids += asked
    source = campaign.settings.source
    return {
        "fingerprints": sorted({source.fingerprint, *(part.fingerprint for part in source.parts)}),
        "commitment": campaign.settings.commitment[:32],
        "strata": campaign.settings.strata.sizes,
        "ids": ids,
    }
