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

from tests.storage.data.recorded import STORAGES, as_recorded, document

DATA = Path(__file__).parent
_STAYS = ("standard_error", "labels", "cannot_judge")
_STORED = ("events", "answers", "strata", "reviewers", "disputes", "tokens")


def main() -> None:
    for storage in STORAGES:
        file = DATA / f"{storage}.json"
        before = json.loads(file.read_text())
        with tempfile.TemporaryDirectory() as folder:
            url = f"sqlite:///{shutil.copy(DATA / f'{storage}.db', Path(folder) / 'old.db')}"
            after = {
                name: as_recorded(json.loads(json.dumps(document(name, url))), before[name])
                for name in before
            }
        if _kept(before) != _kept(after):
            raise SystemExit(f"{file.name}: more than values and intervals has changed")
        file.write_text(json.dumps(after, indent=1) + "\n")


def _kept(told: dict[str, Any]) -> dict[str, Any]:
    """Return what is stored, and figures that neither a quoted value nor an interval is in."""
    kept = {}
    for name, its in told.items():
        every = its["estimates"]
        figures = {metric: [each[field] for field in _STAYS] for metric, each in every.items()}
        stored = {field: its[field] for field in its if field in _STORED}
        kept[name] = {**stored, "is": figures}
    return kept


if __name__ == "__main__":
    main()
