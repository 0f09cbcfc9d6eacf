"""A campaign of several classifiers on the command line, from the file to the last label."""

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from assay.cli.options import parse_classifiers
from assay.errors import InputError

Fixture = Callable[..., Any]
CLASSIFIERS = ["--classifier", "cnn=p_cnn,said_cnn", "--classifier", "mve=,vote"]
CLASSIFIERS += ["--classifier", "svm=p_svm>=0.5", "--positive", "spam"]
METRICS = ["--metric", "precision:cnn", "--metric", "recall:mve within 0.08"]
METRICS += ["--metric", "precision:cnn - precision:mve"]


@pytest.fixture
def several(folder: Path) -> dict[str, str]:
    """Write several.csv into the current folder, and return the truth."""
    rng = np.random.default_rng(3)
    truth = rng.random(1200) < 0.4
    cnn, svm, third = (
        1 / (1 + np.exp(-np.where(truth, 1.5, -1.5) - rng.normal(0, noise, 1200)))
        for noise in (1.6, 1.2, 1.4)
    )
    vote = (cnn > 0.5).astype(int) + (svm > 0.5) + (third > 0.5) >= 2
    words = np.array(["ham", "spam"])
    with (folder / "several.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["id", "p_cnn", "said_cnn", "p_svm", "vote", "title"])
        said = words[(cnn > 0.5).astype(int)], words[vote.astype(int)]
        for k in range(1200):
            row = [f"m{k}", cnn[k].round(6), said[0][k], svm[k].round(6), said[1][k], f"title {k}"]
            writer.writerow(row)
    return {f"m{k}": "yes" if truth[k] else "no" for k in range(1200)}


@pytest.fixture
def make(run: Fixture, several: dict[str, str]) -> Fixture:
    """Make a campaign `joint` of three classifiers and three metrics."""
    assert several

    def call(*more: str, goal: tuple[str, ...] = ("--within", "0.06")) -> Any:
        given = ["several.csv", "--id", "id", "--name", "joint", *CLASSIFIERS, *METRICS]
        result = run("create", *given, *goal, *more)
        assert result.exit_code == 0, result.output
        return result

    return call


def column(file: str, name: str) -> list[str]:
    with Path(file).open(newline="") as stream:
        return [row[name] for row in csv.DictReader(stream)]


def label_all(run: Fixture, truth: dict[str, str], size: int = 200) -> None:
    """Judge batch after batch by way of files, until there is nothing left to judge."""
    for number in range(60):
        run("export", "joint", "--what", "batch", "--size", str(size), "-o", f"batch{number}.csv")
        ids = column(f"batch{number}.csv", "id")
        if not ids:
            return
        lines = ["id,label", *(f"{each},{truth[each]}" for each in ids)]
        Path("labels.csv").write_text("\n".join(lines) + "\n")
        assert run("import", "joint", "labels.csv").exit_code == 0
    pytest.fail("60 batches were not enough")


@pytest.mark.parametrize(
    ("text", "options"),
    [
        ("cnn=p,said", {"score": "p", "predicted": "said"}),
        ("cnn=,said", {"predicted": "said"}),
        ("cnn=p>=0.5", {"score": "p", "threshold": 0.5}),
        ("cnn=p>=-1.5,said", {"score": "p", "threshold": -1.5, "predicted": "said"}),
        ("cnn=the score,a=b", {"score": "the score", "predicted": "a=b"}),
    ],
)
def test_the_forms_of_a_classifier(text: str, options: dict[str, object]) -> None:
    assert parse_classifiers([text]) == {"cnn": options}
    with_label = parse_classifiers([text, "other=,said"], positive="spam")["cnn"]
    assert with_label == {**options, **({"positive": "spam"} if "predicted" in options else {})}


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (["cnn"], "it does not say NAME="),
        (["p,said"], "it does not say NAME="),
        (["cnn="], "nothing tells what cnn says yes to"),
        (["cnn=p"], "nothing tells what cnn says yes to"),
        (["cnn=p,said,too"], "more than two columns"),
        (["cnn=p>=much"], "'much' is not a number"),
        (["cnn=p>="], "'' is not a number"),
        (["cnn=>=0.5"], "no column of scores"),
        (["=p,said"], "cannot be called ''"),
        (["our cnn=p,said"], "cannot be called 'our cnn'"),
        (["cnn=p,said", "cnn=,vote"], "two classifiers are called 'cnn'"),
    ],
)
def test_what_is_no_classifier_is_refused(given: list[str], message: str) -> None:
    with pytest.raises(InputError, match=message):
        parse_classifiers(given)


def test_it_tells_whose_columns_were_read_and_what_for(make: Fixture) -> None:
    told = make("--show", "title", "--show", "p_cnn", "--show", "vote", "--simultaneous").stdout
    assert "several.csv: 1,200 items, ids are strings" in told
    assert "95% confidence that all are right at once" in told
    lines = [line.split() for line in told.splitlines()]
    assert ["mve", "–", "vote", "=", "spam"] in [line[:5] for line in lines]
    assert ["svm", "p_svm", "p_svm", ">=", "0.5"] in [line[:5] for line in lines]
    assert ["recall:mve", "±0.08"] in lines
    assert ["precision:cnn", "-", "precision:mve", "±0.06"] in lines
    assert "scale" not in told
    assert "reviewers are not shown p_cnn, vote" in told
    assert told.rstrip().endswith("next: assay label joint")
    assert max(map(len, told.splitlines())) <= 80


def test_all_that_a_classifier_says_yes_to_is_told_though_strata_hold_less(
    run: Fixture, several: dict[str, str]
) -> None:
    assert several
    every = ["several.csv", *CLASSIFIERS, "--within", "0.1", "--json", "--metric"]
    less = json.loads(run("create", *every, "accuracy:cnn - accuracy:mve").stdout)
    whole = json.loads(run("create", *every, "accuracy", "--name", "whole").stdout)
    assert sum(row["size"] for row in less["strata"]) < len(several)
    assert less["classifiers"] == whole["classifiers"]


def test_several_metrics_of_one_classifier(create: Fixture, run: Fixture) -> None:
    create("--metric", "recall", "--metric", "f1 within 0.1", goal=("--within", "0.2"))
    estimates = json.loads(run("status", "spam", "--json").stdout)["estimates"]
    assert {name: each["within"] for name, each in estimates.items()} == {
        "recall:classifier": 0.2,
        "f1:classifier": 0.1,
    }


BAD = {
    "a column beside": (["--score", "p_cnn"], "--score p_cnn is given beside --classifier"),
    "name twice": (["--classifier", "cnn=,vote"], "two classifiers are called 'cnn'"),
    "no column": (["--classifier", "x=,votes"], "classifier 'x': column 'votes' not found"),
    "guaranteed": (["--mode", "guaranteed"], "cannot be served by a design with"),
    "a question": (["--at-least", "0.9"], "--at-least 0.9 goes with one metric"),
    "labels from before": (["--labels", "x.csv"], "x.csv cannot be read"),
}


@pytest.mark.parametrize(("words", "message"), BAD.values(), ids=BAD)
def test_errors_are_told_and_leave_nothing_behind(
    words: list[str], message: str, run: Fixture, several: dict[str, str]
) -> None:
    assert several
    result = run("create", "several.csv", *CLASSIFIERS, "--within", "0.1", *words)
    assert (result.exit_code, result.stdout) == (1, "")
    assert message in result.stderr
    assert run("create", "several.csv", *CLASSIFIERS, "--within", "0.1").exit_code == 0


def test_a_positive_label_needs_a_predicted_column(run: Fixture, several: dict[str, str]) -> None:
    assert several
    words = ["--classifier", "svm=p_svm>=0.5", "--positive", "spam", "--within", "0.1"]
    result = run("create", "several.csv", *words)
    assert "--positive spam is given, and no classifier has a predicted column" in result.stderr


def test_status_has_a_row_for_each_metric(make: Fixture, run: Fixture) -> None:
    make(goal=("--within", "0.06", "--budget", "20"))
    before = run("status", "joint").stdout
    assert "0 of 3 metrics are within their goals" in before
    assert before.count("there are too few labels to say anything yet") == 1
    run("label", "joint", input="c\n" + "y\nn\n" * 12)
    told = run("status", "joint").stdout
    rows = [line for line in told.splitlines() if line.rstrip().endswith("missed")]
    assert [row.split()[0] for row in rows] == ["precision:cnn", "recall:mve", "precision:cnn"]
    difference = rows[2].split("[")[1].split("]")[0].split(", ")
    assert [end[0] for end in difference] == ["-", "+"]
    assert "answers 20" in " ".join(told.split())
    assert "the budget is spent" in told
    assert "whatever they are" in told
    assert "next:" not in told
    assert max(map(len, told.splitlines())) <= 80


def test_the_list_shows_the_metric_farthest_from_its_goal(make: Fixture, run: Fixture) -> None:
    make(goal=("--within", "0.06", "--budget", "20"))
    run("label", "joint", input="y\nn\n" * 10)
    estimates = json.loads(run("status", "joint", "--json").stdout)["estimates"]
    worst = max(estimates, key=lambda name: estimates[name]["half_width"] / 0.06)
    told = " ".join(run("status").stdout.split())
    assert worst.split()[0] in told
    assert "(1 of 3)" in told
    assert " 20 done" in told


def test_second_opinions_on_several_go_from_the_file_to_the_status(
    make: Fixture, run: Fixture, several: dict[str, str]
) -> None:
    """The judge is right about nine items in ten; a new column of the same file."""
    rng = np.random.default_rng(5)
    rows = Path("several.csv").read_text().splitlines()
    said = [(several[row.split(",")[0]] == "yes") ^ (rng.random() < 0.1) for row in rows[1:]]
    judged = [f"{row},{int(each)}" for row, each in zip(rows[1:], said, strict=True)]
    Path("several.csv").write_text("\n".join([f"{rows[0]},judge", *judged]) + "\n")
    told = " ".join(make("--aux", "judge").stdout.split())
    assert "aux judge: " in told
    label_all(run, several, size=20)  # in rounds: strata may be cut anew between them
    status = run("status", "joint")
    assert "second opinions" in " ".join(status.stdout.split())
    document = json.loads(run("status", "joint", "--json").stdout)
    assert document["savings"]["low"] < document["savings"]["high"]
    assert run("verify", "joint").exit_code == 0
