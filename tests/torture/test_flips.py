"""Flipped bits and changed values: an error of Assay's own or a finding comes of it.

What SQLite itself calls damaged is called so, and a label that is not what it was breaks the chain.
"""

import json
import pickle
import random
import re
import sqlite3
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import assay
from assay.errors import AssayError
from assay.storage import open_store
from tests.audit.zips import members
from tests.kinds import KINDS, followed, revised, weighted
from tests.torture.campaigns import make_campaign, truth
from tests.torture.mutants import verify_all
from tests.torture.processes import begin
from tests.torture.sizes import FULL, report, sized

FLIPS = sized(10, 1_000)
FIRST_PAGES = 8192  # bytes: the tables' definitions, and what is fixed of the campaign


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """Return the bytes of a small storage."""
    path = tmp_path_factory.mktemp("flips") / "original.db"
    campaign = make_campaign(f"sqlite:///{path}", items=60)
    for item in campaign.review([], reviewer="ann", want=25).items:
        label = assay.Label(str(item.id), truth(str(item.id)), key=f"key of {item.id}")
        campaign.review([label], reviewer="ann", want=0)
    campaign.desk.store.close()
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA journal_mode=DELETE")  # the log's pages into the file
    connection.close()
    return path.read_bytes()


def anywhere(data: bytes, rng: random.Random) -> int:
    return rng.randrange(len(data))


def first_pages(_data: bytes, rng: random.Random) -> int:
    return rng.randrange(FIRST_PAGES)


def label_bytes(data: bytes, rng: random.Random) -> int:
    """Return a place near what a label says."""
    return rng.choice([found.start() for found in re.finditer(b"key of m", data)]) - rng.randrange(
        60
    )


def by_sqlite(path: Path) -> tuple[bool, list[Any] | None]:
    """Return whether SQLite itself finds a file whole, and the labels that it reads in it."""
    connection = sqlite3.connect(path)
    try:
        whole = connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        log = "SELECT * FROM label_event NOT INDEXED ORDER BY id"
        rows = connection.execute(log).fetchall()
        # A flag of no length, be it a text or bytes, is the same flag: false.
        return whole, [[*row[:7], *map(bool, row[7:9]), *row[9:]] for row in rows]
    except (sqlite3.Error, UnicodeDecodeError):
        return False, None
    finally:
        connection.close()


def verified(path: Path) -> str:
    try:
        found = assay.verify_campaign("spam", storage=f"sqlite:///{path}")
    except AssayError as error:
        assert error.hint
        return "told"
    if found.clean:
        return "clean"
    return "damaged" if found.findings[0].startswith("the database is whole") else "found"


def flipped(
    original: bytes, folder: Path, place: Callable[[bytes, random.Random], int]
) -> Counter[tuple[bool, bool, str]]:
    """Return how many files were whole, had other labels, and what verify said of them."""
    told: Counter[tuple[bool, bool, str]] = Counter()
    rng = random.Random(18)
    (folder / "as it was.db").write_bytes(original)
    _, labels = by_sqlite(folder / "as it was.db")
    assert labels
    for number in range(FLIPS):
        changed = bytearray(original)
        changed[place(original, rng)] ^= 1 << rng.randrange(8)
        path = folder / f"{number}.db"
        path.write_bytes(changed)
        whole, read = by_sqlite(path)
        path.write_bytes(changed)
        told[whole, read is not None and read != labels, verified(path)] += 1
        for file in folder.glob(f"{number}.db*"):
            file.unlink()
    return told


@pytest.mark.parametrize("place", [anywhere, first_pages, label_bytes])
def test_whatever_bit_is_flipped(
    original: bytes, tmp_path: Path, place: Callable[[bytes, random.Random], int]
) -> None:
    told = flipped(original, tmp_path, place)
    damaged = {said: n for (whole, _, said), n in told.items() if not whole}
    changed = {said: n for (whole, other, said), n in told.items() if whole and other}
    clean = sum(n for (_, _, said), n in told.items() if said == "clean")
    report(
        f"{place.__name__}: {FLIPS:,} flips, no traceback; {sum(damaged.values()):,} damaged by "
        f"SQLite's own check, {damaged.get('clean', 0)} of them missed; {sum(changed.values()):,} "
        f"with other labels, {changed.get('clean', 0)} of them missed; {clean:,} files clean"
    )
    assert set(damaged) <= {"damaged", "told"}
    assert set(changed) <= {"found", "told"}
    if place is label_bytes:
        assert sum(changed.values()) > FLIPS / 3


MUTANTS = sized(45, 2_000)
BOMBS = slice(0, sized(2, 1_000))


@pytest.mark.filterwarnings("ignore::assay.AssayWarning")
def test_resealed_bundles_end_with_a_finding_or_an_error(tmp_path: Path) -> None:
    originals = {}
    for kind in KINDS if FULL else (followed, revised, weighted):
        url = f"sqlite:///{tmp_path / kind.__name__}.db"
        kind(url)
        with open_store(url).read() as session:
            *_, name = session.names()
        assay.load_campaign(name, storage=url).bundle(tmp_path / "audit.zip")
        originals[kind.__name__] = members(tmp_path / "audit.zip")
    pickled, told = tmp_path / "originals", tmp_path / "told"
    pickled.write_bytes(pickle.dumps(originals))
    process = begin(verify_all, str(pickled), str(told), range(MUTANTS), BOMBS)
    process.join()
    every = [json.loads(line) for line in told.read_text().splitlines()]
    became = Counter(each for _, _, each, _ in every)
    slowest = max(every, key=lambda each: each[-1])
    report(f"{len(every):,} sealed bundles: {dict(became)}; the slowest {slowest}")
    assert process.exitcode == 0
    assert set(became) <= {"finding", "error"}, [
        each for each in every if each[2] not in ("finding", "error")
    ]
    assert len(every) > 0.9 * MUTANTS
