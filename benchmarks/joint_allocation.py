"""What a joint allocation costs: 20 classifiers x 3 metrics over 5,000 cells, on one core.

Random populations of 1,000,000 items: cells of a Venn diagram with sizes from 1 to thousands,
classifiers that agree mostly, precision, recall and F1 of each within +-0.03 or +-0.01. Each is
solved, and solved again after its rates have moved as some labels move them. Beside it one pass
over the same matrix, A @ x, which no solver can do without. Last, 200 small problems at once, as
the simulator has them. CPU time, as the machine may be busy.

Run with ``OPENBLAS_NUM_THREADS=1 python benchmarks/joint_allocation.py``.
"""

import time

import numpy as np

from assay.core.forms import ratio
from assay.core.joint_allocation import Allocation, joint_allocation
from assay.core.types import Floats

CLASSIFIERS, CELLS, ITEMS = 20, 5000, 1_000_000
METRICS = ("precision", "recall", "f1")
POPULATIONS = 20
RE_SOLVES = 5


class Population:
    """Cells, what the classifiers say to them, and their share of positives."""

    def __init__(self, rng: np.random.Generator) -> None:
        clearness = rng.normal(size=CELLS)
        own_view = rng.normal(size=(CLASSIFIERS, CELLS))
        threshold = 0.3 + 0.7 * rng.normal(size=(CLASSIFIERS, 1))
        self.says_yes = 0.9 * clearness + 0.5 * own_view > threshold
        weight = rng.lognormal(0.0, 2.0, size=CELLS)
        self.N = np.maximum(1.0, np.round(ITEMS * weight / weight.sum()))
        self.logit = 2.5 * clearness - 1 + rng.normal(size=CELLS)

    def problem(self, within: float) -> tuple[Floats, Floats]:
        """Return A and V; sampling without replacement allows A / N more."""
        p = 1 / (1 + np.exp(-self.logit))
        metrics = [ratio(name, self.N, yes) for yes in self.says_yes for name in METRICS]
        slopes = np.array([metric.gradient(self.N * p) for metric in metrics])
        A = (slopes * self.N) ** 2 * p * (1 - p)
        return A, (within / 1.96) ** 2 + (A / self.N).sum(axis=-1)


def timed(A: Floats, V: Floats, least: float, most: Floats) -> tuple[float, Allocation]:
    """Return the CPU milliseconds of a solution, and the solution."""
    begin = time.process_time()
    solution = joint_allocation(A, V, least, most)
    return 1000 * (time.process_time() - begin), solution


def show(name: str, times: list[float]) -> None:
    """Print median and worst."""
    print(f"{name:34} median {np.median(times):7.2f} ms, worst {max(times):7.2f} ms")


def large_problems() -> None:
    """Print the cost of solving and re-solving one large problem."""
    rng = np.random.default_rng(0)
    passes, times, gaps = [], [], []
    for number in range(POPULATIONS):
        population = Population(rng)
        within = (0.03, 0.01)[number % 2]
        A, _ = population.problem(within)
        x = rng.random(CELLS)
        begin = time.process_time()
        for _ in range(20):
            A @ x
        passes.append(1000 * (time.process_time() - begin) / 20)
        for _ in range(1 + RE_SOLVES):
            spent, solution = timed(*population.problem(within), 0, population.N)
            times.append(spent)
            gaps.append(float(solution.gap))
            population.logit += 0.1 * rng.normal(size=CELLS)
    print(f"T = {CLASSIFIERS * len(METRICS)}, H = {CELLS}, {POPULATIONS} populations")
    show("one pass A @ x", passes)
    show("one solution", times)
    print(f"in passes: {np.median(times) / np.median(passes):.0f}")
    print(f"largest certified gap {max(gaps):.1e}")


def small_problems() -> None:
    """Print the cost of 200 small problems in one call."""
    rng = np.random.default_rng(1)
    times = []
    for _ in range(POPULATIONS):
        A = rng.gamma(1.0, size=(200, 4, 64)) * (rng.random((200, 4, 64)) < 0.6)
        most = rng.uniform(5, 200, size=(200, 64))
        V = (A / most[:, None, :]).sum(axis=-1) * rng.uniform(1.5, 50, size=(200, 4))
        times.append(timed(A, V, 1, most)[0])
    show("R = 200, T = 4, H = 64, together", times)


if __name__ == "__main__":
    large_problems()
    small_problems()
