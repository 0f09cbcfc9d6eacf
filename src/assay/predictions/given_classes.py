"""Classes as they are given: names, with guidelines and aliases, or a file of them."""

import csv
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from assay.core.types import read_json
from assay.core.vocabulary import Vocabulary
from assay.errors import InputError, did_you_mean
from assay.predictions.class_values import class_text
from assay.predictions.column import refuse_missing_columns
from assay.predictions.columns import Given

_OPTIONS = ("aliases", "guideline")


def read_given(given: Given) -> Vocabulary:
    """Return classes from what is given for them.

    >>> topics = read_given({"math": "proofs", "physics": {"aliases": ["phys"]}})
    >>> topics.names, dict(topics.aliases), dict(topics.guidelines)
    (('math', 'physics'), {'phys': 'physics'}, {'math': 'proofs'})
    """
    if isinstance(given, Vocabulary):
        return given
    if isinstance(given, str | os.PathLike):
        return _from_file(Path(given))
    if isinstance(given, Mapping):
        return _from_mapping(given)
    if hasattr(given, "tolist"):
        given = given.tolist()
    if not isinstance(given, list | tuple):
        raise InputError(
            f"classes are of type {type(given).__name__}",
            details="they are a list of names, a mapping of names to guidelines, or a path",
        )
    return Vocabulary(tuple(map(class_text, given)))


def _from_mapping(given: Mapping[Any, object]) -> Vocabulary:
    names, aliases, guidelines = [], dict[str, str](), dict[str, str]()
    for key, value in given.items():
        name = class_text(key)
        names.append(name)
        told = {"guideline": value} if isinstance(value, str | None) else value
        if not isinstance(told, Mapping):
            raise InputError(
                f"class {name!r} is told of by {told!r}, of type {type(told).__name__}",
                details=f"it is a guideline, or a mapping of some of {', '.join(_OPTIONS)}",
            )
        for option in told:
            if option not in _OPTIONS:
                raise InputError(
                    f"class {name!r} has an unknown option {option!r}",
                    details=f"options: {', '.join(_OPTIONS)}",
                    hint=did_you_mean(str(option), _OPTIONS),
                )
        others = told.get("aliases") or ()
        for alias in others.split("|") if isinstance(others, str) else others:
            word = class_text(alias)
            if aliases.setdefault(word, name) != name:
                raise InputError(
                    f"{word!r} is an alias of {aliases[word]!r} and of {name!r}",
                    details="a word stands for one class",
                )
        if guideline := str(told.get("guideline") or "").strip():
            guidelines[name] = guideline
    return Vocabulary(tuple(names), aliases, guidelines)


def _from_file(path: Path) -> Vocabulary:
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(
            f"the classes cannot be read from {path}",
            details=str(error),
            hint="give a file of JSON, CSV or TSV; or the names in a list",
        ) from error
    ending = path.suffix.lower()
    if ending in (".csv", ".tsv"):
        return _from_lines(text, "\t" if ending == ".tsv" else ",", path)
    try:
        found = read_json(text)
    except ValueError as error:
        raise InputError(
            f"{path} is no JSON",
            details=str(error),
            hint="a list of names, or an object of names with guidelines; tables end in .csv",
        ) from error
    if not isinstance(found, list | dict):
        raise InputError(f"{path} holds neither a list of names nor an object of them")
    return read_given(found)


def _from_lines(text: str, separator: str, path: Path) -> Vocabulary:
    rows = csv.DictReader(text.splitlines(), delimiter=separator)
    refuse_missing_columns(["name"], list(rows.fieldnames or ()), str(path))
    found: dict[str, dict[str, str]] = {}
    for row in rows:
        name = class_text(row["name"])
        if name in found:
            raise InputError(
                f"class {name!r} is in {path} twice", details=f"line {rows.line_num} repeats it"
            )
        found[name] = {option: row.get(option) or "" for option in _OPTIONS}
    return _from_mapping(found)
