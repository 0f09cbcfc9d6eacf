"""Decks that are sorted as far as they are dealt: against a sort of all items."""

import numpy as np
import pytest

from assay.simulation import second_opinion
from assay.simulation.second_opinion import Order


@pytest.mark.parametrize("first", [1, 40, 10_000])
@pytest.mark.parametrize("known", [0, 30])
def test_cards_come_as_if_all_items_were_sorted(
    first: int, known: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(second_opinion, "_SORTED", first)
    rng = np.random.default_rng(5)
    number, stratum = rng.random(400).round(2), rng.integers(-1, 4, size=400)  # with equal numbers
    on_top = np.zeros(400, dtype=np.bool_)
    on_top[rng.choice(400, known, replace=False)] = True
    whole = np.lexsort((number, ~on_top, stratum))
    dealt, found = np.zeros(4, dtype=np.int64), Order(number, on_top).decks(stratum, 4)
    for _ in range(8):
        counts = np.minimum(rng.integers(0, 12, size=4), np.bincount(stratum + 1)[1:] - dealt)
        counts[0] += not counts.any()
        wanted = [whole[stratum[whole] == h][dealt[h] : dealt[h] + counts[h]] for h in range(4)]
        assert found.round(dealt, counts).tolist() == np.concatenate(wanted).tolist()
        dealt += counts
