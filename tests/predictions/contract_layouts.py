"""The same table, written in many ways."""

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq

__all__ = ["LAYOUTS"]

_Write = Callable[["pa.Table", Path], Path]


def _one_file(table: "pa.Table", folder: Path) -> Path:
    pq.write_table(table, folder / "whole.parquet")
    return folder / "whole.parquet"


def _many_files(table: "pa.Table", folder: Path) -> Path:
    for place, rows in enumerate(np.array_split(np.arange(table.num_rows), 64)):
        pq.write_table(table.take(rows), folder / f"{place}.parquet")
    return folder


def _shuffled(table: "pa.Table", folder: Path) -> Path:
    order = np.random.default_rng(1).permutation(table.num_rows)
    return _one_file(table.take(order), folder)


def _small_row_groups(table: "pa.Table", folder: Path) -> Path:
    pq.write_table(table, folder / "whole.parquet", row_group_size=17, use_dictionary=False)
    return folder / "whole.parquet"


def _by_language(table: "pa.Table", folder: Path) -> Path:
    """One folder for each language, which is no longer in the files."""
    spoken = np.array(table["lang"].to_pylist())
    for lang in np.unique(spoken).tolist():
        (folder / f"lang={lang}").mkdir()
        part = table.take(np.flatnonzero(spoken == lang)).drop_columns(["lang"])
        pq.write_table(part, folder / f"lang={lang}" / "part.parquet")
    return folder


def _csv(table: "pa.Table", folder: Path) -> Path:
    pa_csv.write_csv(table, folder / "whole.csv", pa_csv.WriteOptions(quoting_style="needed"))
    return folder / "whole.csv"


def _json_lines(table: "pa.Table", folder: Path) -> Path:
    lines = [json.dumps(row, ensure_ascii=False, default=float) for row in table.to_pylist()]
    (folder / "whole.jsonl").write_text("\n".join(lines), encoding="utf-8")
    return folder / "whole.jsonl"


LAYOUTS: dict[str, _Write] = {
    "one file": _one_file,
    "64 files": _many_files,
    "shuffled": _shuffled,
    "small row groups": _small_row_groups,
    "by language": _by_language,
    "CSV": _csv,
    "JSON lines": _json_lines,
}
