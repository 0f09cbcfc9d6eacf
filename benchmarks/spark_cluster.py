"""The Spark engine on a cluster: what `tests/predictions/test_spark_cluster.py` checks, as figures.

Run from the root of the repository: python -m benchmarks.spark_cluster [ROWS]
It needs Java and pyspark, starts a master and two workers on this machine, and ends them.

TO BE MEASURED
"""

import sys

from tests.predictions.spark_cluster import figures


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
