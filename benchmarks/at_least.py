"""A question with a yes or a no against an interval that answers it by the way.

Is precision at least 0.95? A million predicted positives of several precisions, their errors in
proportion to (1 - r)^3 or constant over the score's rank; batches of 20, 200 evaluations each. The
routes: `at_least`, and `Design()` to three half-widths, with the share of its intervals that leave
0.95 out.

Run with ``python -m benchmarks.at_least``.
"""

import numpy as np

from assay.core.design import Design
from assay.core.goal import Goal
from assay.core.stopping import Reason
from assay.simulation import Task, run_tasks
from studies.coverage.populations import of_shape

LINE = 0.95
WIDTHS = (0.03, 0.02, 0.01)


def main() -> None:
    """Print a row for each precision and shape."""
    head = " | ".join(f"labels to ±{within} (decide)" for within in WIDTHS)
    print(f"| precision | shape | labels to yes or no | wrong | {head} |\n" + "|---" * 7 + "|")
    for precision in (0.9, 0.93, 0.97, 0.99):
        for shape in ("mass at the top", "no signal"):
            population = of_shape(shape, precision)
            question = Goal("precision", at_least=LINE, budget=50_000)
            goals = [(Design.guaranteed(), question)]
            goals += [(Design(), Goal("precision", within=within)) for within in WIDTHS]
            tasks = [
                Task.of_one(f"{precision} {shape}", population.frame(design), design, goal)
                for design, goal in goals
            ]
            asked, *intervals = run_tasks(tasks, replications=200, seed=1)
            if asked is None:
                continue
            right = Reason.AT_LEAST if precision >= LINE else Reason.BELOW
            wrong = (Reason.BELOW, Reason.AT_LEAST)[right == Reason.BELOW]
            cells = [
                f"{runs.labels.mean():,.0f} ({np.mean((runs.low > LINE) | (runs.high < LINE)):.0%})"
                for runs in intervals
                if runs is not None
            ]
            mistaken = int((asked.reason == wrong).sum())
            print(
                f"| {precision} | {shape} | {asked.labels.mean():,.0f} | {mistaken} | "
                + " | ".join(cells)
                + " |",
                flush=True,
            )


if __name__ == "__main__":
    main()
