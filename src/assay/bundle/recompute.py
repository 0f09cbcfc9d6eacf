"""Work out the estimate of this bundle again, with Python alone: ``python recompute.py``.

In each stratum the share of yes among the answers stands for all of its items.
"""

import csv
import json
import sys
from math import fsum
from pathlib import Path


def main(folder: Path) -> int:
    """Print the value from the tables and the one that was told; return 1 where they differ."""
    [(metric, told)] = json.loads((folder / "estimate.json").read_text()).items()
    strata, cards = (_rows(folder / name) for name in ("strata.csv", "cards.csv"))
    yes, no = ([0] * len(strata) for _ in range(2))
    for card in cards:
        # Where strata hold items of both predicted labels, predictions that are right are counted.
        straddles = strata[int(card["stratum"])]["predicted"] == ""
        outcome = {"yes": True, "no": False}.get(card["answer"])
        if outcome is not None:
            counts = yes if outcome == (not straddles or card["predicted"] == "1") else no
            counts[int(card["stratum"])] += 1
    totals: dict[str, list[float]] = {"1": [], "0": [], "": []}
    sizes = {"1": 0, "0": 0, "": 0}
    for row, positive, negative in zip(strata, yes, no, strict=True):
        labels = positive + negative
        share = positive / labels if labels else 0.5
        totals[row["predicted"]].append(int(row["size"]) * share)
        sizes[row["predicted"]] += int(row["size"])
    found, missed, right = (fsum(totals[predicted]) for predicted in ("1", "0", ""))
    items = sum(sizes.values())
    top, bottom = {
        "precision": (found, sizes["1"]),
        "recall": (found, found + missed),
        "f1": (2 * found, sizes["1"] + found + missed),
        "accuracy": (right + found + sizes["0"] - missed, items),
        "false_omission_rate": (missed, sizes["0"]),
        "prevalence": (found + missed, items),
    }[metric]
    value = top / bottom if bottom else float("nan")
    sys.stdout.write(f"{metric}: {value!r} from the tables, {told['value']!r} as told\n")
    return 0 if told["value"] is None or abs(value - told["value"]) < 1e-12 else 1


def _rows(path: Path) -> list[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


if __name__ == "__main__":
    sys.exit(main(Path(__file__).parent))
