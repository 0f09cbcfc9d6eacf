"""Files of predictions: one, those that match a pattern, those of a folder; in UTF-8."""

import codecs
import gzip
import re
from collections import Counter
from dataclasses import dataclass, replace
from glob import escape
from pathlib import Path, PurePosixPath
from typing import Literal

import duckdb

from assay.errors import PredictionsError, refuse_no_file
from assay.predictions.duckdb.readable import reading
from assay.predictions.sql.rows import quoted

Kind = Literal["Parquet", "CSV", "JSON"]

_ENDINGS: dict[Kind, tuple[str, ...]] = {
    "Parquet": (".parquet",),
    "CSV": (".csv", ".csv.gz", ".tsv", ".tsv.gz"),
    "JSON": (".jsonl", ".ndjson", ".json", ".jsonl.gz", ".ndjson.gz", ".json.gz"),
}
_NEEDED = (
    "the name must end in .parquet, .csv, .tsv, .jsonl, .ndjson or .json, the text files with .gz "
    "too, and all files be of one kind"
)
_AT_ONCE = 1 << 20  # characters of a file that is written again


@dataclass(frozen=True)
class Files:
    """Files of one kind, in the order of their names."""

    label: str  # the path that was given
    paths: tuple[str, ...]  # the files
    kind: Kind  # what they are
    # The names that the folders of all of them give values to, as day in ``day=7/a.parquet``; none
    # where one file is named.
    keys: tuple[str, ...] = ()

    @property
    def sql(self) -> str:
        """The files as a list in SQL."""
        exact = (path if _is_on_the_web(path) else escape(path) for path in self.paths)
        return "[" + ", ".join(quoted(path, "duckdb") for path in exact) + "]"

    @property
    def bytes(self) -> int:
        """Their size on disk; 0 where they lie elsewhere."""
        here = [path for path in self.paths if not is_remote(path)]
        return sum(Path(path).stat().st_size for path in here)


def is_remote(path: str) -> bool:
    """Tell whether a path is a URL.

    >>> is_remote("s3://bucket/preds.parquet"), is_remote("preds.parquet")
    (True, False)
    """
    return re.match(r"[a-zA-Z][a-zA-Z0-9+.-]*://", path) is not None


def find_files(connection: duckdb.DuckDBPyConnection, path: str) -> Files:
    """Return the file of that very name, those below a folder, or those that match a pattern.

    Of a folder, hidden files are left out, and those whose names begin with an underscore:
    Spark writes such beside the data.
    """
    with reading(path):
        return _found(connection, path)


def _found(connection: duckdb.DuckDBPyConnection, path: str) -> Files:
    if is_remote(path):
        pattern = f"{path}**" if path.endswith("/") else path
        paths = (path,) if _is_on_the_web(path) else _glob(connection, pattern)
        return _of_one_kind(path, paths, is_named=paths == (path,))
    if not path:
        raise PredictionsError(
            "an empty path is a directory, the working directory",
            details="a file, a pattern or a folder is needed",
            hint="say '.' if that is meant",
        )
    place = Path(path)
    label = str(place)
    if place.is_dir():
        below = _glob(connection, f"{escape(label)}/**")
        paths = tuple(file for file in below if not _is_aside(Path(file).relative_to(place)))
        if not paths:
            raise PredictionsError(
                f"{label!r} is a directory without files to read",
                details=f"there must be files such as {label}/*.parquet; {_NEEDED}",
            )
        return _of_one_kind(label, paths, is_named=False)
    paths = (label,) if place.exists() else _glob(connection, label)
    for each in paths:
        refuse_no_file(each, error=PredictionsError)
    if not paths:
        raise PredictionsError(
            f"{label!r} not found",
            details=f"there is no file of that name, seen from {Path.cwd()}",
        )
    return _of_one_kind(label, paths, is_named=paths == (label,))


def _is_on_the_web(path: str) -> bool:
    """Tell whether ? and * in a path are no pattern: web servers do not list their files."""
    return path.lower().startswith(("http://", "https://"))


def _glob(connection: duckdb.DuckDBPyConnection, pattern: str) -> tuple[str, ...]:
    found = connection.execute("SELECT file FROM glob(?) ORDER BY file", [pattern])
    return tuple(file for (file,) in found.fetchall())


def _is_aside(path: Path) -> bool:
    return any(part.startswith((".", "_")) and "=" not in part for part in path.parts)


def _of_one_kind(label: str, paths: tuple[str, ...], *, is_named: bool) -> Files:
    if not is_named:
        _refuse_part_of_a_table(label, paths)
    for kind, endings in _ENDINGS.items():
        if paths and all(_name(path).lower().endswith(endings) for path in paths):
            return Files(label, paths, kind, () if is_named else _keys(paths))
    counts = Counter("".join(PurePosixPath(_name(path)).suffixes) for path in paths)
    there = [f"{ending or 'no ending'} ({count:,})" for ending, count in counts.most_common(5)]
    raise PredictionsError(
        f"{label} is not of a kind that can be read",
        details=f"{_NEEDED}; got {', '.join(there) or 'no file'}",
        hint="name those that are meant by a pattern: */*.parquet"
        if len(counts) > 1
        else _spreadsheet(paths),
    )


def _refuse_part_of_a_table(label: str, paths: tuple[str, ...]) -> None:
    """Raise where files are some of a Delta or Iceberg table: they may hold what was deleted."""
    logs = [path for path in paths if "/_delta_log/" in path or path.endswith(".metadata.json")]
    if logs:
        raise _part_of_a_table(label, logs[0].partition("/_delta_log/")[0])
    parents = {PurePosixPath(path).parent for path in paths if not is_remote(path)}
    for folder in {above for parent in parents for above in (parent, *parent.parents)}:
        place = Path(folder)
        if (place / "_delta_log").is_dir() or any((place / "metadata").glob("*.metadata.json")):
            raise _part_of_a_table(label, str(folder))


def _part_of_a_table(label: str, table: str) -> PredictionsError:
    return PredictionsError(
        f"{label} holds files of a Delta or Iceberg table, {table}",
        details="its folder also holds files whose rows were deleted or rewritten",
        hint="read it as a table of Spark's catalog"
        if is_remote(table)
        else f"give the folder {table}; a condition (where) takes a part of it",
    )


def _spreadsheet(paths: tuple[str, ...]) -> str:
    if paths and _name(paths[0]).lower().endswith((".xlsx", ".xls", ".ods")):
        return "open it in a spreadsheet and save it as .csv in UTF-8 ('CSV UTF-8')"
    return ""


def _name(path: str) -> str:
    """Return the path without what may follow it in a web address."""
    return re.split("[?#]", path, maxsplit=1)[0] if _is_on_the_web(path) else path


def _keys(paths: tuple[str, ...]) -> tuple[str, ...]:
    """Return the keys of the folders named key=value, if all files have the same."""
    found = {
        tuple(part.split("=")[0] for part in PurePosixPath(path).parts[:-1] if "=" in part)
        for path in paths
    }
    return found.pop() if len(found) == 1 else ()


def in_utf8(files: Files, encoding: str, folder: Path) -> Files:
    """Return copies of CSV files in UTF-8."""
    if files.kind != "CSV" or any(map(is_remote, files.paths)):
        raise PredictionsError(
            f"encoding={encoding!r} is given for {files.label}",
            details="it is for CSV files on this machine; Parquet and JSON have one of their own",
            hint="leave it out",
        )
    try:
        codecs.lookup(encoding)
    except LookupError:
        raise PredictionsError(
            f"encoding={encoding!r} is not known",
            details="such as utf-8, latin-1, windows-1252, utf-16, shift_jis",
        ) from None
    copies = []
    for number, path in enumerate(files.paths):
        copy = folder / f"{number:06}.csv"
        opened = gzip.open if path.lower().endswith(".gz") else open
        try:
            with (
                opened(path, "rt", encoding=encoding, newline="") as text,
                copy.open("w", encoding="utf-8", newline="") as target,
            ):
                while some := text.read(_AT_ONCE):
                    target.write(some)
        except UnicodeError as error:
            raise PredictionsError(
                f"{path} is not {encoding} text",
                details=str(error),
                hint="say another encoding, or write the file as UTF-8",
            ) from None
        copies.append(str(copy))
    return replace(files, paths=tuple(copies), keys=())
