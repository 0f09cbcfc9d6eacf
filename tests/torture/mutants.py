"""Audit bundles with values changed at random, and sealed again as a forger would."""

import csv
import io
import json
import pickle
import random
import re
import resource
import signal
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Any, NoReturn

import assay
from assay.audit.bundle import packed
from assay.storage import next_link
from tests.audit.zips import sealed

Files = dict[str, bytes]

HUGE = (2**31, 10**10, 2**53, 2**60, 2**63 - 1, 2**63, 10**30, 10**400)
ODD = (-1, 0, 1, 2, 7, -(2**63), 1e308, 1e-308, -1.5, 0.5, float("nan"), float("inf"))
OTHER: tuple[Any, ...] = (None, True, "", "x", "9" * 30, "\0", [], {}, [0], {"a": 1}, "é" * 300_000)


def mutant(original: Files, rng: random.Random) -> tuple[str, bytes]:
    """Return what was changed in a bundle, in words, and the bundle."""
    files = dict(original)
    told = []
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        name = rng.choice(
            (*("settings.json",) * 8, *("rounds.json", "strata.csv", "cards.csv") * 2, *files)
        )
        if rng.random() < 0.15:
            told.append(_everywhere(files, rng))
        elif name.endswith(".json"):
            told.append(f"{name}: {_in_document(files, name, rng)}")
        elif name.endswith(".jsonl"):
            told.append(f"{name}: {_in_lines(files, name, rng)}")
        elif name.endswith(".csv"):
            told.append(f"{name}: {_in_table(files, name, rng)}")
        else:
            files[name] = files[name][: rng.randrange(len(files[name]))]
            told.append(f"{name}: cut off")
    if rng.random() < 0.5:
        _chain(files)
    try:
        return "; ".join(told), sealed(files)
    except (ValueError, TypeError, RecursionError):  # the manifest itself cannot be read any more
        return "; ".join(told), packed(files)


def _hostile(value: Any, rng: random.Random) -> Any:
    many: Any = [0] * 100_000
    if isinstance(value, str | list) and value:
        many = value * rng.choice((2, 10_000 if isinstance(value, str) else 1_000))
    elif isinstance(value, int):
        many = value + rng.choice((-1, 1, 10**6))
    pools: tuple[Sequence[Any], ...] = (*(HUGE,) * 4, *(ODD,) * 2, *(OTHER,) * 2, *([many],) * 2)
    return rng.choice(rng.choice(pools))


def _deep(rng: random.Random) -> str:
    depth = rng.choice((900, 5_000, 200_000))
    return rng.choice(("[" * depth + "]" * depth, '{"a":' * depth + "0" + "}" * depth))


_DEEP = '"@@deep@@"'


def _places(document: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    if path:
        yield path
    inside = document.items() if isinstance(document, dict) else enumerate(document)
    for key, each in list(inside):
        if isinstance(each, (dict, list)):
            yield from _places(each, (*path, key))
        else:
            yield (*path, key)


def _changed(document: Any, rng: random.Random) -> str:
    """Change something in a document; return what."""
    # What a bundle was made with may be anything: it is noted, and nothing rests on it.
    *path, last = rng.choice([each for each in _places(document) if "versions" not in each])
    where = document
    for key in path:
        where = where[key]
    what = ".".join(map(str, (*path, last)))
    kind = rng.random()
    if kind < 0.08:
        del where[last]
        return f"{what} deleted"
    if kind < 0.14 and isinstance(where, list):
        where.insert(last, where[last])
        return f"{what} twice"
    if kind < 0.18:
        where[last] = _DEEP.strip('"')
        return f"{what} is deep"
    new = _hostile(where[last], rng)
    where[last] = new
    return f"{what} = {repr(new)[:60]}"


def _written(document: Any, rng: random.Random, **how: Any) -> str:
    text = json.dumps(document, **how)
    if _DEEP in text:
        text = text.replace(_DEEP, _deep(rng), 1)
    if rng.random() < 0.05 and text.startswith("{"):
        text = '{"name": "twice", ' + text[1:]
    return text


def _in_document(files: Files, name: str, rng: random.Random) -> str:
    try:
        document = json.loads(files[name])
        what = _changed(document, rng)
        files[name] = _written(document, rng, indent=1).encode()
    except (ValueError, RecursionError, IndexError):
        return "unreadable already"
    return what


def _in_lines(files: Files, name: str, rng: random.Random) -> str:
    lines = files[name].decode().split("\n")[:-1]
    if not lines:
        return "empty already"
    place = rng.randrange(len(lines))
    if rng.random() < 0.2:
        lines[place:place] = [lines[place]] * rng.choice((1, 1000))
        what = f"line {place} again"
    else:
        try:
            record = json.loads(lines[place])
            what = f"line {place}: {_changed(record, rng)}"
            lines[place] = _written(record, rng)
        except (ValueError, RecursionError, IndexError, TypeError, AttributeError):
            return "unreadable already"
    files[name] = "".join(f"{line}\n" for line in lines).encode()
    return what


def _in_table(files: Files, name: str, rng: random.Random) -> str:
    try:
        rows = list(csv.reader(io.StringIO(files[name].decode(), newline="")))
    except csv.Error:
        return "unreadable already"
    place = rng.randrange(1, len(rows))
    if rng.random() < 0.2:
        rows[place:place] = [list(rows[place])] * rng.choice((1, 1000))
        what = f"row {place} again"
    elif rng.random() < 0.1:
        del rows[place]
        what = f"row {place} deleted"
    else:
        column = rng.randrange(len(rows[place]))
        new = _hostile(rows[place][column], rng)
        rows[place][column] = str(new)
        what = f"row {place}, {rows[0][column]} = {str(new)[:60]}"
    _put(files, name, rows)
    return what


def _put(files: Files, name: str, rows: list[list[str]]) -> None:
    text = io.StringIO(newline="")
    csv.writer(text, lineterminator="\n").writerows(rows)
    files[name] = text.getvalue().encode()


def _everywhere(files: Files, rng: random.Random) -> str:
    """Change a number wherever it stands, so that files agree with one another."""
    numbers = re.findall(rb"(?<![\w.-])\d+(?![\w.-])", files["settings.json"])
    if not numbers:
        return "no numbers"
    old, new = rng.choice(numbers), str(rng.choice((*HUGE, 0, 1, 3, 100, 10**6))).encode()
    for name in ("settings.json", "strata.csv", "rounds.json"):
        files[name] = re.sub(rb"(?<![\w.-])" + old + rb"(?![\w.-])", new, files[name])
    return f"{old.decode()} is {new.decode()} everywhere"


def _chain(files: Files) -> None:
    """Make the chain of the log right again, as far as it can be read."""
    link, lines = "", []
    for line in files["events.jsonl"].decode().split("\n")[:-1]:
        with suppress(ValueError, RecursionError, AttributeError, TypeError):
            told = json.loads(line)
            told.pop("chain", None)
            link = next_link(link, told)
            lines.append(json.dumps({**told, "chain": link}) + "\n")
            continue
        lines.append(f"{line}\n")
    files["events.jsonl"] = "".join(lines).encode()


def bombs(original: Files) -> Iterator[tuple[str, bytes]]:
    """Yield bundles of items with weights, made to take much: by a number, or by what unpacks."""
    settings, rounds = (json.loads(original[f"{name}.json"]) for name in ("settings", "rounds"))
    numbered = json.dumps(settings)
    text = numbered.replace('"owner": [0', '"owner": [10000000000', 1)
    assert text != numbered
    yield "a stratum's number", sealed({**original, "settings.json": text.encode()})
    for draws in (10**6, 10**7, 10**15):
        more = json.dumps([[draws, *counts[1:]] for counts in rounds]).encode()
        yield f"{draws} draws", sealed({**original, "rounds.json": more})
    nothing = json.dumps([0] * len(rounds[0]))
    for what, content in (
        ("lists in lists", f"[{'[],' * 20_000_000}[]]"),
        ("objects", f"[{'{},' * 20_000_000}[]]"),
        ("rounds of nothing", f"[{f'{nothing},' * 50_000}{nothing}]"),
    ):
        for name in ("rounds.json", "settings.json", "report.json", "estimate.json"):
            yield f"{name} of {what}", sealed({**original, name: content.encode()})
    line, *_ = original["events.jsonl"].splitlines(keepends=True)
    for times in (1_000, 30_000):
        yield f"{times} labels alike", sealed({**original, "events.jsonl": line * times})
    head, card, *_ = original["cards.csv"].splitlines(keepends=True)
    yield "many cards alike", sealed({**original, "cards.csv": head + card * 30_000})


GIGABYTE = 2**30
PATIENCE = 60  # seconds for one of them, on a busy machine


def verify_all(originals: str, told: str, seeds: range, some_bombs: slice) -> None:
    """Verify changed bundles in this process, with a gigabyte more than it has by now.

    What became of each is added to a file: whether there was a finding, or an error in words.
    """
    bundles: dict[str, Files] = pickle.loads(Path(originals).read_bytes())
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    most = pages * resource.getpagesize() + GIGABYTE
    # Made before the limit is set: a forger's memory is their own.
    made = list(islice(bombs(bundles["weighted"]), some_bombs.start, some_bombs.stop))
    resource.setrlimit(resource.RLIMIT_AS, (most + sum(len(each) for _, each in made), -1))
    signal.signal(signal.SIGALRM, _too_long)
    untouched = {name: sealed(files) for name, files in bundles.items()}
    for seed in seeds:
        name = sorted(bundles)[seed % len(bundles)]
        what, content = mutant(bundles[name], random.Random(seed))
        if content != untouched[name]:
            made.append((f"{seed}: {name}: {what}", content))
        while made:
            _verify(*made.pop(), Path(told))


_WRONG = (
    *(ValueError, TypeError, LookupError, ArithmeticError, AttributeError, MemoryError),
    *(RuntimeError, OSError, AssertionError, KeyboardInterrupt),
)


def _verify(what: str, content: bytes, told: Path) -> None:
    path = told.with_suffix(".zip")
    path.write_bytes(content)
    before, became = time.monotonic(), "nothing"
    signal.alarm(PATIENCE)
    try:
        found = assay.verify_bundle(path).findings
        full = any("more memory than there is" in each for each in found)
        became = "memory" if full else "finding" if found else "clean"
    except assay.AssayError:
        became = "error"
    except _WRONG as error:
        became = repr(error)
    signal.alarm(0)
    seconds = time.monotonic() - before
    with told.open("a") as file:
        file.write(json.dumps([what[:300], len(content), became, seconds]) + "\n")


def _too_long(*_: object) -> NoReturn:
    raise KeyboardInterrupt
