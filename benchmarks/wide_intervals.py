"""Whether the default is right at intervals wider than any of the coverage study.

Sixteen strata that all have the same rate, 2,000 evaluations in batches of 20 (standard error
0.005). With so few labels each stratum has three or four.

Run with ``python -m benchmarks.wide_intervals``.
"""

import numpy as np

from assay.core.design import Design
from assay.core.goal import Goal
from assay.simulation import Task
from studies.coverage.populations import of_shape


def main() -> None:
    """Print a row for each precision and half-width."""
    print("| precision | ±delta | labels | coverage |\n|---|---|---|---|")
    for precision in (0.5, 0.7, 0.9):
        frame = of_shape("no signal", precision).frame(Design())
        for within in (0.2, 0.15, 0.1, 0.07):
            task = Task.of_one(f"{precision}", frame, Design(), Goal("precision", within=within))
            runs = task.replay(2000, key=[1])
            held = np.mean((runs.low <= frame.value) & (frame.value <= runs.high))
            print(f"| {precision} | {within} | {runs.labels.mean():.0f} | {held:.3f} |")


if __name__ == "__main__":
    main()
