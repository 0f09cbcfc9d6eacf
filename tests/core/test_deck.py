"""The deck: its definition, and that its orders are as good as random."""

import numpy as np
import pytest
from scipy import stats

from assay.core.deck import MULTIPLIER, Id, digest, key, mix, number, numbers
from assay.core.types import Ints
from assay.errors import InputError, PredictionsError

# python -c "from assay.core.deck import number; print(number(ID, SEED))"
# They are permanent: where one differs, the code is wrong and not this list.
GOLDEN: list[tuple[int, Id, int]] = [
    (0, 0, 427218661838902989),
    (0, 1, 5394614467671444525),
    (0, -1, 8703189649738315664),
    (1, 7, 12798019467750399265),
    (1, "7", 17733975735935040879),
    (1, 2**63 - 1, 10067345186189510543),
    (1, -(2**63), 15946831873845323396),
    (1, 2**64 - 1, 14005017624208757298),
    (7, "", 16005273606965583301),
    (7, "007", 4753287446296910586),
    (7, "NA", 15329766417940320346),
    (7, "東京", 2944380705808506002),
    (2**63 - 1, 42, 10903336778791202283),
    (2**63 - 1, "👩‍🔬", 6608671515344193164),
]


@pytest.mark.parametrize(("seed", "id", "expected"), GOLDEN)
def test_numbers_never_change(seed: int, id: Id, expected: int) -> None:
    assert number(id, seed) == expected
    assert numbers([id], seed).tolist() == [expected]


def test_keys_are_those_of_another_program() -> None:
    # printf 'assay-deck-1:SEED' | b2sum --length=64
    for seed, b2sum in [(0, "f3d7504eab3194d8"), (2**63 - 1, "039477b80bd25e01")]:
        assert key(seed).to_bytes(8, "little").hex() == b2sum


def test_digests_of_strings_are_those_of_another_program() -> None:
    # printf 'ID' | sha256sum | head --bytes=16
    sha256sum = {"": "e3b0c44298fc1c14", "NA": "20ef0f0c8d0eea98", "東京": "130016b2599bf7e5"}
    assert digest(list(sha256sum)).tolist() == [int(hex, 16) for hex in sha256sum.values()]


def test_mix_is_undone_by_its_published_inverse() -> None:
    """``unhash`` of degski64: the same steps with the inverse of the multiplier."""
    inverse, half = 0xCFEE444D8B59A89B, np.uint64(32)
    assert inverse * MULTIPLIER % 2**64 == 1
    words = np.random.default_rng(1).integers(0, 2**64 - 1, 10_000, dtype=np.uint64, endpoint=True)
    undone = mix(words)
    undone = (undone ^ undone >> half) * np.uint64(inverse)
    undone = (undone ^ undone >> half) * np.uint64(inverse)
    undone = undone ^ undone >> half
    np.testing.assert_array_equal(undone, words)
    assert mix(np.zeros(1, dtype=np.uint64)) == 0


def test_mix_leaves_its_words_alone_and_takes_any_shape() -> None:
    words = np.arange(6, dtype=np.uint64)
    mixed = mix(words)
    np.testing.assert_array_equal(words, np.arange(6))
    np.testing.assert_array_equal(mix(words.reshape(2, 3)), mixed.reshape(2, 3))
    assert mix(np.array(5, dtype=np.uint64)) == mixed[5]
    assert mix(words[:0]).size == 0


INTEGERS = [0, 1, -1, 127, -128, 2**31, -(2**31), 2**32, 2**63 - 1, -(2**63)]
STRINGS = ["", " ", "7", "007", "NA", "naïve", "東京", "👩‍🔬", "it's", 'say "yes"', "a\0b"]


@pytest.mark.parametrize(
    "ids",
    [
        np.array(INTEGERS),
        np.array([0, 2**63, 2**64 - 1], dtype=np.uint64),
        np.array([-128, -1, 0, 127], dtype=np.int8),
        np.array([-1, 0, 1], dtype=">i4"),
        np.arange(20)[::-3],
        np.array([7, "7"], dtype=object),
        np.array(["007", "東京"]),
        np.array([], dtype=np.int64),
    ],
    ids=lambda ids: str(ids.dtype),
)
def test_an_array_has_the_numbers_of_its_ids(ids: Ints) -> None:
    assert numbers(ids, 3).tolist() == [number(id, 3) for id in ids.tolist()]


@pytest.mark.parametrize("ids", [INTEGERS, STRINGS, [7, "7"], (7,), []])
def test_a_sequence_has_the_numbers_of_its_ids(ids: list[Id]) -> None:
    many = numbers(ids, 3)
    assert many.dtype == np.uint64
    assert many.tolist() == [number(id, 3) for id in ids]


@pytest.mark.parametrize("ids", [np.arange(20_000), [f"item-{i}" for i in range(20_000)]])
def test_orders_are_as_good_as_random(ids: Ints | list[Id]) -> None:
    """With fixed seeds; with others a perfect shuffle would fail with a probability below 1e-6.

    Samples of 1,000 by a pair of seeds share as many items as independent ones do, and counts in
    500 equal parts of the range vary as chance makes them: no more, no less.
    """
    for seed in range(20):
        orders = [numbers(ids, each) for each in (seed, seed + 1)]
        first, second = (np.argsort(order)[:1000] for order in orders)
        shared = np.intersect1d(first, second).size
        chance = stats.hypergeom(20_000, 1000, 1000)
        assert min(chance.cdf(shared), chance.sf(shared - 1)) > 1e-8
        counts = np.bincount((orders[0] >> np.uint64(32)) * np.uint64(500) >> np.uint64(32))
        assert counts.size == 500
        assert 1e-8 < stats.chisquare(counts).pvalue < 1 - 1e-8


# What cannot be used


@pytest.mark.parametrize("seed", [-1, 2**63, True, 1.0, "1", None, np.int64(1)])
def test_a_bad_seed_is_refused(seed: int) -> None:
    with pytest.raises(InputError, match="0 to 2\\^63 - 1"):
        number(7, seed)
    with pytest.raises(InputError, match="0 to 2\\^63 - 1"):
        numbers([7], seed)


@pytest.mark.parametrize(
    ("id", "said"),
    [
        (None, "id None is of type NoneType"),
        (7.0, "id 7.0 is of type float"),
        (True, "id True is of type bool"),
        (b"7", "id b'7' is of type bytes"),
        (2**64, "id 18446744073709551616 does not fit in 64 bits"),
        (-(2**63) - 1, "id -9223372036854775809 does not fit in 64 bits"),
        ("a\udc80", "character 1 is half of a surrogate pair"),
    ],
)
def test_a_bad_id_is_refused(id: Id, said: str) -> None:
    with pytest.raises(PredictionsError, match=said):
        number(id, 1)
    with pytest.raises(PredictionsError, match=said):
        numbers([7, id], 1)
