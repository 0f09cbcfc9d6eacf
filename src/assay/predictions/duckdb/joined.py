"""Predictions joined with a judge's verdicts in a Parquet file, as a query."""

from dataclasses import replace
from glob import escape
from pathlib import Path

from assay.errors import PredictionsError
from assay.predictions.databases.find import find_database, is_database
from assay.predictions.duckdb.databases import is_query
from assay.predictions.duckdb.readable import identifier
from assay.predictions.keys import key_parts
from assay.predictions.scan import Scan
from assay.predictions.sql.rows import quoted

_TABLES = (".parquet", ".csv", ".csv.gz", ".tsv", ".jsonl", ".ndjson", ".json")


def joined_with(scan: Scan | None, *, id: str | None, file: Path, column: str) -> Scan:
    """Return predictions with the scores of a file of judgements in one more column.

    Of items that the file does not have it is empty. Predictions that are joined with the file
    already stay as they are.

    >>> found = joined_with(Scan("p.parquet"), id="url", file=Path("/j.parquet"), column="judge")
    >>> print(str(found.source).replace(str(Path.cwd()), ""))
    SELECT p.*, j.score AS "judge" FROM '/p.parquet' AS p
    LEFT JOIN '/j.parquet' AS j ON CAST(p."url" AS VARCHAR) = CAST(j.id AS VARCHAR)
    """
    verdicts = quoted(escape(str(file.absolute())), "duckdb")
    key = "id" if id is None else id
    join = (
        f"LEFT JOIN {verdicts} AS j ON CAST(p.{identifier(key)} AS VARCHAR) = CAST(j.id AS VARCHAR)"
    )
    select = f"SELECT p.*, j.score AS {identifier(column)} FROM"
    path = None if scan is None else scan.path
    if scan is not None and path is not None and path.startswith(select) and path.endswith(join):
        return scan
    problem = _unfit(scan, id)
    if problem or scan is None:
        raise PredictionsError(
            f"the verdicts cannot be joined to the predictions: {problem}",
            details=f"the verdicts are in {file}, in the columns id and score",
            hint="join them yourself, where the predictions are made, and go on with these: "
            f"'assay rebase' with FILE and aux={column!r}, or "
            f"rebase_campaign(..., predictions=..., aux=[{column!r}]) in Python",
        )
    told = str(scan.to_dict()["source"])
    source = f"(\n{told.strip().rstrip(';')}\n)" if is_query(told) else quoted(told, "duckdb")
    return replace(scan, source=f"{select} {source} AS p\n{join}")


def _unfit(scan: Scan | None, id: str | None) -> str:
    """Return why predictions cannot be a part of a query; empty where they can."""
    if scan is None:
        return "these were given in memory, and are not read again"
    path = scan.path or ""
    reasons = {
        "the items have no ids but the numbers of their rows": id is None,
        f"the ids are made of the columns {id}": bool(key_parts(id)),
        "Spark reads these": scan.spark is not None or scan.engine == "spark" or not path,
        f"they are a table of a database, {scan.table or path}": (
            scan.table is not None or is_database(path) or find_database(path) is not None
        ),
        f"their text is in {scan.encoding}": scan.encoding is not None,
        f"{path} is no query, and no file or pattern of files that ends in {_TABLES[0]}": (
            not is_query(path) and not path.lower().endswith(_TABLES)
        ),
    }
    return next((reason for reason, holds in reasons.items() if holds), "")
