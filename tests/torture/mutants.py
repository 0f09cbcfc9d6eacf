"""Audit bundles with values changed at random, and sealed again as a forger would."""

import json
import pickle
import random
import re
import resource
import signal
import sqlite3
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Any, NoReturn

import assay
from assay.audit.bundle import packed
from assay.storage import label_link, next_link
from assay.storage.labels import first_link
from tests.audit.zips import STORE, sealed, store_of, stored

Files = dict[str, bytes]

HUGE = (2**31, 10**10, 2**53, 2**60, 2**63 - 1, 2**63, 10**30, 10**400)
ODD = (-1, 0, 1, 2, 7, -(2**63), 1e308, 1e-308, -1.5, 0.5, float("nan"), float("inf"))
OTHER: tuple[Any, ...] = (None, True, "", "x", "9" * 30, "\0", [], {}, [0], {"a": 1}, "é" * 300_000)


def mutant(original: Files, rng: random.Random) -> tuple[str, bytes]:
    """Return what was changed in a bundle, in words, and the bundle."""
    files = dict(original)
    told = []
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        name = rng.choice((*(STORE,) * 14, *("rounds.json", "strata.csv", "cards.csv"), *files))
        if rng.random() < 0.15:
            told.append(_everywhere(files, rng))
        elif name == STORE and rng.random() < 0.9:
            told.append(f"{name}: {_in_store(files, rng)}")
        elif name.endswith(".json"):
            told.append(f"{name}: {_in_document(files, name, rng)}")
        else:
            files[name] = files[name][: rng.randrange(len(files[name]))]
            told.append(f"{name}: cut off")
    if rng.random() < 0.5:
        _chain(files)
    if _rows(files) == _rows(original):  # SQLite counts how often a file was written
        files[STORE] = original[STORE]
    try:
        return "; ".join(told), sealed(files)
    except (ValueError, TypeError, RecursionError):  # the manifest itself cannot be read any more
        return "; ".join(told), packed(files)


def _rows(files: Files) -> list[str]:
    with suppress(sqlite3.Error), store_of(dict(files)) as store:
        return list(store.iterdump())
    return []


MOST_MADE = 10_000_000  # signs: the limit of memory holds for who makes them, too


def _hostile(value: Any, rng: random.Random) -> Any:
    many: Any = [0] * 100_000
    if isinstance(value, str | list) and value:
        times = rng.choice((2, 10_000 if isinstance(value, str) else 1_000))
        many = value * min(times, MOST_MADE // len(value) + 1)
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


_TABLES = (*("campaign",) * 8, *("round",) * 2, "stratum", "item", "label_event")


def _in_store(files: Files, rng: random.Random) -> str:
    """Change a cell, or have a row less; where SQLite refuses the value, another one."""
    what = "unreadable already"
    with suppress(sqlite3.DatabaseError), store_of(files) as store:
        table = rng.choice(_TABLES)
        columns = [name for _, name, *_ in store.execute(f"PRAGMA table_info({table})")]
        rows = [row for (row,) in store.execute(f"SELECT rowid FROM {table}")]
        if rows and rng.random() < 0.1:
            row = rng.choice(rows)
            store.execute(f"DELETE FROM {table} WHERE rowid = ?", [row])
            return f"{table} {row} deleted"
        for row in rng.choices(rows, k=20 * bool(rows)):
            column = rng.choice((*columns, *(columns[-1:] * 9)))  # the last has most to change
            with suppress(sqlite3.Error, OverflowError):
                ((old,),) = store.execute(f"SELECT {column} FROM {table} WHERE rowid = ?", [row])
                what, new = _in_cell(old, rng)
                store.execute(f"UPDATE {table} SET {column} = ? WHERE rowid = ?", [new, row])
                return f"{table} {row}, {column}: {what}"
    return what


def _in_cell(old: Any, rng: random.Random) -> tuple[str, Any]:
    if isinstance(old, str) and old.startswith(("{", "[")):
        with suppress(ValueError, RecursionError, IndexError):
            document = json.loads(old)
            return _changed(document, rng), _written(document, rng)
    new = _hostile(old, rng)
    new = str(new) if isinstance(new, list | dict) else new
    return repr(new)[:60], new


def _everywhere(files: Files, rng: random.Random) -> str:
    """Change a number wherever it stands, so that files agree with one another."""
    numbers = re.findall(rb"(?<![\w.-])\d+(?![\w.-])", files["settings.json"])
    if not numbers:
        return "no numbers"
    old, new = rng.choice(numbers), str(rng.choice((*HUGE, 0, 1, 3, 100, 10**6))).encode()
    for name in ("settings.json", "strata.csv", "rounds.json"):
        files[name] = re.sub(rb"(?<![\w.-])" + old + rb"(?![\w.-])", new, files[name])
    pattern, number = rf"(?<![\w.-]){old.decode()}(?![\w.-])", new.decode()
    with suppress(sqlite3.DatabaseError), store_of(files) as store:
        store.create_function("changed", 1, lambda text: re.sub(pattern, number, str(text)))
        for table, column in (("campaign", "settings"), ("round", "counts"), ("stratum", "size")):
            with suppress(sqlite3.Error):
                store.execute(f"UPDATE {table} SET {column} = changed({column})")
    return f"{old.decode()} is {new.decode()} everywhere"


def _chain(files: Files) -> None:
    """Make the chains of the log right again, as far as it can be read."""
    with suppress(sqlite3.Error, ValueError, TypeError), store_of(files) as store:
        store.row_factory = sqlite3.Row
        (campaign,) = store.execute("SELECT id, created_at, settings FROM campaign")
        before = first_link(*campaign)
        for row in store.execute(
            "SELECT *, submit_key AS key FROM label_event ORDER BY id"
        ).fetchall():
            truths = {name: bool(row[name]) for name in ("late", "ruling")}
            before = label_link(before, {**dict(row), **truths})
            store.execute("UPDATE label_event SET chain = ? WHERE id = ?", [before, row["id"]])
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
    rounds = json.loads(original["rounds.json"])
    nothing = json.dumps([0] * len(rounds[0]))
    events = "item_id, answer, reviewer, told_at, late, ruling, chain"
    many = "WITH RECURSIVE n (i) AS (VALUES (900) UNION ALL SELECT i + 1 FROM n WHERE i < {})"
    statements = {
        "a stratum's number": "UPDATE campaign SET settings = "
        "replace(settings, '\"owner\": [0', '\"owner\": [10000000000')",
        **{
            f"{draws} draws": f"UPDATE round SET counts = '{json.dumps([draws, *rounds[0][1:]])}'"
            for draws in (10**6, 10**7, 10**15)
        },
        "rounds of nothing": f"{many.format(50_000)} INSERT INTO round "
        f"SELECT 1, i, '{nothing}' FROM n",
        "lists in lists": "UPDATE round SET counts = '[' || replace(hex(zeroblob(20000000)), '00', "
        "'[],') || '0]' WHERE number = 0",
        "settings of lists": "UPDATE campaign SET settings = '[' || "
        "replace(hex(zeroblob(20000000)), '00', '[],') || '0]'",
        **{
            f"{labels} labels alike": f"{many.format(labels)} INSERT INTO label_event "
            f"(campaign_id, {events}) SELECT 1, {events} "
            "FROM n, (SELECT * FROM label_event LIMIT 1)"
            for labels in (2_000, 30_000)
        },
        "many cards alike": f"{many.format(30_000)} INSERT INTO item "
        "SELECT 1, 0, i, i, predicted, shown, weight FROM n, (SELECT * FROM item LIMIT 1)",
    }
    for what, statement in statements.items():
        files = dict(original)
        stored(statement)(files)
        _chain(files)
        yield what, sealed(files)
    lists, objects = f"[{'[],' * 20_000_000}[]]", f"[{'{},' * 20_000_000}[]]"
    for name in ("rounds.json", "report.json", "estimate.json"):
        for content in (lists, objects):
            yield f"{name} of {content[:4]}", sealed({**original, name: content.encode()})
    line, *_ = original["events.jsonl"].splitlines(keepends=True)
    yield "lines alike", sealed({**original, "events.jsonl": line * 30_000})


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
