"""A report with a hostile text in every place where there is a text."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass, replace
from itertools import cycle
from typing import Any, TypeVar

from assay.report.report import Report
from assay.results.slices import SliceRow, Slices

T = TypeVar("T")


def poisoned(report: Report, texts: Sequence[str]) -> Report:
    """Return a report whose every text is a hostile one, taken in turn."""
    row = SliceRow("de", 0.5, 0.4, 0.6, 0.05, 9, 9, 9.0, 0.1, 0, "few")
    sliced = Slices("lang", "f1", 0.95, simultaneous=False, rows=(row, row), notes=("each",))
    return Report(_poison(replace(report.facts, slices=(sliced,)), cycle(texts)))


def _poison(value: T, texts: Iterator[str]) -> T:
    made: Any = value
    if is_dataclass(made) and not isinstance(made, type):
        made = replace(
            made, **{each.name: _poison(getattr(made, each.name), texts) for each in fields(made)}
        )
    elif isinstance(made, str):
        made = next(texts)
    elif isinstance(made, tuple | list):
        made = type(made)(_poison(each, texts) for each in made)
    elif isinstance(made, Mapping):
        made = {key: _poison(each, texts) for key, each in made.items()}
    result: T = made
    return result
