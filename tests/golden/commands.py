"""`--json` and the text of every command, in a folder with small files."""

import json
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner, Result

from assay.cli import app
from tests.golden.recorded import without_names

_RANDOM = [
    (re.compile(r"(?<=127\.0\.0\.1:)\d+"), "PORT"),
    (re.compile(r"(?<=login#)[\w-]+"), "TOKEN"),
    (re.compile(r"\bassay_[\w-]{20,}"), "TOKEN"),
]
_SECRET = ("token", "identity", "seconds", "sha256", "head", "bytes", "pages")
COLUMNS = "--id id --score p --predicted said --positive spam"
QUICK = "--replications 4 --seed 3"
BOTH = "--classifier new=p>=0.5 --classifier old=judge>=0.5"
SEVERAL = f"create predictions.csv --id id {BOTH}"
POPULATION = f"simulate several.csv --label is {BOTH}"
SCORED = "--label is --score p --threshold 0.5"
PROBABILITIES = "--id id --probabilities p_*"
TAGS = "--probabilities p_* --multilabel --threshold 0.5"
ANSWERS = "y\nn\ny\n" * 10
SPOKEN = {"label as another": "n\nc\ny\nb\n" * 3, "label topped": "math\ncs\nbio\n?\n" * 20}

# In this order: what a command leaves behind, later ones use.
COMMANDS = {
    "plan": f"plan predictions.csv {COLUMNS} --within 0.15 {QUICK}",
    "plan threshold": f"plan predictions.csv --score p --threshold-for 'recall >= 0.8' {QUICK}",
    "create": f"create predictions.csv {COLUMNS} --show subject --name spam --budget 30 --seed 2",
    "create several": "create predictions.csv --id id --classifier new=p>=0.5 "
    "--classifier old=judge>=0.5 --metric precision --within 0.2 --name both",
    "create classes": "create topics.csv --id id --predicted topic --score p --budget 40 "
    "--metric macro_f1 --name topics",
    "create threshold": "create predictions.csv --id id --score p --budget 60 --name floor "
    "--threshold-for 'precision >= 0.6'",
    "confirm": "status spam --confirm",
    "label": "label spam --reviewer ann",
    "label threshold": "label floor --reviewer ann",
    "export": "export spam",
    "export batch": "export both --what batch --size 10 -o batch.csv",
    "import": "import both batch.csv --reviewer bob",
    "import labels": "import spam labels.csv --reviewer bob --revise",
    "status": "status spam",
    "status several": "status both",
    "status classes": "status topics",
    "status threshold": "status floor",
    "status of all": "status",
    "errors": "errors spam",
    "judge": "judge spam --column judge --at 0.5",
    "judgements": "judge --log judge.jsonl -o judged.csv",
    "estimate": f"estimate labels.csv --predictions predictions.csv {COLUMNS}",
    "estimate accuracy": f"estimate labels.csv --predictions predictions.csv {COLUMNS} "
    "--metric accuracy --confidence 0.9",
    "report": "report spam",
    "report several": "report both",
    "bundle": "report spam --bundle audit.zip",
    "verify": "verify spam",
    "verify bundle": "verify audit.zip",
    "backup": "backup -o copy.db",
    "restore": "restore copy.db --storage sqlite:///restored.db",
    "extend": "rebase later.csv --add --name spam",
    "compare": f"compare predictions.csv judged_by.csv {COLUMNS} --name week --budget 30",
    "follow": f"follow predictions.csv --series s --period one {COLUMNS} --within 0.1",
    "follow on": "follow judged_by.csv --series s --period two",
    "follow series": "follow --series s",
    "rebase": "rebase judged_by.csv --name both",
    "simulate": f"simulate truth.csv --label is --score p --threshold 0.5 --within 0.1 {QUICK}",
    "simulate budget": "simulate truth.csv --label is --score p --threshold 0.5 --budget 60 "
    f"--metric recall {QUICK}",
    "token": "token add spam --role reviewer --who ann",
    "token list": "token list spam",
    "token revoke": "token revoke spam 1",
    "serve": "serve spam --port 0",
    "demo": "demo --seed 8",
    "create team": f"create predictions.csv {COLUMNS} --show p --show said --name team --budget 9 "
    "--reviewers-per-item 2 --overlap 1 --question 'Is it spam?' --answers 'Spam, No spam'",
    "label team": "label team",
    "label as one": "label team --reviewer ann",
    "label as another": "label team --reviewer bob",
    "status team": "status team",
    "create papers": f"create predictions.csv {COLUMNS} --design bennett-carvalho --within 0.05 "
    "--name papers",
    "create margins": f"create predictions.csv {COLUMNS} --design kumar-raj --scale margin "
    "--budget 40 --name margins",
    "create random": f"create predictions.csv {COLUMNS} --design random --budget 9 --name drawn",
    "create allocated": f"create predictions.csv {COLUMNS} --design bennett-carvalho "
    "--allocation pps --bins 5 --strata sqrt --budget 40 --name allocated",
    **{
        f"create {how}": f"create predictions.csv {COLUMNS} --mode {how} --budget 90 --name {how}"
        for how in ("centred", "guaranteed", "fixed")
    },
    "create sure": f"create predictions.csv {COLUMNS} --at-least 0.9 --budget 90 --name sure",
    "create narrow": f"create predictions.csv {COLUMNS} --metric recall --strata perc --bins 3 "
    "--budget 9 --name narrow",
    "create recycled": f"{SEVERAL} --metric precision --within 0.1 --design recycle-sample "
    "--assume 0.9 --parent old --name recycled",
    "create difference": f"{SEVERAL} --metric 'accuracy:new - accuracy:old' "
    "--metric 'recall:new within 0.08' --within 0.1 --simultaneous --show judge --name differ",
    "label difference": "label differ",
    "status difference": "status differ",
    "create two metrics": f"create predictions.csv {COLUMNS} --metric recall "
    "--metric 'f1 within 0.1' --within 0.2 --name two",
    "create one difference": f"{SEVERAL} --metric 'accuracy:new - accuracy:old' --within 0.1 "
    "--name gap",
    "create probabilities": f"create tags.csv {PROBABILITIES} --metric 'top-2-accuracy within 0.1' "
    "--classes classes.csv --show p_cs --budget 60 --name topped",
    "label topped": "label topped",
    "status of classes": "status topped --classes",
    "create multilabel": f"create tags.csv --id id {TAGS} --budget 60 --name tagged",
    "create weighted": f"create predictions.csv {COLUMNS} --sample-weight judge --budget 9 "
    "--name weighted",
    "compare weighted": f"compare predictions.csv later.csv {COLUMNS} --sample-weight judge "
    "--within 0.1 --name heavier",
    "create aux": f"create predictions.csv {COLUMNS} --aux judge --within 0.1 --name opined",
    "create again": f"create judged_by.csv {COLUMNS} --aux judge --learned-from opined "
    "--budget 9 --name again",
    "create from labels": f"create predictions.csv {COLUMNS} --labels labels.csv --within 0.2 "
    "--name known",
    "create without ids": "create predictions.csv --score p --threshold 0.5 --budget 9 "
    "--name numbered",
    "rebase without ids": "rebase judged_by.csv --name numbered",
    "create parts": "create predictions.csv --id id --score p --threshold 0.5 --budget 9 "
    "--where 'CAST(judge AS DOUBLE) > 0.5' --name part",
    "compare with labels": f"compare predictions.csv later.csv {COLUMNS} --budget 9 "
    "--labels-from spam --level-within 0.2 --name weeks",
    "status comparison": "status weeks",
    "compare with aux": f"compare predictions.csv later.csv {COLUMNS} --budget 9 --aux judge "
    "--name judged",
    "errors first": "errors spam --limit 1",
    "errors false negatives": "errors spam --kind fn",
    "curve": "curve spam",
    "curve at": "curve spam --at 0.7",
    "plan both": f"plan predictions.csv {COLUMNS} --within 0.1 --budget 40 {QUICK}",
    "plan labels": f"plan predictions.csv {COLUMNS} --budget 30 --labels labels.csv {QUICK}",
    "plan like": f"plan judged_by.csv {COLUMNS} --budget 30 --like known {QUICK}",
    "plan judge": f"plan predictions.csv {COLUMNS} --within 0.1 --aux judge --judge-cost 0.01 "
    f"--label-cost 1.5 {QUICK}",
    "plan classes": f"plan tags.csv {PROBABILITIES} --metric macro-f1 --metric recall:cs "
    f"--within 0.2 {QUICK}",
    "simulate designs": f"simulate truth.csv {SCORED} --within 0.1 --design default,perc-opt "
    f"--design wtmn-opt-a2 {QUICK}",
    "simulate bins": f"simulate truth.csv {SCORED} --within 0.1 --design perc-opt --bins 2 {QUICK}",
    "simulate budgets": f"simulate truth.csv {SCORED} --budget 80,40 {QUICK}",
    "simulate question": f"simulate truth.csv {SCORED} --at-least 0.5 {QUICK}",
    "simulate threshold": "simulate truth.csv --label is --score p --budget 60,90 "
    f"--threshold-for 'precision >= 0.6' {QUICK}",
    "simulate curve": f"simulate truth.csv {SCORED} --curve --budget 60 {QUICK}",
    "simulate several": f"{POPULATION} --metric precision:new --metric 'recall:old within 0.2' "
    f"--within 0.1 {QUICK}",
    "simulate options": f"{POPULATION} --within 0.1 --design joint,recycle-shuffle --parent old "
    f"--assume 0.9 --simultaneous {QUICK}",
    "simulate joint budget": f"{POPULATION} --budget 80 {QUICK}",
    "simulate aux": f"{POPULATION} --metric accuracy --within 0.1 --design joint --aux p {QUICK}",
    "simulate multilabel": f"simulate tags.csv --label is_* {TAGS} --metric f1 --budget 60 {QUICK}",
}


def write_files() -> None:
    """Write predictions of 300 items, labels, verdicts of a judge, and items of three classes."""
    rng = np.random.default_rng(20)
    score, judge = rng.random((2, 300)).round(4)
    spam = rng.random(300) < score
    rows = [
        f"m{row:03d},{score[row]},{'spam' if score[row] >= 0.5 else 'ham'},subject {row},"
        f"{judge[row]}"
        for row in range(300)
    ]
    _write("predictions.csv", ["id,p,said,subject,judge", *rows[:250]])
    _write("later.csv", ["id,p,said,subject,judge", *rows[250:]])
    _write("judged_by.csv", ["id,p,said,subject,judge", *rows[30:270]])
    sample = rng.choice(250, 80, replace=False).tolist()
    _write("labels.csv", ["id,label", *(f"m{row:03d},{int(spam[row])}" for row in sample)])
    _write("truth.csv", ["p,is", *(f"{score[row]},{int(spam[row])}" for row in range(300))])
    topics = rng.choice(["bio", "cs", "math"], 300)
    _write("topics.csv", ["id,topic,p", *(f"t{n},{topics[n]},{score[n]}" for n in range(300))])
    truths = zip(score, judge, spam.astype(int), strict=True)
    _write("several.csv", ["p,judge,is", *(f"{p},{other},{real}" for p, other, real in truths)])
    likely = rng.dirichlet([0.4, 0.5, 0.6], 300).round(4)
    tags = (rng.random((300, 3)) < likely).astype(int)
    heads = ("id", *(f"{part}_{name}" for part in ("p", "is") for name in ("bio", "cs", "math")))
    each = zip(likely.tolist(), tags.tolist(), strict=True)
    every = [",".join(map(str, [f"t{n}", *p, *real])) for n, (p, real) in enumerate(each)]
    _write("tags.csv", [",".join(heads), *every])
    _write("token", ["abc"])
    _write("classes.csv", ["name,aliases,guideline", "math,,", "bio,,", "cs,,machines"])
    verdicts = [{"id": f"m{n:03d}", "verdict": "yes" if judge[n] > 0.5 else "no"} for n in range(9)]
    _write("judge.jsonl", map(json.dumps, verdicts))


def _write(name: str, lines: Any) -> None:
    Path(name).write_text("\n".join(lines) + "\n")


@contextmanager
def folder_of_files() -> Iterator[Path]:
    """Be in a temporary folder with the files of `write_files`; serve nothing."""
    with TemporaryDirectory() as name, pytest.MonkeyPatch.context() as patch:
        patch.chdir(name)
        patch.delenv("ASSAY_STORAGE", raising=False)
        patch.delenv("LABEL_STUDIO_API_KEY", raising=False)
        patch.setenv("ASSAY_CONFIG_HOME", f"{name}/config")
        patch.setenv("COLUMNS", "80")
        patch.setattr("assay.web.serve.run", lambda _, listening, **__: listening.close())
        write_files()
        yield Path(name)


def run(line: str, *more: str, answers: str = ANSWERS) -> Result:
    """Run a command in this process."""
    words = [word.strip("'") for word in re.findall(r"'[^']*'|\S+", line)]
    return CliRunner().invoke(app, [*words, *more], input=answers)


@cache
def documents(*words: str) -> dict[str, Any]:
    """What every command prints with these words, in turn: its JSON document, text or error."""
    found = {}
    with folder_of_files() as folder:
        for name, line in COMMANDS.items():
            result = run(line, *words, answers=SPOKEN.get(name, ANSWERS))
            text = without_names(result.stdout or result.stderr, folder.resolve())
            text = text.replace(os.fspath(folder), "FOLDER")
            for pattern, word in _RANDOM:
                text = pattern.sub(word, text)
            is_json = text.startswith(("{", "["))
            document = _steady(json.loads(text)) if is_json else text.splitlines()
            found[name] = {"exit code": result.exit_code, "document": document}
            if name == "export batch" and not result.exit_code:
                lines = Path("batch.csv").read_text().splitlines()
                _write("batch.csv", [lines[0], *(f"{line}yes" for line in lines[1:])])
    return found


def _steady(values: Any) -> Any:
    """The values without those that differ from run to run."""
    if isinstance(values, dict):
        secret = (*_SECRET, "size") if "path" in values else _SECRET  # of a file
        return {
            name: "..." if name in secret and not isinstance(value, dict) else _steady(value)
            for name, value in values.items()
        }
    return [_steady(each) for each in values] if isinstance(values, list) else values
