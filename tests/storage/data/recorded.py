"""What the storages beside this file say of themselves.

`schema_5.db` was made when schema 5 was new, the others by versions with an
older schema, and upgraded to 5 by the last Assay that could.
"""

from dataclasses import asdict
from typing import Any

import assay
from assay.labelling import reviewers_in
from assay.storage import open_store

STORAGES = ("schema_5", "from_schema_2", "from_schema_3", "from_schema_4")


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
        "reviewers": [asdict(row) for row in reviewers_in(campaign.desk.current())],
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
