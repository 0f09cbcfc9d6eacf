from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from assay.core.cells import cut_heaps, merge_cells
from assay.core.strata import Strata
from assay.core.types import Floats, Ints
from assay.errors import InputError, PredictionsError
from assay.predictions import (
    Card,
    Predictions,
    from_arrays,
    read_labelled,
    read_predictions,
)

RNG = np.random.default_rng(5)
SIZE = 2_000
TRUTH = RNG.random(SIZE) < 0.4
TABLE: dict[str, Any] = {
    "id": [f"page {number}" for number in RNG.permutation(SIZE)],
    # Probabilities of two digits and margins of one: none share a bin, so ranks are plain ones.
    "cnn": (TRUTH / 3 + RNG.random(SIZE) / 1.5).round(2),
    "svm": (TRUTH + RNG.normal(size=SIZE)).round(1),
    "svm_says": np.where(RNG.random(SIZE) < 0.3 + 0.4 * TRUTH, "spam", "ham"),
    "vote": (RNG.random(SIZE) < 0.2 + 0.6 * TRUTH).astype(int),
    "truth": TRUTH,
}
CLASSIFIERS: dict[str, dict[str, Any]] = {
    "cnn": {"score": "cnn", "threshold": 0.5},
    "svm": {"score": "svm", "predicted": "svm_says", "positive": "spam"},
    "vote": {"predicted": "vote"},
}
SAYS = [TABLE["cnn"] >= 0.5, TABLE["svm_says"] == "spam", TABLE["vote"] == 1]
CODES = [sum(int(says[row]) << k for k, says in enumerate(SAYS)) for row in range(SIZE)]


def _rank(score: Floats) -> Floats:
    lower: Ints = (score[:, None] > score).sum(axis=1)
    equal: Ints = (score[:, None] == score).sum(axis=1)
    return (lower + equal / 2) / score.size


RANK = (_rank(TABLE["cnn"]) + _rank(TABLE["svm"])) / 2


def _read(table: object, **options: Any) -> Predictions:
    return read_predictions(table, **{"classifiers": CLASSIFIERS, "id": "id", **options})


def _strata(found: Predictions) -> Strata:
    shares = {code: items / found.size for code, items in found.cells().items()}
    groups = merge_cells(shares, most=3, least=0.2)
    heaps = cut_heaps(found.profile_heaps(groups), groups, [2] * len(groups))
    return Strata(found.classifiers, tuple(heaps), found.count_parts(heaps))


def _deal(found: Predictions, count: int) -> list[list[Card]]:
    strata = _strata(found)
    return found.deal(strata, scale="probability", seed=7, counts=[count] * strata.n_strata)


def test_items_of_cells_that_no_heap_holds_are_not_dealt() -> None:
    found = _read(TABLE)
    heaps = cut_heaps(found.profile_heaps([(3, 7)]), [(3, 7)], [1])
    strata = Strata(found.classifiers, tuple(heaps), found.count_parts(heaps))
    (cards,) = found.deal(strata, scale="probability", seed=0, counts=[SIZE])
    assert len(cards) == sum(code in (3, 7) for code in CODES)


def test_the_fingerprint_sees_scores_as_far_as_their_bins_go() -> None:
    """Strata and draws do not depend on what is finer."""
    before, within, all_of_one = _read(TABLE), np.array(TABLE["cnn"]), TABLE["cnn"] / 2
    within[3] += 1e-9
    moved = _read({**TABLE, "cnn": within})
    assert moved.fingerprint() == before.fingerprint()
    assert _deal(moved, 30) == _deal(before, 30)
    # The same ranks and labels, of scores in other bins.
    classifiers = {**CLASSIFIERS, "cnn": {"score": "cnn", "threshold": 0.25}}
    halved = _read({**TABLE, "cnn": all_of_one}, classifiers=classifiers)
    assert _strata(halved) == _strata(before)
    assert halved.fingerprint() != before.fingerprint()


def test_the_fingerprint_sees_who_has_which_score() -> None:
    """Two items of one code change places; every count stays."""
    scores, says = np.array(TABLE["cnn"]), TABLE["cnn"] >= 0.5
    one = int(np.argmin(np.where(says, scores, 2.0)))
    other = int(np.argmax(np.where(says & (_codes_of(TABLE) == _codes_of(TABLE)[one]), scores, -1)))
    assert scores[one] < scores[other]
    scores[[one, other]] = scores[[other, one]]
    assert _read({**TABLE, "cnn": scores}).fingerprint() != _read(TABLE).fingerprint()


def _codes_of(table: dict[str, Any]) -> Ints:
    codes = np.zeros(SIZE, dtype=np.int64)
    codes += table["cnn"] >= 0.5
    codes += 2 * (np.array(table["svm_says"]) == "spam")
    codes += 4 * (np.array(table["vote"]) == 1)
    return codes


def test_the_fingerprint_knows_who_said_what() -> None:
    swapped = {name: CLASSIFIERS[name] for name in ("svm", "cnn", "vote")}
    assert _read(TABLE, classifiers=swapped).fingerprint() != _read(TABLE).fingerprint()


def test_sixty_two_classifiers() -> None:
    columns = {f"c{k}": (np.arange(124) % 62 == k).astype(int) for k in range(62)}
    found = read_predictions(columns, classifiers={name: {"predicted": name} for name in columns})
    assert found.cells() == {1 << k: 2 for k in range(62)}


def test_predictions_are_returned_as_they_are() -> None:
    found = _read(TABLE)
    assert read_predictions(found, classifiers={}) is found
    with pytest.raises(PredictionsError, match="MemoryPredictions"):
        read_predictions(from_arrays(y_score=[1.0], threshold=0.5), classifiers=CLASSIFIERS)


def test_only_the_rank_has_a_common_scale() -> None:
    with pytest.raises(PredictionsError, match=r"(?s)variable 'score'.*variables: rank"):
        _read(TABLE).profile("score", "probability", [None])
    with pytest.raises(PredictionsError, match="variable 'rank'"):
        from_arrays(y_score=[0.5], threshold=0.5).profile("rank", "probability", [None])


def test_labelled_classifiers() -> None:
    labelled = read_labelled(
        {**TABLE, "truth": np.where(TRUTH, "spam", "ham")},
        label="truth",
        classifiers=CLASSIFIERS,
        positive="spam",
    )
    assert labelled.classifiers == ("cnn", "svm", "vote")
    assert labelled.codes.tolist() == CODES
    assert labelled.rank == pytest.approx(RANK, abs=1e-12)
    assert (labelled.truth == TRUTH).all()


@pytest.mark.parametrize(
    ("classifiers", "said"),
    [
        ({}, "there are 0 classifiers"),
        ({f"c{k}": {"predicted": "vote"} for k in range(63)}, "there are 63 classifiers"),
        ({"precision:cnn": {"predicted": "vote"}}, "cannot be called 'precision:cnn'"),
        ({7: {"predicted": "vote"}}, "cannot be called 7"),
        (["vote"], "classifiers are of type list"),
        ({"vote": "vote"}, "classifier 'vote': 'vote' is of type str"),
        ({"vote": {"predict": "vote"}}, "(?s)classifier 'vote': unknown option.*'predicted'"),
        ({"vote": {}}, "classifier 'vote': neither predicted= nor threshold="),
        ({"vote": {"predicted": 7}}, "classifier 'vote': predicted=7 is of type int"),
        ({"cnn": {"score": "cnn", "threshold": "x"}}, "classifier 'cnn': threshold='x'"),
        ({"vote": {"predicted": "votes"}}, "(?s)classifier 'vote': column 'votes'.*'vote'"),
        ({"vote": {"predicted": "svm"}}, "classifier 'vote': the predicted labels in column 'svm'"),
        ({"x": {"score": "svm_says", "threshold": 1}}, "classifier 'x': the scores in column"),
        (
            {"cnn": {"score": "cnn", "predicted": "vote", "threshold": 0.5}},
            "classifier 'cnn': .* contradict threshold=0.5",
        ),
    ],
)
def test_what_is_wrong_and_with_which_classifier(classifiers: Any, said: str) -> None:
    for table in (TABLE, pa.table(TABLE)):
        with pytest.raises(InputError, match=said):
            read_predictions(table, classifiers=classifiers)
        with pytest.raises(InputError, match=said):
            read_labelled(table, label="truth", classifiers=classifiers)


def test_what_is_wrong_but_not_with_a_classifier(tmp_path: Path) -> None:
    for source, options, said in (
        (TABLE, {"id": "key"}, "^column 'key' not found"),
        (TABLE, {"id": 7}, "^id=7 is of type int"),
        (TABLE, {"show": "text"}, "^show='text'"),
        (tmp_path / "none.csv", {}, "not found"),
        ({name: [] for name in TABLE}, {}, "^there are no predictions"),
    ):
        with pytest.raises(PredictionsError, match=said) as caught:
            _read(source, **options)
        assert "classifier" not in caught.value.problem
    number: Any = 7
    with pytest.raises(PredictionsError, match=r"^label=7 is of type int"):
        read_labelled(TABLE, label=number, classifiers=CLASSIFIERS)
