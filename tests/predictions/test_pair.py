"""Two sets of predictions side by side, against an outer join by pandas."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import pytest

from assay.predictions import Predictions, read_compared

OLD, NEW, IN_OLD, IN_NEW = (1 << bit for bit in range(4))  # of yes and no, a code is four bits
COLUMNS: dict[str, Any] = {"score": "p", "threshold": 0.5}
BOTH = {"old": COLUMNS, "new": COLUMNS}


def table(ids: Any, seed: int) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    word = "old" if seed == 1 else "new"
    texts = [f"{word} text of {id}" for id in ids]
    return {"id": ids, "p": rng.random(len(ids)).round(3), "text": texts}


def words(numbers: Any) -> list[str]:
    return [f"item {number}" for number in numbers]


FIRST, SECOND = np.arange(0, 60), np.random.default_rng(3).permutation(np.arange(40, 90))
HUGE = np.array([2**64 - 1, 2**63, 2**63 - 1, 7], dtype=np.uint64)
PAIRS: dict[str, tuple[Any, Any]] = {
    "integers": (FIRST - 50, SECOND - 50),
    "unsigned": (HUGE, HUGE[[3, 0]]),
    "signed and not": (np.array([0, 7, 2**63 - 1]), HUGE),
    # What is -1 in one would be 2^64 - 1 in the other, were only the bits looked at.
    "below 0 and unsigned": (np.array([-1, -2, 7]), HUGE[2:]),
    "strings": (words(FIRST), words(SECOND)),
    "disjoint": (FIRST, FIRST + 1000),
    "identical": (FIRST, FIRST),
    "the same in another order": (words(FIRST), words(FIRST[::-1])),
    "later within earlier": (FIRST, FIRST[10:20]),
    "earlier within later": (FIRST[10:20], FIRST),
}


def joined(old: dict[str, Any], new: dict[str, Any]) -> dict[Any, tuple[int, str]]:
    """Return the code and the text of every item, by an outer join."""
    frames = [pd.DataFrame({**each, "id": list(map(str, each["id"]))}) for each in (old, new)]
    both = frames[0].merge(frames[1], on="id", how="outer", suffixes=("_old", "_new"))
    expected = {}
    for row in both.itertuples():
        code, text = 0, row.text_new
        if pd.notna(row.p_old):
            code |= IN_OLD | (OLD if row.p_old >= 0.5 else 0)
        if pd.notna(row.p_new):
            code |= IN_NEW | (NEW if row.p_new >= 0.5 else 0)
        else:
            text = row.text_old
        expected[row.id] = (code, text)
    return expected


def found_in(both: Predictions, ids: Sequence[Any]) -> dict[str, tuple[int, str]]:
    items = both.find(ids, variable="rank", scale="probability")
    assert all(item is not None for item in items)
    return {
        str(item.card.id): (int(item.card.predicted), str(item.card.shown["text"]))
        for item in items
        if item is not None
    }


@pytest.mark.parametrize("kind", PAIRS)
def test_items_are_joined_by_their_ids_and_shown_as_they_are_now(kind: str) -> None:
    old, new = (table(ids, seed) for ids, seed in zip(PAIRS[kind], (1, 2), strict=True))
    both = read_compared([old, new], classifiers=BOTH, id="id", show=["text"])
    expected = joined(old, new)
    plain = [each if isinstance(each, list) else each.tolist() for each in PAIRS[kind]]
    every = list(dict.fromkeys([*plain[0], *plain[1]]))
    assert both.size == len(expected) == len(every)
    assert found_in(both, every) == expected
    swapped = read_compared([new, old], classifiers=BOTH, id="id", show=["text"])
    assert found_in(swapped, every) != expected
    codes = [code for code, _ in expected.values()]
    assert both.cells() == {code: codes.count(code) for code in sorted(set(codes))}


def test_an_item_lies_by_the_mean_of_its_ranks_where_it_has_two() -> None:
    old: dict[str, Any] = {"id": ["a", "b", "c", "d"], "p": [0.1, 0.4, 0.6, 0.9]}
    new: dict[str, Any] = {"id": ["a", "d", "e"], "p": [0.9, 0.8, 0.1]}
    both = read_compared([old, new], classifiers=BOTH, id="id")
    alone = [
        read_compared([each, each], classifiers=BOTH, id="id").find(
            each["id"], variable="rank", scale="probability"
        )
        for each in (old, new)
    ]
    ranks = [{item.card.id: item.value for item in items if item} for items in alone]
    for item in both.find(["a", "b", "e"], variable="rank", scale="probability"):
        assert item is not None
        held = [rank[item.card.id] for rank in ranks if item.card.id in rank]
        assert item.value == pytest.approx(np.mean(held))
