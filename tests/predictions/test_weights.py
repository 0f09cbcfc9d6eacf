"""Items that count by weight: memory against brute force, engines against memory."""

from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pytest

from assay.core.cuts import Variable
from assay.core.strata import Strata
from assay.core.stratify import stratify
from assay.core.types import Floats
from assay.core.weights import waiting_time
from assay.errors import DesignError, PredictionsError
from assay.predictions import Scan, from_arrays, read_predictions
from assay.predictions.memory import MemoryScanner
from assay.predictions.predictions import Predictions
from assay.predictions.spark.scanner import summed
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
SAID = SCORE + RNG.normal(0, 0.2, SIZE) > 0.5
ROLES: dict[str, Any] = {"id": "id", "score": "p", "predicted": "said", "sample_weight": "views"}


def table(kind: str, *, strings: bool = False) -> "pl.DataFrame":
    return pl.DataFrame(
        {
            "id": [f"ü{row}" for row in range(SIZE)] if strings else list(range(SIZE)),
            "p": np.full(SIZE, 0.7) if kind == "one score" else SCORE,
            "said": SAID,
            "views": KINDS[kind],
            "text": [f"text {row}" for row in range(SIZE)],
        }
    )


def read(source: object, **more: Any) -> Any:
    return read_predictions(source, **{**ROLES, "show": ["text"], "seed": 7, **more})


def both(
    frame: "pl.DataFrame", folder: Path, name: str = "a.parquet", **more: Any
) -> tuple[Predictions, Predictions]:
    path = folder / name
    if name.endswith(".csv"):
        frame.write_csv(path)
    else:
        frame.write_parquet(path, row_group_size=700)
    memory = read(Scan(path, engine="memory"), **more)
    scanned = read(Scan(path, engine="duckdb"), **more)
    assert isinstance(memory.scanner, MemoryScanner)
    assert not isinstance(scanned.scanner, MemoryScanner)
    return memory, scanned


def strata_of(
    found: Predictions, variable: Variable = "score", sides: Any = (True, False)
) -> Strata:
    profiles = found.profile(variable, "probability", sides)
    strata = stratify(profiles, variable=variable, method="perc", bins=4)
    return found.weighed(strata, scale="probability")


def check_alike(memory: Predictions, scanned: Predictions) -> None:
    assert scanned.weighted
    assert (scanned.size, scanned.positives) == (memory.size, memory.positives)
    assert scanned.score_range == memory.score_range
    assert scanned.fingerprint() == memory.fingerprint()
    variables: list[tuple[Variable, list[Any]]] = [("score", [True, False]), ("confidence", [None])]
    for variable, sides in variables:
        strata = strata_of(scanned, variable, sides)
        assert strata == strata_of(memory, variable, sides)
        check_dealt_alike(memory, scanned, strata)
    assert isinstance(memory.scanner, MemoryScanner)
    ids = [*memory.scanner.ids.at(np.array([3, 7, 3])), "none", -1, *range(40)]  # some weigh 0
    found = scanned.find(ids, variable="score", scale="probability")
    assert found == memory.find(ids, variable="score", scale="probability")
    assert found[0] is not None and found[0].card.weight


def check_dealt_alike(
    memory: Predictions, scanned: Predictions, strata: Strata, seed: int = 7
) -> None:
    for counts in ([5] * strata.n_strata, [0, 200, SIZE, 40][: strata.n_strata] * 3):
        asked = counts[: strata.n_strata]
        mine = scanned.deal(strata, scale="probability", seed=seed, counts=asked)
        assert mine == memory.deal(strata, scale="probability", seed=seed, counts=asked)
        assert all(card.weight for deck in mine for card in deck)


# In memory


def test_decks_are_in_the_order_of_brute_force() -> None:
    weight, ids = KINDS["lognormal"], [f"ü{row}" for row in range(SIZE)]
    found = read(table("lognormal", strings=True))
    strata = strata_of(found)
    decks = found.deal(strata, scale="probability", seed=9, counts=[SIZE] * strata.n_strata)
    short = found.deal(strata, scale="probability", seed=9, counts=[7] * strata.n_strata)
    assert [deck[:7] for deck in decks] == short
    cards = {str(card.id): card.weight or 0 for deck in decks for card in deck}
    there = np.flatnonzero(weight > 0)
    assert set(cards) == {ids[row] for row in there}  # those of weight 0 are not there
    stratum = strata.assign(SCORE[there], SAID[there])
    for number, deck in enumerate(decks):
        members = [ids[row] for row in there[stratum == number]]
        assert [card.id for card in deck] == sorted(
            members, key=lambda id: waiting_time(id, cards[id], 9, 0)
        )
        shown = [str(card.id).replace("ü", "text ") for card in deck[:3]]
        assert [card.shown["text"] for card in deck[:3]] == shown


def test_strata_hold_equal_weights_and_know_their_items() -> None:
    strata, weight = strata_of(read(table("lognormal"))), KINDS["lognormal"]
    there = weight > 0
    stratum = strata.assign(SCORE[there], SAID[there])
    by_hand = np.bincount(stratum, weight[there])
    np.testing.assert_allclose(strata.weights / strata.weights.sum(), by_hand / by_hand.sum())
    assert np.bincount(stratum).tolist() == strata.sizes.tolist()
    for side in (strata.weights[:4], strata.weights[4:]):
        assert side.max() < 1.5 * side.min()
    assert Strata.from_dict(strata.to_dict()) == strata


def test_a_fingerprint_sees_weights_and_who_has_them() -> None:
    weight = KINDS["lognormal"]
    changed, swapped = weight.copy(), weight.copy()
    changed[7] *= 1.5
    swapped[[7, 8]] = swapped[[8, 7]]
    first, *others, eightfold = (
        read(table("lognormal").with_columns(pl.Series("views", each))).fingerprint()
        for each in (weight, changed, swapped, 8 * weight)
    )
    assert first not in others
    assert first == eightfold  # proportions matter


@pytest.mark.parametrize(
    ("weights", "told"),
    [
        ([1, -2, 1, 1], r"1 of 4 weights in .* are negative\n.*row 1 \(id 1, weight -2"),
        ([1, 1, np.nan, 1], r"missing, NaN or infinite\n.*row 2"),
        ([np.inf, 1, 1, 1], r"missing, NaN or infinite\n.*row 0"),
        ([0, 0, 0, 0], r"sum to 0\n.*at least one must be above 0\n.*Leave out sample_weight"),
        ([1e308] * 4, r"sum to inf\n.*float64.*\n.*only their proportions matter"),
        (["much"] * 4, r"the weights in .* are of type string\na weight is a number"),
        ([1, 1, 1], r"differ in length"),
    ],
)
def test_weights_that_are_none_are_refused(weights: list[Any], told: str) -> None:
    with pytest.raises(PredictionsError, match=told):
        from_arrays(y_score=[0.9, 0.8, 0.3, 0.2], threshold=0.5, sample_weight=weights)


# Engines


CASES: dict[str, tuple[str, dict[str, Any]]] = {
    **{kind: (kind, {}) for kind in KINDS},
    "float32": ("lognormal", {"kind": pl.Float32()}),
    "int32": ("lognormal", {"kind": pl.Int32()}),
    "decimal": ("lognormal", {"kind": pl.Decimal(18, 6)}),
    "csv": ("lognormal", {"name": "a.csv", "threshold": 0.5, "predicted": None}),
}


@pytest.mark.parametrize("case", CASES)
def test_all_that_is_told(case: str, tmp_path: Path) -> None:
    kind, given = CASES[case]
    frame = table(kind, strings=case == "lognormal")
    if "kind" in given:
        frame = frame.with_columns(pl.col("views").cast(given["kind"]))
    options = {name: value for name, value in given.items() if name != "kind"}
    memory, scanned = both(frame, tmp_path, **options)
    check_alike(memory, scanned)
    if case == "shares":  # in another order, which a sum of floats tells
        order = np.random.default_rng(1).permutation(SIZE).tolist()
        check_alike(memory, both(frame[order], tmp_path)[1])


@pytest.mark.parametrize("reader", ["toy", "postgres", "clickhouse", "spark"])
def test_all_that_others_tell(reader: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    """Weights whose sum is rounded, and those of 0 or no normal numbers, with ids of text."""
    for kind in ("shares", "tiny"):
        frame = table(kind, strings=kind == "tiny")
        if kind == "tiny":
            gone = np.arange(SIZE) % 20 == 0
            frame = frame.with_columns(pl.Series("views", np.where(gone, 0.0, KINDS[kind])))
        memory, _ = both(frame, tmp_path)
        scanned = read(scan_by(request, reader, tmp_path / "a.parquet"))
        assert isinstance(scanned, Predictions)
        check_alike(memory, scanned)


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
            "upper": [int((fraction[rows] >> 26).sum()) for rows in inside],
            "lower": [int((fraction[rows] & 2**26 - 1).sum()) for rows in inside],
            "items": [int(rows.sum()) for rows in inside],
        }
    )
    exact = sum(map(Fraction, weights.tolist()))
    assert sum(map(Fraction, summed(groups).tolist())) == exact
    assert Fraction(float(weights.sum())) != exact or kind in ("equal", "whole")


def test_weights_choose_the_rule_of_the_strata(tmp_path: Path) -> None:
    _, scanned = both(table("uneven"), tmp_path)
    assert scanned.fingerprint().startswith("assay-predictions-2:probability:")
    plain = read(str(tmp_path / "a.parquet"), sample_weight=None)
    cells = [found.profile("score", "probability", [False])[False] for found in (scanned, plain)]
    assert cells[0].low.size != cells[1].low.size


def test_strata_of_another_population(tmp_path: Path) -> None:
    """Their cuts go through cells, and some hold nothing: items and weights are counted anew."""
    memory, scanned = both(table("lognormal"), tmp_path)
    strata = strata_of(read(table("lognormal").with_columns(pl.col("p") * 0.9 + 0.05)))
    counts = [each.count(strata, scale="probability").tolist() for each in (scanned, memory)]
    assert counts[0] == counts[1]
    weighed = [each.weighed(strata, scale="probability") for each in (scanned, memory)]
    assert weighed[0] == weighed[1]
    check_dealt_alike(memory, scanned, strata, seed=11)


BAD: list[tuple[str, object, str]] = [
    ("views", -2.0, "a.parquet"),
    ("views", None, "a.parquet"),
    ("views", float("nan"), "a.parquet"),
    ("views", float("inf"), "a.parquet"),
    ("views", "much", "a.csv"),
    ("p", None, "a.parquet"),  # also of an item whose weight is 0
    ("id", None, "a.parquet"),
]


@pytest.mark.parametrize("engine", ["duckdb", "spark"])
def test_what_is_refused_in_memory_is_refused(
    engine: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    def refused(path: Path) -> list[list[str]]:
        told = []
        for reader in ("memory", engine):
            with pytest.raises(PredictionsError) as caught:
                read(scan_by(request, reader, path))
            told.append(str(caught.value).splitlines())
        return told

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
        memory, other = refused(path)
        assert memory[0] == other[0]  # how many, of which column
        assert memory[-1] == other[-1]  # what to do
        assert column in memory[0]
    for weight in (0.0, 1e308):  # of which the sum is refused
        table("equal").with_columns(views=pl.lit(weight)).write_parquet(tmp_path / "a.parquet")
        memory, other = refused(tmp_path / "a.parquet")
        assert memory == other
        assert "the weights in column 'views'" in memory[0]


def test_who_reads_weights(tmp_path: Path) -> None:
    path = str(tmp_path / "a.parquet")
    table("equal").write_parquet(path)
    named: dict[str, Any] = {"classifiers": {"a": {"score": "p", "threshold": 0.5}}, "id": "id"}
    there = Scan(path, engine="duckdb")
    for source in (path, there):
        assert read_predictions(source, sample_weight="views", **named).weighted
        with pytest.raises(PredictionsError, match="'view' not found"):
            read(source, sample_weight="view")
    with pytest.raises(PredictionsError, match=r"weights in column 'text' .* of type VARCHAR"):
        read(there, sample_weight="text")
    with pytest.raises(DesignError, match=r"aux=\['p'\] is given for items that have weights"):
        read_predictions(there, sample_weight="views", aux=["p"], **named)
