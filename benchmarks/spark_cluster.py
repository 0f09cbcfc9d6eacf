"""The Spark engine on a cluster: what `tests/predictions/spark/test_cluster.py` checks, as figures.

Run from the root of the repository: python -m benchmarks.spark_cluster [ROWS]
It needs Java and pyspark, starts a master and two workers on this machine, and ends them.

5 million rows in 64 files, two workers of one core each, on a machine with 2 cores that was busy
otherwise (load 5): the first pass took 10 s and the draw of 1,000 cards from ten strata 4 s. Each
was one job that read the data. What came to the driver was 1.54 MB, and 1.45 MB for a fifth of the
rows: 1.06 times as much. With one of the workers killed after 24 of 64 tasks, 15 tasks were lost
and done again, and the counts were the same. All of it took 112 s, half of them to start.
"""

import sys

from tests.predictions.spark.spark_cluster import figures


def main() -> None:
    """Print the figures."""
    for name, value in figures(int(sys.argv[1]) if sys.argv[1:] else 5_000_000).items():
        if isinstance(value, dict):
            print(name)
            for key, figure in value.items():
                print(f"    {key:32} {figure}")
        else:
            print(f"{name:36} {value}")


if __name__ == "__main__":
    main()
