"""``assay plan`` on the command line."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from typer.testing import Result

Run = Callable[..., Result]

COLUMNS = ("--id", "id", "--score", "p", "--predicted", "said", "--positive", "spam")
QUICK = ("--replications", "5")


def test_it_tells_what_each_design_takes_and_what_it_comes_to(run: Run) -> None:
    result = run("plan", "predictions.csv", *COLUMNS, "--within", "0.1", "--budget", "40", *QUICK)
    assert result.exit_code == 0, result.output
    assert result.output.startswith("precision within ±0.1 at 95%: about ")
    for text in ("default", "centred", "guaranteed", "bennett-carvalho", "right too seldom",
                 "what another half-width would cost", "what 40 labels would give",
                 "if scores are calibrated: stratifying", "whatever the truth",
                 "note: the truth is supposed from the scores alone"):  # fmt: skip
        assert text in result.output, text


def test_from_earlier_labels_and_from_an_earlier_campaign(run: Run, folder: Path) -> None:
    drawn = np.random.default_rng(1).choice(400, 80, replace=False)
    rows = [f"m{item:03d},{'yes' if item % 3 else 'no'}" for item in drawn]
    (folder / "labels.csv").write_text("\n".join(["id,label", *rows]) + "\n")
    goal = ("--budget", "30", *QUICK)
    result = run("plan", "predictions.csv", *COLUMNS, *goal, "--labels", "labels.csv")
    assert result.exit_code == 0, result.output
    assert "80 labels drawn at random" in " ".join(result.output.split())
    made = run("create", "predictions.csv", *COLUMNS, "--budget", "80", "--name", "last",
               "--labels", "labels.csv")  # fmt: skip
    assert made.exit_code == 0, made.output
    result = run("plan", "predictions.csv", *COLUMNS, *goal, "--like", "last")
    assert result.exit_code == 0, result.output
    assert "labels of campaign 'last'" in " ".join(result.output.split())


def test_a_judge_that_costs_money(run: Run) -> None:
    words = ("--within", "0.1", *QUICK, "--aux", "judge", "--judge-cost", "0.01")
    result = run("plan", "predictions.csv", *COLUMNS, *words, "--label-cost", "1.5")
    assert result.exit_code == 0, result.output
    assert "what judge would save, at 0.01 a judgement and 1.5 a label" in result.output
    result = run("plan", "predictions.csv", *COLUMNS, *words)
    assert result.exit_code == 1
    assert "--judge-cost 0.01 is given without --label-cost" in " ".join(result.output.split())


def test_a_threshold_that_is_to_be_found(run: Run) -> None:
    words = ("--id", "id", "--score", "p", "--threshold-for", "precision >= 0.6", *QUICK)
    result = run("plan", "predictions.csv", *words, "--budget", "60")
    assert result.exit_code == 0, result.output
    for text in ("a threshold with precision >= 0.6 at 95% from 60 labels",
                 "what labels are expected to find", "certified", "of the best"):  # fmt: skip
        assert text in " ".join(result.output.split()), text
    assert "predicted yes" not in result.output


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (("--threshold", "0.5"), "--threshold 0.5 is given beside --threshold-for"),
        (("--within", "0.1"), "--within 0.1 and --threshold-for"),
        (("--rho", "0.5"), "--rho 0.5 is given beside --threshold-for"),
    ],
)
def test_what_does_not_go_with_a_threshold_to_find(
    run: Run, words: tuple[str, ...], problem: str
) -> None:
    asked = ("--id", "id", "--score", "p", "--threshold-for", "precision >= 0.6")
    result = run("plan", "predictions.csv", *asked, *words)
    assert result.exit_code == 1
    assert problem in " ".join(result.output.split())
    assert run("plan", "predictions.csv", *COLUMNS, "--gain", "0.1").exit_code == 1


def test_more_classes_than_yes_and_no(run: Run, folder: Path) -> None:
    rng = np.random.default_rng(2)
    p = rng.dirichlet([0.3, 0.4, 0.5], 400)
    rows = [f"{number},{','.join(f'{each:.6f}' for each in row)}" for number, row in enumerate(p)]
    (folder / "topics.csv").write_text("\n".join(["id,p_math,p_art,p_law", *rows]) + "\n")
    words = ("plan", "topics.csv", "--id", "id", "--probabilities", "p_*", *QUICK)
    result = run(*words, "--metric", "macro-f1", "--metric", "recall:art", "--within", "0.15")
    assert result.exit_code == 0, result.output
    for text in ("macro f1 within ±0.15 at 95%: about ", "recall:art within ±0.15 at 95%: about ",
                 "topics.csv: 400 items of 3 classes", "right when it stops",
                 "the others are of the classes that the probabilities say"):  # fmt: skip
        assert text in " ".join(result.output.split()), text


def test_labels_are_asked_for_by_the_option_of_this_command(run: Run) -> None:
    words = ("--classifier", "a=p>=0.5", "--classifier", "b=p>=0.7", "--id", "id", "--budget", "9")
    made = run("create", "predictions.csv", *words, "--name", "two")
    assert made.exit_code == 0, made.stderr
    result = run("plan", "predictions.csv", *COLUMNS, "--like", "two", "--within", "0.1")
    assert "hint: give --labels of items" in result.stderr
