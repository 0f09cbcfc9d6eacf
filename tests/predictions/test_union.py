"""Several parts as one population: whatever is asked, all items in one place answer the same."""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import pytest

from assay.core.bins import Scale
from assay.core.cuts import Variable
from assay.core.deck import number
from assay.core.strata import Strata
from assay.core.stratify import stratify
from assay.core.types import Bools, Floats, Ints
from assay.errors import PredictionsError
from assay.predictions import Card, Predictions, from_arrays
from assay.predictions.contract import joint_fingerprint
from assay.predictions.union import Top, merge, united

SIZE, SEED = 3000, 5
RNG = np.random.default_rng(8)
PROBABILITY = RNG.beta(0.4, 0.6, SIZE)
MARGIN = RNG.normal(0.3, 2.0, SIZE)
PLACE = RNG.integers(0, 3, SIZE)  # which part an item is in
SIDES = (True, False, None)


def ids_of(rows: Ints) -> list[str]:
    return [f"item {row}" for row in rows]


def part(score: Floats, rows: Ints, predicted: Bools | None = None) -> Predictions:
    said = None if predicted is None else predicted[rows]
    threshold = 0.5 if predicted is None else None
    return from_arrays(y_score=score[rows], y_pred=said, ids=ids_of(rows), threshold=threshold)


def both(score: Floats, predicted: Bools | None = None) -> tuple[Predictions, Predictions]:
    """Return three parts as one, and the same items in one place."""
    parts = [part(score, np.flatnonzero(place == PLACE), predicted) for place in range(3)]
    return united(parts), part(score, np.arange(SIZE), predicted)


def strata_of(found: Predictions, scale: Scale, variable: Variable = "score") -> Strata:
    profiles = found.profile(variable, scale, [True, False])
    return stratify(profiles, variable=variable, method="perc", bins=5)


@pytest.mark.parametrize("score", [PROBABILITY, MARGIN], ids=["probability", "margin"])
@pytest.mark.parametrize("variable", ["score", "confidence"])
def test_parts_answer_as_all_items_in_one_place(score: Floats, variable: Variable) -> None:
    union, whole = both(score)
    scale: Scale = "probability" if score is PROBABILITY else "margin"
    assert (union.size, union.positives) == (whole.size, whole.positives)
    assert union.score_range == whole.score_range
    assert union.id_kind == whole.id_kind
    profiles = whole.profile(variable, scale, SIDES)
    for side, found in union.profile(variable, scale, SIDES).items():
        for column in ("low", "high", "mean", "count"):
            np.testing.assert_array_equal(
                getattr(found, column), getattr(profiles[side], column), err_msg=f"{side} {column}"
            )
    strata = strata_of(whole, scale, variable)
    np.testing.assert_array_equal(union.count(strata, scale=scale), strata.sizes)
    for counts in ([0] * 10, [7] * 10, [SIZE] * 10, list(range(10))):
        dealt = union.deal(strata, scale=scale, seed=SEED, counts=counts)
        assert dealt == whole.deal(strata, scale=scale, seed=SEED, counts=counts)
    wanted: list[int | str] = [*ids_of(np.arange(0, SIZE, 250)), "nobody", 7]
    found_items = union.find(wanted, variable=variable, scale=scale)
    assert found_items == whole.find(wanted, variable=variable, scale=scale)


def test_parts_count_their_labels_and_ranks_together() -> None:
    union, whole = both(PROBABILITY)
    assert union.cells() == whole.cells() == {0: SIZE - whole.positives, 1: whole.positives}
    assert (union.classifiers, union.groups) == (whole.classifiers, whole.groups)
    heaps = (each.profile_heaps([(0,), (1,)]) for each in (union, whole))
    for mine, meant in zip(*heaps, strict=True):
        np.testing.assert_array_equal((mine.low, mine.count), (meant.low, meant.count))


def test_a_part_may_lack_a_predicted_label() -> None:
    predicted = (PLACE == 0) & (MARGIN > 0)  # the other parts say no to everything
    union, whole = both(MARGIN, predicted)
    strata = strata_of(whole, "margin")
    assert strata_of(union, "margin") == strata
    assert union.deal(strata, scale="margin", seed=1, counts=[9] * 10) == whole.deal(
        strata, scale="margin", seed=1, counts=[9] * 10
    )


def test_parts_of_unlike_ranges_have_cells_in_order_that_miss_nobody() -> None:
    """One part's scores lie in [0, 1] and were binned by another rule than the whole's."""
    score = np.where(PLACE == 0, PROBABILITY, MARGIN)
    union, whole = both(score)
    joined = union.profile("score", "margin", [None])[None]  # refuses cells that overlap
    exact = whole.profile("score", "margin", [None])[None]
    assert (joined.total, joined.min, joined.max) == (SIZE, exact.min, exact.max)
    inside = np.searchsorted(joined.low, np.sort(score), side="right") - 1
    np.testing.assert_array_equal(np.bincount(inside), joined.count)
    assert joined.count.size > exact.count.size / 2  # nor do they run together
    strata = strata_of(union, "margin")
    np.testing.assert_array_equal(union.count(strata, scale="margin"), strata.sizes)


def cards(ids: Sequence[int]) -> list[Card]:
    return [Card(id, True, {}) for id in ids]


def test_decks_are_merged_down_to_where_the_first_of_them_ends() -> None:
    """Against sorting all items: what is returned is the beginning of the whole deck."""
    ordered = sorted(range(400), key=lambda id: number(id, SEED))
    for seed in range(30):
        rng = np.random.default_rng(seed)
        mine = set(rng.choice(400, 150, replace=False).tolist())
        decks = [[id for id in ordered if (id in mine) == own] for own in (True, False)]
        held = [int(rng.integers(1, len(deck) + 1)) for deck in decks]
        whole = [n == len(deck) for n, deck in zip(held, decks, strict=True)]
        tops = [
            Top("a part", [cards(deck[:n])], [all_of_it])
            for deck, n, all_of_it in zip(decks, held, whole, strict=True)
        ]
        (merged,) = merge(tops, SEED)
        ids = [card.id for card in merged]
        assert ids == ordered[: len(ids)]
        ends = [
            ordered.index(deck[n - 1]) for deck, n in zip(decks, held, strict=True) if n < len(deck)
        ]
        assert len(ids) == (min(ends) + 1 if ends else 400)


def test_equal_numbers_are_ordered_by_the_bytes_of_the_id(monkeypatch: pytest.MonkeyPatch) -> None:
    """No two strings with one number are known, so all are given one here."""
    monkeypatch.setattr("assay.predictions.union.number", lambda _id, _seed: 1)
    one, two = ([Card(id, True, {}) for id in ids] for ids in (("B", "é"), ("a", "z")))
    (merged,) = merge([Top("x", [one], [True]), Top("y", [two], [True])], SEED)
    assert [card.id for card in merged] == ["B", "a", "z", "é"]


def test_an_item_of_two_parts_is_refused_by_name_even_in_another_stratum() -> None:
    tops = [
        Top("monday", [cards([1, 2]), []], [True] * 2),
        Top("tuesday", [[], cards([2])], [True] * 2),
    ]
    with pytest.raises(PredictionsError, match="item 2 is in monday and in tuesday"):
        merge(tops, SEED)
    union = united([part(PROBABILITY, np.arange(50)), part(PROBABILITY, np.arange(49, 99))])
    strata = strata_of(union, "probability")
    with pytest.raises(PredictionsError, match="item 'item 49' is in"):
        union.deal(strata, scale="probability", seed=SEED, counts=[99] * strata.n_strata)


def test_parts_must_be_alike() -> None:
    strings = part(PROBABILITY, np.arange(9))
    with pytest.raises(PredictionsError, match="strings in the first and integers in the second"):
        united([strings, from_arrays(y_score=[0.4], ids=[1], threshold=0.5)])
    with pytest.raises(PredictionsError, match=r"changes at 0.5 in the first and 0.4"):
        united([strings, from_arrays(y_score=[0.4], ids=["x"], threshold=0.4)])


def test_a_part_without_wanted_items_is_not_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    first, last = (part(PROBABILITY, np.array(rows)) for rows in ([0, 1], [2, 3]))
    monkeypatch.setattr(last.scanner, "show", lambda ids: pytest.fail(f"asked for {ids}"))
    assert united([first, last]).scanner.show(["item 1"]) == [{}]


def test_the_fingerprint_is_of_all_parts_in_any_order() -> None:
    union, whole = both(PROBABILITY)
    turned = united(union.parts[::-1])
    assert union.fingerprint() == turned.fingerprint()
    fewer = united(union.parts[:2])
    changed = united([*union.parts[:2], part(PROBABILITY / 2, np.flatnonzero(PLACE == 2))])
    every = [each.fingerprint() for each in (union, fewer, changed, whole)]
    assert all(one != two for one, two in pairwise(sorted(every)))
    assert joint_fingerprint([whole.fingerprint()], whole.size) == whole.fingerprint()


def test_scores_of_a_rare_class_are_parted_as_in_one_place() -> None:
    """Where the bins for probabilities are too wide for the parts, they are so for all."""
    score = 10 ** np.random.default_rng(7).uniform(-9, -4, 6_000)
    ids = np.arange(score.size)
    parts = [
        from_arrays(y_score=score[half], ids=ids[half], threshold=1e-5)
        for half in (slice(0, 3_000), slice(3_000, None))
    ]
    whole = from_arrays(y_score=score, ids=ids, threshold=1e-5)
    for side in (True, False, None):
        joined = united(parts).profile("score", "probability", [side])[side]
        alone = whole.profile("score", "probability", [side])[side]
        assert joined.count.tolist() == alone.count.tolist()
        assert joined.low.tolist() == alone.low.tolist()
