"""Judgements of another judge: logs of verdicts and scores, as a table to join to predictions.

Three kinds are supported: JSON lines of any judge, each with an id and a verdict, a score, or both;
tables (CSV, Parquet) with such columns; and logs of Inspect (`exchange.inspect_logs`).

An item judged several times (epochs, several logs) has the majority verdict, none for a tie, and
the mean score.
"""

import io
import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from os import PathLike
from typing import Any, Literal

import pyarrow.parquet as pq

from assay.core.answers import parse_answer, parse_verdict
from assay.core.deck import Id
from assay.core.types import read_json
from assay.errors import InputError, LabelError, counted
from assay.exchange.inspect_logs import Scored, json_document, read_inspect
from assay.exchange.rows import Row, first, records_of, records_of_lines, shorten
from assay.exchange.tables import Sheet, table_records
from assay.files import Content, Limits, is_zip
from assay.results import Backend, frame_of

_LIMITS = Limits(rows=5_000_000)
_LARGEST = 2**63  # of whole numbers in a table
_COLUMNS = ("id", "verdict", "score", "times")

Kind = Literal["jsonl", "table", "inspect"]
_TABLES = (".csv", ".tsv", ".parquet", ".xlsx")


@dataclass(frozen=True)
class Judgement:
    """A judge's verdict on an item."""

    id: Id
    # Majority verdict; None for a tie, or if there is only a score.
    verdict: bool | None
    # Mean of its scores; without scores, of its verdicts as 1 and 0.
    score: float | None
    times: int  # how often it judged the item


@dataclass(frozen=True, eq=False, repr=False)
class Judgements(Sequence[Judgement]):
    """Judgements of items, each once, in the order of the logs."""

    rows: tuple[Judgement, ...]
    scorer: str = ""  # whose values they are, of a log of Inspect; otherwise empty
    notes: tuple[str, ...] = ()  # caveats

    def __getitem__(self, at: Any) -> Any:
        return self.rows[at]

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def verdicts(self) -> dict[str, int]:
        """Number of items with each verdict."""
        words = {True: "yes", False: "no", None: "without"}
        counts = Counter(words[row.verdict] for row in self.rows)
        return {word: counts[word] for word in words.values()}

    def __str__(self) -> str:
        verdicts = self.verdicts
        whose = f" of {self.scorer}" if self.scorer else ""
        line = (
            f"{counted(len(self.rows), 'item')} with judgements{whose}: {verdicts['yes']:,} yes, "
            f"{verdicts['no']:,} no, {verdicts['without']:,} without a verdict"
        )
        return "\n".join([line, *(f"note: {note}" for note in self.notes)])

    __repr__ = __str__

    def to_frame(self, *, backend: Backend = "pandas") -> Any:
        """Judgements as a DataFrame: id, verdict, score, times."""
        whole = all(isinstance(row.id, int) for row in self.rows)
        rows = [{name: getattr(row, name) for name in _COLUMNS} for row in self.rows]
        types = {"id": int if whole else str, "verdict": bool, "score": float, "times": int}
        return frame_of(rows, types, backend=backend)

    def content(self, format: str) -> bytes:
        """Judgements as a file: parquet, csv or jsonl."""
        if format == "parquet":
            file = io.BytesIO()
            pq.write_table(self.to_frame(backend="pyarrow"), file)
            return file.getvalue()
        cells = (tuple(getattr(row, name) for name in _COLUMNS) for row in self.rows)
        sheet = Sheet(_COLUMNS, tuple(cells))
        return sheet.to_csv() if format == "csv" else sheet.to_jsonl()


JUDGEMENT_FORMATS = ("parquet", "csv", "jsonl")
"""File formats of judgements."""


def read_judgements(
    *logs: str | PathLike[str],
    scorer: str | None = None,
    id_column: str = "id",
    verdict_column: str = "verdict",
    score_column: str = "score",
    map: Mapping[str, object] | None = None,
) -> Judgements:
    r"""Read the logs of a judge: JSON lines, tables, or logs of Inspect.

    Parameters
    ----------
    *logs : path
        Files; an item that is in several of them was judged several times.
    scorer : str, optional
        Whose values, where a log of Inspect has several scorers; of a scorer with several values
        ``scorer.value``.
    id_column, verdict_column, score_column : str
        Where JSON lines and tables have them.
    map : mapping of str to answer, optional
        What words mean: ``{"pass": "yes", "fail": "no"}``.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     log = pathlib.Path(folder, "judge.jsonl")
    ...     _ = log.write_text('{"id": 7, "verdict": "yes", "score": 0.9}\n')
    ...     read_judgements(log).rows
    (Judgement(id=7, verdict=True, score=0.9, times=1),)
    """
    if not logs:
        raise InputError("no log is given")
    meaning = {
        str(word).strip().lower(): parse_answer(answer) for word, answer in (map or {}).items()
    }
    verdicts: dict[str, _Verdicts] = {}
    notes, scorers = list[str](), set[str]()
    for log in logs:
        content = Content(log)
        rows, own_scorer, part_notes = _rows(
            content, scorer, (id_column, verdict_column, score_column)
        )
        _take_all(verdicts, rows, meaning, content.name)
        scorers.add(own_scorer)
        notes += part_notes
    if not verdicts:
        raise InputError(f"no judgements in {', '.join(str(log) for log in logs)}")
    all_integers = all(answer.whole for answer in verdicts.values())  # all ids are texts if any is
    judgements = (
        answer.judgement(int(item) if all_integers else item) for item, answer in verdicts.items()
    )
    return Judgements(
        tuple(judgements), ", ".join(sorted(scorers - {""})), tuple(dict.fromkeys(notes))
    )


@dataclass(slots=True)
class _Verdicts:
    """All verdicts and scores of an item."""

    yes: int = 0
    no: int = 0
    scores: list[float] = field(default_factory=list)
    times: int = 0
    whole: bool = True  # whether its id is a whole number everywhere

    def judgement(self, item: Id) -> Judgement:
        verdict = None if self.yes == self.no else self.yes > self.no
        if self.scores:
            score: float | None = math.fsum(self.scores) / len(self.scores)
        else:
            score = self.yes / (self.yes + self.no) if self.yes + self.no else None
        return Judgement(item, verdict, score, self.times)


def _take_all(
    verdicts: dict[str, _Verdicts],
    records: Iterable[Scored | Row],
    meaning: Mapping[str, object],
    log: str,
) -> None:
    problems = list[str]()
    for record in records:
        try:
            _take(verdicts, record, meaning)
        except LabelError as error:
            problems.append(f"{record.where}: {error.problem}")
    if problems:
        raise InputError(
            f"{counted(len(problems), 'judgement')} of {log} cannot be read",
            details=first(problems),
            hint="give the meaning of words: map={'pass': 'yes', 'fail': 'no'}",
        )


def _take(
    verdicts: dict[str, _Verdicts], record: Scored | Row, meaning: Mapping[str, object]
) -> None:
    if isinstance(record, Row):
        raise LabelError(record.problem)
    item = record.id
    if isinstance(item, bool) or not isinstance(item, int | str) or item == "":
        raise LabelError(f"the id {item!r} is neither a text nor a whole number")
    given = meaning.get(str(record.verdict).strip().lower(), record.verdict)
    verdict, score = parse_verdict(given), _score(record.score)
    tally = verdicts.setdefault(str(item), _Verdicts())
    tally.times += 1
    tally.whole &= isinstance(item, int) and abs(item) < _LARGEST
    tally.yes, tally.no = tally.yes + (verdict is True), tally.no + (verdict is False)
    if score is not None:
        tally.scores.append(score)


def _score(value: object) -> float | None:
    if value is None or (isinstance(value, str) and not value.strip()):
        return None
    try:
        number = float(value) if isinstance(value, str | int | float) else math.inf
    except (ValueError, OverflowError):
        number = math.inf
    if math.isinf(number):
        raise LabelError(f"the score {shorten(repr(value))} is not a number")
    return None if math.isnan(number) else number


def _rows(
    content: Content, scorer: str | None, columns: tuple[str, str, str]
) -> tuple[Iterable[Scored | Row], str, Sequence[str]]:
    """Judgements of a log, their scorer, and notes."""
    kind, document = _kind(content)
    if kind == "inspect":
        log = read_inspect(content, document, scorer)
        return log.rows, log.scorer, log.notes
    if scorer is not None:
        raise InputError(
            f"scorer={scorer!r} applies only to logs of Inspect, and {content.name} has "
            f"{'JSON lines' if kind == 'jsonl' else 'a table'}",
            hint="name the columns instead: verdict_column=, score_column=",
        )
    return _lines(content, columns, kind), "", ()


def _kind(content: Content) -> tuple[Kind, dict[str, Any] | None]:
    """Kind of a log; of a JSON log of Inspect, also the whole document."""
    if content.suffix in _TABLES:
        return "table", None
    if is_zip(content):
        return "inspect", None
    text = content.text().lstrip()
    if not text.startswith("{"):
        if text.startswith("["):
            return "jsonl", None
        begins = shorten(text.split("\n", 1)[0])
        raise InputError(
            f"{content.name} is not a log of a judge: it begins with {begins!r}",
            details="expected JSON lines with an id and a verdict or score; a table, "
            f"{', '.join(_TABLES)}; or a log of Inspect, .eval or .json",
            hint="if it is a table, give it one of these suffixes",
        )
    line = text.split("\n", 1)[0]
    try:
        whole = read_json(line)  # one line that is an object is of JSON lines, or all there is
    except (ValueError, RecursionError):
        if re.match(r"\{\s*\n", text) is None:  # an invalid line is reported with its number
            return "jsonl", None
        whole = json_document(content, text)
    if isinstance(whole, dict) and "eval" in whole and "id" not in whole:
        return "inspect", whole
    return "jsonl", None


def _lines(content: Content, columns: tuple[str, str, str], kind: Kind) -> Iterator[Scored | Row]:
    item, verdict, score = columns
    lines: Iterable[tuple[str, dict[str, Any]] | Row]
    if kind == "table":
        lines = table_records(content, _LIMITS)
    elif content.text().lstrip().startswith("["):
        lines = records_of(content, _LIMITS, "row")
    else:
        lines = records_of_lines(content, _LIMITS)
    for line in lines:
        if isinstance(line, Row):
            yield line
            continue
        where, record = line
        names = ", ".join(map(repr, list(record)[:10])) or "nothing"
        if item not in record:
            yield Row(where, problem=f"{item!r} is missing; it has {names}")
        elif verdict not in record and score not in record:
            yield Row(where, problem=f"both {verdict!r} and {score!r} are missing; it has {names}")
        else:
            yield Scored(where, record[item], record.get(verdict), record.get(score))
