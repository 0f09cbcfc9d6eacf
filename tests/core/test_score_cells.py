"""What a pass counts, against counting one item after the other."""

from collections import defaultdict
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from assay.core import deck
from assay.core.bins import bins_of, scale_of
from assay.core.profile import Profile, ScoreCells, cells_of, profile_of
from assay.core.types import Bools, Floats, Words

RNG = np.random.default_rng(61)
SIZE = 70_000  # more than are counted at once
DIGEST: Words = deck.digest(np.arange(SIZE).tolist())
SCORES: dict[str, Floats] = {
    "probability": RNG.beta(0.3, 0.6, SIZE),
    "margin": np.concatenate([RNG.normal(-2, 3, SIZE - 5), [-1e300, 0.0, 1e-300, 7.0, 7.0]]),
    "few": RNG.integers(0, 5, SIZE) / 4,
}


def said_of(scores: Floats) -> Bools:
    """Say yes mostly, but not only, to the upper half."""
    return np.asarray((scores > np.median(scores)) ^ (np.arange(scores.size) % 17 == 0))


def check_cells(cells: ScoreCells, scores: Floats, said: Bools, digest: Words) -> None:
    rule = scale_of(min(scores.tolist()), max(scores.tolist()))
    items: dict[tuple[int, bool], list[int]] = defaultdict(list)
    for row, key in enumerate(zip(bins_of(scores, rule).tolist(), said.tolist(), strict=True)):
        items[key].append(row)
    keys = sorted(items)
    assert cells.rule == rule
    assert list(zip(cells.bin.tolist(), cells.yes.tolist(), strict=True)) == keys
    for cell, rows in enumerate(items[key] for key in keys):
        values = scores[rows].tolist()
        word = 0
        for each in digest[rows].tolist():
            word ^= each
        assert cells.count[cell] == len(rows)
        assert (cells.low[cell], cells.high[cell]) == (min(values), max(values))
        assert cells.digest[cell] == word


def check_same(profile: Profile, expected: Profile) -> None:
    for name in ("low", "high", "mean", "count"):
        np.testing.assert_array_equal(getattr(profile, name), getattr(expected, name))


@pytest.mark.parametrize("kind", SCORES)
def test_cells_are_those_of_counting_one_by_one(kind: str) -> None:
    scores = SCORES[kind]
    said = said_of(scores)
    cells = cells_of(scores, said, DIGEST)
    check_cells(cells, scores, said, DIGEST)
    assert cells.size == SIZE
    assert cells.positives == said.sum()
    assert cells.score_range == (scores.min(), scores.max())
    with pytest.raises(AssertionError):  # an item's id counted in the wrong cell
        check_cells(cells, scores, said, np.roll(DIGEST, 1))


@pytest.mark.parametrize("kind", SCORES)
def test_profiles_are_those_of_the_scores(kind: str) -> None:
    scores = SCORES[kind]
    said = said_of(scores)
    cells = cells_of(scores, said, DIGEST)
    check_same(cells.profile(None), profile_of(scores))
    for side in (True, False):
        check_same(cells.profile(side), profile_of(scores[said == side], cells.rule))


def test_a_side_alone_is_counted_by_the_rule_for_all() -> None:
    scores = np.concatenate([RNG.random(5_000), RNG.normal(-4, 1, 5_000)])
    said = np.arange(10_000) < 5_000
    profile = cells_of(scores, said, DIGEST[:10_000]).profile(True)
    check_same(profile, profile_of(scores[:5_000], "margin"))
    with pytest.raises(AssertionError):  # by the range of the side
        check_same(profile, profile_of(scores[:5_000]))


def test_the_fingerprint_does_not_depend_on_the_order_of_the_rows() -> None:
    scores = SCORES["margin"]
    said = said_of(scores)
    order = RNG.permutation(SIZE)
    fingerprint = cells_of(scores, said, DIGEST).fingerprint()
    assert fingerprint == cells_of(scores[order], said[order], DIGEST[order]).fingerprint()
    assert fingerprint != cells_of(scores[order], said, DIGEST).fingerprint()
    assert fingerprint.startswith(f"assay-predictions-2:margin:{SIZE}:")


def test_the_fingerprint_changes_with_an_id_a_label_and_a_bin() -> None:
    # By the rule for margins, since four items are too uneven for the one for probabilities.
    scores, digest = np.array([0.1, 0.2, 0.20001, 0.20002, 1.9]), DIGEST[:5]
    said = np.array([False, False, False, False, True])
    base = cells_of(scores, said, digest)
    assert base.bin.size == 3  # three scores are in one bin

    def fingerprint(**changed: Any) -> str:
        given = {"values": scores, "predicted": said, "digest": digest, **changed}
        return cells_of(**given).fingerprint()

    label = said.copy()
    label[0] = True
    changes: list[dict[str, Any]] = [
        {"digest": DIGEST[1:6]},
        {"predicted": label},
        {"values": np.array([0.11, 0.2, 0.20001, 0.20002, 1.9])},
        {"values": np.array([0.1, 0.1999, 0.20001, 0.20002, 1.9])},  # the end of a cell
        {"values": scores[[4, 1, 2, 3, 0]]},  # two items change places
        {"values": scores - 1},
    ]
    texts = {fingerprint(), *(fingerprint(**changed) for changed in changes)}
    assert len(texts) == len(changes) + 1
    assert fingerprint(values=np.array([0.1, 0.2, 0.200015, 0.20002, 1.9])) == fingerprint()


def test_the_fingerprint_does_not_depend_on_the_sign_of_zero() -> None:
    said, digest = np.array([True, False]), DIGEST[:2]
    texts = {cells_of(np.array([zero, 2.0]), said, digest).fingerprint() for zero in (0.0, -0.0)}
    assert len(texts) == 1


@pytest.mark.parametrize("field", ["count", "low", "high", "digest", "bin", "rule"])
def test_every_field_is_in_the_fingerprint(field: str) -> None:
    cells = cells_of(SCORES["few"], said_of(SCORES["few"]), DIGEST)
    other: Any = getattr(cells, field)
    other = "margin" if field == "rule" else other + other.dtype.type(2)
    assert replace(cells, **{field: other}).fingerprint() != cells.fingerprint()
