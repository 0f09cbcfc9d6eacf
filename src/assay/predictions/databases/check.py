"""A trial of a database on known values: it must compute what numpy does before it is trusted."""

from collections.abc import Sequence

import numpy as np

from assay.core import deck
from assay.core.bins import bins_of
from assay.errors import PredictionsError
from assay.predictions.contract import IdKind
from assay.predictions.databases.database import Database
from assay.predictions.databases.scanner import bin_sql, rounded_sql
from assay.predictions.databases.translate import Query
from assay.predictions.databases.words import Words
from assay.predictions.sql.rows import TRIED

_SEED = 1
_KINDS: dict[str, IdKind] = {"whole": "integer", "text": "string"}
_IDS = [0, 1, -1, 7, 2**31, -(2**31), 2**32 - 1, 2**32, 2**53 + 1, 2**62, 2**63 - 1, -(2**63) + 1]
_TEXTS = [
    *("", " ", "7", "007", "NA", "naïve", "東京", "👩‍🔬", "it's", "back\\slash", "a\tb", "x" * 99)
]
_NUMBERS = [0.0, 1.0, 1 / 3, -3.25, 1e300, 5e-324, -1e-310, 0.1, 2.0**52 + 1, 1e22, 1e23, -7e-7]
_HALVES = [place + 0.5 for place in range(-6, 6)]

_tried: set[tuple[str, str]] = set()


def refuse_other_arithmetic(database: Database) -> None:
    """Raise an error if this database would draw other items than every other engine.

    Each version at an address is tried once in a process, by a query that reads no table.
    """
    with database.connected():
        database.refuse_old()
        which = database.address, database.version()
        if which in _tried:
            return
        right = _expected()
        found = sorted(database.fetch(_trial(database).sql(database)))
        columns = list(zip(*found, strict=True))[1:]
        wrong = [
            name
            for (name, expected), column in zip(right.items(), columns, strict=True)
            if list(column) != expected
        ]
        if wrong:
            raise PredictionsError(
                f"{database.address} computes otherwise than numpy: {', '.join(wrong)}",
                details=f"{which[1]}; it would draw other items than other engines do",
                hint="have the table copied: engine 'duckdb'",
            )
        _tried.add(which)


def _expected() -> dict[str, list[float]]:
    """Return what numpy has for each column of the trial."""
    places = (deck.numbers(_IDS, _SEED), deck.numbers(_TEXTS, _SEED))
    return {
        "digest of integer ids": deck.digest(_IDS).view(np.int64).tolist(),
        "number of integer ids": (places[0] ^ np.uint64(2**63)).view(np.int64).tolist(),
        "digest of string ids": deck.digest(_TEXTS).view(np.int64).tolist(),
        "number of string ids": (places[1] ^ np.uint64(2**63)).view(np.int64).tolist(),
        **{f"bin of a {rule}": bins_of(np.array(TRIED[rule]), rule).tolist() for rule in TRIED},
        "nearest whole number": np.rint(_HALVES).astype(np.int64).tolist(),
        "element of a list": _NUMBERS,
    }


def _trial(database: Database) -> Query:
    """Return what computes the same."""
    given: dict[str, Sequence[float | str]] = {
        "place": list(range(len(_IDS))),
        "whole": _IDS,
        "text": _TEXTS,
        **{rule: [float(value) for value in values] for rule, values in TRIED.items()},
        "half": _HALVES,
    }
    words = Words(Query(database.written_out(given)).select(*given), list(given))
    for name, kind in _KINDS.items():
        words = words.with_column(f"{words.digest(name, kind).word} AS digest_{name}")
        place = words.numbered(name, kind, _SEED).place
        words = words.with_column(f"{place} AS place_{name}")
    told = [f"{kind}_{name}" for name in _KINDS for kind in ("digest", "place")]
    return words.query.select(
        *("place", *told),
        *(f"{bin_sql(rule, rule)} AS bin_{rule}" for rule in TRIED),
        f"{rounded_sql('half')} AS nearest",
        "element(0, place) AS listed",
    ).with_lists([_NUMBERS])
