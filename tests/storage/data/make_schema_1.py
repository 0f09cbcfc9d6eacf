"""What schema_1.db holds: made by this program at commit c611b44, and never again.

``python make_schema_1.py schema_1.db schema_1.json``
"""

import json
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np

import assay


def main(database: Path, told: Path) -> None:
    url = f"sqlite:///{database}"
    rng = np.random.default_rng(7)
    size = 400
    score = rng.random(size).round(3)
    truth = rng.random(size) < score
    names = [f"{row:04d}" for row in range(size)]
    data: dict[str, Any] = {"id": names, "p": score, "text": [f"item {i}" for i in range(size)]}
    true = dict(zip(names, truth.tolist(), strict=True))
    columns: dict[str, Any] = {
        "id": "id",
        "score": "p",
        "threshold": 0.5,
        "storage": url,
        "seed": 3,
    }

    spam = assay.create_campaign(data, **columns, show=["text"], budget=80, name="spam")
    for turn in range(3):
        batch = spam.ask(15)
        answers = {
            item.id: "cannot judge" if place == 4 else true[str(item.id)]
            for place, item in enumerate(batch)
        }
        spam.tell(answers, reviewer="ann")
        if turn == 1:
            first, second = (str(item.id) for item in batch[:2])
            spam.tell({first: not true[first]}, reviewer="bob", revise=True)
            spam.tell({second: not true[second]}, reviewer="ann", revise=True)
            spam.tell({second: true[second]}, reviewer="", revise=True)
    spam.ask(15)

    warnings.simplefilter("ignore")
    labels = {name: true[name] for name in names[:40]}
    before = assay.create_campaign(
        data, **columns, metric="accuracy", budget=80, name="from before", labels=labels
    )
    before.tell({item.id: true[str(item.id)] for item in before.ask(10)})

    week = assay.create_campaign(data, **columns, metric="recall", budget=60, name="week")
    week.tell({item.id: true[str(item.id)] for item in week.ask(20)}, reviewer="ann")
    fewer = {name: list(column[:390]) for name, column in data.items()}
    assay.rebase_campaign("week", storage=url, predictions=fewer)

    document = {}
    for name in ("spam", "from before", "week"):
        campaign = assay.load_campaign(name, storage=url)
        now = campaign.estimate()
        found = {key: getattr(now, key) for key in ("value", "low", "high", "labels")}
        document[name] = {
            **found,
            "cannot_judge": now.cannot_judge,
            "events": len(campaign.events()),
        }
    told.write_text(json.dumps(document, indent=1))


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
