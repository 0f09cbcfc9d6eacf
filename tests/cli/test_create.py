"""Making a campaign from a file."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from assay.campaign import load_campaign
from assay.labelling.settings import Reviewing

Fixture = Callable[..., Any]
COLUMNS = ["--id", "id", "--score", "p", "--predicted", "said", "--positive", "spam"]


def test_it_tells_what_was_read_and_what_to_type_next(create: Fixture) -> None:
    told = create(goal=("--within", "0.05")).stdout
    assert "predictions.csv: 400 items, ids are strings" in told
    assert "precision: of what the classifier calls yes, the share that is yes" in told
    assert "within ±0.05 at 95% confidence" in told
    assert "cut by   the score" in told
    assert "probability, because all scores lie between 0 and 1" in told
    assert told.count("yes, score") == 16
    assert told.rstrip().endswith("next: assay label spam")
    assert max(map(len, told.splitlines())) <= 80


@pytest.mark.parametrize(
    ("words", "design"),
    [
        ([], {"strata": "auto", "bins": 16, "allocation": "explore", "interval": "stratified"}),
        (["--bins", "3", "--strata", "sqrt"], {"strata": "sqrt", "bins": 3}),
        (["--design", "random"], {"bins": 1, "allocation": "pps"}),
        (
            ["--design", "bennett-carvalho", "--allocation", "pps", "--bins", "5"],
            {"bins": 5, "allocation": "pps", "round_size": 10, "interval": "normal"},
        ),
        (
            ["--design", "kumar-raj", "--strata", "eqwd", "--bins", "2"],
            {"strata": "equal", "bins": 2, "variable": "confidence", "allocation": "opt-a2"},
        ),
        (["--mode", "centred", "--bins", "3"], {"stop": "centred", "bins": 3}),
        (["--mode", "guaranteed"], {"allocation": "chance", "interval": "betting"}),
        (["--mode", "fixed"], {"stop": "budget", "interval": "stratified"}),
        (["--at-least", "0.9"], {"allocation": "chance", "interval": "betting"}),
    ],
)
def test_designs(words: list[str], design: dict[str, object], create: Fixture) -> None:
    made = json.loads(create("--json", *words).stdout)["design"]
    assert {name: made[name] for name in design} == design


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ([], "auto, 16 in all: strata of equal size"),
        (["--metric", "recall"], "auto, 16 in all: strata that widen away from the threshold"),
        (["--strata", "perc", "--bins", "3"], "perc, 3 a predicted label: strata of equal size"),
    ],
)
def test_strata_are_told_as_they_came_out(words: list[str], told: str, create: Fixture) -> None:
    assert told in " ".join(create(*words).stdout.split())


def test_the_price_of_peeking_is_told_with_the_campaign(create: Fixture) -> None:
    words = ("--design", "bennett-carvalho")
    result = create(*words, goal=("--within", "0.05"))
    assert "warning: the normal interval is right for one look" in result.stdout
    assert result.stderr == ""
    machine = json.loads(
        create(*words, "--name", "again", "--json", goal=("--within", "0.05")).stdout
    )
    assert ["69% instead of 95%" in warning for warning in machine["warnings"]] == [True]
    patient = json.loads(create(*words, "--name", "once", "--json").stdout)
    assert patient["warnings"] == []


def test_confidence_and_a_given_scale_are_told(create: Fixture) -> None:
    told = create("--design", "kumar-raj", "--scale", "margin").stdout
    assert "confidence: the margin's size" in told
    assert "margin, as given" in told


def test_the_next_command_names_the_storage_where_it_was_given(create: Fixture) -> None:
    told = create("--storage", "sqlite:///my labels.db").stdout
    assert told.rstrip().endswith("next: assay label spam --storage 'sqlite:///my labels.db'")
    assert Path("my labels.db").is_file()
    assert not Path("assay.db").exists()


def test_the_environment_names_the_storage(
    create: Fixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ASSAY_STORAGE", "sqlite:///elsewhere.db")
    create()
    assert Path("elsewhere.db").is_file()
    assert not Path("assay.db").exists()


def test_columns_that_would_sway_reviewers_are_kept_back_and_this_is_told(create: Fixture) -> None:
    told = create("--show", "p", "--show", "said").stdout
    assert "reviewers are not shown p, said" in told


@pytest.mark.parametrize(("classes", "positive"), [([1, 2], "2"), (["ham", "spam"], "spam")])
def test_a_parquet_file_of_class_numbers_or_names(
    classes: list[object], positive: str, run: Fixture
) -> None:
    table = pa.table({"p": [0.1, 0.9, 0.8], "said": [classes[0], classes[1], classes[1]]})
    pq.write_table(table, "classes.parquet")
    words = ["--score", "p", "--predicted", "said", "--positive", positive, "--budget", "2"]
    result = run("create", "classes.parquet", *words, "--json")
    assert sum(row["size"] for row in json.loads(result.stdout)["strata"]) == 2


def test_samples_are_recycled_as_paper_3_does_it(run: Fixture) -> None:
    table = {"id": ["a", "b", "c"], "new": [1, 1, 0], "old": [1, 0, 0]}
    pq.write_table(pa.table(table), "both.parquet")
    words = ["--id", "id", "--classifier", "new=,new", "--classifier", "old=,old"]
    words += ["--metric", "precision", "--within", "0.1", "--design", "recycle-sample"]
    made = run("create", "both.parquet", *words, "--assume", "0.9", "--parent", "old", "--json")
    design = json.loads(made.stdout)["design"]
    assert (design["allocation"], design["assume"]) == ("recycle-sample", 0.9)
    assert design["parent"] == "old"
    told = run("create", "both.parquet", *words, "--name", "again").stdout
    assert "samples of each yes-set by paper 3, with labels used again" in told


BAD = {
    "bad design": (["--design", "kumar"], "kumar"),
    "bins of random": (["--design", "random", "--bins", "3"], "--bins means nothing"),
    "bins of samples": (["--design", "recycle", "--bins", "3"], "have no --bins"),
    "paper 3 alone": (["--assume", "0.9"], "--assume 0.9 goes with --design recycle"),
    "one to recycle": (["--design", "recycle"], "one classifier without a name"),
    "bad mode": (["--mode", "sure"], "'sure'"),
    "two designs": (["--mode", "fixed", "--design", "random"], "mode 'fixed' is one of Assay's"),
    "question to a paper": (["--at-least", "0.9", "--design", "kumar-raj"], "decided by bets"),
    "one answer": (["--answers", "Spam"], "--answers: '' cannot be the name of an answer"),
    "memory": (["--storage", "sqlite://"], "gone"),
    "no sqlite": (["--storage", "x"], "'x'"),
}


@pytest.mark.parametrize(("words", "message"), BAD.values(), ids=BAD)
def test_errors_are_told_in_words_and_in_json(words: list[str], message: str, run: Fixture) -> None:
    words = ["predictions.csv", *COLUMNS, "--budget", "9", *words]
    plain = run("create", *words)
    assert (plain.exit_code, plain.stdout) == (1, "")
    assert plain.stderr.startswith("error: ")
    assert message in plain.stderr
    assert "Traceback" not in plain.stderr
    machine = run("create", *words, "--json")
    assert (machine.exit_code, machine.stdout) == (1, "")
    error = json.loads(machine.stderr)["error"]
    assert set(error) == {"problem", "details", "hint"}
    assert message in error["problem"]


def test_reviewing_is_fixed_with_the_campaign(create: Fixture, run: Fixture) -> None:
    create("--question", "Is it spam?", "--reviewers-per-item", "3", "--overlap", "0.2")
    reviewing = load_campaign("spam", storage="sqlite:///assay.db").settings.reviewing
    assert reviewing == Reviewing("Is it spam?", 3, 0.2)
    wrong = run("create", "predictions.csv", *COLUMNS, "--budget", "9", "--overlap", "0.2")
    assert wrong.exit_code == 1
    assert "--overlap needs --reviewers-per-item" in wrong.stderr
    assert "--reviewers-per-item 2 --overlap 0.1" in " ".join(wrong.stderr.split())
    wrong = run("create", "predictions.csv", *COLUMNS, "--budget", "9", "--reviewers-per-item", "2")
    assert "--reviewers-per-item needs --overlap" in wrong.stderr
    for odd in (("--overlap", "2"), ("--reviewers-per-item", "0")):
        both = ("--reviewers-per-item", "2", "--overlap", "0.1", *odd)
        assert run("create", "predictions.csv", *COLUMNS, "--budget", "9", *both).exit_code == 1


def test_the_next_command_works(create: Fixture, run: Fixture) -> None:
    told = create("--reviewers-per-item", "2", "--overlap", "0.2").stdout
    assert told.rstrip().endswith("next: assay serve spam")
    assert run("label", "spam").exit_code == 1  # which it therefore does not say
