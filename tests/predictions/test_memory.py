import hashlib
import math
import struct
from collections import defaultdict
from collections.abc import Callable, Sequence

import numpy as np
import pyarrow as pa
import pytest

from assay.core import deck
from assay.core.cuts import confidence
from assay.core.profile import Profile, profile_of
from assay.core.strata import Strata
from assay.core.stratify import stratify
from assay.core.types import Ints, Words
from assay.errors import PredictionsError
from assay.predictions import Card, Predictions, from_arrays, read_predictions
from assay.predictions.ids import Ids
from assay.predictions.memory import MemoryPredictions, first_cards

Row = tuple[deck.Id, float, bool]

RNG = np.random.default_rng(46)
SCORE = RNG.beta(1, 2, 3_000).round(3)
PREDICTED = RNG.random(3_000) < SCORE
INTEGERS = RNG.permutation(np.arange(-1_500, 1_500))
STRINGS = [f"page {number}" for number in INTEGERS]


def _read(ids: object) -> Predictions:
    table = {"id": ids, "score": SCORE, "said": PREDICTED}
    return read_predictions(table, id="id", score="score", predicted="said")


def _strata(predictions: Predictions, *sides: bool | None) -> Strata:
    profiles = predictions.profile("score", "probability", sides)
    return stratify(profiles, variable="score", method="perc", bins=4)


@pytest.mark.parametrize("ids", [INTEGERS, STRINGS], ids=["integers", "strings"])
@pytest.mark.parametrize("sides", [(None,), (True, False), (True,)])
def test_cards_are_those_of_the_plain_definition(
    ids: list[deck.Id] | np.ndarray, sides: tuple[bool | None, ...]
) -> None:
    predictions = _read(ids)
    strata = _strata(predictions, *sides)
    counts = [30] * strata.n_strata
    dealt = predictions.deal(strata, scale="probability", seed=7, counts=counts)

    plain = ids if isinstance(ids, list) else ids.tolist()
    stratum = strata.assign(SCORE, PREDICTED)
    for h, cards in enumerate(dealt):
        members = [row for row in range(len(plain)) if stratum[row] == h]
        members.sort(key=lambda row: deck.number(plain[row], 7))
        assert cards == [Card(plain[row], bool(PREDICTED[row]), {}) for row in members[:30]]


def test_ids_and_labels_of_cards_are_plain_python() -> None:
    for ids in (INTEGERS, STRINGS):
        predictions = _read(ids)
        (cards,) = predictions.deal(
            stratify(
                predictions.profile("score", "probability", [None]),
                variable="score",
                method="equal",
                bins=1,
            ),
            scale="probability",
            seed=0,
            counts=[1],
        )
        assert type(cards[0].id) in (int, str)
        assert type(cards[0].predicted) is bool


def test_all_items_are_dealt_exactly_once() -> None:
    predictions = _read(STRINGS)
    strata = _strata(predictions, True, False)
    dealt = predictions.deal(strata, scale="probability", seed=3, counts=strata.sizes.tolist())
    assert [len(cards) for cards in dealt] == strata.sizes.tolist()
    assert sorted(str(card.id) for cards in dealt for card in cards) == sorted(STRINGS)
    more = predictions.deal(strata, scale="probability", seed=3, counts=[10**6] * strata.n_strata)
    assert more == dealt


def test_a_longer_deal_begins_like_a_shorter_one() -> None:
    predictions = _read(INTEGERS)
    strata = _strata(predictions, None)
    few = predictions.deal(strata, scale="probability", seed=1, counts=[5, 0, 1, 20])
    many = predictions.deal(strata, scale="probability", seed=1, counts=[50, 50, 50, 50])
    assert [many[h][: len(few[h])] for h in range(4)] == few
    assert [len(cards) for cards in few] == [5, 0, 1, 20]


def test_colliding_strings_are_dealt_in_the_order_of_their_bytes() -> None:
    # Nobody has two strings whose 64-bit digests collide; so all digests are made the same.
    ids = Ids(pa.array(["é", "z", "Z"], pa.large_string()))
    ids.digest = np.zeros(3, dtype=np.uint64)
    predictions = MemoryPredictions(
        source="three strings",
        ids=ids,
        score=np.zeros(3),
        predicted=np.ones(3, dtype=np.bool_),
        threshold=None,
        show=lambda rows, _: [{} for _ in rows],
    )
    strata = stratify({None: profile_of(np.zeros(3))}, variable="score", method="equal", bins=1)
    (cards,) = predictions.deal(strata, scale="probability", seed=0, counts=[3])
    assert [card.id for card in cards] == ["Z", "z", "é"]


def test_many_strings_are_digested_in_duckdb_to_the_same_words() -> None:
    texts = [f"https://example.com/ü/{number}" for number in range(25_000)]
    texts[:6] = ["", "007", "NA", "a\0b", "🂡", 'it\'s "quoted"']
    ids = Ids(pa.array(texts, pa.large_string()))
    assert (ids.digest == deck.digest(texts)).all()


def test_profiles_are_of_the_variable_on_each_side() -> None:
    predictions = _read(INTEGERS)
    z = confidence(SCORE, PREDICTED, "probability")
    by_score = predictions.profile("score", "probability", [True, False, None])
    by_confidence = predictions.profile("confidence", "probability", [None])
    for profile, values in (
        (by_score[True], SCORE[PREDICTED]),
        (by_score[False], SCORE[~PREDICTED]),
        (by_score[None], SCORE),
        (by_confidence[None], z),
    ):
        expected = profile_of(values)
        assert (profile.low == expected.low).all()
        assert (profile.count == expected.count).all()


def test_a_side_is_profiled_by_the_rule_for_the_whole_population() -> None:
    """Where yes is said from 0 upwards, that side's margins may look like probabilities."""
    score = np.where(PREDICTED, SCORE, -8 * SCORE)
    predictions = from_arrays(y_score=score, y_pred=PREDICTED)

    def check(expected: Profile) -> None:
        profile = predictions.profile("score", "margin", [True])[True]
        assert profile.low.tolist() == expected.low.tolist()
        assert profile.count.tolist() == expected.count.tolist()

    check(profile_of(score[PREDICTED], "margin"))
    with pytest.raises(AssertionError):
        check(profile_of(score[PREDICTED]))


@pytest.mark.parametrize("sides", [(None,), (True, False), (True,)])
def test_items_are_counted_by_the_cuts_of_strata_of_any_population(
    sides: tuple[bool | None, ...],
) -> None:
    predictions = _read(INTEGERS)
    own = _strata(predictions, *sides)
    assert predictions.count(own, scale="probability").tolist() == own.sizes.tolist()

    rng = np.random.default_rng(47)
    other = from_arrays(y_score=rng.random(500), y_pred=rng.random(500) < 0.5)
    strata = _strata(other, *sides)
    stratum = strata.assign(SCORE, PREDICTED).tolist()
    by_hand = [stratum.count(h) for h in range(strata.n_strata)]
    assert predictions.count(strata, scale="probability").tolist() == by_hand
    assert by_hand != strata.sizes.tolist()  # which are those of the other population


def test_a_stratum_without_items_counts_none() -> None:
    predictions = from_arrays(y_score=[0.1, 0.9], y_pred=[False, False])
    strata = _strata(from_arrays(y_score=[0.2, 0.3, 0.8, 0.95], threshold=0.5), True, False)
    assert strata.n_strata == 4
    assert predictions.count(strata, scale="probability").tolist() == [0, 0, 1, 1]


def test_strata_by_confidence_deal_the_items_they_count() -> None:
    predictions = from_arrays(y_score=SCORE * 8 - 4, threshold=0.5)
    profiles = predictions.profile("confidence", "margin", [None])
    strata = stratify(profiles, variable="confidence", method="perc", bins=5)
    dealt = predictions.deal(strata, scale="margin", seed=0, counts=[3_000] * strata.n_strata)
    z = np.abs(SCORE * 8 - 4 - 0.5)
    assert [len(cards) for cards in dealt] == strata.sizes.tolist()
    for cards, least in zip(dealt[1:], strata.heaps[0].cuts.points, strict=True):
        assert min(z[int(card.id)] for card in cards) == least


def test_what_is_said_about_the_predictions() -> None:
    predictions = from_arrays(y_score=[0.25, -0.0, 3.5], y_pred=[1, 0, 1])
    assert isinstance(predictions, Predictions)
    assert predictions.source == "arrays, 3 rows"
    assert predictions.size == 3
    assert predictions.positives == 2
    assert predictions.id_kind == "integer"
    assert repr(predictions.score_range) == "(0.0, 3.5)"
    assert predictions.threshold is None
    assert from_arrays(y_score=[1], ids=["a"], threshold=np.float64(0.5)).threshold == 0.5
    assert from_arrays(y_score=[1], ids=["a"], threshold=1).id_kind == "string"


def test_predictions_are_returned_as_they_are() -> None:
    predictions = _read(INTEGERS)
    assert read_predictions(predictions, score="whatever") is predictions


def test_a_threshold_says_yes_from_itself_upwards() -> None:
    assert from_arrays(y_score=[0.4, 0.5, 0.6], threshold=0.5).positives == 2


def test_a_score_at_the_threshold_goes_with_either_label() -> None:
    for label in (0, 1):
        assert from_arrays(y_score=[0.5], y_pred=[label], threshold=0.5).positives == label


def test_without_scores_all_items_are_alike() -> None:
    predictions = from_arrays(y_score=None, y_pred=[True, False])
    assert predictions.score_range == (0.0, 0.0)
    assert predictions.profile("score", "probability", [None])[None].count.tolist() == [2]


@pytest.mark.parametrize("counts", [[1, 1], [1, 1, 1, -1], [0.5] * 4])
def test_counts_that_do_not_fit_the_strata(counts: list[int]) -> None:
    predictions = _read(INTEGERS)
    with pytest.raises(PredictionsError, match="one for each of the 4 strata"):
        predictions.deal(_strata(predictions, None), scale="probability", seed=0, counts=counts)


def test_strata_of_an_unknown_variable() -> None:
    predictions = _read(INTEGERS)
    strata = stratify(
        predictions.profile("score", "probability", [None]), variable="scor", method="perc", bins=2
    )
    with pytest.raises(PredictionsError, match=r"(?s)variable 'scor'.*did you mean 'score'"):
        predictions.deal(strata, scale="probability", seed=0, counts=[1, 1])


def test_margins_are_no_probabilities() -> None:
    predictions = from_arrays(y_score=[-1.0, 2.0], threshold=0.0)
    with pytest.raises(PredictionsError, match=r"run from -1.0 to 2.0"):
        predictions.profile("confidence", "probability", [None])


def test_a_distance_from_the_threshold_that_overflows() -> None:
    predictions = from_arrays(y_score=[-1.5e308, 1.5e308], threshold=1.5e308)
    with pytest.raises(PredictionsError, match="fit in a float64"):
        predictions.profile("confidence", "margin", [None])


# The fingerprint, against the definition in plain Python.


def _plain_bin(score: float, rule: str) -> int:
    if rule == "probability":
        return round(2047 * (math.sqrt(score) - math.sqrt(1 - score)))
    below, above = (math.sqrt(math.sqrt(math.sqrt(max(x, 0.0)))) for x in (-score, score))
    return round(16383 * (1 / (1 + below) - 1 / (1 + above)))


def _plain_fingerprint(rows: list[Row]) -> str:
    rule = "probability" if all(0 <= score <= 1 for _, score, _ in rows) else "margin"
    scores: dict[tuple[int, bool], list[float]] = defaultdict(list)
    words: dict[tuple[int, bool], int] = defaultdict(int)
    for id, score, said in rows:
        cell = _plain_bin(score, rule), said
        scores[cell].append(score + 0.0)  # 0.0 for -0.0
        words[cell] ^= int(deck.digest([id])[0])
    cells = sorted(scores)
    columns: tuple[tuple[str, Sequence[float]], ...] = (
        ("q", [number for number, _ in cells]),
        ("q", [said for _, said in cells]),
        ("q", [len(scores[cell]) for cell in cells]),
        ("d", [min(scores[cell]) for cell in cells]),
        ("d", [max(scores[cell]) for cell in cells]),
        ("Q", [words[cell] for cell in cells]),
    )
    packed = b"".join(struct.pack(f"<{len(column)}{kind}", *column) for kind, column in columns)
    told = hashlib.sha256(rule.encode() + packed).hexdigest()[:16]
    return f"assay-predictions-2:{rule}:{len(rows)}:{told}"


def _fingerprint(rows: list[Row]) -> str:
    ids, scores, labels = zip(*rows, strict=True)
    return from_arrays(ids=ids, y_score=scores, y_pred=labels).fingerprint()


def _sum_of_parts(rows: list[Row]) -> str:
    """Sum the hashes of ids, scores and labels apart: blind to which score is whose."""
    return str(sum(deck.number(id, 0) + hash(score) + said for id, score, said in rows))


ROWS: list[Row] = [("a", 0.25, True), ("b", 0.5, False), ("c", 0.5, True), ("007", 1e-300, False)]


def _check_it_tells_rows_apart(fingerprint: Callable[[list[Row]], str]) -> None:
    changed: list[list[Row]] = [
        ROWS[:3],
        [("A", 0.25, True), *ROWS[1:]],
        [("a", 0.2500000000000001, True), *ROWS[1:]],
        [("a", 0.25, False), *ROWS[1:]],
        [("a", 0.25, False), ("b", 0.5, True), *ROWS[2:]],
        [("a", 0.5, True), ("b", 0.25, False), *ROWS[2:]],
    ]
    texts = [fingerprint(rows) for rows in [ROWS, *changed]]
    assert len(set(texts)) == len(texts)
    assert fingerprint(ROWS[::-1]) == fingerprint(ROWS)


def test_fingerprint_tells_rows_apart_and_not_their_order() -> None:
    _check_it_tells_rows_apart(_fingerprint)
    with pytest.raises(AssertionError):
        _check_it_tells_rows_apart(_sum_of_parts)


def test_fingerprint_is_as_defined() -> None:
    assert _fingerprint(ROWS) == _plain_fingerprint(ROWS)
    integers: list[Row] = [(-1, 0.25, True), (2**63 - 1, -3.5, False), (0, 0.0, True)]
    assert _fingerprint(integers) == _plain_fingerprint(integers)


def test_fingerprint_does_not_depend_on_the_sign_of_zero() -> None:
    assert _fingerprint([(1, -0.0, True)]) == _fingerprint([(1, 0.0, True)])
    assert _fingerprint([(1, -0.0, True)]) == _plain_fingerprint([(1, 0.0, True)])


def test_a_score_that_moves_within_its_bin_is_not_seen_and_changes_nothing_drawn() -> None:
    """Between the ends of its cell, that is; all that is dealt from is as before."""
    score = np.linspace(0.5, 0.502, 400)
    moved = score.copy()
    moved[1] += 1e-7
    one, other = (from_arrays(y_score=values, threshold=0.5) for values in (score, moved))
    assert one.fingerprint() == other.fingerprint()
    strata = _strata(one, True)
    assert strata == _strata(other, True)
    dealt = [
        each.deal(strata, scale="probability", seed=4, counts=[400] * 4) for each in (one, other)
    ]
    assert dealt[0] == dealt[1]
    moved[1] += 1e-3  # into another bin
    assert from_arrays(y_score=moved, threshold=0.5).fingerprint() != one.fingerprint()


def test_an_integer_and_its_text_are_different_ids() -> None:
    assert _fingerprint([(7, 0.5, True)]) != _fingerprint([("7", 0.5, True)])


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


@pytest.mark.parametrize("seed", range(20))
def test_agrees_with_sorting_every_deck(seed: int) -> None:
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


def test_the_smallest_and_the_largest_number_are_dealt() -> None:
    number = np.array([2**64 - 1, 0], dtype=np.uint64)
    assert _dealt(number, np.array([0, 0]), np.array([2])) == [[1, 0]]


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


def _find(predictions: Predictions, *ids: int | str) -> list[tuple[object, int, float] | None]:
    found = predictions.find(list(ids), variable="score", scale="probability")
    return [
        None if each is None else (each.card.id, each.card.predicted, each.value) for each in found
    ]


def test_items_are_found_by_their_ids_in_the_order_asked_for() -> None:
    predictions = from_arrays(y_score=[0.9, 0.2, 0.6], ids=[-1, 5, 7], threshold=0.5)
    assert _find(predictions, 7, -1, 7) == [(7, True, 0.6), (-1, True, 0.9), (7, True, 0.6)]
    assert _find(predictions) == []


def test_what_is_not_there_is_none_even_if_it_looks_alike() -> None:
    integers = from_arrays(y_score=[0.9, 0.2], ids=[-1, 5], threshold=0.5)
    # The 64 bits of -1 are those of 2^64 - 1, and neither 2^70 nor a text has any.
    assert _find(integers, 2**64 - 1, 2**70, "5", 5) == [None, None, None, (5, False, 0.2)]
    strings = from_arrays(y_score=[0.9, 0.2], ids=["5", "05"], threshold=0.5)
    assert _find(strings, 5, "5", "005") == [None, ("5", True, 0.9), None]


def test_a_found_item_carries_what_people_see_and_its_confidence() -> None:
    table = {"p": np.array([0.9, 0.2]), "text": ["spam", "ham"]}
    predictions = read_predictions(table, score="p", threshold=0.5, show=["text"])
    (found,) = predictions.find([1], variable="confidence", scale="probability")
    assert found is not None
    assert found.card.shown == {"text": "ham"}
    assert found.value == 0.8
