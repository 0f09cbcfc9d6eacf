"""What schema_2.db holds: made by this program when schema 2 was new, and never again.

``python make_schema_2.py schema_2.db schema_2.json``
"""

import json
import sys
import time
import warnings
from collections.abc import Callable
from dataclasses import asdict
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

import assay
from assay.storage import Label, open_store

NAMES = ("team", "several", "from before", "week")


def main(database: Path, told: Path) -> None:
    url = f"sqlite:///{database}"
    rng = np.random.default_rng(7)
    size = 300
    score = rng.random(size).round(3)
    truth = rng.random(size) < score
    names = [f"{row:04d}" for row in range(size)]
    data: dict[str, Any] = {
        "id": names,
        "p": score,
        "q": rng.random(size).round(3),
        "text": [f"item {row}" for row in range(size)],
    }
    true = dict(zip(names, truth.tolist(), strict=True))
    columns: dict[str, Any] = {"id": "id", "storage": url, "seed": 3, "budget": 40}
    one: dict[str, Any] = {**columns, "score": "p", "threshold": 0.5}
    warnings.simplefilter("ignore")

    team = assay.create_campaign(
        data,
        **one,
        show=["text"],
        name="team",
        question="Is it?",
        reviewers_per_item=2,
        overlap=0.5,
    )
    review(
        team, lambda item, turn: {3: "cannot judge", 5: "broken"}.get(turn, yes_or_no(true[item]))
    )
    with open_store(url).write() as session:
        for number, (role, name) in enumerate([("owner", "eve"), ("reviewer", "ann")]):
            digest = sha256(f"token {number}".encode()).hexdigest()
            session.add_token("team", role, name, digest)
        session.revoke_token("team", 2)

    classifiers = {
        "p": {"score": "p", "threshold": 0.5},
        "q": {"score": "q", "threshold": 0.5},
    }
    metrics = ["precision:p", "recall:q", "accuracy:p - accuracy:q"]
    several = assay.create_campaign(
        data, **columns, classifiers=classifiers, metrics=metrics, name="several"
    )
    several.tell({item.id: true[str(item.id)] for item in several.ask(25)}, reviewer="ann")

    labels = {name: true[name] for name in names[:20]}
    before = assay.create_campaign(
        data, **one, metric="accuracy", name="from before", labels=labels
    )
    before.tell({item.id: true[str(item.id)] for item in before.ask(10)})

    week = assay.create_campaign(data, **one, metric="recall", name="week")
    week.tell({item.id: true[str(item.id)] for item in week.ask(15)}, reviewer="ann")
    week.ask(3, reviewer="bob")
    fewer = {name: list(column[:290]) for name, column in data.items()}
    assay.rebase_campaign("week", storage=url, predictions=fewer)
    told.write_text(json.dumps({name: document(name, url) for name in NAMES}, indent=1))


def review(team: assay.Campaign, judge: Callable[[str, int], str]) -> None:
    """Let three people judge: with skips, second thoughts, late answers, disputes and rulings."""
    for turn in range(14):
        for name in ("ann", "bob", "eve"):
            (item, *_) = team.review(
                [], reviewer=name, want=1, lease=0.03 if turn == 6 else 600
            ).items
            text = str(item.id)
            if turn == 6:
                time.sleep(0.05)
            answer = judge(text, turn)
            if name == "bob" and turn % 4 == 1:
                answer = "no" if answer == "yes" else "yes"
            said = [answer]
            if turn == 2:
                said = ["skip"]
            if turn == 8:
                said = [answer, "withdrawn", "no"]
            if turn == 9:
                said = [answer, "withdrawn"]
            keys = [f"{name}-{turn}-{place}" for place in range(len(said))]
            submits = [
                Label(str(item.id), each, key=key) for key, each in zip(keys, said, strict=True)
            ]
            team.review(submits, reviewer=name)
    for place, dispute in enumerate(team.disputes()[:2]):
        team.rule(dispute.item.id, place == 0, reviewer="owner", key=f"ruling {place}")


def yes_or_no(positive: bool) -> str:
    return "yes" if positive else "no"


def document(name: str, url: str) -> dict[str, Any]:
    """Return what a campaign says of itself."""
    campaign = assay.load_campaign(name, storage=url)
    with open_store(url).read() as session:
        tokens = [asdict(row) for row in session.tokens(name)]
    return {
        "estimates": campaign.estimates().to_dict(),
        "answers": campaign.answers(),
        "strata": [row.to_dict() for row in campaign.strata()],
        "events": [asdict(event) for event in campaign.events()],
        "reviewers": [asdict(row) for row in campaign.reviewers()],
        "disputes": [str(dispute.item.id) for dispute in campaign.disputes()],
        "tokens": tokens,
    }


def as_recorded(now: dict[str, Any], before: dict[str, Any]) -> dict[str, Any]:
    """Return a document with the fields of labels and strata that there were when it was recorded.

    Raises where a label of then has something in a field that came later.
    """
    events = []
    for event, then in zip(now["events"], before["events"], strict=True):
        empty = asdict(assay.Label(event["item_id"], event["answer"]))
        later = {name: value for name, value in event.items() if name not in then}
        assert later == {name: empty[name] for name in later}, later
        events.append({name: event[name] for name in then})
    pairs = zip(now["strata"], before["strata"], strict=True)
    strata = [{name: row[name] for name in then} for row, then in pairs]
    return {**now, "events": events, "strata": strata}


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
