from itertools import pairwise

import numpy as np
import pytest

from assay.core.cells import merge_cells
from assay.errors import InputError


def _random_shares(seed: int, classifiers: int, cells: int) -> dict[int, float]:
    rng = np.random.default_rng(seed)
    codes = rng.choice(2**classifiers, cells, replace=False).tolist()
    items = rng.zipf(1.5, cells).clip(max=10**6)
    return dict(zip(codes, (items / items.sum()).tolist(), strict=True))


@pytest.mark.parametrize(("classifiers", "cells"), [(3, 8), (6, 60), (12, 900), (20, 5_000)])
def test_the_rule_keeps_its_promises(classifiers: int, cells: int) -> None:
    for seed in range(20):
        shares = _random_shares(seed, classifiers, cells)
        heaps = merge_cells(shares)
        assert sorted(code for heap in heaps for code in heap) == sorted(shares)  # a partition
        assert all(list(heap) == sorted(heap) for heap in heaps)
        assert len(heaps) <= 24 + 8

        largest = sorted(shares.values(), reverse=True)[:24]
        alone = {heap[0] for heap in heaps if len(heap) == 1}
        clearly_large = {c for c in shares if shares[c] >= 0.005 and shares[c] > largest[-1]}
        assert clearly_large <= alone

        merged = [heap for heap in heaps if len(heap) > 1]
        for before, after in pairwise(merged):
            assert max(c.bit_count() for c in before) <= min(c.bit_count() for c in after)
        if len(merged) > 1:
            assert all(sum(shares[code] for code in heap) >= 0.005 for heap in merged)


def test_the_order_in_which_cells_are_given_does_not_matter() -> None:
    shares = _random_shares(3, 10, 500)
    shuffled = np.random.default_rng(4).permutation(list(shares)).tolist()
    assert merge_cells({code: shares[code] for code in shuffled}) == merge_cells(shares)


def test_neighbours_by_the_number_of_yes_are_put_together() -> None:
    # Sixteen cells alike, none of which may stand alone: heaps of two, by number of yes.
    heaps = merge_cells(dict.fromkeys(range(16), 1 / 16), most=0, least=0)
    assert heaps == [(0, 1), (2, 4), (3, 8), (5, 6), (9, 10), (7, 12), (11, 13), (14, 15)]


def test_a_last_heap_that_is_not_full_joins_the_one_before() -> None:
    assert merge_cells({1: 0.49, 2: 0.49, 4: 0.02}, most=0, least=0.5) == [(1, 2, 4)]
    assert merge_cells({1: 0.5, 2: 0.49, 4: 0.01}, most=0, least=0.5) == [(1,), (2, 4)]


def test_small_cells_beside_large_ones() -> None:
    assert merge_cells({0: 0.99, 3: 0.004, 1: 0.004, 2: 0.002}) == [(0,), (1, 2, 3)]
    assert merge_cells({5: 1.0}) == [(5,)]


@pytest.mark.parametrize(
    ("shares", "options", "said"),
    [
        ({}, {}, "no cells"),
        ({-1: 0.3}, {}, "cell -1 has a share of 0.3"),
        ({1: 0.0}, {}, "cell 1 has a share of 0.0"),
        ({1: float("nan")}, {}, "cell 1 has a share of nan"),
        ({1: 1.0}, {"most": -1}, "most is -1"),
        ({1: 1.0}, {"least": float("nan")}, "least nan"),
    ],
)
def test_what_cannot_be_merged(
    shares: dict[int, float], options: dict[str, int], said: str
) -> None:
    with pytest.raises(InputError, match=said):
        merge_cells(shares, **options)
