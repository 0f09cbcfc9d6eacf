"""The GitHub Action: its own shell steps, on a real series, as a runner would start them."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
import yaml

import assay
from tests.docs.blocks import ROOT
from tests.docs.prepare import two_weeks
from tests.docs.test_docs import unknown

ACTION: dict[str, Any] = yaml.safe_load((ROOT / "action.yml").read_text())
INSTALL, FOLLOW = ACTION["runs"]["steps"]
PAGE = (ROOT / "docs/howto/pull_request.md").read_text()
WORKFLOWS = [yaml.safe_load(text) for text in re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)]
COLUMNS = "--id url --score p_spam --predicted is_spam --metric precision --within 0.05"


class Runner:
    """Runs the action's step with some inputs, and keeps what it told the runner."""

    def __init__(self, folder: Path, path: Path) -> None:
        self.folder, self.output = folder, folder / "output.txt"
        self.summary = folder / "summary.md"
        self.environment = {
            "PATH": f"{path}:{Path(sys.executable).parent}:{os.environ['PATH']}",
            "HOME": str(folder),
            "GITHUB_OUTPUT": str(self.output),
            "GITHUB_STEP_SUMMARY": str(self.summary),
        }

    def run(self, **inputs: str) -> tuple[int, str, str]:
        """Return the exit code, the output `result`, and what was printed."""
        self.output.write_text("")
        done = subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", FOLLOW["run"]],
            cwd=self.folder,
            env={**self.environment, **variables(inputs)},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            timeout=120,
            check=False,
        )
        told = self.output.read_text().strip().removeprefix("result=")
        return done.returncode, told, done.stdout


def variables(inputs: dict[str, str]) -> dict[str, str]:
    """Return the step's environment, with defaults for what is not given."""
    given = {name.replace("_", "-"): value for name, value in inputs.items()}
    assert given.keys() <= ACTION["inputs"].keys()
    found = {}
    for name, text in FOLLOW["env"].items():
        (of,) = re.findall(r"^\$\{\{ inputs\.([\w-]+) \}\}$", text)
        found[name] = given.get(of, ACTION["inputs"][of].get("default", ""))
    return found


def judge(folder: Path, name: str) -> None:
    truth = pq.read_table(folder / "truth.parquet").to_pydict()
    answers = dict(zip(truth["url"], truth["is_spam"], strict=True))
    campaign = assay.load_campaign(name, storage=f"sqlite:///{folder}/assay.db")
    while batch := campaign.ask(20):
        campaign.tell({item.id: answers[str(item.id)] for item in batch})


def test_a_pull_request_waits_for_labels_and_fails_when_it_is_worse(
    path: Path, tmp_path: Path
) -> None:
    two_weeks(tmp_path)
    runner = Runner(tmp_path, path)
    main = {"series": "spam", "storage": "sqlite:///assay.db"}
    first = {**main, "predictions": "week-46.parquet", "period": "main", "options": COLUMNS}
    later = {**main, "predictions": "week-47.parquet", "period": "pr-7"}

    code, told, printed = runner.run(**first)
    assert (code, told) == (3, "undecided"), printed
    assert "::warning::spam is undecided: label more items" in printed
    assert runner.run(**first, allow_undecided="true")[:2] == (0, "undecided")
    assert runner.run(**first, fail_on_fall="false")[:2] == (3, "undecided")  # nothing is labelled
    judge(tmp_path, "spam/main")
    assert runner.run(**first)[:2] == (0, "ok")

    assert runner.run(**later)[:2] == (3, "undecided")
    judge(tmp_path, "spam/pr-7")
    code, told, printed = runner.run(**later)
    assert (code, told) == (1, "worse"), printed
    assert "::error::spam is worse" in printed
    assert "fell since" in printed and "fell since" in runner.summary.read_text()

    assert runner.run(**later, fail_on_fall="false")[:2] == (0, "ok")
    assert runner.run(**main, fail_on_fall="false", floor="0.95")[:2] == (1, "worse")
    value = assay.trend("spam", storage=f"sqlite:///{tmp_path}/assay.db").latest.estimate.value
    within = {**main, "fail_on_fall": "false", "floor": str(value)}  # all labels are there
    assert runner.run(**within)[:2] == (3, "undecided")
    assert runner.run(**within, allow_undecided="true")[:2] == (0, "undecided")
    code, told, printed = runner.run(**first)  # a period that is no longer the last
    assert (code, told) == (2, "") and "::error::pr-7 has begun since main" in printed


def test_what_is_wrong_is_no_worse_classifier(path: Path, tmp_path: Path) -> None:
    code, told, printed = Runner(tmp_path, path).run(series="spam", storage="sqlite:///no.db")
    assert (code, told) == (2, "") and "there is no storage" in printed


def test_texts_of_a_pull_request_are_never_part_of_a_script() -> None:
    assert all("${{" not in step["run"] for step in (INSTALL, FOLLOW))
    assert INSTALL["run"].endswith('"$PACKAGE"')
    assert ACTION["inputs"]["package"]["default"] == f"assay-eval[postgres]=={assay.__version__}"
    for line in FOLLOW["run"].splitlines():
        for command in re.findall(r"\b(assay (?:follow|status) [^|>)]*)", line):
            words = [word for word in shlex.split(command) if not word.startswith("$")]
            assert unknown(words) == []
    added = re.findall(r"\+=\((--[\w-]+)", FOLLOW["run"])
    assert added and unknown(["assay", "follow", *added]) == []


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda workflow: workflow["name"])
def test_workflows_on_the_page_give_inputs_that_there_are(workflow: dict[str, Any]) -> None:
    (job,) = workflow["jobs"].values()
    (used,) = [step for step in job["steps"] if "assay-eval/assay" in step.get("uses", "")]
    required = {name for name, about in ACTION["inputs"].items() if about.get("required")}
    assert required <= used["with"].keys() <= ACTION["inputs"].keys()
