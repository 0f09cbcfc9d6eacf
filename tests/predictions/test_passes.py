"""Work in threads: every piece is done once, by one worker at a time, and few are held."""

from collections.abc import Iterator
from tempfile import TemporaryFile
from threading import get_ident
from time import sleep

import numpy as np
import pyarrow as pa
import pytest

from assay.core import deck
from assay.predictions import passes
from assay.predictions.batches import in_threads
from assay.predictions.passes import BITS, DIGEST, GIVEN, FirstIds, FirstPass, Judge


class _Worker:
    """Notes what it does, and whether somebody else was there meanwhile."""

    def __init__(self) -> None:
        self.done: list[int] = []
        self.busy: int | None = None

    def __call__(self, piece: int) -> None:
        assert self.busy is None
        self.busy = get_ident()
        sleep(0.0005)
        assert self.busy == get_ident()
        self.done.append(piece)
        self.busy = None


def test_every_piece_is_done_once_and_few_are_held() -> None:
    workers, asked, most = [_Worker() for _ in range(3)], 0, 0

    def pieces() -> Iterator[int]:
        nonlocal asked, most
        for piece in range(200):
            asked += 1
            most = max(most, asked - sum(len(worker.done) for worker in workers))
            yield piece

    in_threads(pieces(), workers)
    assert sorted(piece for worker in workers for piece in worker.done) == list(range(200))
    assert most <= 2 * len(workers)


def test_what_a_worker_raises_is_raised() -> None:
    def refuse(piece: int) -> None:
        if piece == 7:
            raise ValueError(piece)

    with pytest.raises(ValueError, match="7"):
        in_threads(range(100), [refuse, refuse])


@pytest.mark.parametrize("signed", [False, True])
def test_first_cards_are_those_with_low_numbers(*, signed: bool) -> None:
    rng = np.random.default_rng(4)
    ids = rng.integers(-(2**63), 2**63, 40_000) if signed else rng.integers(0, 2**64, 40_000, "u8")
    limit = 2**64 // 50
    some, found = FirstIds(11, limit, signed).places(deck.digest(ids))
    np.testing.assert_array_equal(some, np.flatnonzero(deck.numbers(ids, 11) <= limit))
    np.testing.assert_array_equal(found, ids[some])
    other, _ = FirstIds(12, limit, signed).places(deck.digest(ids))
    assert not np.array_equal(some, other)


@pytest.mark.parametrize("most_bytes", [0, 40_000, 10**9])
def test_rows_are_kept_alike_in_memory_and_in_a_file(
    monkeypatch: pytest.MonkeyPatch, most_bytes: int
) -> None:
    monkeypatch.setattr(passes, "_MOST_BYTES", most_bytes)
    rng = np.random.default_rng(5)
    columns = {
        DIGEST: rng.integers(0, 2**64, 3_000, "u8"),
        "p": rng.random(3_000, np.float32),
        "q": rng.normal(size=3_000),
        BITS: rng.integers(0, 4, 3_000, "u1"),
        GIVEN: rng.integers(0, 5, 3_000).astype(np.float64),
    }
    judges = [Judge("probability", "p", None, 0.5), Judge("margin", "q", None, 0.0)]
    batches = pa.table(columns).to_batches(max_chunksize=1_000)
    with TemporaryFile() as file:
        first = FirstPass(judges, [BITS, GIVEN], file=file, size=3_000, xor=False)
        first.take(batches)
        in_file, kept = file.tell(), list(first.kept())
    assert (in_file == 0) == (most_bytes == 10**9)
    counts = columns[GIVEN] > 0
    order, expected = (np.argsort(each) for each in (_joined(kept, "digest"), columns[DIGEST]))
    expected = expected[counts[expected]]
    for name, values in (("digest", DIGEST), ("bits", BITS), ("weights", GIVEN)):
        np.testing.assert_array_equal(_joined(kept, name)[order], columns[values][expected])
    keys = np.concatenate([each.keys for each in kept], axis=1)[:, order]
    for judge, key in zip(judges, keys, strict=True):
        np.testing.assert_array_equal(key, judge.places(columns, 3_000)[expected])


def _joined(kept: list[passes.Kept], name: str) -> np.ndarray:
    return np.concatenate([getattr(each, name) for each in kept])
