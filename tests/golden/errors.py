"""Bad inputs and the full text of their errors: Python calls and commands."""

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import assay
from assay import Design, Population
from assay.campaign import import_labels
from assay.errors import AssayError
from assay.predictions import find_classes, read_compared
from tests.golden import calls, imports
from tests.golden.commands import COLUMNS, folder_of_files, run
from tests.golden.recorded import without_names
from tests.golden.refused import REFUSED

SCORE: dict[str, Any] = {"id": "id", "score": "p", "threshold": 0.5, "budget": 20}
TABLE: dict[str, Any] = {
    "id": [f"i{row}" for row in range(40)],
    "p": np.linspace(0.01, 0.99, 40),
    "said": ["yes", "no"] * 20,
    "topic": ["bio", "cs", "math", "cs"] * 10,
    "weight": np.linspace(-1, 3, 40),
}
COLUMNS_ALONE = {name: SCORE[name] for name in ("id", "score", "threshold")}
POPULATION: dict[str, Any] = {"y_true": [0, 1] * 20, "y_score": TABLE["p"], "threshold": 0.5}


def create(table: dict[str, Any] | None = None, **asked: Any) -> assay.Campaign:
    return assay.create_campaign({**TABLE, **(table or {})}, **{**SCORE, **asked})


def tell(labels: dict[Any, Any], **asked: Any) -> None:
    campaign = create()
    items = [item.id for item in campaign.ask(5)]
    campaign.tell({items[name] if name in range(5) else name: labels[name] for name in labels})
    campaign.tell({items[0]: "no"}, **asked)


def simulate(**asked: Any) -> object:
    given = {"within": 0.1, "replications": 2, "workers": 1, **asked}
    return assay.simulate(Population(**POPULATION), **given)


BOTH: dict[str, Any] = {"a": {"score": "p", "threshold": 0.5}, "b": {"predicted": "said"}}
SEVERAL: dict[str, Any] = {"score": None, "threshold": None, "classifiers": BOTH}
CLASSES: dict[str, Any] = {"score": None, "threshold": None, "predicted": "topic"}

CALLS: dict[str, Callable[[], object]] = {
    **calls.CALLS,
    **imports.IMPORTS,
    "no such score column": lambda: create(score="P"),
    "no such id column": lambda: create(id="url"),
    "no threshold": lambda: create(threshold=None),
    "threshold of text": lambda: create(threshold="high"),
    "threshold out of range": lambda: create(threshold=50),
    "missing score": lambda: create({"p": [None, *TABLE["p"][1:]]}),
    "text score": lambda: create({"p": ["a"] * 40}),
    "repeated ids": lambda: create({"id": ["i"] * 40}),
    "missing id": lambda: create({"id": [None, *TABLE["id"][1:]]}),
    "ids of floats": lambda: create({"id": TABLE["p"]}),
    "columns of unequal length": lambda: create({"p": [0.5]}),
    "no rows": lambda: assay.create_campaign({"id": [], "p": []}, **SCORE),
    "no column to show": lambda: create(show=["text"]),
    "negative weight": lambda: create(sample_weight="weight"),
    "no goal": lambda: create(budget=None),
    "within 0": lambda: create(within=0.0),
    "within 2": lambda: create(within=2),
    "budget 0": lambda: create(budget=0),
    "budget of text": lambda: create(budget="many"),
    "confidence 95": lambda: create(confidence=95),
    "unknown metric": lambda: create(metric="acuracy"),
    "metric of classes": lambda: create(metric="macro_f1"),
    "at least and within": lambda: create(at_least=0.9, within=0.1),
    "unknown floor": lambda: create(threshold=None, threshold_for="accuracy > 0.9"),
    "threshold beside its question": lambda: create(threshold_for="precision >= 0.9"),
    "unknown positive": lambda: create(threshold=None, predicted="said", positive="spam"),
    "score_of unknown": lambda: create(score_of="other"),
    "unknown scale": lambda: create(scale="percentage"),
    "score_of what is not predicted": lambda: create(score_of="predicted"),
    "score_of no score": lambda: create(
        score=None, threshold=None, predicted="said", score_of="negative"
    ),
    "negative seed": lambda: create(seed=-1),
    "empty name": lambda: create(name=""),
    "long name": lambda: create(name="a" * 300),
    "overlap without reviewers": lambda: create(overlap=0.5),
    "one answer": lambda: create(answers=("Spam", "Spam")),
    "labels of unknown items": lambda: create(labels={"x": True}),
    "labels of unknown words": lambda: create(labels={"i1": "perhaps"}),
    "sample of fewer": lambda: create(sample_of=10),
    "unknown aux": lambda: create(aux=["judge"]),
    "unknown storage": lambda: create(storage="mysql://host/db"),
    "storage in no folder": lambda: create(storage="sqlite:////nowhere/a.db"),
    "no classifiers": lambda: create(**SEVERAL | {"classifiers": {}}),
    "classifier without columns": lambda: create(**SEVERAL | {"classifiers": {"a": {}}}),
    "target of no classifier": lambda: create(**SEVERAL, metrics=["precision:c"]),
    "difference of metrics": lambda: create(**SEVERAL, metrics=["precision:a - recall:b"]),
    "same target twice": lambda: create(**SEVERAL, metrics=["precision:a", "precision:a"]),
    "slice of no column": lambda: create(**SEVERAL, metrics=["precision:a[lang]"]),
    "weights of classes": lambda: create(**CLASSES, sample_weight="p"),
    "metric of no class": lambda: create(**CLASSES, metric="recall:chem"),
    "classes left out": lambda: create(**CLASSES, classes=["bio", "cs"]),
    "multilabel without classes": lambda: create(multilabel=True),
    "classifier of no metric": lambda: create(**SEVERAL, metrics=["f1:"]),
    "no metrics": lambda: create(**SEVERAL, metrics=[]),
    "metrics of text": lambda: create(**SEVERAL, metrics="f1:a"),
    "difference from itself": lambda: create(**SEVERAL, metrics=["f1:a - f1:a"]),
    "width of text": lambda: create(**SEVERAL, metrics=["f1:a within much"]),
    "simultaneous of text": lambda: create(**SEVERAL, metrics=["f1"], simultaneous="yes"),
    "several by bets": lambda: create(**SEVERAL, design=Design.guaranteed()),
    "several by paper 2": lambda: create(**SEVERAL, design=Design.kumar_raj()),
    "aux by paper 2": lambda: create(aux=["weight"], design=Design.kumar_raj()),
    "aux and weights": lambda: create(aux=["said"], sample_weight="p"),
    "sample by bets": lambda: create(sample_of=900, metric="f1", design=Design.guaranteed()),
    "sample of several": lambda: create(sample_of=900, metrics=["f1", "recall"]),
    "classes by bets": lambda: create(**CLASSES, design=Design.guaranteed()),
    "classes and aux": lambda: create(**CLASSES, aux=["p"]),
    "slice of classes": lambda: create(**CLASSES, metric="accuracy[said=yes]"),
    "design of text": lambda: create(design="opt"),
    "seed of a half": lambda: create(seed=1.5),
    "unknown strata": lambda: Design(strata="kmeans"),
    "unknown allocation": lambda: Design(allocation="best"),  # type: ignore[arg-type]
    "bins 0": lambda: Design(bins=0),
    "betting alone": lambda: Design(interval="betting"),
    "fixed with a width": lambda: create(design=Design.fixed(), within=0.1),
    "bets on F1": lambda: create(design=Design.guaranteed(), metric="matthews_correlation"),
    "unknown field of a design": lambda: Design.from_dict({"strata": "perc", "bin": 4}),
    "label of an unknown item": lambda: tell({"x": "yes"}),
    "label of an item not asked for": lambda: tell({"i39": "yes", "i0": "no", "i20": "no"}),
    "unknown answer": lambda: tell({0: "perhaps"}),
    "another answer": lambda: tell({0: "yes"}),
    "answer of several classes": lambda: tell({0: ["yes", "no"]}),
    "ask for none": lambda: create().ask(0),
    "estimate of another metric": lambda: create().estimate("recall:new"),
    "no such campaign": lambda: assay.load_campaign("x", storage="sqlite:///a.db"),
    "no such bundle": lambda: assay.verify_bundle("none.zip"),
    "bundle that is none": lambda: assay.verify_bundle("labels.csv"),
    "bundle in the way": lambda: create().bundle("labels.csv"),
    "no such file": lambda: assay.create_campaign("none.parquet", **SCORE),
    "unknown ending": lambda: assay.create_campaign("predictions.docx", **SCORE),
    "unknown engine": lambda: assay.Scan("predictions.csv", engine="dask"),  # type: ignore[arg-type]
    "chance in where": lambda: assay.Scan("predictions.csv", where="random() < 0.5"),
    "no such table": lambda: assay.create_campaign(
        assay.Scan("none.sqlite", table="preds"), **SCORE
    ),
    "unknown design": lambda: simulate(designs=["perc-best"]),
    "no replications": lambda: simulate(replications=0),
    "designs of text": lambda: simulate(designs="default"),
    "truth of other words": lambda: Population(**POPULATION | {"y_true": [2] * 40}),
    "simulate, too few for a first round": lambda: simulate(
        designs=["km-opt-a2"], within=None, budget=29
    ),
    "simulate, no fixed budget": lambda: simulate(designs=["km-opt-a1"]),
    "simulate, a floor and no budget": lambda: simulate(
        within=None, threshold_for="precision >= 0.9"
    ),
    "plan, a floor and no scores": lambda: assay.plan(
        TABLE, threshold_for="precision >= 0.6", budget=20
    ),
    "table of classes of yes and no": lambda: create().by_class(),
    "matrix of yes and no": lambda: create().confusion(),
    "labels in a mapping": lambda: import_labels(create(), {"i1": "yes"}),
    "classes that cannot be": lambda: find_classes({"said": ["a", "skip"]}, predicted="said"),
    "compare one": lambda: read_compared([TABLE], classifiers=BOTH, id="id"),
    "plan without a goal": lambda: assay.plan(TABLE, score="p", threshold=0.5),
    "compare other ids": lambda: assay.compare_campaign(
        TABLE, {**TABLE, "id": [*range(40)]}, **SCORE
    ),
    "extend in memory": lambda: assay.extend_campaign(TABLE),
    "evaluate without truth": lambda: assay.evaluate(y_score=TABLE["p"], threshold=0.5, budget=5),
    "estimate without labels": lambda: assay.estimate({}, predictions=TABLE, **COLUMNS_ALONE),
}
COMMANDS = {
    "command: no file": "create none.csv --score p --threshold 0.5 --budget 10",
    "command: no goal": f"create predictions.csv {COLUMNS}",
    "command: unknown option": f"create predictions.csv {COLUMNS} --budgt 10",
    "command: unknown column": "create predictions.csv --score q --threshold 0.5 --budget 10",
    "command: bad classifier": "create predictions.csv --classifier new --budget 10",
    "command: bad number": f"create predictions.csv {COLUMNS} --within much",
    "command: unknown command": "creat predictions.csv",
    "command: unknown campaign": "status nothing",
    "command: no storage": "status x --storage sqlite:///b.db",
    "command: no label file": "import x none.csv",
    "command: labels without ids": "estimate truth.csv --predictions predictions.csv --score p "
    "--threshold 0.5",
    "command: unknown format": "export x --format docx",
    "command: labels of nothing asked": "import x labels.csv --reviewer ann",
    "command: batch that is there": "export x --what batch -o labels.csv",
    "command: name in use": f"create predictions.csv {COLUMNS} --budget 10 --name x",
    "command: no bundle": "verify none.zip",
    "command: no backup": "restore none.db",
    "command: no truth": "simulate predictions.csv --label is --score p --threshold 0.5",
    "command: no series": "follow --series none",
}


def _text(name: str, folder: Path) -> list[str]:
    try:
        CALLS[name]()
    except (AssayError, TypeError, ValueError) as error:
        return [type(error).__name__, *without_names(str(error), folder).splitlines()]
    return ["no error"]


@cache
def texts() -> dict[str, Any]:
    """The error of every bad input, line by line."""
    with folder_of_files() as folder:
        found: dict[str, Any] = {name: _text(name, folder) for name in CALLS}
        run(f"create predictions.csv {COLUMNS} --budget 10 --name x")
        for name, line in {**COMMANDS, **dict(zip(REFUSED, REFUSED, strict=True))}.items():
            result = run(line)
            lines = without_names(result.stderr, folder).splitlines()
            found[name] = {"exit code": result.exit_code, "stderr": lines}
    return found
