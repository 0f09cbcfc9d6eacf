"""One table of predictions, written in many ways."""

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from random import Random

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq

from assay.predictions.scan import Scan


def made_table(size: int = 3_000, seed: int = 0) -> "pa.Table":
    """Return predictions whose values are easily changed on their way through a file."""
    random = Random(seed)
    odd = ["", "NA", "null", '"', "'", "a,b", "\\N", "\\", "\n", "\r\n", "\t", " x ", "é🂡", "{}"]
    texts = ["".join(random.choices(odd, k=3)) for _ in range(size)]
    numbers = {random.randrange(-(2**63), 2**63) for _ in range(size)}
    return pa.table(
        {
            "id": [f"{number:05}{random.choice(odd)}" for number in range(size)],
            "number": list(numbers),
            "score": [random.random() * 10.0 ** random.randint(-12, 0) for _ in range(size)],
            "said": [random.random() < 0.3 for _ in range(size)],
            "text": [None if random.random() < 0.1 else text for text in texts],
            "lang": [random.choice(["en", "fr"]) for _ in range(size)],
        }
    )


def _to_csv(table: "pa.Table", path: Path) -> None:
    # Everything that is text in quotes, or else a missing text and the empty one are the same.
    pa_csv.write_csv(table, path, pa_csv.WriteOptions(quoting_style="needed"))


def write_parquet(table: "pa.Table", folder: Path) -> Scan:
    pq.write_table(table, folder / "whole.parquet", row_group_size=500)
    return Scan(folder / "whole.parquet")


def write_csv(table: "pa.Table", folder: Path) -> Scan:
    _to_csv(table, folder / "whole.csv")
    return Scan(str(folder / "whole.csv"))


def _csv_gz(table: "pa.Table", folder: Path) -> Scan:
    _to_csv(table, folder / "plain")
    (folder / "whole.csv.gz").write_bytes(gzip.compress((folder / "plain").read_bytes()))
    return Scan(folder / "whole.csv.gz")


def _lines(table: "pa.Table") -> str:
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in table.to_pylist())


def _jsonl(table: "pa.Table", folder: Path) -> Scan:
    (folder / "whole.jsonl").write_text(_lines(table), encoding="utf-8")
    return Scan(folder / "whole.jsonl")


def _ndjson_gz(table: "pa.Table", folder: Path) -> Scan:
    (folder / "whole.ndjson.gz").write_bytes(gzip.compress(_lines(table).encode()))
    return Scan(folder / "whole.ndjson.gz")


def _json_list(table: "pa.Table", folder: Path) -> Scan:
    (folder / "whole.json").write_text(json.dumps(table.to_pylist(), indent=1), encoding="utf-8")
    return Scan(folder / "whole.json")


def write_folder(table: "pa.Table", folder: Path) -> Scan:
    below = folder / "day=1" / "deep"
    below.mkdir(parents=True)
    pq.write_table(table.slice(0, 1_000), folder / "day=1" / "a.parquet")
    pq.write_table(table.slice(1_000), below / "b.parquet")
    (folder / "_SUCCESS").touch()
    (below / ".b.parquet.crc").write_bytes(b"crc")
    return Scan(folder)


def _shuffled(table: "pa.Table", folder: Path) -> Scan:
    """Many files of small row groups, in another order."""
    order = np.random.default_rng(1).permutation(table.num_rows)
    for place, rows in enumerate(np.array_split(order, 64)):
        path = folder / f"{place}.parquet"
        pq.write_table(table.take(rows), path, row_group_size=17, use_dictionary=False)
    return Scan(folder)


def _partitioned(suffix: str) -> Callable[["pa.Table", Path], Scan]:
    """Return a writer of one folder for each language, which is no longer in the files."""

    def write(table: "pa.Table", folder: Path) -> Scan:
        for lang in ("en", "fr"):
            part = table.filter(pa.array([row == lang for row in table["lang"].to_pylist()]))
            (folder / f"lang={lang}").mkdir()
            path = folder / f"lang={lang}" / f"part.{suffix}"
            if suffix == "parquet":
                pq.write_table(part.drop_columns(["lang"]), path)
            elif suffix == "csv":
                _to_csv(part.drop_columns(["lang"]), path)
            else:
                path.write_text(_lines(part.drop_columns(["lang"])), encoding="utf-8")
        return Scan(folder if suffix == "csv" else f"{folder}/*/*.{suffix}")

    return write


def _query(table: "pa.Table", folder: Path) -> Scan:
    path = write_parquet(table, folder).path
    return Scan(f"SELECT * FROM '{path}' -- all of them")


def _duckdb(table: "pa.Table", folder: Path) -> Scan:
    with duckdb.connect(str(folder / "it's.duckdb")) as connection:
        connection.register("given", table)
        connection.execute('CREATE SCHEMA s; CREATE TABLE s."my ""preds""" AS FROM given')
    return Scan(folder / "it's.duckdb", table='s.my "preds"')


SOURCES: dict[str, Callable[["pa.Table", Path], Scan]] = {
    "Parquet": write_parquet,
    "CSV": write_csv,
    "compressed CSV": _csv_gz,
    "JSON lines": _jsonl,
    "compressed JSON lines": _ndjson_gz,
    "a JSON list": _json_list,
    "a folder": write_folder,
    "64 files, shuffled": _shuffled,
    "Parquet by language": _partitioned("parquet"),
    "CSV by language": _partitioned("csv"),
    "JSON by language": _partitioned("jsonl"),
    "a query": _query,
    "DuckDB": _duckdb,
}


UNCOPIED = ("Parquet", "a folder", "64 files, shuffled", "Parquet by language", "DuckDB")
