"""The most probable classes of items: as scikit-learn ranks them, wherever they are read from."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from sklearn.metrics import top_k_accuracy_score

from assay.core.vocabulary import Vocabulary
from assay.predictions import Predictions, Scan, from_arrays, read_labelled, read_predictions

N, K = 400, 5
NAMES = ("a", "b", "c", "d", "e")
RNG = np.random.default_rng(4)
TRUTH = RNG.integers(0, K, N)
P = RNG.dirichlet(np.full(K, 0.4), N).round(1)  # with many that are equal
COLUMNS = {f"p_{name}": P[:, place] for place, name in enumerate(NAMES)}


def _read(source: object, **more: Any) -> Predictions:
    return read_predictions(source, id="id", classes=Vocabulary(NAMES), **more)


def _sources(folder: Path) -> dict[str, Predictions]:
    ids = np.arange(N)
    wide = pa.table({"id": ids, **COLUMNS})
    lists = pa.table({"id": ids, "p": list(P)})
    pq.write_table(wide, folder / "wide.parquet")
    pq.write_table(lists, folder / "lists.parquet")
    star, column = {"probabilities": "p_*"}, {"probabilities": "p"}
    return {
        "columns": _read(wide, **star),
        "lists": _read(lists, **column),
        "an array": _read({"id": ids, "p": P}, **column),
        "arrays": from_arrays(y_prob=P, classes=list(NAMES)),
        "columns in DuckDB": _read(Scan(folder / "wide.parquet", engine="duckdb"), **star),
        "lists in DuckDB": _read(Scan(folder / "lists.parquet", engine="duckdb"), **column),
    }


def test_ranked_classes_give_the_top_k_accuracy_of_scikit_learn(tmp_path: Path) -> None:
    for name, found in _sources(tmp_path).items():
        for k in (1, 2, 4):
            ranked = np.array(found.ranked(range(N), k))[:, 0]
            right = (ranked == TRUTH[:, None]).any(axis=1)
            assert right.mean() == top_k_accuracy_score(TRUTH, P, k=k), (name, k)
    # Among equal ones the earlier first, as a person might write it, is another figure.
    other = (np.argsort(-P, axis=1, kind="stable")[:, :2] == TRUTH[:, None]).any(axis=1)
    assert other.mean() != top_k_accuracy_score(TRUTH, P, k=2)


def test_items_come_in_the_order_that_they_are_asked_for(tmp_path: Path) -> None:
    some = [17, 3, 399, 0]
    for name, found in _sources(tmp_path).items():
        every = found.ranked(range(N), 3)
        assert found.ranked(some, 3) == [every[id] for id in some], name


def test_two_classifiers_of_which_one_has_probabilities() -> None:
    table = {"id": np.arange(N), "said": [NAMES[k] for k in TRUTH], **COLUMNS}
    each: dict[str, Any] = {"new": {"probabilities": "p_*"}, "old": {"predicted": "said"}}
    found = _read(table, classifiers=each)
    assert found.has_probabilities == (True, False)
    (ranked,) = found.ranked([3], 2)
    assert ranked == [np.argsort(P[3], kind="stable")[::-1][:2].tolist(), []]


def test_the_place_of_the_true_class_is_counted_column_by_column() -> None:
    label = [*(NAMES[k] for k in TRUTH[:-1]), "something else"]
    found = read_labelled(
        {"y": label, **COLUMNS},
        label="y",
        classes=Vocabulary(NAMES),
        probabilities="p_*",
        ranked=True,
    )
    assert found.places is not None
    order = np.argsort(P, axis=1, kind="stable")[:, ::-1]
    expected = (order == TRUTH[:, None]).argmax(axis=1)
    assert found.places[:-1, 0].tolist() == expected[:-1].tolist()
    assert found.places[-1, 0] == K  # of no class: among no k
