"""The reserve of cards: that it grows where it is short, whatever was read of it before."""

import numpy as np

import assay
from assay.labelling.reserve import Reserve, ShortReserveError
from assay.predictions import from_arrays
from assay.storage import open_storage


def test_a_deck_grows_after_another_has(storage: str) -> None:
    score = np.linspace(0.5, 1, 40_000)
    found = from_arrays(y_score=score, threshold=0.5)
    campaign = assay.create_campaign(found, budget=20, storage=storage)
    settings, store = campaign.settings, open_storage(storage)
    reserve = Reserve(1, settings, found)
    decks = settings.strata.n_strata

    def take(stratum: int, stop: int, every: int) -> None:
        """Take cards of one deck; where there are too few, every deck gets so many."""
        for _ in range(5):
            try:
                with store.read() as session:
                    cards = reserve.take(
                        session,
                        np.zeros(decks),
                        [stop if h == stratum else 0 for h in range(decks)],
                    )
            except ShortReserveError as short:
                reserve.grow(store, [max(each, every) for each in short.wanted])
            else:
                assert len(cards) == stop
                return
        raise AssertionError("it is as short as it was")

    take(0, 90, every=180)
    take(0, 180, every=180)  # the end of the first deck was read,
    take(1, 200, every=400)  # and moves as the second grows
    take(1, 450, every=900)
