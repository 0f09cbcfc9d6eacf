"""What a round of a joint campaign costs: 20 labels asked for and told, with many targets.

Classifiers of the same 20,000 made items, with precision, recall and accuracy of each to be known:
20 of them make 60 targets. The CPU seconds of a round in memory, the median of some, after the
first two, which find out what is the same in every round. Goal: 0.1 s for 60 targets.

Run with ``python -m benchmarks.joint_round [--classifiers 1 5 20] [--rounds 12]``.
"""

import argparse
import time

import numpy as np

import assay

ITEMS = 20_000
METRICS = ("precision", "recall", "accuracy")


def rounds(classifiers: int, number: int) -> list[float]:
    """Return the CPU seconds of each round."""
    rng = np.random.default_rng(3)
    hidden = rng.normal(size=ITEMS)
    truth = hidden + 0.6 * rng.normal(size=ITEMS) > 1.0
    table: dict[str, object] = {"id": np.arange(ITEMS)}
    for k in range(classifiers):
        margin = 2 * (hidden + 0.5 * rng.normal(size=ITEMS)) - 2 + 0.1 * k
        table[f"p{k}"] = (1 / (1 + np.exp(-margin))).round(4)
    campaign = assay.create_campaign(
        table,
        id="id",
        classifiers={f"c{k}": {"score": f"p{k}", "threshold": 0.5} for k in range(classifiers)},
        metrics=list(METRICS),
        within=0.05,
        seed=1,
    )
    took = []
    for _ in range(number + 2):
        began = time.process_time()
        campaign.tell({item.id: bool(truth[int(item.id)]) for item in campaign.ask(20)})
        took.append(time.process_time() - began)
    return took[2:]


def main() -> None:
    """Print a line for each number of classifiers."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--classifiers", type=int, nargs="+", default=[1, 5, 20])
    parser.add_argument("--rounds", type=int, default=12)
    asked = parser.parse_args()
    for classifiers in asked.classifiers:
        took = rounds(classifiers, asked.rounds)
        targets = classifiers * len(METRICS)
        print(f"{targets:3} targets: {np.median(took):.3f} s of CPU a round", flush=True)


if __name__ == "__main__":
    main()
