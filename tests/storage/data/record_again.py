"""Record again what old storages say, after a change of how values and intervals are made or told.

    python -m tests.storage.data.record_again

What a storage holds must not change: events, answers, the labels of every stratum and the standard
errors that follow from them are compared before anything is written.
"""

import json
import shutil
import tempfile
from pathlib import Path
from typing import Any

import assay
from tests.storage.data.make_schema_2 import as_recorded, document

DATA = Path(__file__).parent
_STAYS = ("standard_error", "labels", "cannot_judge")
_STORED = ("events", "answers", "strata", "reviewers", "disputes", "tokens")


def main() -> None:
    for schema in (1, 2, 3, 4, 5):
        file = DATA / f"schema_{schema}.json"
        before = json.loads(file.read_text())
        with tempfile.TemporaryDirectory() as folder:
            url = f"sqlite:///{shutil.copy(DATA / f'schema_{schema}.db', Path(folder) / 'old.db')}"
            after = {name: _said(schema, name, url, before[name]) for name in before}
        if _kept(before) != _kept(after):
            raise SystemExit(f"{file.name}: more than values and intervals has changed")
        file.write_text(json.dumps(after, indent=1) + "\n")


def _said(schema: int, name: str, url: str, before: dict[str, Any]) -> dict[str, Any]:
    if schema > 1:
        return as_recorded(json.loads(json.dumps(document(name, url))), before)
    campaign = assay.load_campaign(name, storage=url)
    now = campaign.estimate()
    fields = ("value", "low", "high", "standard_error", "labels", "cannot_judge")
    rows = zip(campaign.strata(), before["strata"], strict=True)
    return {
        **{field: getattr(now, field) for field in fields},
        "events": len(campaign.events()),
        "strata": [{key: row.to_dict()[key] for key in then} for row, then in rows],
    }


def _kept(told: dict[str, Any]) -> dict[str, Any]:
    """Return what is stored, and figures that neither a quoted value nor an interval is in."""
    kept = {}
    for name, its in told.items():
        every = its.get("estimates", {"": its})
        figures = {metric: [each[field] for field in _STAYS] for metric, each in every.items()}
        stored = {field: its[field] for field in its if field in _STORED}
        kept[name] = {**stored, "is": figures}
    return kept


if __name__ == "__main__":
    main()
