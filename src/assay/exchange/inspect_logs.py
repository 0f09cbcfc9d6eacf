"""Logs of Inspect: a scorer's values for each sample.

Inspect (https://inspect.aisi.org.uk) writes ``.eval``, a zip of files compressed with Zstandard or
deflate, or one ``.json``. A sample has an id, an epoch and the values of one or several scorers. A
value is C, I, P or N, a word, or a number, and is converted like Inspect's `value_to_float`; P,
which is neither yes nor no, has only a score.
"""

import re
import zipfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from assay.core.types import read_json
from assay.errors import InputError, did_you_mean
from assay.exchange.rows import shorten
from assay.files import Content, Limits, unzip_each

_MOST_FILES, _MOST_VALUES = 200_000, 20_000_000
_LIMITS = Limits()
_VALUES = {"c": ("yes", 1.0), "i": ("no", 0.0), "n": ("no", 0.0), "p": (None, 0.5)}
_SUMMARIES = re.compile(r"_journal/summaries/(\d+)\.json")


@dataclass(frozen=True)
class Scored:
    """One value of a scorer for a sample."""

    where: str
    id: object
    verdict: object
    score: object


@dataclass(frozen=True)
class InspectLog:
    """All values of a scorer in a log; `notes` are caveats."""

    scorer: str
    rows: tuple[Scored, ...]
    notes: tuple[str, ...]


def read_inspect(
    content: Content, document: Mapping[str, Any] | None, scorer: str | None
) -> InspectLog:
    """Values of a scorer in a log.

    `document`: the whole JSON log; None for a zip.
    """
    status, samples = _of_zip(content) if document is None else _of_json(content, document)
    scored: list[tuple[str, object, dict[str, object]]] = []
    for sample in samples:
        if not isinstance(sample, dict) or "id" not in sample:
            raise InputError(f"{content.name} has a sample without an id")
        where, scores = f"sample {shorten(str(sample['id']))}", sample.get("scores")
        _LIMITS.check_field(sample["id"], content.name, where)
        scored.append((where, sample["id"], _values(scores if isinstance(scores, dict) else {})))
    name = _scorer(content, scorer, list(dict.fromkeys(key for *_, each in scored for key in each)))
    rows = tuple(
        Scored(where, item, *_counted(values[name]))
        for where, item, values in scored
        if name in values
    )
    notes = [] if status == "success" else [f"{content.name}: the run ended as {status!r}"]
    if without := len(scored) - len(rows):
        notes.append(f"{content.name}: {without:,} of {len(scored):,} samples have no {name!r}")
    return InspectLog(name, rows, tuple(notes))


def json_document(content: Content, text: str) -> Any:
    """JSON document in a text; raise if it is invalid."""
    try:
        return read_json(text, at_most=_MOST_VALUES)
    except (ValueError, RecursionError) as error:
        why = "it is nested too deeply" if isinstance(error, RecursionError) else str(error)
        raise InputError(f"{content.name} is not JSON: {why}") from None


def _of_json(content: Content, document: Mapping[str, Any]) -> tuple[str, Iterable[Any]]:
    samples = document.get("samples")
    if not isinstance(samples, list):
        raise InputError(
            f"{content.name} is a log of Inspect without samples",
            hint="run it without --no-log-samples",
        )
    return str(document.get("status")), samples


def _of_zip(content: Content) -> tuple[str, Iterable[Any]]:
    """Status of the run, and the samples: from its summaries, or else one by one."""
    names = _names(content)
    if not any(name == "header.json" or name.startswith("_journal/") for name in names):
        raise InputError(
            f"{content.name} is a zip file, but not a log of Inspect",
            details="a log of Inspect contains header.json or _journal, and samples",
        )
    (header,) = _read(content, ["header.json"]) or [{"status": "started"}]
    status = str(header.get("status")) if isinstance(header, dict) else ""
    parts = {int(match[1]): name for name in names if (match := _SUMMARIES.fullmatch(name))}
    summaries = [name for name in names if name == "summaries.json"] or [
        parts[number] for number in sorted(parts)
    ]
    if not summaries:
        return status, _read(content, [name for name in names if _is_sample(name)])
    listed = _read(content, summaries)
    return status, [
        each for part in listed for each in (part if isinstance(part, list) else [part])
    ]


def _is_sample(name: str) -> bool:
    return name.startswith("samples/") and name.endswith(".json")


def _names(content: Content) -> list[str]:
    """Names of a zip's files, each once."""
    names: dict[str, None] = {}

    def look(info: zipfile.ZipInfo) -> bool:
        names[info.filename] = None
        return False

    list(unzip_each(content, look, most_files=_MOST_FILES))
    return list(names)


def _read(content: Content, names: Sequence[str]) -> list[Any]:
    """JSON documents of files in a zip; of a repeated name, the last counts."""
    selected = set(names)

    def is_selected(info: zipfile.ZipInfo) -> bool:
        return info.filename in selected

    last = dict(unzip_each(content, is_selected, most_files=_MOST_FILES, zstd=True))
    present: Iterator[str] = (name for name in names if name in last)
    return [json_document(content, Content(last[name]).text()) for name in present]


def _values(scores: Mapping[str, Any]) -> dict[str, object]:
    """Values of a sample's scorers; several values of one scorer get a name each."""
    values: dict[str, object] = {}
    for name, score in scores.items():
        value = score.get("value") if isinstance(score, dict) else None
        if isinstance(value, dict):
            values |= {f"{name}.{part}": each for part, each in value.items()}
        elif value is not None:
            values[name] = value
    return values


def _scorer(content: Content, scorer: str | None, names: Sequence[str]) -> str:
    if not names:
        raise InputError(f"{content.name} is a log of Inspect without scores")
    if scorer is None and len(names) == 1:
        return names[0]
    if scorer is None or scorer not in names:
        has = "has several scorers" if scorer is None else f"has no scorer {scorer!r}"
        raise InputError(
            f"{content.name} {has}",
            details=f"scorers: {', '.join(names)}",
            hint=did_you_mean(scorer or "", names) or f"name one: scorer={names[0]!r}",
        )
    return scorer


def _counted(value: object) -> tuple[object, object]:
    """Verdict and score of a value; an invalid value is left for the reader to reject.

    >>> _counted("C"), _counted(0.7), _counted(True), _counted("yes"), _counted("P")
    (('yes', 1.0), (None, 0.7), (True, True), ('yes', None), (None, 0.5))
    """
    if isinstance(value, str):
        return _VALUES.get(value.strip().lower()) or _of_word(value)
    if isinstance(value, int | float):
        return (bool(value) if value in (0, 1) else None), value
    return value, None


def _of_word(word: str) -> tuple[object, object]:
    try:
        return _counted(float(word))
    except ValueError:
        return word, None
