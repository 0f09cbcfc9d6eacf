"""Whether a server grows while thirty reviewers work: 20,000 requests, over HTTP.

    python -m benchmarks.crowd FOLDER
    python -m benchmarks.crowd FOLDER --people 30 --requests 20000

``assay serve`` runs in a process of its own, on SQLite in the folder and on a PostgreSQL. Each
request sends an answer and gets the next item; one that is not saved ends the benchmark. After each
fifth of them the server's memory is printed: it keeps labels, and nothing else may grow.
"""

import argparse
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.any_size import make_few
from benchmarks.reviewing import make_campaign, reviewing, storages
from tests.torture.processes import serving

PARTS = 5


def megabytes(pid: int | None) -> float:
    """Return the memory that a process has now."""
    (line,) = (
        line
        for line in Path(f"/proc/{pid}/status").read_text().splitlines()
        if line.startswith("VmRSS")
    )
    return int(line.split()[1]) / 1024


def main() -> None:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--people", type=int, default=30)
    parser.add_argument("--requests", type=int, default=20_000)
    settings = parser.parse_args()
    settings.folder.mkdir(parents=True, exist_ok=True)
    rows = make_few(settings.folder / "crowd.parquet", 3 * settings.requests)
    with storages(settings.folder) as kinds, TemporaryDirectory() as folder:
        for kind, make in kinds.items():
            storage = make("crowd")
            make_campaign(rows, storage, 2 * settings.requests, 100)
            with serving(storage, Path(folder)) as (served,):
                reviewing(served, storage, settings.people, settings.people * 5)
                before = megabytes(served.process.pid)
                print(f"{kind}, {settings.people} reviewers; memory at first {before:.0f} MB")
                for part in range(1, PARTS + 1):
                    speed = reviewing(served, storage, settings.people, settings.requests // PARTS)
                    memory = megabytes(served.process.pid)
                    done = part * settings.requests // PARTS
                    print(f"  {done:,} requests: {speed}; memory {memory:.0f} MB", flush=True)


if __name__ == "__main__":
    main()
