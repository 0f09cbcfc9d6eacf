"""The public surface, as it is promised."""

import subprocess
import sys
import textwrap
from operator import attrgetter
from pathlib import Path

import pytest

import assay
from assay import errors

PROMISED = [
    *("Answer", "AssayError", "AssayWarning", "Campaign", "Design", "DesignError", "Ensemble"),
    *("Estimate", "Estimates", "Goal", "InputError", "Item", "Label", "LabelConflictError"),
    *("LabelError", "MissingDependencyError", "Planning", "Population", "Predictions"),
    *("PredictionsError", "Report", "Scan", "Simulation", "SliceRow", "Slices", "StorageError"),
    *("StratumRow", "Trend", "__version__", "backup_storage", "compare_campaign"),
    *("create_campaign", "estimate", "evaluate", "extend_campaign", "follow_campaign"),
    *("from_arrays", "load_campaign", "log_to_mlflow", "plan", "read_judgements"),
    *("rebase_campaign", "restore_storage", "simulate", "simulate_several", "trend"),
    *("verify_bundle", "verify_campaign"),
]


def test_the_exported_names_are_those_promised() -> None:
    assert sorted(assay.__all__) == sorted(PROMISED)
    assert all(hasattr(assay, name) for name in PROMISED)


LABELLING = "agreement answers ask disputes events review rule tell to_frame widget"
FINDINGS = """bundle by_class confusion curve done errors estimate estimates judge judges name
    outlook report savings settings slices strata threshold unjudged"""


def test_a_campaign_has_the_names_promised_and_one_more_for_servers() -> None:
    campaign = assay.create_campaign({"p": [0.9]}, score="p", threshold=0.5, budget=1)
    public = [name for name in dir(campaign) if not name.startswith("_")]
    assert public == sorted([*LABELLING.split(), *FINDINGS.split(), "desk"])
    for name in ("put_off_recut", "soon_short", "is_current", "_labelling"):
        with pytest.raises(AttributeError, match=f"no attribute '{name}'"):
            getattr(campaign, name)


@pytest.mark.parametrize(
    ("name", "now"), [("history", "to_frame"), ("record", "desk.record"), ("store", "desk.store")]
)
def test_names_of_a_campaign_that_go_away_say_so(name: str, now: str) -> None:
    campaign = assay.create_campaign({"p": [0.9]}, score="p", threshold=0.5, budget=1)
    with pytest.deprecated_call(match=f"Campaign.{name} is now {now}"):
        value = getattr(campaign, name)
    assert value() == {} if name == "history" else value == attrgetter(now)(campaign)


def test_names_that_go_away_say_so() -> None:
    known = {"y_true": [True, False] * 20, "y_pred": [True, False] * 20}
    with pytest.deprecated_call(match="Ensemble is now Population"):
        population = assay.Ensemble(**known)
    with pytest.deprecated_call(match="simulate_several is now simulate"):
        assay.simulate_several(population, budget=10, replications=2, seed=1)


def test_every_error_is_in_the_tree_and_in_its_drawing() -> None:
    drawn = errors.__doc__ or ""
    found = {
        name: each
        for name, each in vars(errors).items()
        if isinstance(each, type) and each.__module__ == errors.__name__
    }
    assert len(found) > 8
    for name, each in found.items():
        assert issubclass(each, errors.AssayError | errors.AssayWarning)
        assert name in drawn


def test_optional_packages_and_what_is_slow_to_load_are_not_imported() -> None:
    script = (
        "import sys, assay, assay.cli; print([m for m in "
        "('pandas', 'polars', 'sklearn', 'matplotlib', 'pyspark', 'psycopg', 'starlette', "
        "'mlflow', 'anywidget', 'scipy.stats', 'scipy.optimize', 'scipy.integrate') "
        "if m in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"


# Packages of extras, and of those that the tests need.
_NOT_IN_BASE = (
    *("anywidget", "ipywidgets", "traitlets"),
    *("alembic", "jinja2", "matplotlib", "mlflow", "pandas", "polars", "psycopg", "pyspark"),
    *("sklearn", "starlette", "uvicorn", "yaml"),
)
_BASE_ALONE = """
import sys

class Without:  # as if they were not installed
    def __init__(self, finder):
        self.finder = finder

    def __getattr__(self, name):
        return getattr(self.finder, name)

    def find_spec(self, name, path=None, target=None):
        hidden = name.partition(".")[0] in {refused}
        return None if hidden else self.finder.find_spec(name, path, target)

sys.meta_path[:] = map(Without, sys.meta_path)
import assay
import assay.cli

with open("predictions.csv", "w") as file:
    file.write("id,p\\n" + "".join(f"{{row}},{{row / 300:.3f}}\\n" for row in range(300)))
columns = dict(id="id", score="p", threshold=0.5)
campaign = assay.create_campaign(
    "predictions.csv", **columns, within=0.1, name="spam", storage="sqlite:///a.db"
)
while not campaign.done:
    campaign.tell({{item.id: int(item.id) % 9 > 0 for item in campaign.ask(20)}})
campaign.to_frame("labels", backend="pyarrow")
campaign.report().save("report.html")
campaign.bundle("audit.zip")
print(assay.verify_bundle("audit.zip").clean)
from_postgres = ["create", "postgresql://a@b/c", "--table", "t", "--score", "p", "--within", "0.1"]
for asked in (["serve", "spam"], [*from_postgres, "--id", "id", "--threshold", "0.5"]):
    sys.argv = ["assay", *asked, "--storage", "sqlite:///a.db"]
    try:
        assay.cli.main()
    except SystemExit as ended:
        print(ended.code)
"""


def test_the_base_install_is_enough_and_what_is_not_names_the_extra(tmp_path: Path) -> None:
    script = textwrap.dedent(_BASE_ALONE).format(refused=_NOT_IN_BASE)
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, cwd=tmp_path
    )
    assert done.stdout.split() == ["True", "1", "1"]
    assert "pip install 'assay-eval[web]'" in done.stderr
    assert "pip install 'assay-eval[postgres]'" in done.stderr
