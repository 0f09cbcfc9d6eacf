"""A model's log odds: the same bits in memory, in DuckDB and in Spark."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from assay.core.cells import Heap
from assay.core.cuts import Cuts
from assay.core.error_model import RANK, SAID, Input, Model
from assay.core.strata import Strata
from assay.predictions import Predictions, Scan, read_predictions
from assay.predictions.opinions import column_words

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

MODEL = Model(
    inputs=(
        Input(SAID, "said"),
        Input("p", "share"),
        Input("judge", "number", centre=0.3, width=1.7),
        Input("judge", "level"),
        Input("lang", "level", level="it's"),
        Input("ok", "level", level=True),
        Input("text", "number", centre=10.0, width=3.0),
        Input("narrow", "number", centre=-1.0, width=0.1),
    ),
    terms=((), (0,), (1,), (2,), (3,), (4,), (5,), (6,), (7,), (1, 1), (2, 2), (1, 2), (2, 6)),
    weights=(
        tuple(np.random.default_rng(1).normal(size=13).tolist()),
        tuple(np.random.default_rng(2).normal(size=13).tolist()),
    ),
    labels=100,
    seed=11,
)
AUX = ["judge", "lang", "ok", "text", "narrow"]


def table(size: int = 3_000) -> "pa.Table":
    """Return items with numbers far apart, missing and not finite, and text that holds numbers."""
    rng = np.random.default_rng(5)
    judge = (rng.standard_t(1, size) * 10.0 ** rng.integers(-6, 6, size)).tolist()
    judge[:4] = [None, float("nan"), float("inf"), 0.3]
    judge[4:9] = [-float("inf"), -0.0, 5e-324, -2e-310, 1.7976931348623157e308]
    judge[9:60] = [2.0**n for n in range(-1022, 1022, 41)] + [float(np.nextafter(8, 0))]
    p = rng.beta(0.1, 0.2, size)
    p[:3] = [0.0, 1.0, 1e-300]

    def some(*values: object) -> list[object]:
        return [values[place] for place in rng.integers(len(values), size=size)]

    return pa.table(
        {
            "id": [f"item {i}" for i in range(size)],
            "p": p.tolist(),
            "said": (p > 0.5).tolist(),
            "judge": pa.array(judge, pa.float64()),
            "lang": some("it's", "de", None),
            "ok": some(True, False, None),
            "text": some("7", " 12.5", "none", None),
            "narrow": pa.array(rng.normal(size=size).astype(np.float32)),
        }
    )


def read(source: object, *, model: Model | None = MODEL) -> Predictions:
    stored = None if model is None else model.to_dict()
    return read_predictions(
        source, id="id", score="p", predicted="said", aux=AUX, model=stored, seed=3
    )


def values(found: Predictions) -> list[float]:
    ids = [f"item {i}" for i in range(3_000)]
    there = found.find(ids, variable="score", scale="margin")
    return [item.value for item in there if item is not None]


def digest_of(given: pa.Table) -> int:
    found = read(given, model=None)
    return found.opinions_digest()


def test_the_digest_changes_with_every_value_and_not_with_the_order() -> None:
    whole = digest_of(table())
    assert digest_of(table().take(list(range(2_999, -1, -1)))) == whole
    for name in AUX:
        values: list[Any] = table()[name].to_pylist()
        there = next(place for place in range(60, 99) if values[place] is not None)
        before = values[there]
        other = before + "!" if isinstance(before, str) else before + 1e-9
        for changed in (not before if isinstance(before, bool) else other, None):
            column = pa.array([*values[:there], changed, *values[there + 1 :]])
            place = table().column_names.index(name)
            assert digest_of(table().set_column(place, name, column)) != whole


def test_numbers_of_every_size_are_told_apart() -> None:
    told = [x for n in range(-308, 309) for x in (10.0**n, 10.0**n * (1 + 1e-15), -(10.0**n))]
    assert np.unique(column_words(np.array(told))).size == len(told)
    assert np.unique(column_words([None, float("nan"), "nan", -0.0, 0.0, "0"])).size == 2


def test_duckdb_computes_what_numpy_does(tmp_path: "Path") -> None:
    pq.write_table(table(), tmp_path / "a.parquet")
    memory, duck = read(table()), read(Scan(tmp_path / "a.parquet", engine="duckdb"))
    assert values(memory) == values(duck)
    assert memory.fingerprint() == duck.fingerprint()
    assert len(set(values(memory))) > 2_900
    # Given later, the model is the same as given at once.
    for plain in (read(table(), model=None), read(Scan(tmp_path / "a.parquet"), model=None)):
        assert plain.fingerprint() != memory.fingerprint()
        assert plain.with_model(MODEL).fingerprint() == memory.fingerprint()
        assert list(plain.opinions(["item 3"])["judge"]) == [0.3]
        assert plain.opinions_digest() == digest_of(table())


def test_spark_computes_what_numpy_does(spark: "SparkSession") -> None:
    memory, far = read(table()), read(spark.createDataFrame(table()))
    assert values(memory) == values(far)
    assert memory.fingerprint() == far.fingerprint()
    assert far.opinions_digest() == digest_of(table())


CLASSIFIERS: dict[str, Any] = {
    "cnn": {"score": "p", "predicted": "said"},
    "vote": {"predicted": "said"},
    "mve": {"score": "narrow", "threshold": 0.25},
}


def model_of(*columns: str) -> Model:
    """Return one that also takes what the classifiers say, and numbers of such columns."""
    said = (*MODEL.inputs[:1], *MODEL.inputs[2:], Input(SAID, "said", bit=2))
    inputs = (*said, *(Input(name, "number", 0.4, 0.3) for name in (*columns, RANK)))
    terms = ((), *((place,) for place in range(len(inputs))), (len(inputs) - 1, len(inputs) - 2))
    rng = np.random.default_rng(4)
    weights = (tuple(rng.normal(size=len(terms)).tolist()) for _ in range(2))
    return Model(inputs, terms, tuple(weights), labels=100, seed=11)


@pytest.mark.parametrize(
    ("names", "groups", "engine"),
    [
        (("cnn", "vote", "mve"), ["lang"], "duckdb"),
        (("mve", "cnn"), (), "duckdb"),
        (("cnn",), (), "duckdb"),
        (("vote",), (), "duckdb"),
        (("cnn",), (), "spark"),
    ],
)
def test_of_several_an_engine_computes_what_numpy_does(
    names: tuple[str, ...],
    groups: Sequence[str],
    engine: str,
    tmp_path: "Path",
    request: pytest.FixtureRequest,
) -> None:
    """What is said of an item, its log odds, the counts of all, and the first cards."""
    rows = table().slice(0, 600)
    source: object = rows
    if engine == "spark":
        source = request.getfixturevalue("spark").createDataFrame(rows)
    else:
        pq.write_table(rows, tmp_path / "a.parquet")
        source = Scan(tmp_path / "a.parquet", engine="duckdb")
    options: dict[str, Any] = {"id": "id", "aux": AUX, "groups": groups, "seed": 3}
    options["classifiers"] = {name: CLASSIFIERS[name] for name in names}
    # Of several, those that have scores; a single one has 0 for it.
    scores = [f"{name}'s score" for name in names if name != "vote" or len(names) == 1]
    model, ids = model_of(*scores), [f"item {i}" for i in (7, 3, 599, 1, 0)]
    told: list[list[object]] = []
    for given in (rows, source):
        found = read_predictions(given, **options)
        placed = found.with_model(model)
        says = placed.opinions(ids)
        heaps = (Heap(tuple(sorted(placed.cells())), Cuts("equal", (0.25,), (0, 1))),)
        strata = Strata(placed.classifiers, heaps, placed.count_parts(heaps), groups=placed.groups)
        told.append([found.opinions_digest(), found.fingerprint(), placed.fingerprint()])
        told[-1] += [{name: column_words(says[name]).tolist() for name in says}]
        told[-1] += [placed.find(ids, variable="rank", scale="margin"), strata]
        told[-1] += [placed.deal(strata, scale="margin", seed=5, counts=[9, 9])]
    assert told[0] == told[1]
    assert {*scores, *AUX, RANK} == set(says)


def test_the_score_may_be_a_column_too(tmp_path: "Path") -> None:
    pq.write_table(table(), tmp_path / "a.parquet")
    digests = set()
    for source in (table(), Scan(tmp_path / "a.parquet", engine="duckdb")):
        found = read_predictions(source, id="id", score="p", predicted="said", aux=["p", "judge"])
        digests.add(found.opinions_digest())
    assert len(digests) == 1
