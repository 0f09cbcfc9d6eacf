"""What schema_4.db holds: made by this program when schema 4 was new, and never again.

``python -m tests.storage.data.make_schema_4 schema_4.db schema_4.json``
"""

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np

import assay
from tests.storage.data.make_schema_2 import document, yes_or_no

COMMENTS = ("a parody", "=1+1", "two\nlines, “quoted”", "<b>not bold</b>", "ist das Spam? 😀")
NAMES = ("alone", "team")


def main(database: Path, told: Path) -> None:
    url = f"sqlite:///{database}"
    rng = np.random.default_rng(9)
    size = 200
    score = rng.random(size).round(3)
    truth = rng.random(size) < score
    data: dict[str, Any] = {"p": score}
    columns: dict[str, Any] = {
        "score": "p",
        "threshold": 0.5,
        "budget": 40,
        "storage": url,
        "seed": 3,
    }

    alone = assay.create_campaign(data, name="alone", **columns)
    for turn in range(2):
        batch = alone.ask(10)
        said = {item.id: bool(truth[int(item.id)]) for item in batch}
        written = {item.id: text for item, text in zip(batch, COMMENTS, strict=False)}
        alone.tell(said, comments=written if turn else None, reviewer="ann")
    alone.tell({batch[0].id: not said[batch[0].id]}, reviewer="ann", revise=True)
    alone.tell({batch[9].id: said[batch[9].id]}, comments={batch[9].id: "later"}, reviewer="ann")

    team = assay.create_campaign(
        data, name="team", reviewers_per_item=2, overlap=1.0, metric="recall", **columns
    )
    for name, turns in (("ann", "yyyyn"), ("bob", "ynnyn")):
        for place, item in enumerate(team.review([], reviewer=name, want=5).items):
            right = bool(truth[int(item.id)]) is (turns[place] == "y")
            label = assay.Label(
                str(item.id),
                yes_or_no(right),
                key=f"{name} {place}",
                comment=COMMENTS[place] if name == "ann" else "",
            )
            team.review([label], reviewer=name)
    first = team.disputes()[0].item.id
    team.rule(first, "yes", reviewer="eve", key="ruling", comment="by the guidelines")
    told.write_text(json.dumps({name: document(name, url) for name in NAMES}, indent=1) + "\n")


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
