"""Lines of CSV files that DuckDB cannot read: which, why, and what to do."""

import gzip
import re
from collections.abc import Callable
from pathlib import Path

from assay.errors import PredictionsError

_FILE = re.compile(r"^\s*file = (.+)$", re.MULTILINE)
_TOO_LONG = re.compile(r"Maximum line size of (\d+) bytes exceeded. Actual Size:\s*(\d+) bytes")
_AROUND = 12  # bytes on both sides of one that is no text


def refuse_bad_text(error: Exception, label: str) -> None:
    """Raise, where DuckDB's error is about text that it cannot read, one that names the line."""
    said = str(error)
    named = _FILE.search(said)
    path = named[1].strip() if named else label
    if "not a GZIP stream" in said:
        raise PredictionsError(
            f"{path} ends in .gz, but gzip did not pack it",
            hint="name it without .gz, or pack it with gzip",
        ) from error
    too_long = _TOO_LONG.search(said)
    if too_long:
        most, size = int(too_long[1]), int(too_long[2])
        line = _first_line(path, lambda text: len(text) >= most)
        raise PredictionsError(
            f"{line[0]} of {path} has {size:,} bytes",
            details=f"a row of a CSV file may have {most:,}",
            hint="shorten that text, leave out its column, or write the table as Parquet, whose "
            "rows may be longer",
        ) from error
    if "not utf-8 encoded" not in said:
        return
    where, text = _first_line(path, _is_not_utf8)
    try:
        text.decode()
        found = ""
    except UnicodeDecodeError as bad:
        start = max(bad.start - _AROUND, 0)
        around = text[start : bad.start + _AROUND].decode("latin-1").strip()
        found = f"byte {text[bad.start]:#04x}, as Windows-1252 or Latin-1 in {around!r}"
    raise PredictionsError(
        f"{where} of {path} is not UTF-8 text",
        details=found,
        hint="if that reads well, say encoding='windows-1252'; or write the file as UTF-8",
    ) from error


def _is_not_utf8(line: bytes) -> bool:
    try:
        line.decode()
    except UnicodeDecodeError:
        return True
    return False


def _first_line(path: str, is_bad: Callable[[bytes], bool]) -> tuple[str, bytes]:
    """Return the first line that is bad, in words and as it is; a row, where none is found."""
    try:
        with gzip.open(path) if path.endswith(".gz") else Path(path).open("rb") as file:
            for number, line in enumerate(file, start=1):
                if is_bad(line):
                    return f"line {number:,}", line
    except OSError:
        pass  # it lies elsewhere, or is gone
    return "a row", b""
