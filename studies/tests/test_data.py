"""The studies' populations: generated, read from files, and made from the papers' originals."""

import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from assay.errors import AssayError, InputError, PredictionsError
from studies import data
from studies import data as originals

REAL = Path(os.environ.get("ASSAY_DATA", Path(__file__).parents[2] / ".." / "shared" / "data"))


def real_folder() -> Path:
    if not (REAL / "arxiv15.parquet").is_file():
        pytest.skip(f"no real populations in {REAL}; set ASSAY_DATA to their folder")
    return REAL


def test_generated_topics_spread_over_precision_like_the_real_ones() -> None:
    topics = data.generated_topics(seed=1)
    precisions = [each.population.value("precision") for each in topics]
    assert len({each.name for each in topics}) == 15
    assert 0.42 < min(precisions) < 0.5
    assert 0.88 < max(precisions) < 0.94
    # Paper 1 draws with replacement; no topic may be smaller than what random sampling labels.
    assert min(each.population.predicted_positives for each in topics) > 9604


def test_the_seed_makes_the_populations() -> None:
    first, again, other = (
        [each.population.value("accuracy") for each in data.generated_classifiers(seed)]
        for seed in (1, 1, 2)
    )
    assert first == again
    assert first != other
    assert first[0] > 0.85 > first[1] > 0.73 > first[2] > 0.65


def test_arxiv15_is_read_with_the_precisions_of_its_description() -> None:
    found = {each.name: each.population for each in data.arxiv15(real_folder())}
    assert len(found) == 15
    assert found["math"].predicted_positives == 200_004
    assert round(found["math"].value("precision"), 4) == 0.9118
    assert round(found["math-ph"].value("precision"), 4) == 0.4456


def test_the_stand_ins_of_paper_2_are_read_with_the_accuracies_of_their_description() -> None:
    found = {
        each.name: round(each.population.value("accuracy"), 4)
        for each in data.kumar_raj_stand_ins(real_folder())
    }
    assert found == {
        "rcv1": 0.9892,
        "epsilon": 0.8396,
        "epsilon (weaker)": 0.7575,
        "news20": 0.9578,
    }


@pytest.mark.parametrize("read", [data.arxiv15, data.kumar_raj_stand_ins])
def test_a_folder_without_the_data_is_told(read: Callable[[Path], object], tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"no .*\.parquet in"):
        read(tmp_path)


def libsvm_file(path: Path, rows: int, seed: int) -> Path:
    """Write rows of two features; the first tells the class, except in one row of ten."""
    rng = np.random.default_rng(seed)
    side = rng.choice([-1, 1], rows)
    first = side * np.where(rng.random(rows) < 0.1, -1.0, 1.0) + 0.3 * rng.standard_normal(rows)
    lines = [
        f"{label:+d} 1:{a:.4f} 3:{b:.4f}\n"
        for label, a, b in zip(side, first, rng.standard_normal(rows), strict=True)
    ]
    path.write_text("".join(lines))
    return path


def test_news20_trains_on_some_rows_and_scores_the_others(tmp_path: Path) -> None:
    file = libsvm_file(tmp_path / "news20.binary", 500, seed=1)
    found = originals.news20(file, training=100)
    assert found.population.size == 400
    assert found.population.scale == "margin"
    # 400 rows, nine of ten right: five standard errors are 0.075.
    assert abs(found.population.value("accuracy") - 0.9) < 0.075
    other = originals.news20(file, training=100, seed=1)
    assert other.population.value("accuracy") != found.population.value("accuracy")


def test_epsilon_is_both_its_files(tmp_path: Path) -> None:
    files = [
        libsvm_file(tmp_path / "epsilon_normalized", 300, seed=2),
        libsvm_file(tmp_path / "epsilon_normalized.t", 200, seed=3),
    ]
    found = originals.epsilon(files, training=100)
    assert found.population.size == 400
    assert abs(found.population.value("accuracy") - 0.9) < 0.075


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ("what is this\n", "as LIBSVM"),
        ("+1 1:0.5\n" * 9, "two classes are needed, got 1"),
        ("1 1:0.5\n2 1:0.1\n3 1:0.2\n" * 3, "two classes are needed, got 3"),
    ],
)
def test_a_file_that_is_none_is_told(content: str, told: str, tmp_path: Path) -> None:
    file = tmp_path / "news20.binary"
    file.write_text(content)
    with pytest.raises(PredictionsError, match=told):
        originals.news20(file, training=4)


def test_a_missing_file_is_told(tmp_path: Path) -> None:
    with pytest.raises(PredictionsError, match="No such file"):
        originals.epsilon([tmp_path / "epsilon_normalized"])


@pytest.mark.parametrize("training", [0, 1, 50, 4000])
def test_there_must_be_rows_to_train_on_and_others(training: int, tmp_path: Path) -> None:
    file = libsvm_file(tmp_path / "news20.binary", 50, seed=4)
    with pytest.raises(InputError, match="there are 50 rows"):
        originals.news20(file, training=training)


def test_training_rows_of_one_class_are_told(tmp_path: Path) -> None:
    file = tmp_path / "news20.binary"
    file.write_text("+1 1:0.5\n" * 99 + "-1 1:0.5\n")
    with pytest.raises(InputError, match="all of one class"):
        originals.news20(file, training=2)


@pytest.mark.parametrize("load", [originals.rcv1, originals.newsgroups])
def test_data_that_scikit_learn_does_not_have_are_told(
    load: Callable[[Path], object], tmp_path: Path
) -> None:
    with pytest.raises(AssayError, match=r"scikit-learn has no copy") as told:
        load(tmp_path)
    assert "from sklearn.datasets import fetch_" in told.value.hint
    assert str(tmp_path) in told.value.hint


def test_rcv1_keeps_documents_of_one_side_only() -> None:
    names = ["C11", "CCAT", "ECAT", "GCAT", "M11", "MCAT"]
    topics = [["C11", "CCAT"], ["CCAT", "ECAT"], ["GCAT"], ["ECAT", "MCAT"], ["M11", "MCAT"], []]
    rows = [[name in has for name in names] for has in topics]
    kept, positive = originals.rcv1_two_classes(csr_matrix(np.array(rows, dtype=float)), names)
    assert kept.tolist() == [True, True, True, False, True, False]
    assert positive.tolist() == [True, True, False, False]
