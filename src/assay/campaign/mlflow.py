"""A campaign's result in MLflow, beside the other records of a model."""

import re
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager

from assay.campaign.campaign import Campaign
from assay.errors import VERSION, InputError, MissingDependencyError, StorageError, install
from assay.labelling import history_in
from assay.results import Estimate, HistoryPoint, goal_words, printable, thinned

_POINTS = 100  # of a metric's history, at most; a chart shows no more
_AT_ONCE = 1000  # metrics in one call, by MLflow's rule
_LONGEST = 200  # of a name, with room for a prefix and an ending; MLflow takes 250


def log_to_mlflow(campaign: Campaign, *, prefix: str = "", report: bool = True) -> str:
    """Log a campaign's estimates to MLflow, and return the run's id.

    The run is the active one, or else a new one, which is ended. Each metric has ``precision``,
    ``precision_ci_low`` and ``precision_ci_high``, with the number of labels as the step, so that
    MLflow draws how the interval narrowed; and ``precision_labels``. The metric of a named
    classifier is ``precision.cnn``. Settings are in the parameters ``assay.goal``,
    ``assay.design``, ``assay.seed`` and the like, and the report is among the artifacts.

    Logging again with more labels adds to the existing values.

    Parameters
    ----------
    campaign : Campaign
    prefix : str
        Prefix of every name: ``"week 46/"``.
    report : bool
        Whether to keep the report with the run, as ``report.html`` and ``report.json``.

    Notes
    -----
    docs/mlflow.md has a program that runs.
    """
    with _run_of(printable(campaign.name)) as run_id:
        _log(campaign, run_id, prefix)
        if report:
            _log_report(campaign, run_id, prefix)
    return run_id


@contextmanager
def _run_of(name: str) -> Iterator[str]:
    """Yield the id of the active run, or of a new one; MLflow's errors become Assay's."""
    try:
        import mlflow
    except ImportError:
        raise MissingDependencyError(
            "logging to MLflow needs mlflow-skinny, which is not installed", hint=install("mlflow")
        ) from None
    try:
        active = mlflow.active_run()
        if active is not None:
            yield active.info.run_id
        else:
            with mlflow.start_run(run_name=name) as started:
                yield started.info.run_id
    except mlflow.MlflowException as error:
        if error.error_code == "INVALID_PARAMETER_VALUE":
            raise InputError(
                "MLflow refuses the values to log",
                details=error.message,
                hint="log to a run of its own, or with another prefix",
            ) from None
        raise StorageError("MLflow failed", details=error.message) from error


def _log(campaign: Campaign, run_id: str, prefix: str) -> None:
    from mlflow import MlflowClient
    from mlflow.entities import Metric, Param

    settings, estimates = campaign.settings, campaign.estimates()
    history = history_in(campaign.desk.labelling)
    now, client = int(time.time() * 1000), MlflowClient()
    params = {
        "campaign": printable(campaign.name),
        "goal": goal_words(settings.goal),
        "design": settings.design.to_json(),
        "seed": str(settings.seed),
        "fingerprint": settings.source.fingerprint,
        "items": str(settings.items),
        "version": VERSION,
    }
    metrics = [
        Metric(f"{prefix}{name}{ending}", value, now, step)
        for name, estimate in zip(_legal(estimates), estimates.values(), strict=True)
        for ending, value, step in _numbers(estimate, history.get(estimate.metric, ()))
    ]
    client.log_batch(
        run_id, params=[Param(f"{prefix}assay.{name}", value) for name, value in params.items()]
    )
    for start in range(0, len(metrics), _AT_ONCE):
        client.log_batch(run_id, metrics=metrics[start : start + _AT_ONCE])


def _numbers(
    estimate: Estimate, history: Sequence[HistoryPoint]
) -> Iterator[tuple[str, float, int]]:
    """Yield suffixes of a metric's names, values and steps, in the order of the steps."""
    before = [point for point in history if point.labels < estimate.labels]
    now = HistoryPoint(estimate.labels, estimate.value, estimate.low, estimate.high)
    for point in (*thinned(before, _POINTS), now):
        if point.value is not None:
            yield "", point.value, point.labels
        yield "_ci_low", point.low, point.labels
        yield "_ci_high", point.high, point.labels
    yield "_labels", float(estimate.labels), estimate.labels


def _legal(names: Iterable[str]) -> list[str]:
    """Names that are valid in MLflow on every system, no two alike.

    >>> _legal(["precision:cnn", "recall:new - recall:old", "f1:cnn[lang=de]", "f1:cnn_lang_de"])
    ['precision.cnn', 'recall.new - recall.old', 'f1.cnn_lang_de', 'f1.cnn_lang_de_2']
    """
    legal_names: list[str] = []
    for name in names:
        plain = re.sub(r"[^\w.\- ]+", "_", name.replace(":", ".")).strip("_ ")[:_LONGEST]
        number, legal = 1, plain
        while legal in legal_names:
            number += 1
            legal = f"{plain}_{number}"
        legal_names.append(legal)
    return legal_names


def _log_report(campaign: Campaign, run_id: str, prefix: str) -> None:
    import mlflow

    made = campaign.report()
    mlflow.log_text(made.html, f"{prefix}report.html", run_id=run_id)
    mlflow.log_dict(made.to_dict(), f"{prefix}report.json", run_id=run_id)
