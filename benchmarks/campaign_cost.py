"""What a campaign costs, as ratios within one process.

1. `create_campaign` and the first `ask` over 1,000,000 predictions in memory, against one
   `numpy.argsort` of their scores. Goal: at most 3.
2. A later `ask` and `tell` of 20 labels over 1,000,000 predictions, against the same over 10,000.
   Goal: no dependence on the number of predictions.

Run with ``make bench`` or ``python benchmarks/campaign_cost.py``. The best of several runs is
taken for each side, because the machine may be busy with something else.
"""

import time
from collections.abc import Callable

import numpy as np

import assay
from assay.core.types import Bools, Floats, Ints

BATCH = 20
Columns = dict[str, Ints | Floats | Bools]


def population(size: int) -> tuple[Columns, Bools]:
    """Return ids in random order, scores that pile up near 1, predictions, and the truth by id."""
    rng = np.random.default_rng(0)
    score = rng.beta(4, 1, size)
    truth = rng.random(size) < score
    return {"id": rng.permutation(size), "p": score, "yes": score > 0.5}, truth


def best(work: Callable[[], object], runs: int) -> float:
    """Return the shortest time of several runs, in seconds."""
    times = []
    for _ in range(runs):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return min(times)


def start(columns: Columns) -> assay.Campaign:
    """Make a campaign and ask for its first batch."""
    campaign = assay.create_campaign(
        columns, id="id", score="p", predicted="yes", metric="precision", within=0.02
    )
    campaign.ask(BATCH)
    return campaign


def later_rounds(columns: Columns, truth: Bools, rounds: int) -> float:
    """Return the median time of an ask and tell of 20 labels, in seconds."""
    campaign = start(columns)
    times = []
    for _ in range(rounds):
        began = time.perf_counter()
        items = campaign.ask(BATCH)
        campaign.tell({item.id: truth[int(item.id)] for item in items})
        times.append(time.perf_counter() - began)
    return float(np.median(times))


def main() -> None:
    """Print both ratios."""
    columns, truth = population(1_000_000)
    sort = best(lambda: np.argsort(columns["p"]), runs=7)
    create = best(lambda: start(columns), runs=7)
    print(f"numpy.argsort of 1,000,000 scores   {1000 * sort:7.1f} ms")
    print(f"create_campaign + first ask         {1000 * create:7.1f} ms   {create / sort:.2f} x")

    small_columns, small_truth = population(10_000)
    few = min(later_rounds(small_columns, small_truth, 15) for _ in range(3))
    many = min(later_rounds(columns, truth, 15) for _ in range(3))
    print(f"ask + tell of 20 over 10,000        {1000 * few:7.1f} ms")
    print(f"ask + tell of 20 over 1,000,000     {1000 * many:7.1f} ms   {many / few:.2f} x")


if __name__ == "__main__":
    main()
