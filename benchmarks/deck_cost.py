"""What the deck costs, beside what a draw cannot do without.

numpy: the numbers of 1,000,000 integer ids, against one `numpy.argsort` of as many scores.
DuckDB: finding the items below a limit among 10,000,000, against the sum of their ids; by the
deck's number, and by the number of strings (SHA-256). One thread.

Run with ``python benchmarks/deck_cost.py``. Best of three, as the machine may be busy.
"""

import time
from collections.abc import Callable

import duckdb
import numpy as np

from assay.core.deck import mix, numbers
from assay.predictions.sql.deck import duckdb_digest, duckdb_keyed

ARRAY_SIZE = 1_000_000
TABLE_SIZE = 10_000_000
LIMIT = 2**64 // 10_000


def cpu_seconds(work: Callable[[], object]) -> float:
    """Return the least CPU time of three runs."""
    times = []
    for _ in range(3):
        start = time.process_time()
        work()
        times.append(time.process_time() - start)
    return min(times)


def numpy_costs() -> None:
    """Print the cost of the deck in memory."""
    scores = np.random.default_rng(0).random(ARRAY_SIZE)
    ids = np.arange(ARRAY_SIZE)
    words = ids.astype(np.uint64)
    print(f"numpy, {ARRAY_SIZE:,} integer ids: CPU ms")
    print(f"  argsort of the scores       {1000 * cpu_seconds(lambda: np.argsort(scores)):8.1f}")
    print(f"  mix                         {1000 * cpu_seconds(lambda: mix(words)):8.1f}")
    print(f"  numbers                     {1000 * cpu_seconds(lambda: numbers(ids, 1)):8.1f}")


def duckdb_costs() -> None:
    """Print the cost of a scan for the first cards in DuckDB."""
    numbers_by = {
        "number": duckdb_keyed(duckdb_digest("id", "integer"), 1),
        "number of a string": duckdb_keyed(duckdb_digest("url", "string"), 1),
    }
    print(f"DuckDB {duckdb.__version__}, {TABLE_SIZE:,} ids: CPU s")
    with duckdb.connect(config={"threads": 1}) as connection:
        connection.execute(
            "CREATE TABLE items AS SELECT range AS id, 'https://example.org/' || range AS url "
            "FROM range(?)",
            [TABLE_SIZE],
        )
        items = connection.table("items")
        floor = cpu_seconds(items.sum("id").fetchall)
        print(f"  sum of the ids              {floor:8.2f}")
        for name, number in numbers_by.items():
            first_cards = items.filter(f"{number} < {LIMIT}").count("id")
            print(f"  below a limit by {name:18} {cpu_seconds(first_cards.fetchall):8.2f}")


if __name__ == "__main__":
    numpy_costs()
    duckdb_costs()
