"""The study's memory: a CSV file that a cell is added to as soon as it is done."""

import csv
from collections.abc import Iterable
from dataclasses import asdict, fields
from functools import cache
from hashlib import blake2b
from importlib.resources import files
from io import StringIO
from pathlib import Path

from assay.errors import InputError
from assay.experiments.coverage.rows import Row, Settings

_CODE = "code"
_COLUMNS = (*(field.name for field in fields(Row)), _CODE)


class Log:
    """The rows of a file, and those to come.

    A study that was killed goes on where it was, also in the middle of a line. Rows that other
    code made stay in the file and are not used: a design's name does not say how it worked then.

    Parameters
    ----------
    file : Path
        Made where it is missing.
    """

    def __init__(self, file: Path) -> None:
        self.file = file
        self._code = code_digest()
        texts = _read(file)
        try:
            rows = [Row.from_texts(each) for each in texts if each[_CODE] == self._code]
        except (KeyError, ValueError):
            raise _foreign(file) from None
        self._rows = {row.settings: row for row in rows}
        # Written anew, so that the next row does not go on from half of a line.
        file.write_text(_line(_COLUMNS) + "".join(_line(each.values()) for each in texts))

    def get(self, settings: Settings) -> Row | None:
        """Return the row of a cell that was run before."""
        return self._rows.get(settings)

    def add(self, row: Row) -> None:
        """Keep a row."""
        self._rows[row.settings] = row
        with self.file.open("a", encoding="utf-8") as file:
            file.write(_line([*asdict(row).values(), self._code]))


@cache
def code_digest() -> str:
    """Return what changes whenever the code does that decides how an evaluation goes.

    Read once: what a process has loaded does not change when its files do.
    """
    package = files("assay")
    sources = [each for each in package.joinpath("core").iterdir() if each.name.endswith(".py")]
    replays = ("replay.py", "joint_replay.py", "names.py")
    sources += [package.joinpath("simulation", name) for name in replays]
    digest = blake2b(digest_size=6)
    for source in sorted(sources, key=str):
        digest.update(source.read_bytes())
    return digest.hexdigest()


def _read(file: Path) -> list[dict[str, str]]:
    """Return the lines that are whole."""
    if not file.exists():
        return []
    head, _, rest = file.read_text(encoding="utf-8").partition("\n")
    if head + "\n" != _line(_COLUMNS):
        raise _foreign(file)
    whole = rest[: rest.rfind("\n") + 1]
    lines = list(csv.reader(StringIO(whole)))
    if any(len(line) != len(_COLUMNS) for line in lines):
        raise _foreign(file)
    return [dict(zip(_COLUMNS, line, strict=True)) for line in lines]


def _foreign(file: Path) -> InputError:
    return InputError(
        f"{file} is not what this version's coverage study writes",
        hint="choose another folder, or move the file away",
    )


def _line(values: Iterable[object]) -> str:
    text = StringIO()
    csv.writer(text, lineterminator="\n").writerow(values)
    return text.getvalue()
