"""Weights that engines read where they lie: all is the same as in memory."""

from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pytest

from assay.core.bins import Scale
from assay.core.cuts import Variable
from assay.core.strata import Strata
from assay.core.stratify import stratify
from assay.core.types import Floats
from assay.errors import PredictionsError
from assay.predictions import Scan, Weighing, read_predictions
from assay.predictions.memory import MemoryPredictions
from assay.predictions.scanned import ScannedPredictions
from assay.predictions.spark.weights import summed
from tests.predictions.contract import scan_by

SIZE = 3000
RNG = np.random.default_rng(8)
SCORE = RNG.beta(0.4, 0.6, SIZE)
SCORE[:40] = 0.0
KINDS: dict[str, Floats] = {
    "lognormal": RNG.lognormal(0.0, 1.5, SIZE) * (RNG.random(SIZE) > 0.05),
    "whole": RNG.integers(0, 200, SIZE).astype(np.float64),
    "equal": np.ones(SIZE),
    # A few items have nearly all of it: more passes than one.
    "heavy": RNG.pareto(0.25, SIZE) + 1e-9,
    # They sum to 1, but for rounding: the exact sum decides which power of two it is.
    "shares": np.full(SIZE, 1 / SIZE),
    "tiny": RNG.random(SIZE) * 1e-310,
    "huge": RNG.random(SIZE) * 1e304,
    # Even as items, not by weight: the finer rule makes the strata, and not the fingerprint.
    "uneven": np.where(SCORE < 1e-5, 1e4 * RNG.random(SIZE), 1.0),
    # All in one cell of the score.
    "one score": RNG.lognormal(0.0, 3.0, SIZE),
}


def table(kind: str, *, strings: bool = False) -> "pl.DataFrame":
    score = np.full(SIZE, 0.7) if kind == "one score" else SCORE
    ids = [f"ü{row}" for row in range(SIZE)] if strings else list(range(SIZE))
    return pl.DataFrame(
        {
            "id": ids,
            "p": score,
            "said": score + RNG.normal(0, 0.2, SIZE) > 0.5,
            "views": KINDS[kind],
            "text": [f"text {row}" for row in range(SIZE)],
        }
    )


def both(
    frame: "pl.DataFrame", folder: Path, name: str = "a.parquet", **more: Any
) -> tuple[MemoryPredictions, ScannedPredictions]:
    path = folder / name
    if name.endswith(".csv"):
        frame.write_csv(path)
    else:
        frame.write_parquet(path, row_group_size=700)
    given: dict[str, Any] = {"id": "id", "score": "p", "show": ["text"], "seed": 7, **more}
    if "threshold" not in given:
        given["predicted"] = "said"
    memory = read_predictions(Scan(str(path), engine="memory"), sample_weight="views", **given)
    scanned = read_predictions(Scan(str(path), engine="duckdb"), sample_weight="views", **given)
    assert isinstance(memory, MemoryPredictions)
    assert isinstance(scanned, ScannedPredictions)
    return memory, scanned


def strata_of(
    found: Weighing, variable: Variable, scale: Scale, method: str = "perc", sides: Any = None
) -> Strata:
    profiles = found.profile(variable, scale, sides or [True, False])
    strata = stratify(profiles, variable=variable, method=method, bins=4)
    return found.weighed(strata, scale=scale)


def check_alike(memory: MemoryPredictions, scanned: ScannedPredictions) -> None:
    assert scanned.weighted
    assert (scanned.size, scanned.positives) == (memory.size, memory.positives)
    assert scanned.score_range == memory.score_range
    assert scanned.fingerprint() == memory.fingerprint()
    variables: list[tuple[Variable, list[Any]]] = [("score", [True, False]), ("confidence", [None])]
    for variable, sides in variables:
        ours = strata_of(scanned, variable, "probability", sides=sides)
        assert ours == strata_of(memory, variable, "probability", sides=sides)
        check_dealt_alike(memory, scanned, ours)


def check_dealt_alike(
    memory: MemoryPredictions, scanned: ScannedPredictions, strata: Strata, seed: int = 7
) -> None:
    for counts in ([5] * strata.n_strata, [0, 200, SIZE, 40][: strata.n_strata] * 3):
        asked = counts[: strata.n_strata]
        mine = scanned.deal(strata, scale="probability", seed=seed, counts=asked)
        theirs = memory.deal(strata, scale="probability", seed=seed, counts=asked)
        assert mine == theirs
        assert all(card.weight for deck in mine for card in deck)


@pytest.mark.parametrize("kind", KINDS)
def test_all_that_is_told(kind: str, tmp_path: Path) -> None:
    check_alike(*both(table(kind, strings=kind == "lognormal"), tmp_path))


@pytest.mark.parametrize("reader", ["sqlite", "postgres", "clickhouse", "spark"])
def test_all_that_others_tell(reader: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    """Weights whose sum is rounded, and those of 0 or no normal numbers, with ids of text."""
    for kind in ("shares", "tiny"):
        frame = table(kind, strings=kind == "tiny")
        if kind == "tiny":
            gone = np.arange(SIZE) % 20 == 0
            frame = frame.with_columns(pl.Series("views", np.where(gone, 0.0, KINDS[kind])))
        memory, _ = both(frame, tmp_path)
        scanned = read_predictions(
            scan_by(request, reader, tmp_path / "a.parquet"),
            id="id",
            score="p",
            predicted="said",
            sample_weight="views",
            show=["text"],
            seed=7,
        )
        assert isinstance(scanned, ScannedPredictions)
        check_alike(memory, scanned)
        ids = [memory.judged.ids.at(np.array([3]))[0], "none", -1]
        found = scanned.find(ids, variable="score", scale="probability")
        assert found == memory.find(ids, variable="score", scale="probability")


def test_thresholds_and_text(tmp_path: Path) -> None:
    check_alike(*both(table("lognormal"), tmp_path, "a.csv", threshold=0.5))


@pytest.mark.parametrize("kind", KINDS)
def test_the_sum_by_exponents_is_exact(kind: str) -> None:
    """What Spark groups, from the bits that numpy has: against sums of fractions."""
    weights = KINDS[kind][KINDS[kind] > 0]
    bits = weights.view(np.int64)
    fraction = bits & 2**52 - 1
    exponents = np.unique(bits >> 52)
    inside = [bits >> 52 == exponent for exponent in exponents]
    groups = pa.table(
        {
            "exponent": exponents,
            "sum(upper)": [int((fraction[rows] >> 26).sum()) for rows in inside],
            "sum(lower)": [int((fraction[rows] & 2**26 - 1).sum()) for rows in inside],
            "sum(item)": [int(rows.sum()) for rows in inside],
        }
    )
    exact = sum(map(Fraction, weights.tolist()))
    assert sum(map(Fraction, summed(groups).tolist())) == exact
    assert Fraction(float(weights.sum())) != exact or kind in ("equal", "whole")


@pytest.mark.parametrize("kind", ["float32", "int32", "decimal"])
def test_types_of_weights(kind: str, tmp_path: Path) -> None:
    frame = table("lognormal")
    types = {"float32": pl.Float32(), "int32": pl.Int32(), "decimal": pl.Decimal(18, 6)}
    frame = frame.with_columns(pl.col("views").cast(types[kind]))
    check_alike(*both(frame, tmp_path))


def test_weights_choose_the_rule_of_the_strata(tmp_path: Path) -> None:
    _, scanned = both(table("uneven"), tmp_path)
    assert scanned.fingerprint().startswith("assay-predictions-2:probability:")
    plain = read_predictions(str(tmp_path / "a.parquet"), id="id", score="p", predicted="said")
    cells = [found.profile("score", "probability", [False])[False] for found in (scanned, plain)]
    assert cells[0].low.size != cells[1].low.size


def test_rows_in_another_order_are_the_same(tmp_path: Path) -> None:
    frame = table("shares")
    memory, _ = both(frame, tmp_path)
    order = np.random.default_rng(1).permutation(SIZE)
    _, scanned = both(frame[order.tolist()], tmp_path)
    check_alike(memory, scanned)


def test_strata_of_another_population(tmp_path: Path) -> None:
    """Their cuts go through cells, and some hold nothing: items and weights are counted anew."""
    memory, scanned = both(table("lognormal"), tmp_path)
    (tmp_path / "other").mkdir()
    frame = table("lognormal").with_columns(pl.col("p") * 0.9 + 0.05)
    other, _ = both(frame, tmp_path / "other")
    strata = strata_of(other, "score", "probability")
    assert (
        scanned.count(strata, scale="probability").tolist()
        == memory.count(strata, scale="probability").tolist()
    )
    assert scanned.weighed(strata, scale="probability") == memory.weighed(
        strata, scale="probability"
    )
    check_dealt_alike(memory, scanned, strata, seed=11)


def test_items_are_found_with_their_weights(tmp_path: Path) -> None:
    memory, scanned = both(table("whole"), tmp_path)
    gone = int(np.flatnonzero(KINDS["whole"] == 0)[0])
    ids = [3, gone, 7, 99_999, 3]
    found = scanned.find(ids, variable="score", scale="probability")
    assert found == memory.find(ids, variable="score", scale="probability")
    assert found[1] is None
    assert found[0] is not None
    assert found[0].card.weight


def test_a_fingerprint_sees_weights_and_who_has_them(tmp_path: Path) -> None:
    frame = table("lognormal")
    _, first = both(frame, tmp_path)
    weights = KINDS["lognormal"].copy()
    weights[[7, 8]] = weights[[8, 7]]
    _, swapped = both(frame.with_columns(pl.Series("views", weights)), tmp_path)
    assert swapped.fingerprint() != first.fingerprint()


BAD: list[tuple[str, object, str]] = [
    ("views", -2.0, "a.parquet"),
    ("views", None, "a.parquet"),
    ("views", float("nan"), "a.parquet"),
    ("views", float("inf"), "a.parquet"),
    ("views", "much", "a.csv"),
    ("p", None, "a.parquet"),  # also of an item whose weight is 0
    ("id", None, "a.parquet"),
]


def refused(reader: str, path: Path, request: pytest.FixtureRequest) -> list[str]:
    """Return the lines of the error."""
    roles: dict[str, Any] = {"id": "id", "score": "p", "predicted": "said"}
    with pytest.raises(PredictionsError) as caught:
        read_predictions(scan_by(request, reader, path), sample_weight="views", **roles)
    return str(caught.value).splitlines()


@pytest.mark.parametrize("engine", ["duckdb", "spark"])
def test_what_is_refused_in_memory_is_refused(
    engine: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    for column, bad, name in BAD:
        frame = table("lognormal")
        weights: list[Any] = frame["views"].to_list()
        weights[11] = 0.0
        values: list[Any] = weights if column == "views" else frame[column].to_list()
        values[11] = bad
        frame = frame.with_columns(pl.Series("views", weights, strict=False))
        if isinstance(bad, str):
            values = [str(value) for value in values]
        frame = frame.with_columns(pl.Series(column, values))
        path = tmp_path / name
        frame.write_csv(path) if name.endswith("csv") else frame.write_parquet(path)
        memory, other = (refused(reader, path, request) for reader in ("memory", engine))
        assert memory[0] == other[0]  # how many, of which column
        assert memory[-1] == other[-1]  # what to do
        assert column in memory[0]
    for weight in (0.0, 1e308):  # of which the sum is refused
        frame = table("equal").with_columns(views=pl.lit(weight))
        frame.write_parquet(tmp_path / "a.parquet")
        memory, other = (
            refused(reader, tmp_path / "a.parquet", request) for reader in ("memory", engine)
        )
        assert memory == other
        assert "the weights in column 'views'" in memory[0]


def test_weights_that_are_text_are_refused(tmp_path: Path) -> None:
    table("equal").write_parquet(tmp_path / "a.parquet")
    scan = Scan(str(tmp_path / "a.parquet"), engine="duckdb")
    with pytest.raises(PredictionsError, match=r"weights in column 'text' .* of type VARCHAR"):
        read_predictions(scan, id="id", score="p", threshold=0.5, sample_weight="text")
