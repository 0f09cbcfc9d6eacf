"""What schema_3.db holds: made by this program when schema 3 was new, and never again.

``python -m tests.storage.data.make_schema_3 schema_3.db schema_3.json``
"""

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np

import assay
from tests.storage.data.make_schema_2 import document


def main(database: Path, told: Path) -> None:
    url = f"sqlite:///{database}"
    rng = np.random.default_rng(8)
    size = 200
    score = rng.random(size).round(3)
    truth = rng.random(size) < score
    data: dict[str, Any] = {"p": score, "views": rng.lognormal(0.0, 1.5, size).round(2)}
    columns: dict[str, Any] = {
        "score": "p",
        "threshold": 0.5,
        "sample_weight": "views",
        "storage": url,
        "seed": 3,
    }
    goals: dict[str, dict[str, Any]] = {
        "weighted": {"metric": "recall", "budget": 40, "design": assay.Design(bins=3)},
        "at least": {"metric": "precision", "at_least": 0.7},
    }
    for name, goal in goals.items():
        campaign = assay.create_campaign(data, name=name, **columns, **goal)
        for turn in range(3):
            told_now: dict[Any, object] = {
                item.id: bool(truth[int(item.id)]) for item in campaign.ask(10)
            }
            if turn == 1:
                told_now[next(iter(told_now))] = "cannot judge"
            campaign.tell(told_now, reviewer="ann")
        campaign.tell({next(iter(told_now)): "no"}, reviewer="ann", revise=True)
    told.write_text(json.dumps({name: document(name, url) for name in goals}, indent=1))


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
