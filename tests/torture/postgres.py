"""A PostgreSQL that really writes to the disk, and that can be killed and started again."""

import os
import pwd
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory

import psycopg
import pytest

PATIENCE = 60.0

# The shell stops the server when its standard input ends, which happens even if pytest is killed.
# SIGINT is PostgreSQL's "fast shutdown": it does not wait for clients.
RUN_WHILE_STDIN_IS_OPEN = '"$@" & read -r _; kill -INT $!; wait $!'


class Postgres:
    """A server on a unix socket, with fsync on unless that is not wanted."""

    def __init__(self, folder: Path, programs: Path, user: str, *, fsync: bool = True) -> None:
        self._folder, self._programs, self._user, self._fsync = folder, programs, user, fsync
        self.data = folder / "data"
        self.dsn = f"host={folder} user={user} dbname=postgres"

    def make(self, *options: str) -> None:
        """Make the cluster."""
        initdb = [str(self._programs / "initdb"), "--auth=trust", "--encoding=UTF8", "--no-sync"]
        self._run([*initdb, *options, "-D", str(self.data)])

    def start(self, *options: str, **environment: str) -> None:
        """Start it; as often as it takes for what it was before to be gone."""
        server = [f"{self._programs}/postgres", "-D", f"{self.data}", "-k", f"{self._folder}"]
        server += ["-c", "listen_addresses=", "-c", f"fsync={'on' if self._fsync else 'off'}"]
        server += ["-c", "max_connections=150"]
        deadline = time.monotonic() + PATIENCE
        while True:
            self._process = subprocess.Popen(
                ["sh", "-c", RUN_WHILE_STDIN_IS_OPEN, "sh", *server, *options],
                user=self._user,
                cwd=self._folder,
                env={**os.environ, **environment},
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
            began = False
            while self._server_runs() or not began:
                began = began or self._server_runs()
                if self._is_ready():
                    return
                assert time.monotonic() < deadline, "PostgreSQL was not ready in time"
                time.sleep(0.02)
            self.stop()

    def database(self, name: str, *, like: str = "template1") -> str:
        """Make a database, a copy of another, and return it as Assay wants it named."""
        make = psycopg.sql.SQL("CREATE DATABASE {} TEMPLATE {}")
        with self.connect() as connection:
            connection.execute(make.format(_quoted(name), _quoted(like)))
        return f"postgresql://{self._user}@/{name}?host={self._folder}"

    def drop(self, name: str) -> None:
        """Delete a database."""
        drop = psycopg.sql.SQL("DROP DATABASE {} WITH (FORCE)")
        with self.connect() as connection:
            connection.execute(drop.format(_quoted(name)))

    def connect(self, name: str = "postgres") -> "psycopg.Connection[tuple[int]]":
        """Return a connection of our own."""
        return psycopg.connect(
            host=str(self._folder), user=self._user, dbname=name, autocommit=True
        )

    def clients(self) -> list[int]:
        """Return the processes that serve connections of others."""
        with self.connect() as connection:
            found = connection.execute(
                "SELECT pid FROM pg_stat_activity "
                "WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()"
            )
            return [pid for (pid,) in found]

    def kill(self) -> None:
        """End the server and every process of it as a failing machine would."""
        _signal(self._processes(), signal.SIGKILL)
        self.stop()

    @contextmanager
    def silence(self) -> Iterator[None]:
        """Stop all its processes for a while: it accepts connections, and answers nothing."""
        processes = self._processes()
        _signal(processes, signal.SIGSTOP)
        try:
            yield
        finally:
            _signal(processes, signal.SIGCONT)

    def _processes(self) -> list[int]:
        with self.connect() as connection:
            pids = [pid for (pid,) in connection.execute("SELECT pid FROM pg_stat_activity")]
        first, *_ = (self.data / "postmaster.pid").read_text().splitlines()
        return [int(first), *pids]

    def stop(self) -> None:
        """End it, if it runs."""
        self._process.communicate(timeout=PATIENCE)

    def _server_runs(self) -> bool:
        """Tell whether the shell has its server."""
        children = Path(f"/proc/{self._process.pid}/task/{self._process.pid}/children")
        return not children.exists() or bool(children.read_text().split())

    def _is_ready(self) -> bool:
        ready = [f"{self._programs}/pg_isready", "--quiet", "--host", f"{self._folder}"]
        return subprocess.run(ready, check=False).returncode == 0

    def _run(self, command: Sequence[str]) -> None:
        subprocess.run(
            command,
            user=self._user,
            cwd=self._folder,
            stdout=subprocess.DEVNULL,
            check=True,
            timeout=120,
        )


def _signal(processes: Sequence[int], sent: signal.Signals) -> None:
    for process in processes:
        with suppress(ProcessLookupError):
            os.kill(process, sent)


def postgres_programs() -> Path | None:
    """Return the directory of the newest PostgreSQL's programs."""
    on_path = shutil.which("initdb")
    if on_path:
        return Path(on_path).resolve().parent
    debian = Path("/usr/lib/postgresql").glob("*/bin/initdb")
    return max((path.parent for path in debian), key=lambda bin: int(bin.parent.name), default=None)


@contextmanager
def postgres_folder() -> Iterator[tuple[Path, Path, str]]:
    """Give a folder for a server, its programs, and who runs it; skip where there are none."""
    programs = postgres_programs()
    if programs is None:
        pytest.skip("PostgreSQL is not installed: no initdb on PATH or in /usr/lib/postgresql")
    user = "postgres" if os.geteuid() == 0 else pwd.getpwuid(os.geteuid()).pw_name
    if user not in {entry.pw_name for entry in pwd.getpwall()}:
        pytest.skip("PostgreSQL refuses to run as root, and there is no user postgres")
    # Not tmp_path: a socket's path may have 107 bytes, and user postgres must be able to enter.
    with TemporaryDirectory(prefix="assay-torture-") as folder:
        shutil.chown(folder, user=user)
        yield Path(folder), programs, user


@contextmanager
def running_postgres(*, fsync: bool = True) -> Iterator[Postgres]:
    """Give a server that runs."""
    with postgres_folder() as where:
        server = Postgres(*where, fsync=fsync)
        server.make()
        server.start()
        try:
            yield server
        finally:
            server.stop()


def _quoted(name: str) -> psycopg.sql.Identifier:
    return psycopg.sql.Identifier(name)
