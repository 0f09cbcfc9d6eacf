"""Predictions of several classes: found, read, and the same from every container."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from assay.core.targets import ALONE
from assay.core.vocabulary import MOST_CLASSES, YES_OR_NO, Vocabulary
from assay.errors import InputError, PredictionsError
from assay.predictions import (
    Predictions,
    Roles,
    Scan,
    find_classes,
    from_arrays,
    is_of_classes,
    read_given,
    read_predictions,
)
from assay.predictions.class_values import take_classes
from assay.predictions.duckdb.loading import load
from assay.predictions.memory import take_ids
from tests.predictions.class_population import KNOWN, TABLE, TOPICS, cut, dealt, scores_of, told_by
from tests.predictions.contract import scan_by


def _containers(folder: Path) -> dict[str, object]:
    frame = pd.DataFrame(TABLE)
    frame.to_csv(folder / "t.csv", index=False)
    frame.to_parquet(folder / "t.parquet")
    shuffled = frame.sample(frac=1.0, random_state=1)
    shuffled.to_parquet(folder / "shuffled.parquet")
    return {
        "categories": frame.assign(topic=frame["topic"].astype("category")),
        "polars": pl.from_pandas(frame),
        "csv": folder / "t.csv",
        "shuffled": folder / "shuffled.parquet",
        "query": f"SELECT * FROM '{folder / 't.parquet'}'",
        "duckdb of shuffled rows": Scan(folder / "shuffled.parquet", engine="duckdb"),
        "duckdb of csv": Scan(folder / "t.csv", engine="duckdb"),
        "duckdb of a query": Scan(f"SELECT * FROM '{folder / 't.parquet'}'", engine="duckdb"),
    }


@pytest.mark.parametrize(
    "columns",
    [
        {"predicted": "topic", "score": "top"},
        {"predicted": "topic"},
        {"probabilities": "p_*", "predicted": "topic"},
        {"probabilities": "p_*"},
        {"probabilities": "q_*", "predicted": "topic", "top": 1},
        {"probabilities": "q_*", "predicted": "topic", "top": 2},
        {"probabilities": "q_*", "top": 2, "scale": "percent"},
    ],
    ids=[
        "score",
        "no score",
        "probabilities of the predicted",
        "probabilities",
        "shares of the predicted",
        "shares of two",
        "percentages of two",
    ],
)
def test_every_container_answers_alike(columns: dict[str, Any], tmp_path: Path) -> None:
    def read(source: object) -> dict[str, Any]:
        classes = find_classes(source, predicted="topic")
        assert classes == KNOWN
        return told_by(
            read_predictions(source, id="url", show=["text"], classes=classes, **columns)
        )

    expected = read(TABLE)
    assert expected["cells"] == {
        number: TABLE["topic"].count(name) for number, name in enumerate(TOPICS)
    }
    for name, source in _containers(tmp_path).items():
        assert read(source) == expected, name


def test_probabilities_are_argmax_and_maximum() -> None:
    matrix = np.array([[0.2, 0.5, 0.3], [0.4, 0.4, 0.2], [0.1, 0.1, 2.0]])
    table = {f"p_{name}": matrix[:, place] for place, name in enumerate(("b", "c", "a"))}
    found = read_predictions(table, probabilities="p_*", classes=Vocabulary(("b", "c", "a")))
    assert isinstance(found, Predictions)
    said = [item.card.predicted for item in _found(found, 3)]
    assert said == [1, 0, 2]  # of equal ones the first
    scored = read_predictions(
        {"said": ["c", "b", "a"], "p": [0.5, 0.4, 2.0]},
        predicted="said",
        score="p",
        classes=Vocabulary(("b", "c", "a")),
    )
    assert [item.value for item in _found(found, 3)] == [item.value for item in _found(scored, 3)]
    given = read_predictions(
        {**table, "said": ["b", "b", "b"]},
        predicted="said",
        probabilities="p_*",
        classes=Vocabulary(("b", "c", "a")),
    )
    # 0.2, 0.4 and 0.1: the probability of the class that is predicted, not the largest
    assert [item.value for item in _found(given, 3)] == pytest.approx([1 / 2, 5 / 6, 1 / 6])
    assert given.cells() == {0: 3}


@pytest.mark.parametrize(
    ("top", "expected"),
    [
        # 0.6 of 1.2; 0.5 of 1; 0.996 that is rounded; negative numbers are none; nothing; 7 of 10
        (1, [0.5, 0.5, 0.9, 3.0, 0.0, 0.7]),
        (2, [1.0 / 1.2, 0.75, 0.996, 3.0, 0.0, 0.9]),
        (None, [0.6, 0.5, 0.9, 3.0, 0.0, 7.0]),  # as in 0.1.0
    ],
)
def test_scores_are_the_share_of_the_most_probable_classes(
    top: int | None, expected: list[float]
) -> None:
    rows = [[0.2, 0.6, 0.4], [0.25, 0.25, 0.5], [0.9, 0.096, 0.0], [3, -1, 1], [0, 0, 0], [7, 2, 1]]
    known = Vocabulary(("a", "b", "c"))
    none = None, None, None, None, None
    roles = Roles(*none, probabilities="p", classes=known, of_class=("p",), top=top)
    loaded = load({"p": np.array(rows)}, ["p"], (), None, ["p"])
    score, said = take_classes(loaded, roles, known, take_ids(loaded, None))
    assert score == pytest.approx(expected, abs=1e-15)
    assert said.tolist() == [1, 2, 0, 0, 0, 0]


def _found(predictions: Predictions, size: int) -> list[Any]:
    return predictions.find(range(size), variable="rank", scale="probability")


def test_what_is_thought_of_every_class_is_summed_by_what_is_said() -> None:
    every = np.stack([TABLE[f"p_{name}"] for name in TOPICS], axis=1)
    said = np.array([TOPICS.index(name) for name in TABLE["topic"]])
    sums = [every[said == number].sum(axis=0) for number in range(len(TOPICS))]
    found = read_predictions(TABLE, id="url", probabilities="p_*", classes=KNOWN)
    *_, told = scores_of(found)
    assert told == pytest.approx(np.round(sums, 6), abs=2e-6)
    below = from_arrays(y_prob=[[0.9, -0.2, 0.1], [0.5, 0.2, 0.3]])
    assert scores_of(below)[-1][0] == pytest.approx([1.4, 0.2, 0.4])
    alone = read_predictions(TABLE, id="url", predicted="topic", score="top", classes=KNOWN)
    assert scores_of(alone)[-1] is None
    yes_or_no = from_arrays(y_score=[0.9, 0.1], threshold=0.5)
    assert yes_or_no.class_scores() is None


def test_lists_and_arrays_are_probabilities_too() -> None:
    matrix = np.column_stack([TABLE[f"p_{name}"] for name in TOPICS])
    by_column = read_predictions(TABLE, id="url", probabilities="p_*", classes=KNOWN)
    listed = pa.table({"url": TABLE["url"], "p": list(matrix)})
    by_list = read_predictions(listed, id="url", probabilities="p", classes=KNOWN)
    by_array = from_arrays(y_prob=matrix, ids=np.array(TABLE["url"]), classes=TOPICS)
    for other in (by_list, by_array):
        assert other.fingerprint() == by_column.fingerprint()
        assert other.cells() == by_column.cells()
        assert other.classes == TOPICS
    assert from_arrays(y_prob=matrix).classes == ("0", "1", "2")


def test_arrays_of_names_and_of_numbers_are_classes() -> None:
    names = from_arrays(y_pred=np.array(["b", "a", "c", "a"]), y_score=[0.1, 0.2, 0.3, 0.4])
    assert (names.classes, names.cells()) == (("a", "b", "c"), {0: 2, 1: 1, 2: 1})
    numbers = from_arrays(y_pred=[10, 9, 2])
    assert numbers.classes == ("2", "9", "10")
    assert numbers.classifiers == (ALONE,)
    two = from_arrays(y_pred=["ham", "spam"], classes=["spam", "ham"])
    assert (two.classes, two.cells()) == (("spam", "ham"), {0: 1, 1: 1})
    assert from_arrays(y_pred=[1, 0, 1]).classes == YES_OR_NO.names
    with pytest.raises(PredictionsError, match="neither yes or no"):
        from_arrays(y_pred=["ham", "spam"])
    with pytest.raises(PredictionsError, match="sample_weight"):
        from_arrays(y_pred=[10, 9, 2], sample_weight=[1, 2, 3])


def test_several_classifiers_are_coded_by_the_vocabulary() -> None:
    rng = np.random.default_rng(3)
    said = rng.integers(0, 3, (2, 500))
    scores = rng.random((2, 500))
    names = np.array(TOPICS)
    table = {"one": names[said[0]], "two": names[said[1]], "p_one": scores[0], "p_two": scores[1]}
    each = {name: {"predicted": name, "score": f"p_{name}"} for name in ("one", "two")}
    found = read_predictions(table, classifiers=each, classes=KNOWN)
    codes = said[0] + said[1] * KNOWN.kinds
    assert [item.card.predicted for item in _found(found, 500)] == codes.tolist()
    ranks = [np.argsort(np.argsort(each)) + 0.5 for each in scores]
    mean = (ranks[0] + ranks[1]) / 2 / 500
    # Scores of one bin share their rank.
    assert np.abs(np.array([item.value for item in _found(found, 500)]) - mean).max() < 0.005
    other = {**table, "two": np.roll(table["two"], 1)}
    again = read_predictions(other, classifiers=each, classes=KNOWN)
    assert again.fingerprint() != found.fingerprint()
    with pytest.raises(PredictionsError, match="too many for one campaign"):
        read_predictions(
            table,
            classifiers={f"c{k}": {"predicted": "one"} for k in range(5)},
            classes=Vocabulary(tuple(map(str, range(10_000)))),
        )


# Which classes there are.


def test_numbers_are_sorted_as_numbers(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("said\n10\n9\n-1\n")
    for source in ({"said": [10, 9, -1]}, {"said": [10.0, 9.0, -1.0]}, path):
        assert find_classes(source, predicted="said").names == ("-1", "9", "10")


def test_aliases_and_case_are_known(tmp_path: Path) -> None:
    given = {"math": {"aliases": ["Mathematics"], "guideline": "proofs"}, "physics": "matter"}
    path = tmp_path / "classes.json"
    path.write_text(json.dumps(given))
    table = {"said": ["MATH", "mathematics", " physics "]}
    for classes in (given, path, str(path)):
        known = find_classes(table, predicted="said", classes=classes)
        found = read_predictions(table, predicted="said", classes=known)
        assert found.cells() == {0: 2, 1: 1}
        assert known.guidelines == {"math": "proofs", "physics": "matter"}


def test_tables_of_classes_are_read(tmp_path: Path) -> None:
    lines = [("name", "aliases", "guideline"), ("math", "maths|mathematics", "proofs, mostly")]
    lines.append(("physics", "", ""))
    expected = read_given(
        {"math": {"aliases": "maths|mathematics", "guideline": "proofs, mostly"}, "physics": None}
    )
    for ending, separator in ((".csv", ","), (".tsv", "\t")):
        path = tmp_path / f"classes{ending}"
        quote = '"' if ending == ".csv" else ""
        path.write_text(
            "".join(
                separator.join(f"{quote}{cell}{quote}" for cell in line) + "\n" for line in lines
            )
        )
        assert read_given(path) == expected
    names = tmp_path / "names.csv"
    names.write_text("name\nb\na\n")
    assert read_given(names).names == ("b", "a")


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (7, "of type int"),
        (["a"], "there are 1 classes"),
        (["a", "A"], "two classes are called"),
        ({"a": {"alias": ["b"]}, "c": ""}, "unknown option 'alias'"),
        ({"a": 3, "b": ""}, "has the description 3"),
        ({"a": {"aliases": ["x"]}, "b": {"aliases": ["x"]}}, "'x' is an alias of 'a' and of 'b'"),
        ("nowhere.json", "cannot be read"),
    ],
)
def test_bad_classes_are_refused(given: Any, told: str) -> None:
    with pytest.raises(InputError, match=told):
        read_given(given)


def test_bad_files_of_classes_are_refused(tmp_path: Path) -> None:
    for name, text, told in (
        ("a.json", "{", "not JSON"),
        ("b.json", "3", "neither a list"),
        ("c.csv", "names\na\n", "column 'name' not found"),
        ("d.csv", "name\na\na\n", "twice"),
    ):
        path = tmp_path / name
        path.write_text(text)
        with pytest.raises(InputError, match=told):
            read_given(path)


@pytest.mark.parametrize("kind", ["mapping", "csv", "parquet"])
def test_what_is_no_class_is_named_with_its_row(kind: str, tmp_path: Path) -> None:
    def source(*said: str | None) -> object:
        table = {"id": list("abcd")[: len(said)], "said": list(said)}
        path = tmp_path / f"t.{kind}"
        if kind == "csv":
            pd.DataFrame(table).to_csv(path, index=False)
        elif kind == "parquet":
            pd.DataFrame(table).to_parquet(path)
        return table if kind == "mapping" else path

    known = ("math", "physics")
    wrong = source("math", "pysics", "physics")
    with pytest.raises(PredictionsError) as error:
        find_classes(wrong, predicted="said", classes=known)
    assert "not a class: 'pysics'" in error.value.problem
    assert "row 1" in error.value.details
    assert error.value.hint == "did you mean 'physics'?"
    with pytest.raises(PredictionsError) as error:
        read_predictions(wrong, id="id", predicted="said", classes=Vocabulary(known))
    assert "1 of 3 predicted classes" in error.value.problem
    assert "row 1 (id 'b', predicted 'pysics')" in error.value.details
    assert error.value.hint == "did you mean 'physics'?"
    missing = source("math", None, "physics", " ")
    told = r"2 of 4 predicted classes in .* missing"
    with pytest.raises(PredictionsError, match=told) as error:
        find_classes(missing, predicted="said")
    with pytest.raises(PredictionsError, match=told) as other:
        read_predictions(missing, id="id", predicted="said", classes=Vocabulary(known))
    for each in (error, other):
        assert "row 1" in each.value.details and "row 3" in each.value.details


def test_none_of_these_is_no_predicted_class() -> None:
    with pytest.raises(PredictionsError, match="none of the 2 classes"):
        read_predictions(
            {"said": ["a", "none of these"]}, predicted="said", classes=Vocabulary(("a", "b"))
        )


def test_too_many_and_too_few_classes_are_refused() -> None:
    with pytest.raises(PredictionsError, match="more than 10,000 values"):
        find_classes({"said": np.arange(MOST_CLASSES + 1)}, predicted="said")
    with pytest.raises(PredictionsError, match="names one class only"):
        find_classes({"said": ["a", "a"]}, predicted="said")
    with pytest.raises(PredictionsError, match="two classes are called"):
        find_classes({"said": ["a", "A"]}, predicted="said")


def test_columns_of_probabilities_must_be_those_of_the_classes() -> None:
    table = {"p_math": [0.5], "p_physic": [0.5], "p_top": [0.5]}
    with pytest.raises(PredictionsError, match="'physic' is not a class") as error:
        read_predictions(table, probabilities="p_*", classes=Vocabulary(("math", "physics")))
    assert error.value.hint == "did you mean 'physics'?"
    with pytest.raises(PredictionsError, match="no column of probabilities for 1 of 2 classes"):
        read_predictions(
            {"p_math": [0.5]}, probabilities="p_*", classes=Vocabulary(("math", "physics"))
        )
    with pytest.raises(PredictionsError, match="no column fits"):
        find_classes(table, probabilities="q_*")
    with pytest.raises(PredictionsError, match="2 stars"):
        find_classes(table, probabilities="p_**")
    with pytest.raises(PredictionsError, match="both of the class 'math'"):
        read_predictions(
            {"p_math": [0.5], "p_Math": [0.5], "p_b": [0.1]},
            probabilities="p_*",
            classes=Vocabulary(("math", "b")),
        )
    assert find_classes(table, probabilities="p_*").names == ("math", "physic", "top")


def test_probabilities_must_be_finite_numbers() -> None:
    known = Vocabulary(("a", "b"))
    for bad in (float("nan"), float("inf"), None):
        with pytest.raises(PredictionsError, match="1 of 2 probabilities in column 'p_b'"):
            read_predictions(
                {"p_a": [0.5, 0.5], "p_b": [0.5, bad]}, probabilities="p_*", classes=known
            )
    with pytest.raises(PredictionsError, match="the probabilities in column 'p_b'"):
        read_predictions({"p_a": [0.5], "p_b": ["x"]}, probabilities="p_*", classes=known)
    with pytest.raises(PredictionsError, match="do not have 2 entries"):
        read_predictions({"p": [[0.5, 0.5], [0.5]]}, probabilities="p", classes=known)
    with pytest.raises(PredictionsError, match="of type double"):
        read_predictions({"p": [0.5, 0.5]}, probabilities="p", classes=known)
    with pytest.raises(PredictionsError, match="shape"):
        from_arrays(y_prob=[0.5, 0.5])


@pytest.mark.parametrize(
    "given",
    [
        {"threshold": 0.5, "score": "p"},
        {"positive": "a"},
        {"score": "p", "score_of": "negative"},
        {"score": "p", "probabilities": "p_*"},
        {"sample_weight": "p"},
        {"aux": ["p"]},
        {"groups": ["p"]},
    ],
    ids=lambda given: next(iter(given)),
)
def test_what_goes_with_yes_and_no_only_is_refused(given: dict[str, Any]) -> None:
    table = {"said": ["a", "b"], "p": [0.5, 0.5], "p_a": [0.5, 0.5], "p_b": [0.5, 0.5]}
    with pytest.raises(PredictionsError):
        read_predictions(table, predicted="said", classes=Vocabulary(("a", "b")), **given)


def test_the_values_of_a_column_are_told_up_to_a_limit(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    pd.DataFrame({"said": ["b", "a", None, "b"], "n": [1, 2, 3, 4]}).to_parquet(path)
    assert is_of_classes(path, "said") == ["a", "b"]
    assert len(is_of_classes(path, "n")) == 3
    assert is_of_classes(from_arrays(y_pred=[5, 6, 7]), "said") == ["5", "6", "7"]
    with pytest.raises(PredictionsError, match="not found"):
        is_of_classes(path, "sad")


def test_predictions_know_their_classes() -> None:
    held = from_arrays(y_pred=[5, 6, 7])
    assert find_classes(held).names == ("5", "6", "7")
    assert find_classes(held, classes={"5": "five", "6": "", "7": ""}).guidelines == {"5": "five"}
    with pytest.raises(PredictionsError, match="has the classes 5, 6, 7"):
        find_classes(held, classes=["a", "b"])
    assert read_predictions(held) is held


@pytest.mark.parametrize(("engine", "id"), [("duckdb", "id"), ("duckdb", "url"), ("spark", "id")])
def test_several_classifiers_of_classes_are_counted_in_place(
    engine: str, id: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    rng, size, names = np.random.default_rng(4), 3_000, [f"t{place:02}" for place in range(30)]
    one, two = rng.dirichlet(np.full(30, 0.3), (2, size))
    table = {f"p_{name}": one[:, place] for place, name in enumerate(names)}
    table |= {"id": np.arange(size), "url": [f"é{row}" for row in range(size)]}
    table |= {"list": two.tolist(), "said": np.array(names)[two.argmax(axis=1)]}
    path = tmp_path / "several.parquet"
    pd.DataFrame(table).to_parquet(path, row_group_size=500)
    each = {"stars": {"probabilities": "p_*", "top": 2}, "listed": {"probabilities": "list"}}
    options: dict[str, Any] = {"id": id, "classes": Vocabulary(tuple(names))}
    options["classifiers"] = {**each, "bare": {"predicted": "said"}}
    here = read_predictions(table, **options)
    there = read_predictions(scan_by(request, engine, path), **options)
    assert there.scanner.stays
    assert there.fingerprint() == here.fingerprint()
    assert there.cells() == here.cells()
    assert there.has_probabilities == here.has_probabilities == (True, True, False)
    ids = [table[id][row] if id == "url" else row for row in (7, 5, 900)]
    assert there.ranked(ids, 3) == here.ranked(ids, 3)
    heaps = [tuple(sorted(here.cells()))[place::3] for place in range(3)]
    strata = cut(here, heaps, 3)
    assert cut(there, heaps, 3) == strata
    assert dealt(there, strata, 40) == dealt(here, strata, 40)


@pytest.mark.parametrize("engine", ["duckdb", "spark"])
def test_engines_say_what_is_wrong_with_classes(
    engine: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    good = {"id": ["x", "y", "z"], "said": ["a", "a", "b"], "p_a": [0.5] * 3, "p_b": [0.5] * 3}
    said, every = {"predicted": "said"}, {"probabilities": "p_*"}
    wrong = [0.5, float("nan"), float("-inf")]
    faults: list[tuple[dict[str, Any], dict[str, Any], str]] = [
        ({"said": ["a", "c", "b"]}, said, r"1 of 3 predicted classes .* none of the 2(?s:.*)'y'"),
        ({"said": ["a", None, " "]}, said, r"2 of 3 predicted classes .* missing"),
        ({"p_b": [0.5, None, 0.5]}, every, r"1 of 3 rows .* have probabilities that"),
        ({"p_b": wrong}, every, r"2 of 3 rows .* have probabilities that"),
    ]
    if engine == "duckdb":
        faults += [(columns, {**said, **every}, told) for columns, _, told in faults[2:]]
        faults += [
            ({"p_b": ["0.5"] * 3}, every, "of type VARCHAR"),
            (
                {"p": [[0.5, 0.5], [0.5], [0.1, 0.9]]},
                {"probabilities": "p"},
                r"1 of 3 rows .* not 2 of them",
            ),
            ({}, {"probabilities": "p_a"}, "of type DOUBLE"),
        ]
    for place, (changed, roles, told) in enumerate(faults):
        path = tmp_path / f"{place}.parquet"
        pq.write_table(pa.table({**good, **changed}), path)
        scan = scan_by(request, engine, path)
        with pytest.raises(PredictionsError, match=told):
            read_predictions(scan, id="id", classes=Vocabulary(("a", "b")), **roles)


def test_lists_in_json_and_wide_arrays_are_read(tmp_path: Path) -> None:
    matrix = np.random.default_rng(6).dirichlet([1, 1, 1], 40)
    path = tmp_path / "t.jsonl"
    rows = [{"id": k, "p": row, "said": "text"} for k, row in enumerate(matrix.tolist())]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    known = Vocabulary(("0", "1", "2"))
    columns: dict[str, Any] = {"id": "id", "probabilities": "p", "classes": known}
    wide = {"id": np.arange(40), "p": matrix}
    expected = read_predictions(wide, **columns).fingerprint()
    for source in (path, Scan(path, engine="duckdb"), wide):
        assert find_classes(source, probabilities="p") == known
        assert read_predictions(source, **columns).fingerprint() == expected
    with pytest.raises(PredictionsError, match="not a list of probabilities"):
        find_classes(path, probabilities="said")
    rows[3]["p"] = "none"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    for engine in ("memory", "duckdb"):
        with pytest.raises(PredictionsError, match="1 of 40"):
            read_predictions(Scan(path, engine=engine), **columns)


def test_yes_and_no_are_read_as_before() -> None:
    table = {"said": [1, 0, 1], "p": [0.9, 0.1, 0.8]}
    columns: dict[str, Any] = {"predicted": "said", "score": "p"}
    with_classes = read_predictions(table, **columns, classes=YES_OR_NO)
    assert with_classes.fingerprint() == read_predictions(table, **columns).fingerprint()
    assert with_classes.classes == ("no", "yes")
