"""``assay follow``: periods of a series, the table, the picture, and the exit code."""

import json
from pathlib import Path

import pytest

import assay
from tests.cli.conftest import Fixture

COLUMNS = ("--id", "id", "--score", "p", "--predicted", "said", "--positive", "spam")


@pytest.fixture
def weeks(folder: Path) -> Path:
    """Two weeks: the second has four fifths of the first."""
    head, *rows = (folder / "predictions.csv").read_text().splitlines()
    for name, kept in (("w1", rows[:320]), ("w2", rows[64:384])):
        (folder / f"{name}.csv").write_text("\n".join([head, *kept]) + "\n")
    return folder


def answer(name: str, *, wrong: int) -> None:
    """Judge all that is asked for: one item in so many is not spam."""
    campaign = assay.load_campaign(name, storage="sqlite:///assay.db")
    while batch := campaign.ask(20):
        campaign.tell({item.id: int(str(item.id)[1:]) % wrong > 0 for item in batch})


def test_a_series_is_begun_followed_and_shown(run: Fixture, weeks: Path) -> None:
    # One series in twenty is said to have moved by chance; this seed's is not.
    options = (*COLUMNS, "--floor", "0.7", "--seed", "2")
    begun = run("follow", "w1.csv", "--series", "spam", "--period", "w1", *options)
    assert begun.exit_code == 0, begun.output
    assert begun.stdout.rstrip().endswith("next: assay label spam/w1")
    answer("spam/w1", wrong=9)
    assert run("follow", "w2.csv", "--series", "spam", "--period", "w2").exit_code == 0
    answer("spam/w2", wrong=9)
    assert run("follow", "--series", "spam", "--fail-on-fall").exit_code == 0
    result = run("follow", "--series", "spam", "--picture", "trend.svg")
    assert result.exit_code == 0, result.output
    assert "  no significant change since w1. Floor 0.70: met." in result.stdout  # 0.890 in both
    assert max(map(len, result.stdout.splitlines())) <= 80
    assert (weeks / "trend.svg").read_text().startswith("<svg")
    document = json.loads(run("follow", "--series", "spam", "--json").stdout)
    assert [row["period"] for row in document["periods"]] == ["w1", "w2"]
    assert document["periods"][1]["reused"] > 100
    assert document["below_floor"] is False


@pytest.mark.usefixtures("weeks")
@pytest.mark.parametrize(("floor", "code"), [("0.95", 1), ("0.85", 0)])
def test_the_exit_code_is_1_where_the_metric_is_below_its_floor(
    run: Fixture, floor: str, code: int
) -> None:
    options = (*COLUMNS, "--floor", floor, "--within", "0.001")
    assert run("follow", "w1.csv", "--series", "spam", "--period", "w1", *options).exit_code == 0
    answer("spam/w1", wrong=10)  # precision is about 0.9
    assert run("follow", "--series", "spam").exit_code == code
    assert run("follow", "--series", "spam", "--json").exit_code == code


@pytest.mark.usefixtures("weeks")
def test_with_fail_on_fall_the_exit_code_is_1_also_where_it_fell(run: Fixture) -> None:
    begin = ("--series", "spam", "--seed", "2")
    run("follow", "w1.csv", "--period", "w1", *begin, *COLUMNS)
    answer("spam/w1", wrong=10)
    assert run("follow", "--series", "spam", "--fail-on-fall").exit_code == 0  # the first period
    assert run("follow", "w2.csv", "--period", "w2", "--series", "spam").exit_code == 0
    answer("spam/w2", wrong=2)
    assert "  fell since w1." in run("follow", "--series", "spam").stdout
    assert run("follow", "--series", "spam").exit_code == 0
    assert run("follow", "--series", "spam", "--fail-on-fall").exit_code == 1


@pytest.mark.usefixtures("weeks")
def test_a_gate_does_not_pass_while_labels_are_missing(run: Fixture) -> None:
    """With exit code 0, as it was, a pipeline goes on with a classifier that nobody has judged."""
    series = ("--series", "spam")
    text = Path("w2.csv").read_text()
    Path("w2.csv").write_text(text.replace("\nm", "\nn"))  # no item is there again
    begun = run("follow", "w1.csv", *series, "--period", "w1", *COLUMNS, "--floor", "0.9",
                "--within", "0.1")  # fmt: skip
    assert begun.exit_code == 0  # it was begun, as asked
    empty = run("follow", *series)
    assert empty.exit_code == 3, empty.output
    assert "  first period. Floor 0.90: undecided." in empty.stdout
    assert "undecided: --allow-undecided ends with exit code 0" in empty.stderr
    assert run("follow", *series, "--allow-undecided").exit_code == 0
    answer("spam/w1", wrong=9)  # precision is about 0.89: the floor is within its interval
    assert run("follow", *series).exit_code == 3
    assert run("follow", *series, "--floor", "0.7").exit_code == 0

    begun = run("follow", "w2.csv", *series, "--period", "w2", "--fail-on-fall", "--floor", "0.7")
    assert begun.exit_code == 3, begun.output  # asked as a gate, it is one
    assert "  too few labels (0) to compare with w1. Floor 0.70: undecided." in begun.stdout
    for more, code, passed in (
        (("--fail-on-fall",), 3, None),
        (("--fail-on-fall", "--allow-undecided"), 0, None),
        ((), 3, None),
    ):
        looked = run("follow", *series, *more, "--json")
        assert (looked.exit_code, json.loads(looked.stdout)["passed"]) == (code, passed), more
        assert looked.stderr == ""
