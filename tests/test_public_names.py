"""The public surface, as it is promised."""

import subprocess
import sys

import assay
from assay import errors

PROMISED = [
    "Answer",
    "AssayError",
    "AssayWarning",
    "Campaign",
    "Design",
    "DesignError",
    "Ensemble",
    "Estimate",
    "Estimates",
    "Goal",
    "InputError",
    "Item",
    "Label",
    "LabelConflictError",
    "LabelError",
    "MissingDependencyError",
    "Planning",
    "Population",
    "Predictions",
    "PredictionsError",
    "Report",
    "Scan",
    "Simulation",
    "SliceRow",
    "Slices",
    "StorageError",
    "StratumRow",
    "Trend",
    "__version__",
    "backup_storage",
    "compare_campaign",
    "create_campaign",
    "estimate",
    "evaluate",
    "extend_campaign",
    "follow_campaign",
    "from_arrays",
    "load_campaign",
    "log_to_mlflow",
    "plan",
    "rebase_campaign",
    "restore_storage",
    "simulate",
    "simulate_several",
    "trend",
    "verify_bundle",
    "verify_campaign",
]


def test_the_exported_names_are_those_promised() -> None:
    assert sorted(assay.__all__) == sorted(PROMISED)
    assert all(hasattr(assay, name) for name in PROMISED)


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
        "'mlflow', 'scipy.stats', 'scipy.optimize', 'scipy.integrate') if m in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"
