"""Curves over thresholds: of campaigns, by the command, and simulated."""

import json
from collections.abc import Callable
from tempfile import TemporaryDirectory
from typing import Any

import assay
from assay.simulation import simulate_curves
from tests.golden.commands import COLUMNS, folder_of_files, run
from tests.golden.simulations import scored
from tests.kinds import create, label, table

_EVERY = 20


def campaign(**asked: Any) -> Any:
    """Curve of a labelled campaign: every 20th threshold."""
    with TemporaryDirectory() as folder:
        url = f"sqlite:///{folder}/curve.db"
        made = label(create(url, **asked), 3)
        return thinned(made.curve(predictions=table()).to_dict())


def command() -> Any:
    with folder_of_files():
        run(f"create predictions.csv {COLUMNS} --budget 30 --metric accuracy --name spam")
        run("label spam --reviewer ann")
        return thinned(json.loads(run("curve spam", "--json").stdout))


def thinned(values: dict[str, Any]) -> dict[str, Any]:
    return {
        name: value[::_EVERY] if isinstance(value, list) and len(value) > _EVERY else value
        for name, value in values.items()
    }


def simulated(**asked: Any) -> Any:
    given: dict[str, Any] = {"replications": 2, "seed": 3, "draws": 50, "thresholds": 40, **asked}
    return simulate_curves(scored(), **given).to_dict()


CURVES: dict[str, Callable[[], Any]] = {
    "recall": lambda: campaign(metric="recall"),
    "accuracy, fixed": lambda: campaign(metric="accuracy", design=assay.Design.fixed()),
    "f1, guaranteed": lambda: campaign(metric="f1", design=assay.Design.guaranteed()),
    "command": command,
    "simulated, budget": lambda: simulated(metric="recall", budget=120),
    "simulated, width": lambda: simulated(metric="accuracy", within=0.08),
}
