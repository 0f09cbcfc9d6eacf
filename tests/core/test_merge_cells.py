import time
from itertools import pairwise

import numpy as np
import pytest

from assay.core.merge_cells import merge_cells
from assay.errors import InputError


def _random_cells(seed: int, classifiers: int, cells: int) -> dict[int, int]:
    rng = np.random.default_rng(seed)
    codes = rng.choice(2**classifiers, cells, replace=False).tolist()
    items = rng.zipf(1.5, cells).clip(max=10**6).tolist()
    return dict(zip(codes, items, strict=True))


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize(("classifiers", "cells"), [(3, 8), (6, 60), (12, 900), (20, 5_000)])
def test_the_rule_keeps_its_promises(seed: int, classifiers: int, cells: int) -> None:
    held = _random_cells(seed, classifiers, cells)
    heaps = merge_cells(held)
    assert sorted(code for heap in heaps for code in heap) == sorted(held)  # a partition
    assert all(list(heap) == sorted(heap) for heap in heaps)
    assert len(heaps) <= 24 + 8

    total = sum(held.values())
    largest = sorted(held.values(), reverse=True)[:24]
    alone = {heap[0] for heap in heaps if len(heap) == 1}
    clearly_large = {c for c in held if held[c] >= total / 200 and held[c] > largest[-1]}
    assert clearly_large <= alone

    merged = [heap for heap in heaps if len(heap) > 1]
    for before, after in pairwise(merged):
        assert max(c.bit_count() for c in before) <= min(c.bit_count() for c in after)
    if len(merged) > 1:
        assert all(sum(held[code] for code in heap) >= total / 200 for heap in merged)


def test_the_order_in_which_cells_are_given_does_not_matter() -> None:
    held = _random_cells(3, 10, 500)
    shuffled = np.random.default_rng(4).permutation(list(held)).tolist()
    assert merge_cells({code: held[code] for code in shuffled}) == merge_cells(held)


def test_neighbours_by_the_number_of_yes_are_put_together() -> None:
    # Sixteen cells of one item, none of which may stand alone: heaps of two, by number of yes.
    heaps = merge_cells(dict.fromkeys(range(16), 1), most=0, least_share=0)
    assert heaps == [(0, 1), (2, 4), (3, 8), (5, 6), (9, 10), (7, 12), (11, 13), (14, 15)]


def test_a_last_heap_that_is_not_full_joins_the_one_before() -> None:
    assert merge_cells({1: 50, 2: 50, 4: 1}, most=0, least_share=0.5) == [(1, 2, 4)]
    assert merge_cells({1: 51, 2: 50, 4: 1}, most=0, least_share=0.5) == [(1,), (2, 4)]


def test_small_cells_beside_large_ones() -> None:
    assert merge_cells({0: 990, 3: 4, 1: 4, 2: 2}) == [(0,), (1, 2, 3)]
    assert merge_cells({5: 1}) == [(5,)]


def test_five_thousand_cells_take_no_time() -> None:
    held = _random_cells(5, 20, 5_000)
    start = time.perf_counter()
    merge_cells(held)
    assert time.perf_counter() - start < 1.0


@pytest.mark.parametrize(
    ("cells", "options", "said"),
    [
        ({}, {}, "no cells"),
        ({-1: 3}, {}, "cell -1 holds 3"),
        ({1: 0}, {}, "cell 1 holds 0"),
        ({1: 1}, {"most": -1}, "most is -1"),
        ({1: 1}, {"least_share": float("nan")}, "least_share nan"),
    ],
)
def test_what_cannot_be_merged(cells: dict[int, int], options: dict[str, int], said: str) -> None:
    with pytest.raises(InputError, match=said):
        merge_cells(cells, **options)
