"""Engines: which of them reads predictions, and what each can do."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import inf
from pathlib import Path

import duckdb

from assay.errors import PredictionsError
from assay.predictions.databases.find import find_database
from assay.predictions.duckdb.paths import find_files
from assay.predictions.engine import Scanner
from assay.predictions.layout import Layout
from assay.predictions.places import file_of, format_of, is_database, is_query, is_remote
from assay.predictions.roles import MOST_CODES
from assay.predictions.scan import Engine, Scan

# Up to this size, reading files into memory is as fast as any engine, and every id can be checked.
_SMALL = 64 * 2**20

_MANY = 200  # classes; a database compares a row with each of them
_MANY_LABELS = 40  # of an item: with the bins of a rank their codes are numbers of 64 bits


@dataclass(frozen=True)
class EngineKind:
    """Features of an engine."""

    name: Engine
    # Opens predictions to be counted where they are; None: they are loaded into memory.
    open: Callable[[Scan, Layout], Scanner] | None = None
    lacks: Callable[[Layout], str] = lambda _: ""  # what it does not count of a layout, in words
    loads: bool = True  # whether what it reads can be loaded into memory, too
    splits: bool = False  # whether it reads lists and sets of classes


def _open_duck(scan: Scan, layout: Layout) -> Scanner:
    from assay.predictions.duckdb.scanner import open_duck

    return open_duck(scan, layout)


def _open_spark(scan: Scan, layout: Layout) -> Scanner:
    from assay.predictions.spark.scanner import open_spark

    return open_spark(scan, layout)


def _open_table(scan: Scan, layout: Layout) -> Scanner:
    from assay.predictions.databases.table import open_table

    return open_table(scan, layout)


def _lacks(layout: Layout) -> str:
    """Name the features that a database lacks."""
    each = layout.judges.values()
    beyond = {
        "probabilities of all classes": any(role.of_class for role in each),
        "hundreds of classes": any(role.n_classes > _MANY for role in each),
        "second opinions": bool(layout.aux),
    }
    return next((what for what, is_asked in beyond.items() if is_asked), "")


MEMORY = EngineKind("memory")
DUCKDB = EngineKind("duckdb", _open_duck, splits=True)
SPARK = EngineKind("spark", _open_spark, loads=False)
DATABASE = EngineKind("database", _open_table, _lacks)

_KINDS = {kind.name: kind for kind in (MEMORY, DUCKDB, SPARK, DATABASE)}


def engine_of(scan: Scan, id: str | None) -> Engine:
    """Choose the requested engine, or else a suitable one.

    >>> engine_of(Scan({"p": [0.5]}), None), engine_of(Scan("SELECT 1 AS id"), "id")
    ('memory', 'duckdb')
    """
    if scan.is_of_spark:
        return SPARK.name
    if scan.engine is not None:
        return scan.engine
    if scan.path is None or id is None or _bytes(scan.path) <= _SMALL:
        return MEMORY.name
    return (DUCKDB if find_database(scan.path) is None else DATABASE).name


def is_in_place(scan: Scan, id: str | None) -> bool:
    """Whether predictions are counted where they are, and not loaded into memory."""
    return _KINDS[engine_of(scan, id)].open is not None


def _bytes(path: str) -> float:
    """Size of the files of a path; infinite if it is not easily known."""
    path = file_of(path)
    if is_remote(path) or is_query(path) or is_database(path) or format_of(path):
        return inf
    if (one := Path(path)).is_file():  # to open DuckDB takes longer than to read a small file
        return one.stat().st_size
    with duckdb.connect() as connection:
        return find_files(connection, path).bytes


def counting(scan: Scan, layout: Layout) -> EngineKind:
    """Engine that counts predictions: DuckDB, with a copy, if a database cannot.

    Unless another engine was requested, several classifiers with more codes than an engine counts
    are loaded into memory.
    """
    kind = _KINDS[engine_of(scan, layout.id)]
    is_asked = scan.engine is not None or not kind.loads
    if layout.labels is not None:
        return _counting_labels(kind, layout, is_asked=is_asked)
    if lacks := kind.lacks(layout):
        if is_asked:
            raise PredictionsError(
                f"engine {kind.name!r} does not count predictions with {lacks}",
                hint="leave out the engine: the table is then copied, and DuckDB counts the copy",
            )
        kind = DUCKDB
    of_classes = len(layout.judges) > 1 and layout.first.classes is not None
    many = of_classes and layout.n_codes(()) > MOST_CODES
    return MEMORY if many and not is_asked else kind


def _counting_labels(kind: EngineKind, layout: Layout, *, is_asked: bool) -> EngineKind:
    """Engine that counts predictions of items that may have several classes."""
    if kind.open is None:
        return MEMORY
    if len(layout.judges) <= _MANY_LABELS:
        if not layout.apart or kind.splits:
            return kind
        if not is_asked:
            return DUCKDB  # with a copy
    if is_asked:
        raise PredictionsError(
            f"engine {kind.name!r} reads up to 40 classes of an item, each from a column of its "
            "own",
            details="DuckDB reads lists and sets, too; more classes are read into memory",
            hint="leave out the engine, or write a column for each class",
        )
    return MEMORY


def joining(scans: Sequence[Scan]) -> Engine | None:
    """Engine that can join columns for a model of all: Spark for what is Spark's, or DuckDB."""
    if all(scan.is_of_spark for scan in scans):
        return SPARK.name
    by_path = all(scan.path is not None and not scan.is_of_spark for scan in scans)
    is_free = {scan.engine for scan in scans} <= {None, DUCKDB.name}
    return DUCKDB.name if by_path and is_free else None
