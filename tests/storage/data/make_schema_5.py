"""What schema_5.db holds: made by this program when schema 5 was new, and never again.

``python -m tests.storage.data.make_schema_5 schema_5.db schema_5.json``
"""

import json
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np

import assay
from tests.storage.data.recorded import document, yes_or_no


def main(database: Path, told: Path) -> None:
    url = f"sqlite:///{database}"
    rng = np.random.default_rng(11)
    size = 200
    score = rng.random(size).round(3)
    truth = rng.random(size) < score
    columns: dict[str, Any] = {"score": "p", "threshold": 0.5, "budget": 40, "storage": url}
    warnings.simplefilter("ignore")

    assay.create_campaign({"p": score}, name="chained", seed=3, **columns)
    campaign = assay.create_campaign(
        {"p": score}, name="rebased", seed=4, reviewers_per_item=2, overlap=0.5, **columns
    )
    for name in ("ann", "bob"):
        for item in campaign.review([], reviewer=name, want=8).items:
            label = assay.Label(
                str(item.id),
                yes_or_no(bool(truth[int(item.id)])),
                key=f"{name} {item.id}",
                comment="“quoted” 😀" if name == "ann" else "",
            )
            campaign.review([label], reviewer=name)
    changed = {"p": (score * 0.9).round(3)}
    assay.rebase_campaign("rebased", storage=url, predictions=changed)
    chained = assay.load_campaign("chained", storage=url)
    batch = chained.ask(12)
    chained.tell({item.id: bool(truth[int(item.id)]) for item in batch}, reviewer="ann")
    chained.tell({batch[0].id: False}, reviewer="ann", revise=True)
    names = ("chained", "rebased")
    told.write_text(json.dumps({name: document(name, url) for name in names}, indent=1) + "\n")


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
