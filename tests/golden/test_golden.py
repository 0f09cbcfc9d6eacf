"""Results that a change of structure must not move, pinned to twelve digits.

    python -m tests.golden.test_golden

records them again, after a change that is meant to move them; say in its commit which, and why.
"""

import json
import re
import zipfile
from collections.abc import Callable
from functools import partial
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest

import assay
from tests.kinds import KINDS, TRUTH, create, growing, label, table

FILE = Path(__file__).with_name("golden.json")
DIGITS = 12
_TIME = re.compile(r"20\d\d-\d\d-\d\d[T ]\d\d:\d\d(:\d\d)?(\.\d+)?([+-]\d\d:\d\d|Z| UTC)?")
_DAY = re.compile(r"20\d\d-\d\d-\d\d")
_DIGEST = re.compile(r"\b[0-9a-f]{64}\b")
_NUMBER = re.compile(r"-?\d+\.\d{6,}(e-?\d+)?")


def plain(values: Any) -> Any:
    """Return values as JSON has them: no moments, no digests, numbers to `DIGITS` digits."""
    if isinstance(values, dict):
        return {str(name): plain(value) for name, value in values.items()}
    if isinstance(values, (list, tuple)):
        return [plain(value) for value in values]
    if isinstance(values, (float, np.floating)):
        return float(f"{float(values):.{DIGITS}g}")
    return steady(values) if isinstance(values, str) else values


def steady(text: str) -> str:
    """Return a text without what another day or another digit past the twelfth would change."""
    for pattern, stands in ((_TIME, "TIME"), (_DAY, "DAY"), (_DIGEST, "DIGEST")):
        text = pattern.sub(stands, text)
    return _NUMBER.sub(lambda found: f"{float(found[0]):.{DIGITS}g}", text)


def digest(text: str) -> str:
    return sha256(steady(text).encode()).hexdigest()


def of_campaign(campaign: assay.Campaign, folder: Path) -> dict[str, Any]:
    """Return all that a campaign tells: figures in the clear, documents by their digests."""
    report = campaign.report()
    campaign.bundle(folder / "golden.zip", shown=True)
    with zipfile.ZipFile(folder / "golden.zip") as bundle:
        # The manifest has digests alone; the script is code; campaigns.json came later, and has
        # two lines in README.txt.
        aside = (".py", "manifest.json", "campaigns.json")
        names = [name for name in bundle.namelist() if not name.endswith(aside)]
        texts = {name: bundle.read(name).decode() for name in names}
        texts["README.txt"] = re.sub(r"campaigns\.json .*\n.*\n", "", texts["README.txt"])
        # Until it had another name on the package index, it said this.
        texts["README.txt"] = texts["README.txt"].replace("install assay-eval==", "install assay==")
        members = {name: digest(text) for name, text in texts.items()}
    return {
        "answers": {str(item): str(answer) for item, answer in campaign.answers().items()},
        "next": [str(item.id) for item in campaign.ask(5, reviewer="zoe")],
        "estimates": {name: each.to_dict() for name, each in campaign.estimates().items()},
        "strata": [row.to_dict() for row in campaign.strata()],
        "report": {kind: digest(getattr(report, kind)) for kind in ("json", "markdown", "html")},
        "bundle": members,
    }


def of_kind(make: Callable[[str], object]) -> Any:
    """Return what every campaign of a storage tells."""
    with TemporaryDirectory() as folder:
        url = f"sqlite:///{folder}/golden.db"
        make(url)
        names = {"followed": ("spam/one", "spam/two"), "compared": ("campaign", "comparison")}
        return {
            name: of_campaign(assay.load_campaign(name, storage=url), Path(folder))
            for name in names.get(make.__name__, ("campaign",))
        }


def compared(url: str) -> None:
    """A labelled campaign, and two classifiers compared with its labels."""
    label(create(url, metric="recall"))
    old, new = table(), {**table(slice(20, None)), "p": table(slice(20, None))["q"]}
    columns: dict[str, Any] = {"id": "id", "score": "p", "threshold": 0.5, "metric": "f1"}
    goal: dict[str, Any] = {"within": 0.2, "labels_from": "campaign"}
    label(assay.compare_campaign(old, new, **columns, **goal, storage=url), 1)


def population() -> assay.Population:
    return assay.Population(y_true=list(TRUTH.values()), y_score=table()["p"], threshold=0.4)


def simulated() -> Any:
    runs: dict[str, Any] = {"replications": 20, "seed": 3, "workers": 1}
    designs = ["default", "guaranteed", "perc-opt"]
    return {
        metric: assay.simulate(
            population(), designs=designs, metric=metric, within=0.1, **runs
        ).to_dict()
        for metric in ("precision", "f1")
    }


def simulated_several() -> Any:
    said = {name: np.array(table()[name]) > 0.5 for name in "pq"}
    return assay.simulate_several(
        assay.Ensemble(y_true=list(TRUTH.values()), y_pred=said),
        metrics=["precision:p", "recall:p - recall:q"],
        within=0.15,
        replications=10,
        seed=3,
    ).to_dict()


def planned() -> Any:
    columns: dict[str, Any] = {"score": "p", "threshold": 0.4, "metric": "recall", "within": 0.1}
    return assay.plan(table(), **columns, replications=10, seed=3).to_dict()


GOLDEN: dict[str, Callable[[], Any]] = {
    **{make.__name__: partial(of_kind, make) for make in [*KINDS, compared] if make is not growing},
    **{make.__name__: make for make in (simulated, simulated_several, planned)},
}


@pytest.mark.filterwarnings("ignore:period 'one' is not done")
@pytest.mark.parametrize("name", GOLDEN)
def test_a_change_of_structure_moves_no_number(name: str) -> None:
    assert plain(GOLDEN[name]()) == json.loads(FILE.read_text())[name]


if __name__ == "__main__":
    FILE.write_text(
        json.dumps({name: plain(make()) for name, make in GOLDEN.items()}, indent=1) + "\n"
    )
