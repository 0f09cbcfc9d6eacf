import numpy as np

from assay.predictions import Predictions, from_arrays, read_predictions


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
