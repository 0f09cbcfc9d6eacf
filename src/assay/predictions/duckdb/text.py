"""Text files in other encodings than UTF-8, as copies that DuckDB reads."""

import codecs
import gzip
from dataclasses import replace
from pathlib import Path

from assay.errors import PredictionsError
from assay.predictions.duckdb.paths import Files, is_remote

_AT_ONCE = 1 << 20  # characters


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
