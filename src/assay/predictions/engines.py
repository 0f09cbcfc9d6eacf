"""Registry of engines: which one reads which predictions."""

from collections.abc import Sequence
from math import inf

import duckdb

from assay.predictions.duckdb.databases import is_database, is_query
from assay.predictions.duckdb.paths import find_files, is_remote
from assay.predictions.engine import Scanner
from assay.predictions.roles import Roles
from assay.predictions.scan import Engine, Scan

# Up to here, to read files into memory is as fast as anything, and every id can be looked at.
_SMALL = 64 * 2**20


def engine_of(scan: Scan, id: str | None) -> Engine:
    """Return the engine that was asked for, or else the one that suits.

    Parameters
    ----------
    scan : Scan
        Where the predictions are.
    id : str or None
        The column of ids. Without one the rows' numbers are the ids, which only memory knows.

    Examples
    --------
    >>> engine_of(Scan({"p": [0.5]}), None), engine_of(Scan("SELECT 1 AS id"), "id")
    ('memory', 'duckdb')
    """
    if scan.engine == "spark" or scan.spark is not None or _is_of_spark(scan.source):
        return "spark"
    if scan.engine is not None:
        return scan.engine
    small = scan.path is None or id is None or _bytes(scan.path) <= _SMALL
    return "memory" if small else "duckdb"


def open_scanner(scan: Scan, engine: Engine, roles: Roles, show: Sequence[str]) -> Scanner:
    """Open predictions that are to be read where they lie.

    Parameters
    ----------
    scan : Scan
        Where they are.
    engine : {"duckdb", "spark"}
        What reads them.
    roles : Roles
        Which column is what.
    show : sequence of str
        The columns that people see.
    """
    if engine == "spark":
        from assay.predictions.spark.scanner import open_spark

        return open_spark(scan, roles, show)
    from assay.predictions.duckdb.scanner import open_duck

    return open_duck(scan, roles, show)


def _is_of_spark(source: object) -> bool:
    return type(source).__module__.split(".")[0] == "pyspark"


def _bytes(path: str) -> float:
    """Return the size of the files that a path means; infinite where that is not told easily."""
    if is_remote(path) or is_query(path) or is_database(path):
        return inf
    with duckdb.connect() as connection:
        return find_files(connection, path).bytes
