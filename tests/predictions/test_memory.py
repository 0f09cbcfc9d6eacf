import numpy as np
import pyarrow as pa

from assay.core import deck
from assay.core.types import Ints, Words
from assay.predictions.column import Ids
from assay.predictions.draw import first_cards


def test_many_strings_are_digested_in_duckdb_to_the_same_words() -> None:
    texts = [f"https://example.com/ü/{number}" for number in range(25_000)]
    texts[:6] = ["", "007", "NA", "a\0b", "🂡", 'it\'s "quoted"']
    ids = Ids(pa.array(texts, pa.large_string()))
    assert (ids.digest == deck.digest(texts)).all()


def _all_sorted(number: Words, stratum: Ints, counts: Ints) -> list[list[int]]:
    """Sort every deck in full: what `first_cards` must agree with."""
    decks = []
    for h, count in enumerate(counts):
        members = [place for place in range(number.size) if stratum[place] == h]
        decks.append(sorted(members, key=lambda place: int(number[place]))[:count])
    return decks


def _dealt(number: Words, stratum: Ints, counts: Ints) -> list[list[int]]:
    sizes = np.bincount(stratum, minlength=counts.size)
    cards = first_cards(number, stratum, counts, sizes, lambda at: [b""] * at.size)
    return [deck.tolist() for deck in cards]


def test_agrees_with_sorting_every_deck() -> None:
    for seed in range(20):
        rng = np.random.default_rng(seed)
        number = rng.integers(0, 2**64, 5_000, dtype=np.uint64)
        stratum = np.concatenate([np.arange(4), rng.choice(4, 4_996, p=[0.9, 0.08, 0.01, 0.01])])
        counts = np.array([30, 300, 0, 10_000])
        assert _dealt(number, stratum, counts) == _all_sorted(number, stratum, counts)


def test_numbers_that_all_lie_high_are_found_in_further_tries() -> None:
    rng = np.random.default_rng(1)
    number = 2**64 - 1 - rng.integers(0, 2**40, 20_000, dtype=np.uint64)
    stratum = np.arange(20_000) % 2
    counts = np.array([5, 500])
    assert _dealt(number, stratum, counts) == _all_sorted(number, stratum, counts)


def test_equal_numbers_are_ordered_by_the_bytes_of_the_id_before_the_deck_is_cut() -> None:
    ids = ["é", "z", "Z", "a"]
    number = np.array([5, 5, 5, 1], dtype=np.uint64)
    cards = first_cards(
        number,
        stratum=np.zeros(4, dtype=np.int64),
        counts=np.array([3]),
        sizes=np.array([4]),
        utf8=lambda at: [ids[place].encode() for place in at],
    )
    assert [ids[place] for place in cards[0]] == ["a", "Z", "z"]


def test_the_smallest_and_the_largest_number_are_dealt() -> None:
    number = np.array([2**64 - 1, 0], dtype=np.uint64)
    assert _dealt(number, np.array([0, 0]), np.array([2])) == [[1, 0]]
