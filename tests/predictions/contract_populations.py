"""Made predictions of every kind, with the values on which engines could differ."""

from collections.abc import Callable, Mapping, Sequence
from datetime import date, timedelta
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa

from assay.core.deck import Id
from assay.core.types import Floats
from tests.predictions.contract import Item, Population

SIZE = 3_000

_ODD = ["", "NA", "null", '"', "'", "a,b", "\\N", "\\", "\n", "\t", " x", "x ", "é", "é", "🂡", "%_"]


def beside_probabilities() -> Floats:
    """Return scores just below and just above where one bin ends and the next begins."""
    t = (np.arange(-2_000, 2_000, 43) + 0.5) / 2047
    at = ((1 + t * np.sqrt(2 - t * t)) / 2).astype(np.float32)
    down, up = np.nextafter(at, np.float32(0)), np.nextafter(at, np.float32(1))
    return np.concatenate([at, down, up]).astype(np.float64)


def beside_margins() -> Floats:
    """Return the same of any finite scores."""
    t = (np.arange(0, 16_000, 347) + 0.5) / 16383
    at = (t / (1 - t)) ** 8
    around = np.concatenate([at, np.nextafter(at, 0), np.nextafter(at, np.inf)])
    return np.concatenate([around, -around])


def beside_tails() -> Floats:
    """Return the same of scores of a rare class, by the rule for tails."""
    t = (np.arange(-1_900, -1_000, 9) + 0.5) / 2047
    at = np.zeros(t.size)
    for _ in range(9):  # r(x) = t + r(1 - x), where the right side hardly depends on x
        at = (t + np.sqrt(np.sqrt(np.sqrt(1 - at)))) ** 8
    return np.concatenate([at, np.nextafter(at, 0), np.nextafter(at, 1)])


def _with_special(special: Floats, rest: Floats, rng: np.random.Generator) -> Floats:
    """Return as many scores as there are items, a quarter of the others close together."""
    scores = np.concatenate([special, rest])[:SIZE]
    heap = slice(special.size, special.size + SIZE // 4)
    scores[heap] = np.median(rest) + 1e-5 * rng.random(SIZE // 4)
    return rng.permutation(scores)


def _integers(low: int, high: int, rng: np.random.Generator) -> list[int]:
    """Return distinct integers, the smallest and the largest among them."""
    dtype = np.uint64 if low >= 0 else np.int64
    drawn = rng.integers(low, high, 2 * SIZE, dtype=dtype, endpoint=True).tolist()
    return list(dict.fromkeys([low, high, low + 1, high - 1, *drawn]))[:SIZE]


def _strings(rng: np.random.Generator) -> list[str]:
    """Return distinct strings that are easily changed on their way."""
    digits = rng.permutation(SIZE).tolist()
    words = [f"{_ODD[number % len(_ODD)]}{number:03}{_ODD[number % 7]}" for number in digits]
    return list(dict.fromkeys(["", "7", "007", "a", "A", "a ", "é", "é", *words]))[:SIZE]


def _made(
    ids: tuple[Sequence[Id], "pa.DataType"],
    scores: tuple[Sequence[float], "pa.Array[Any]"] | None,
    said: tuple[Sequence[bool], "pa.Array[Any]"] | Callable[[float], bool],
    rng: np.random.Generator,
    **options: object,
) -> Population:
    """Put a population together from its ids, scores and labels, with columns to show beside."""
    meant_scores = [0.0] * SIZE if scores is None else scores[0]
    meant_said = [said(score) for score in meant_scores] if callable(said) else said[0]
    kinds = rng.integers(0, 8, SIZE).tolist()
    texts = [None if kind == 0 else f"{_ODD[kind]} {row}" for row, kind in enumerate(kinds)]
    days = [date(2026, 11, 15) + timedelta(kind) for kind in kinds]
    prices = [Decimal(f"{kind}.50") for kind in kinds]
    weights = [[0.1, np.nan, np.inf, -1e300][kind % 4] for kind in kinds]
    tags = [["a", None] if kind > 3 else [] for kind in kinds]
    columns: dict[str, Any] = {
        "key": pa.array(ids[0], ids[1]),
        "lang": ["en" if kind % 2 else "fr" for kind in kinds],
        "text": texts,
        "row": list(range(SIZE)),
        "day": days,
        "price": pa.array(prices, pa.decimal128(9, 2)),
        "weight": weights,
        "tags": tags,
    }
    if scores is not None:
        columns["p"] = scores[1]
    if not callable(said):
        columns["said"] = said[1]
    shown: list[Mapping[str, object]] = [
        {
            "lang": columns["lang"][row],
            "text": texts[row],
            "row": row,
            "day": days[row].isoformat(),
            "price": str(prices[row]),
            "weight": {np.inf: "inf"}.get(
                weights[row], None if np.isnan(weights[row]) else weights[row]
            ),
            "tags": tags[row],
        }
        for row in range(SIZE)
    ]
    facts = zip(ids[0], meant_scores, meant_said, shown, strict=True)
    items = [Item(id, score, yes, seen) for id, score, yes, seen in facts]
    roles = {
        "id": "key",
        "score": None if scores is None else "p",
        "predicted": None if callable(said) else "said",
    }
    return Population(pa.table(columns), {**roles, **options}, items)


def _probabilities(rng: np.random.Generator) -> Population:
    special = np.concatenate([[0.0, -0.0, 1.0, 1e-40], beside_probabilities()])
    scores = _with_special(special, rng.beta(0.3, 0.7, SIZE), rng).astype(np.float32)
    said = (rng.random(SIZE) < scores).tolist()
    return _made(
        (_integers(-(2**63), 2**63 - 1, rng), pa.int64()),
        (scores.astype(np.float64).tolist(), pa.array(scores)),
        (said, pa.array(said)),
        rng,
    )


def _rare(rng: np.random.Generator) -> Population:
    special = beside_tails()
    rest = 10.0 ** rng.uniform(-12, -6, SIZE - special.size)
    rest[:9] = [0.0, 1.0, 0.5, 0.999, 1e-300, 5e-324, 1 - 1e-9, 1 - 1e-16, 0.3]
    scores = rng.permutation(np.concatenate([special, rest])).tolist()
    said = [score > 1e-7 for score in scores]
    return _made(
        (_integers(-(2**15), 2**15 - 1, rng), pa.int16()),
        (scores, pa.array(scores)),
        (said, pa.array(said).cast(pa.string())),
        rng,
        positive="true",
    )


def _margins(rng: np.random.Generator) -> Population:
    special = np.concatenate([[0.0, -0.0, 1e300, -1e300, 5e-324, -0.1], beside_margins()])
    scores = _with_special(special, rng.normal(0, 3, SIZE), rng).tolist()
    said = [score >= -0.1 for score in scores]
    labels = ["yes" if yes else ["no", "YES", "yes "][row % 3] for row, yes in enumerate(said)]
    return _made(
        (_strings(rng), pa.string()),
        (scores, pa.array(scores)),
        (said, pa.array(labels)),
        rng,
        positive="yes",
        threshold=-0.1,
    )


def _ties(rng: np.random.Generator) -> Population:
    digits = [Decimal(int(number)).scaleb(-2) for number in rng.choice([1, 7, 35, 70, 90], SIZE)]
    said = rng.random(SIZE) < 0.4
    return _made(
        (_integers(-(2**31), 2**31 - 1, rng), pa.int32()),
        ([float(number) for number in digits], pa.array(digits, pa.decimal128(5, 2))),
        (said.tolist(), pa.array(said.astype(np.int8))),
        rng,
    )


def _threshold(rng: np.random.Generator) -> Population:
    # The nearest FLOAT to 0.3 is above it: read as a FLOAT, the threshold would be that one.
    beside = np.nextafter(np.float32(0.3), np.array([0, 0.3, 1], np.float32)).astype(np.float64)
    rest = rng.beta(2, 2, SIZE).astype(np.float32).astype(np.float64)
    scores = _with_special(beside, rest, rng).astype(np.float32)
    return _made(
        (_integers(0, 2**32 - 1, rng), pa.uint32()),
        (scores.astype(np.float64).tolist(), pa.array(scores)),
        lambda score: score >= 0.3,
        rng,
        threshold=0.3,
    )


def _unscored(rng: np.random.Generator) -> Population:
    said = rng.random(SIZE) < 0.2
    return _made(
        ([*_strings(rng)[:-1], "a\0b"], pa.large_string()),
        None,
        (said.tolist(), pa.array(said.astype(np.float64))),
        rng,
    )


def _unsigned(rng: np.random.Generator) -> Population:
    scores = rng.normal(0, 1, SIZE).tolist()
    said = (rng.random(SIZE) < 0.5).tolist()
    return _made(
        (_integers(0, 2**64 - 1, rng), pa.uint64()),
        (scores, pa.array(scores)),
        (said, pa.array(said)),
        rng,
    )


_MAKERS: dict[str, Callable[[np.random.Generator], Population]] = {
    "probabilities": _probabilities,
    "rare": _rare,
    "margins": _margins,
    "ties": _ties,
    "threshold": _threshold,
    "unscored": _unscored,
    "unsigned": _unsigned,
}
POPULATIONS = tuple(_MAKERS)


def population(name: str, seed: int = 6) -> Population:
    """Return one of the `POPULATIONS`; with another seed another one of its kind."""
    return _MAKERS[name](np.random.default_rng(seed))
