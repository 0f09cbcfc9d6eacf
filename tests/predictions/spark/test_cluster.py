"""The Spark engine on a real cluster: few jobs, few bytes to the driver, and workers may die."""

import json
import os
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from tests.torture.sizes import FULL, report

ROWS = 1_000_000


@pytest.fixture(scope="module")
def figures(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What `spark_cluster.py` prints."""
    return figures_with_a_worker_killed_in("two", tmp_path_factory.mktemp("cluster"))


def figures_with_a_worker_killed_in(step: str, folder: Path) -> dict[str, Any]:
    """Return what `spark_cluster.py` prints."""
    if not shutil.which("java") and "JAVA_HOME" not in os.environ:
        pytest.skip("Java is not installed: no java on PATH and no JAVA_HOME")
    if find_spec("pyspark") is None:
        pytest.skip("PySpark is not installed")
    log = folder / "log"
    program = Path(__file__).with_name("spark_cluster.py")
    with (
        log.open("wb") as errors,
        # It ends when its standard input does, which happens even if pytest is killed.
        subprocess.Popen(
            [sys.executable, str(program), str(ROWS), step],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
        ) as process,
    ):
        assert process.stdout is not None
        printed = process.stdout.read()
    assert process.returncode == 0, log.read_text()[-3_000:]
    told: dict[str, Any] = json.loads(printed)
    return told


def test_strata_and_cards_are_those_in_memory(figures: dict[str, Any]) -> None:
    assert figures["strata"] == 10
    assert figures["cards"] == 1_000
    assert figures["same"] == dict.fromkeys(figures["same"], True)
    assert not figures["same cards by another seed"]


def test_two_jobs_read_the_data(figures: dict[str, Any]) -> None:
    for step in ("survey", "draw"):
        assert (figures["jobs"][step]["reading"], figures["jobs"][step]["rows"]) == (1, ROWS)


def test_what_comes_to_the_driver_does_not_grow_with_the_data(figures: dict[str, Any]) -> None:
    fifth, whole = (
        sum(figures["jobs"][f"{step}{of}"]["returned"] for step in ("survey", "draw"))
        for of in (" of a fifth", "")
    )
    assert whole < 1.2 * fifth  # ids, of 8 bytes for each row, would be five times as many
    assert whole < 2_000_000


def test_a_worker_may_die_in_mid_job(figures: dict[str, Any]) -> None:
    """That the counts are the same is told above; here that a worker did die, with its tasks."""
    assert figures["jobs"]["with a worker killed"]["lost"] > 0
    assert figures["jobs"]["survey"]["lost"] == 0


@pytest.mark.skipif(not FULL, reason="takes a cluster of its own: with make torture")
def test_a_worker_may_die_in_the_second_pass(tmp_path: Path) -> None:
    figures = figures_with_a_worker_killed_in("draw", tmp_path)
    assert figures["same"] == dict.fromkeys(figures["same"], True)
    killed = figures["jobs"]["with a worker killed"]
    assert killed["lost"] > 0
    assert killed["reading"] == 1
    report(
        f"Spark, a worker killed after {figures['killed after']} of the second pass over {ROWS:,} "
        f"rows: {killed['lost']} tasks lost, the same {figures['cards']:,} cards"
    )
