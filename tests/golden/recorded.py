"""Recorded results: one JSON file for each part, and the comparison with it."""

import json
import re
from collections.abc import Iterator
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

import assay

PARTS = ("campaigns", "curves", "simulations", "draws", "faults", "errors", "commands", "texts")
BY_ENGINE = ("draws", "faults")
DIGITS = 12
MEMORY = "memory"
_LINE = 96
_NONE = "nothing"
_TEMPORARY = [
    (re.compile(r"20\d\d-\d\d-\d\d[T ]\d\d:\d\d(:\d\d)?(\.\d+)?([+-]\d\d:\d\d|Z| UTC)?"), "TIME"),
    (re.compile(r"20\d\d-\d\d-\d\d"), "DAY"),
    (re.compile(r"\b[0-9a-f]{64}\b"), "DIGEST"),
    (re.compile(r"-?0x[01]\.[0-9a-f]+p[+-]\d+"), "BITS"),  # the last ones differ by processor
]
_RANDOM = re.compile(r"(?<![0-9a-f])[0-9a-f]{32}(?![0-9a-f])")
_TESTS = re.compile(r"/[^\s:'\"]*/pytest-of-[^/]+/pytest-\d+/(popen-gw\d+/)?[^/\s'\"]+")
_STYLE = re.compile(r"<style>.*?</style>", re.DOTALL)
_NUMBER = re.compile(r"-?\d+\.\d{6,}(e-?\d+)?")

recording: set[str] = set()
"""Parts that are being recorded, and not compared."""

seen: dict[str, int] = {}
"""Number of values of each part in this process."""

different: dict[str, list[str]] = {}
"""Differences of each part from what is recorded, in this process."""


class DifferentError(AssertionError):
    """Values differ from the recorded ones."""


def plain(values: Any) -> Any:
    """Values as JSON stores them: numbers to `DIGITS` digits, texts without times and digests."""
    if isinstance(values, dict):
        return {str(name): plain(value) for name, value in values.items()}
    if isinstance(values, np.ndarray | np.generic):
        return plain(values.tolist())
    if isinstance(values, list | tuple):
        return [plain(value) for value in values]
    if isinstance(values, float):
        return float(f"{values:.{DIGITS}g}") if np.isfinite(values) else str(values)
    return steady(values) if isinstance(values, str) else values


def steady(text: str) -> str:
    """The text without version, times, days, digests, bits and digits after the twelfth."""
    text = text.replace(assay.__version__, "VERSION")
    for pattern, name in _TEMPORARY:
        text = pattern.sub(name, text)
    return _NUMBER.sub(lambda found: f"{float(found[0]):.{DIGITS}g}", text)


def without_names(text: str, folder: Path | None = None) -> str:
    """The text without paths of temporary folders, and random names of files and tables."""
    text = text if folder is None else text.replace(str(folder), "FOLDER")
    return _RANDOM.sub("NAME", _TESTS.sub("FOLDER", text))


def digest(text: str, folder: Path) -> str:
    """First half of the SHA-256 digest of a text, without times and the folder's path."""
    for path in (str(folder), str(folder).replace("_", r"\_")):  # Markdown has the second
        text = text.replace(path, "FOLDER")
    text = _STYLE.sub("", text)  # how it looks may change
    return sha256(steady(text).encode()).hexdigest()[:32]


def path_of(part: str) -> Path:
    return Path(__file__).with_name(f"{part}.json")


@cache
def recorded(part: str) -> dict[str, Any]:
    """Values of a part by name. A part that is recorded again starts without any."""
    if not path_of(part).exists() or (part in recording and part not in BY_ENGINE):
        return {}
    values: dict[str, Any] = json.loads(path_of(part).read_text())
    return values


def check(part: str, name: str, values: object, *, engine: str = MEMORY) -> None:
    """Compare values with the recorded ones, or record them if the part is being recorded.

    All engines share the values of memory. If those of an engine differ when they are recorded,
    for example because it refuses the input, they are recorded beside them.
    """
    found, kept = plain(values), recorded(part)
    own = name if engine == MEMORY else f"{name} ({engine})"
    if part in recording:
        kept.pop(own, None)
        if kept.get(name) != found:
            kept[own] = found
    expected = kept.get(own, kept.get(name, _NONE))
    lines = list(differences(expected, found, own))
    seen[part] = seen.get(part, 0) + _count(found)
    different.setdefault(part, []).extend(lines)
    if lines:
        raise DifferentError("\n".join(lines[:20]))


def write(part: str) -> None:
    """Write the values of a part to its file; those of an engine only where they are its own."""
    every = recorded(part)
    kept = {
        name: value for name, value in every.items() if every.get(name.rpartition(" (")[0]) != value
    }
    path_of(part).write_text(_text(kept) + "\n")


def differences(old: Any, new: Any, path: str) -> Iterator[str]:
    """Yield one line for each value that differs: its path, the old and the new value."""
    if isinstance(old, dict) and isinstance(new, dict):
        for name in {**old, **new}:
            yield from differences(old.get(name, _NONE), new.get(name, _NONE), f"{path} / {name}")
    elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        for place, (one, other) in enumerate(zip(old, new, strict=True)):
            yield from differences(one, other, f"{path} / {place}")
    elif old != new:
        yield f"{path}: {_short(old)} -> {_short(new)}"


def _short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 200 else f"{text[:200]}..."


def _count(values: Any) -> int:
    if isinstance(values, dict | list):
        return sum(map(_count, values.values() if isinstance(values, dict) else values))
    return 1


def _text(values: Any, indent: int = 0) -> str:
    """JSON with one line for each short value."""
    line = json.dumps(values, ensure_ascii=False)
    if len(line) <= _LINE or not isinstance(values, dict | list):
        return line
    space = " " * (indent + 1)
    if isinstance(values, dict):
        each = [
            f"{json.dumps(name, ensure_ascii=False)}: {_text(value, indent + 1)}"
            for name, value in values.items()
        ]
    elif any(isinstance(value, dict | list) for value in values):
        each = [_text(value, indent + 1) for value in values]
    else:
        return line
    opening, closing = "{}" if isinstance(values, dict) else "[]"
    lines = f",\n{space}".join(each)
    return f"{opening}\n{space}{lines}\n{' ' * indent}{closing}"
