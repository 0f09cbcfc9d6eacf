"""Cells of mean rank and code: the same however they are counted."""

import numpy as np
import pytest

from assay.core.bins import bins_of
from assay.core.profile import ScoreCells
from assay.core.types import Floats, Ints, Words
from assay.predictions.code_cells import cells_by_code, find_cells

SIZE = 40_000
RNG = np.random.default_rng(81)
RANKS: Floats = RNG.random(SIZE).round(3)
DIGEST: Words = RNG.integers(0, 2**64, SIZE, dtype=np.uint64)


def _plain(ranks: Floats, codes: Ints, digest: Words) -> dict[tuple[int, int], list[float]]:
    """Return by bin and code the number, the ends and the sum of digests."""
    found: dict[tuple[int, int], list[float]] = {}
    keys = zip(bins_of(ranks, "probability").tolist(), codes.tolist(), strict=True)
    for key, rank, word in zip(keys, ranks.tolist(), digest.tolist(), strict=True):
        number, low, high, total = found.get(key, [0, rank, rank, 0])
        found[key] = [number + 1, min(low, rank), max(high, rank), (int(total) + word) % 2**64]
    return found


def _told(cells: ScoreCells, codes: Ints | None) -> dict[tuple[int, int], list[float]]:
    said = cells.said.astype(np.int64)
    keys = zip(cells.bin.tolist(), (said if codes is None else codes[said]).tolist(), strict=True)
    values = zip(
        *(cells.count.tolist(), cells.low.tolist(), cells.high.tolist(), cells.digest.tolist()),
        strict=True,
    )
    return {key: list(value) for key, value in zip(keys, values, strict=True)}


@pytest.mark.parametrize("bits", [2, 12, 62])
def test_cells_are_as_defined(bits: int) -> None:
    """With a counter for every cell, with those that occur, and with numbers for codes."""
    codes = RNG.integers(0, 2**bits, 40)[RNG.integers(0, 40, SIZE)]
    cells, kinds = cells_by_code(RANKS, codes, DIGEST, 2**bits)
    assert (kinds is None) == (bits < 62)
    assert _told(cells, kinds) == _plain(RANKS, codes, DIGEST)
    wrong = DIGEST.copy()
    wrong[7] += np.uint64(1)
    assert _told(cells, kinds) != _plain(RANKS, codes, wrong)


def test_every_item_finds_its_cell() -> None:
    codes = RNG.integers(0, 8, SIZE)
    cells, _ = cells_by_code(RANKS, codes, DIGEST, 8)
    at = find_cells(cells, RANKS, codes)
    np.testing.assert_array_equal(cells.said[at], codes)
    np.testing.assert_array_equal(np.bincount(at), cells.count)
    assert (cells.low[at] <= RANKS).all()
    assert (cells.high[at] >= RANKS).all()
