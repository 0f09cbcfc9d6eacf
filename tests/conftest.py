"""Real servers for the tests that need one: started when first asked for, gone with the tests."""

import gc
import os
import resource
import shutil
import socket
import sys
import tempfile
import time
import warnings
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import pytest
from hypothesis import HealthCheck, settings
from xdist.scheduler import LoadGroupScheduling

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# The machine may be busy with something else, and a run that failed must fail again.
settings.register_profile(
    "assay", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("assay")

# What was collected stays: to look for garbage every 700 objects took a tenth of the time.
gc.set_threshold(20_000)

# What campaigns of tests have read is not for the list of whoever runs them.
# Processes that they start have the same folder, even if they import this.
if "assay-config-" not in os.environ.get("ASSAY_CONFIG_HOME", ""):
    _config = tempfile.TemporaryDirectory(prefix="assay-config-")
    os.environ["ASSAY_CONFIG_HOME"] = _config.name

os.environ["MLFLOW_DISABLE_TELEMETRY"] = "true"  # it would otherwise tell its makers of every test


# Tests run beside each other and keep all cores busy. What starts a process for each core would
# only add the seconds that these take to import; `tests/simulation/test_workers.py` asks for some.
os.cpu_count = lambda: 1


# What is slow to start, or waits for most of its time: one worker runs all tests that need it. By
# the tests' names, because the marks that xdist has for this do nothing with pytest 9.2. Those that
# wait longest come first: others keep the cores busy meanwhile.
TOGETHER = {
    "tests/predictions/spark/test_cluster.py": "cluster",
    "spark": "spark",
    "tests/browser/": "waiting",
    "tests/torture/": "waiting",
    "mlflow": "mlflow",
}


# In full these keep both cores busy for half an hour: then every worker has tests of them.
IN_FULL = os.environ.get("ASSAY_TORTURE") == "1"
if IN_FULL:
    del TOGETHER["tests/torture/"]


def group_of(nodeid: str) -> str:
    """Return what a test must be run together with; mostly itself alone."""
    return next((group for name, group in TOGETHER.items() if name in nodeid), nodeid)


# What `make slow` runs, and `make test` does not: servers, Spark, browsers, faults, and the tests
# in `over_a_second.txt`. Any other test that takes more than `MOST` seconds of CPU fails.
SLOW_FIXTURES = frozenset({"postgres_dsn", "postgres_url", "clickhouse_url", "spark"})
SERVERS = frozenset({"postgresql", "postgres", "clickhouse", "spark"})
OVER_A_SECOND = frozenset(Path(__file__).with_name("over_a_second.txt").read_text().splitlines())
MOST = 5.0  # a second alone; more beside other work, and with what a worker's first test imports


def _slowness() -> float:
    """Return how many times slower than usual this machine counts; 1 if it is faster."""
    began = time.process_time()
    sum(number * number for number in range(300_000))
    return max(1.0, (time.process_time() - began) / 0.025)


def is_slow(item: pytest.Item) -> bool:
    """Tell whether a test needs a server or a browser, or takes long."""
    fixtures = SLOW_FIXTURES.intersection(getattr(item, "fixturenames", ()))
    values = getattr(getattr(item, "callspec", None), "params", {}).values()
    named = any(isinstance(value, str) and value in SERVERS for value in values)
    listed = OVER_A_SECOND.intersection((item.nodeid, item.nodeid.partition("[")[0]))
    return bool(fixtures or listed) or named or group_of(item.nodeid) in TOGETHER.values()


def cpu_seconds() -> float:
    """Return the CPU time of this process and of those that it has waited for."""
    own, others = map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return own.ru_utime + own.ru_stime + others.ru_utime + others.ru_stime


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    """Fail a test that takes long, and is not known to."""
    before = cpu_seconds()
    yield
    used = cpu_seconds() - before
    if (
        used > MOST
        and used > MOST * _slowness()
        and not IN_FULL
        and item.get_closest_marker("slow") is None
        and "PYTEST_XDIST_WORKER" in os.environ
    ):
        pytest.fail(
            f"it took {used:.1f} s of CPU: make it quicker, or name it in over_a_second.txt"
        )


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with what one worker has to run alone, so that nobody waits for it at the end."""
    for item in items:
        if is_slow(item):
            item.add_marker("slow")
    groups = list(dict.fromkeys(TOGETHER.values()))

    def turn(item: pytest.Item) -> int:
        group = group_of(item.nodeid)
        return groups.index(group) if group in groups else len(groups)

    items.sort(key=turn)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Share out the tests by groups, in the order above, where that is asked for."""
    if config.getvalue("dist") != "loadgroup":
        return None
    config.option.loadscopereorder = False  # xdist's own order is by the number of tests
    scheduler = LoadGroupScheduling(config, log)
    scheduler._split_scope = group_of
    return scheduler


@pytest.fixture(scope="session")
def postgres_dsn() -> Iterator[str]:
    """A PostgreSQL of our own, on a unix socket only, as a connection string for psycopg."""
    from tests.torture.postgres import running_postgres

    with running_postgres(fsync=False) as server:
        yield server.dsn


@pytest.fixture
def postgres_url(postgres_dsn: str) -> Iterator[str]:
    """A fresh database of the PostgreSQL, as a storage."""
    import psycopg
    from psycopg import sql

    where = psycopg.conninfo.conninfo_to_dict(postgres_dsn)
    database = f"assay_{uuid4().hex}"
    with psycopg.connect(postgres_dsn, autocommit=True) as server:
        server.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(database)))
        yield f"postgresql://{where['user']}@/{database}?host={where['host']}"
        # Stores that nobody has closed yet still hold on to it.
        server.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(database)))


@pytest.fixture
def storage(tmp_path: Path) -> str:
    """A fresh storage in a file of SQLite."""
    return f"sqlite:///{tmp_path / 'labels.db'}"


@pytest.fixture(params=["sqlite", "postgresql"])
def storage_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A fresh storage: first a file of SQLite, then a database of PostgreSQL."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'storage.db'}"
    return str(request.getfixturevalue("postgres_url"))


@pytest.fixture(scope="session")
def clickhouse_url(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A ClickHouse of our own, within this process: one has a single folder for all its tests."""
    pytest.importorskip("clickhouse_connect", reason="clickhouse-connect is not installed")
    pytest.importorskip("chdb", reason="chdb, ClickHouse as a library, is not installed")
    return f"chdb://{tmp_path_factory.mktemp('clickhouse')}"


# A Java that lives for minutes gains nothing from its slow, thorough compiler, nor from a proof
# that what Spark's compiler made can be run: these are seconds of its start.
QUICK_JAVA = (
    "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC "
    "-XX:+UnlockDiagnosticVMOptions -XX:-BytecodeVerificationRemote"
)


@pytest.fixture(scope="session")
def spark_connect_url(request: pytest.FixtureRequest) -> str:
    """The Spark of our own as a server of Spark Connect, on loopback: it is the same Java."""
    if find_spec("grpc") is None:
        pytest.skip("the client of Spark Connect is not installed: pip install 'pyspark[connect]'")
    spark: SparkSession = request.getfixturevalue("spark")
    return f"sc://127.0.0.1:{spark.conf.get('spark.connect.grpc.binding.port')}"


def _connect_settings() -> dict[str, str]:
    """Return what lets a session be a server of Spark Connect, where there is a client to try."""
    if find_spec("grpc") is None:
        return {}
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    return {
        "spark.plugins": "org.apache.spark.sql.connect.SparkConnectPlugin",
        "spark.connect.grpc.binding.address": "127.0.0.1",
        "spark.connect.grpc.binding.port": str(port),
    }


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator["SparkSession"]:
    """A Spark of our own: two threads, loopback only. Its Java ends with the Python process."""
    if not shutil.which("java") and "JAVA_HOME" not in os.environ:
        pytest.skip("Java is not installed: no java on PATH and no JAVA_HOME")
    first = os.environ["PYTEST_CURRENT_TEST"]
    if group_of(first) != "spark":
        pytest.fail(f"{first} would start a Java in every worker: its name must have 'spark' in it")
    directory = tmp_path_factory.mktemp("spark")
    with pytest.MonkeyPatch.context() as environment, warnings.catch_warnings():
        environment.setenv("SPARK_LOCAL_IP", "127.0.0.1")
        # Spark's workers would otherwise be whatever python3 is on the PATH.
        environment.setenv("PYSPARK_PYTHON", sys.executable)
        # PySpark warns of a pandas newer than itself, which nothing here hands to it.
        warnings.simplefilter("ignore", FutureWarning)
        pyspark = pytest.importorskip("pyspark.sql", reason="PySpark is not installed")
        builder = pyspark.SparkSession.builder.master("local[2]")
        for name, value in _connect_settings().items():
            builder = builder.config(name, value)
        session: SparkSession = (
            builder.config("spark.driver.host", "127.0.0.1")
            .config("spark.driver.bindAddress", "127.0.0.1")
            .config("spark.driver.memory", "1g")
            .config("spark.driver.extraJavaOptions", QUICK_JAVA)
            .config("spark.local.dir", str(directory))
            .config("spark.sql.warehouse.dir", str(directory / "warehouse"))
            .config("spark.sql.shuffle.partitions", "2")
            # Plans are not made anew in mid-job: that takes longer than so few rows do.
            .config("spark.sql.adaptive.enabled", "false")
            .config("spark.ui.enabled", "false")
            .config("spark.ui.showConsoleProgress", "false")
            .getOrCreate()
        )
    yield session
    session.stop()
