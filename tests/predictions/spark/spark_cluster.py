"""The Spark engine on a cluster of its own: a master and two workers, each its own process.

As a program it prints figures as JSON. Predictions in 64 Parquet files are counted, cut into ten
strata and drawn from, and a fifth of them likewise. Spark's event log tells how many jobs read
data, and how much came back to the driver. Then one of the workers is killed in the middle of a
draw, or while the fifth is counted for two classifiers with weights. All is compared with what
numpy draws in memory.

It is a program of its own because a Python process can have one Spark only.
"""

import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from importlib.util import find_spec
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from assay.core.cells import cut_heaps
from assay.core.deck import Id
from assay.core.strata import Strata
from assay.core.stratify import stratify
from assay.core.vocabulary import Vocabulary
from assay.predictions import Predictions, from_arrays, read_predictions
from assay.predictions.layout import Layout
from assay.predictions.roles import Roles
from assay.predictions.scan import Scan
from assay.predictions.spark.scanner import open_spark

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

FILES = 64
SEED = 7
CARDS = 100  # of each stratum
HOST = "127.0.0.1"
MOST_SECONDS = 900
KILLED_AFTER = 24  # of the 64 tasks
# For a Java that lives for minutes.
QUICK_JAVA = (
    "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC "
    "-XX:+UnlockDiagnosticVMOptions -XX:-BytecodeVerificationRemote"
)
LAYOUT = Layout({"it": Roles("p", "said", None, None, None)}, "id")
TWO: dict[str, Any] = {
    "classifiers": {
        "it": {"score": "p", "predicted": "said"},
        "other": {"score": "q", "threshold": 0.5},
    },
    "sample_weight": "weight",
}

Worker = subprocess.Popen[bytes]

# The shell ends the server when its standard input does, and that is when this process does.
RUN_WHILE_STDIN_IS_OPEN = '"$@" & read -r _; kill -TERM $!; wait $!'


def make(folder: Path, rows: int) -> dict[str, Any]:
    """Write predictions, and return their columns."""
    folder.mkdir()
    rng = np.random.default_rng(1)
    score = rng.beta(0.3, 0.6, rows).astype(np.float32)
    columns: dict[str, Any] = {
        "id": rng.permutation(rows) * 7_919 - rows,
        "p": score,
        "said": rng.random(rows) < score,
        "q": np.sqrt(rng.random(rows) * score),
        "weight": rng.lognormal(0.0, 1.5, rows),
    }
    for file, part in enumerate(np.array_split(np.arange(rows), FILES)):
        table = pa.table({name: column[part] for name, column in columns.items()})
        pq.write_table(table, folder / f"{file:02}.parquet")
    return columns


@contextmanager
def server(name: str, *options: str, folder: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Run a master or a worker."""
    pyspark = find_spec("pyspark")
    assert pyspark is not None
    assert pyspark.origin is not None
    home = Path(pyspark.origin).parent
    environment = {
        **os.environ,
        "SPARK_HOME": str(home),
        "SPARK_LOCAL_IP": HOST,
        "SPARK_LOCAL_DIRS": str(folder),
        "SPARK_DAEMON_MEMORY": "256m",
        "SPARK_DAEMON_JAVA_OPTS": QUICK_JAVA,
    }
    command = [str(home / "bin" / "spark-class"), f"org.apache.spark.deploy.{name}"]
    with (
        (folder / f"{name}.log").open("ab") as log,
        subprocess.Popen(
            ["sh", "-c", RUN_WHILE_STDIN_IS_OPEN, "sh", *command, "--host", HOST, *options],
            env=environment,
            stdin=subprocess.PIPE,
            stdout=log,
            stderr=log,
        ) as process,
    ):
        yield process


@contextmanager
def cluster(folder: Path) -> Iterator[tuple[str, list[Worker]]]:
    """Start a master and two workers; yield its URL, and the shells that the workers run in."""
    with socket.socket() as free:
        free.bind((HOST, 0))
        port = free.getsockname()[1]
    url = f"spark://{HOST}:{port}"
    with ExitStack() as servers:
        options = ["--port", str(port), "--webui-port", "0"]
        servers.enter_context(server("master.Master", *options, folder=folder))
        wait_for(lambda: listens(port), "the master")
        options = ["--cores", "1", "--memory", "1g", "--webui-port", "0"]
        options += ["--work-dir", str(folder / "work"), url]
        each = (server("worker.Worker", *options, folder=folder) for _ in range(2))
        yield url, [servers.enter_context(worker) for worker in each]


def listens(port: int) -> bool:
    """Tell whether there is a server at that port."""
    with socket.socket() as probe:
        return probe.connect_ex((HOST, port)) == 0


def wait_for(happened: Callable[[], bool], what: str) -> None:
    """Wait until something has happened."""
    deadline = time.monotonic() + 120
    while not happened():
        if time.monotonic() > deadline:
            raise TimeoutError(f"{what} was not there after 120 s")
        time.sleep(0.01)


def session(url: str, folder: Path) -> "SparkSession":
    """Return a session on the cluster that keeps a log of all it does."""
    from pyspark.sql import SparkSession

    settings = {
        "spark.driver.host": HOST,
        "spark.driver.bindAddress": HOST,
        "spark.driver.memory": "1g",
        "spark.driver.extraJavaOptions": QUICK_JAVA,
        "spark.executor.extraJavaOptions": QUICK_JAVA,
        "spark.executor.memory": "640m",
        "spark.cores.max": "2",
        "spark.scheduler.minRegisteredResourcesRatio": "1.0",
        "spark.scheduler.maxRegisteredResourcesWaitingTime": "120s",
        "spark.sql.files.minPartitionNum": str(FILES),
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.local.dir": str(folder),
        "spark.eventLog.enabled": "true",
        "spark.eventLog.dir": (folder / "events").as_uri(),
        "spark.eventLog.compress": "false",
        "spark.eventLog.rolling.enabled": "false",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
    }
    builder = SparkSession.builder.master(url).appName("assay benchmark")
    for name, value in settings.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()


def read(spark: "SparkSession", path: str) -> Predictions:
    """Count the predictions."""
    scanner = open_spark(Scan(path, spark=spark), LAYOUT)
    return Predictions(scanner, vocabulary=Vocabulary(), seed=SEED, check_ids=False)


def cut_and_deal(predictions: Predictions, seed: int = SEED) -> tuple[Strata, list[list[Id]]]:
    """Return ten strata and the first cards of each."""
    profiles = predictions.profile("score", "probability", [True, False])
    strata = stratify(profiles, variable="score", method="perc", bins=5)
    counts = [CARDS] * strata.n_strata
    decks = predictions.deal(strata, scale="probability", seed=seed, counts=counts)
    return strata, [[card.id for card in cards] for cards in decks]


def dealt_for_two(source: object) -> list[object]:
    """Return the fingerprint, the strata and the cards for two classifiers with weights."""
    predictions = read_predictions(source, id="id", seed=SEED, **TWO)
    codes = [(code,) for code in predictions.cells()]
    profiles = predictions.profile_heaps(codes)
    heaps = tuple(cut_heaps(profiles, codes, [3] * len(codes), method="perc"))
    strata = Strata(predictions.classifiers, heaps, predictions.count_parts(heaps))
    counts = [CARDS] * strata.n_strata
    decks = predictions.deal(strata, scale="probability", seed=SEED, counts=counts)
    return [predictions.fingerprint(), strata, decks]


@contextmanager
def killing(spark: "SparkSession", shell: Worker, killed: list[str]) -> Iterator[None]:
    """Kill a worker in the middle of what is done meanwhile."""
    killer = Thread(target=lambda: killed.append(kill_in_mid_job(spark, shell)))
    killer.start()
    yield
    killer.join()


def kill_in_mid_job(spark: "SparkSession", shell: Worker) -> str:
    """Kill a worker and its executor once some tasks of the running job are done; say when."""
    tracker = spark.sparkContext.statusTracker()
    progress = ""

    def is_under_way() -> bool:
        nonlocal progress
        for stage in map(tracker.getStageInfo, tracker.getActiveStageIds()):
            if (
                stage is not None
                and stage.numTasks == FILES
                and stage.numCompletedTasks >= KILLED_AFTER
            ):
                progress = f"{stage.numCompletedTasks} of {stage.numTasks} tasks"
        return bool(progress)

    wait_for(is_under_way, "a job")
    (worker,) = children(shell.pid)
    for process in [*children(worker), worker]:
        os.kill(process, signal.SIGKILL)
    return progress


def children(process: int) -> list[int]:
    """Return the processes that a process has started."""
    return [
        int(text) for text in Path(f"/proc/{process}/task/{process}/children").read_text().split()
    ]


def logged(folder: Path) -> dict[str, dict[str, int]]:
    """Return of each group of jobs how many there were, and what their tasks read and returned."""
    group_of_stage: dict[int, str] = {}
    figures: dict[str, dict[str, Any]] = {}
    job_of_stage: dict[int, int] = {}
    (log,) = (folder / "events").iterdir()
    for line in log.read_text().splitlines():
        event = json.loads(line)
        if event["Event"] == "SparkListenerJobStart":
            group = event["Properties"].get("spark.jobGroup.id", "")
            empty = {"jobs": 0, "reading": set(), "rows": 0, "returned": 0, "lost": 0}
            empty |= {"tasks": 0, "cpu": 0, "run": 0, "shuffled": 0}
            figures.setdefault(group, empty)["jobs"] += 1
            for stage in event["Stage IDs"]:
                group_of_stage[stage] = group
                job_of_stage.setdefault(stage, event["Job ID"])
        elif event["Event"] == "SparkListenerTaskEnd":
            stage = event["Stage ID"]
            figure = figures[group_of_stage[stage]]
            figure["lost"] += event["Task End Reason"]["Reason"] != "Success"
            metrics = event.get("Task Metrics") or {}
            rows = metrics.get("Input Metrics", {}).get("Records Read", 0)
            figure["rows"] += rows
            figure["returned"] += metrics.get("Result Size", 0)
            figure["tasks"] += 1
            figure["cpu"] += metrics.get("Executor CPU Time", 0)  # nanoseconds
            figure["run"] += metrics.get("Executor Run Time", 0)  # milliseconds
            written = metrics.get("Shuffle Write Metrics", {})
            figure["shuffled"] += written.get("Shuffle Bytes Written", 0)
            if rows:
                figure["reading"].add(job_of_stage[stage])
    return {
        group: {
            name: len(value) if isinstance(value, set) else value for name, value in all.items()
        }
        for group, all in figures.items()
    }


def measure(rows: int, folder: Path, killed_in: str) -> dict[str, Any]:
    """Return all figures."""
    (folder / "events").mkdir()
    whole_rows, fifth_rows = make(folder / "whole", rows), make(folder / "fifth", rows // 5)
    memory = from_arrays(y_score=whole_rows["p"], y_pred=whole_rows["said"], ids=whole_rows["id"])
    seconds: dict[str, float] = {}

    @contextmanager
    def group(name: str) -> Iterator[None]:
        spark.sparkContext.setJobGroup(name, name)
        start = time.perf_counter()
        yield
        seconds[name] = round(time.perf_counter() - start, 2)

    start = time.perf_counter()
    killed: list[str] = []
    with cluster(folder) as (url, workers):
        spark = session(url, folder)
        seconds["start"] = round(time.perf_counter() - start, 2)
        with group("open"):  # tries the arithmetic
            open_spark(Scan(f"{folder}/fifth", spark=url), LAYOUT)
        with group("survey of a fifth"):
            fifth = read(spark, f"{folder}/fifth")
        with group("draw of a fifth"):
            cut_and_deal(fifth)
        with group("survey"):
            whole = read(spark, f"{folder}/whole")
        with group("draw"):
            strata, drawn = cut_and_deal(whole)
        with group("with a worker killed"), killing(spark, workers.pop(), killed):
            if killed_in == "draw":
                again: object = cut_and_deal(whole)
            else:
                again = dealt_for_two(Scan(f"{folder}/fifth", spark=spark))
        spark.stop()
    return {
        "seconds": seconds,
        "jobs": logged(folder),
        "killed after": killed[0],
        "strata": strata.n_strata,
        "cards": sum(map(len, drawn)),
        "same": {
            "fingerprint": whole.fingerprint() == memory.fingerprint(),
            "strata and cards": (strata, drawn) == cut_and_deal(memory),
            "with a worker killed": again
            == ((strata, drawn) if killed_in == "draw" else dealt_for_two(fifth_rows)),
        },
        "same cards by another seed": drawn == cut_and_deal(memory, SEED + 1)[1],
    }


def figures(rows: int, killed_in: str = "two") -> dict[str, Any]:
    """Return all figures, and leave nothing behind; the worker is killed for two, or in a draw."""
    os.environ.update({"SPARK_LOCAL_IP": HOST, "PYSPARK_PYTHON": sys.executable})
    signal.alarm(MOST_SECONDS)  # whatever hangs, this process ends, and with it the servers
    with tempfile.TemporaryDirectory(prefix="assay-spark-", ignore_cleanup_errors=True) as folder:
        return measure(rows, Path(folder), killed_in)


def end_with_stdin() -> None:
    """End this process, and with it the servers, when whoever started it is gone."""
    while os.read(0, 1):  # not sys.stdin, whose lock would be held when the program ends
        pass
    os._exit(1)


if __name__ == "__main__":
    Thread(target=end_with_stdin, daemon=True).start()
    sys.stdout.write(json.dumps(figures(int(sys.argv[1]), sys.argv[2])))
