"""What it takes to begin an evaluation over a table of a database: counted there, or copied first.

    python -m benchmarks.databases FOLDER                    # 10 million rows: 1 GB of disk
    python -m benchmarks.databases FOLDER --postgres postgresql:///postgres?host=/run/postgresql

Files are made once and kept in the folder; in PostgreSQL, which runs on the same machine, a table
`preds` is made where there is none. `create_campaign` and the first `ask` are compared with
``SELECT sum(id), sum(score)`` in the same database, each in a process of its own. CPU seconds are
those of this side (chDB works within its process, SQLite is read there) and of PostgreSQL's server;
memory is the peak of this side.
"""

import argparse
import os
import sqlite3
import time
from multiprocessing import get_context
from multiprocessing.queues import SimpleQueue
from pathlib import Path

import duckdb
import pyarrow.parquet as pq

import assay
from assay.predictions.databases import find_database
from benchmarks.any_size import cpu_seconds, make_rows

TICKS = os.sysconf("SC_CLK_TCK")
SUM = "SELECT sum(id), sum(score) FROM preds"
AT_ONCE = 100_000


def fill_sqlite(folder: Path, parquet: Path) -> str:
    """Write a file of SQLite."""
    path = folder / f"{parquet.stem}.sqlite"
    if not path.exists():
        unfinished = path.with_suffix(".unfinished")
        unfinished.unlink(missing_ok=True)
        with sqlite3.connect(unfinished) as file, duckdb.connect() as connection:
            file.execute("CREATE TABLE preds (id INTEGER, score REAL, predicted BOOLEAN)")
            rows = connection.execute("FROM read_parquet(?)", [str(parquet)])
            while some := rows.fetchmany(AT_ONCE):
                file.executemany("INSERT INTO preds VALUES (?, ?, ?)", some)
        file.close()
        unfinished.rename(path)
    return str(path)


def fill_clickhouse(folder: Path, parquet: Path) -> str:
    """Write a folder of chDB."""
    import clickhouse_connect

    place = folder / f"{parquet.stem}.chdb"
    client = clickhouse_connect.get_client(dsn=f"chdb://{place}")
    if not client.query("EXISTS TABLE preds").result_rows[0][0]:
        client.command(
            "CREATE TABLE preds (id Int64, score Float32, predicted Bool) "
            "ENGINE = MergeTree ORDER BY tuple()"
        )
        client.insert_arrow("preds", pq.read_table(parquet))
    client.close()
    return f"chdb://{place}"


def fill_postgres(url: str, parquet: Path) -> None:
    """Write a table of PostgreSQL."""
    import psycopg

    with psycopg.connect(url, autocommit=True) as server:
        made = server.execute("SELECT to_regclass('preds')").fetchone()
        if made != (None,):
            return
        with server.transaction():
            server.execute("CREATE TABLE preds (id bigint, score real, predicted boolean)")
            with (
                duckdb.connect() as connection,
                server.cursor() as cursor,
                cursor.copy("COPY preds FROM STDIN") as copy,
            ):
                rows = connection.execute("FROM read_parquet(?)", [str(parquet)])
                while some := rows.fetchmany(AT_ONCE):
                    for row in some:
                        copy.write_row(row)
        server.execute("VACUUM ANALYZE preds")


def server_of(url: str) -> int:
    """Return the process that starts all others of a PostgreSQL on this machine."""
    import psycopg

    with psycopg.connect(url) as server:
        return int(_fields(server.info.backend_pid)[1])


def _fields(pid: int) -> list[str]:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()


def server_seconds(pid: int | None) -> float:
    """Return the CPU time of a server and of all processes it has had, but for those that run."""
    if pid is None:
        return 0.0
    return sum(map(int, _fields(pid)[11:15])) / TICKS


def work(how: str, url: str, told: "SimpleQueue[tuple[float, float, float]]") -> None:
    """Do one piece of work, and tell what it cost."""
    clock, cpu = time.perf_counter(), cpu_seconds()
    if how == "sum":
        database = find_database(url)
        if database is not None:
            with database.connected():
                database.fetch(SUM)
    else:
        campaign = assay.create_campaign(
            assay.Scan(url, table="preds", engine="database" if how == "in place" else "duckdb"),
            id="id",
            score="score",
            predicted="predicted",
            metric="precision",
            within=0.02,
            seed=1,
        )
        campaign.ask(20)
    status = Path("/proc/self/status").read_text()
    peak = int(status.partition("VmHWM:")[2].split()[0]) / 1024
    told.put((cpu_seconds() - cpu, time.perf_counter() - clock, peak))


def measure(name: str, url: str, pid: int | None) -> None:
    """Print what all ways cost."""
    context = get_context("spawn")
    for how in ("sum", "copied") if name == "SQLite" else ("sum", "in place", "copied"):
        told: SimpleQueue[tuple[float, float, float]] = context.SimpleQueue()
        before = server_seconds(pid)
        process = context.Process(target=work, args=(how, url, told))
        process.start()
        cpu, clock, peak = told.get()
        process.join()
        time.sleep(0.5)  # until the server has seen its processes end
        server = server_seconds(pid) - before
        print(
            f"{name:10} {how:8}  this side {cpu:6.2f} CPU s, {peak:5.0f} MB;  "
            f"server {server:6.2f} CPU s;  {clock:6.1f} s on the clock",
            flush=True,
        )


def main() -> None:
    """Make tables, and measure."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--millions", type=int, default=10)
    parser.add_argument("--postgres", metavar="URL", help="of a PostgreSQL on this machine")
    given = parser.parse_args()
    folder: Path = given.folder.absolute()
    folder.mkdir(parents=True, exist_ok=True)
    parquet = make_rows(folder / f"{given.millions}.parquet", given.millions)
    if given.postgres:
        fill_postgres(given.postgres, parquet)
        time.sleep(2.0)  # until the server has seen its processes end
        measure("PostgreSQL", given.postgres, server_of(given.postgres))
    measure("SQLite", fill_sqlite(folder, parquet), None)
    measure("ClickHouse", fill_clickhouse(folder, parquet), None)


if __name__ == "__main__":
    main()
