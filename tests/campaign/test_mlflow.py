"""Logging to MLflow: into a real database, and read back through MLflow's own client."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import assay
from assay.errors import InputError, MissingDependencyError, StorageError
from assay.labelling import history_in
from tests.kinds import finish

mlflow = pytest.importorskip("mlflow")
pytest.importorskip("alembic", reason="MLflow keeps runs in a database only with alembic")

SCORE = np.random.default_rng(0).random(2000)
TRUTH = np.random.default_rng(1).random(2000) < SCORE


@pytest.fixture(scope="module")
def tracking(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Let MLflow keep runs in a new database: making its tables takes seconds."""
    folder, before = tmp_path_factory.mktemp("mlflow"), mlflow.get_tracking_uri()
    mlflow.set_tracking_uri(f"sqlite:///{folder / 'runs.db'}")
    mlflow.set_experiment(
        experiment_id=mlflow.create_experiment("tests", (folder / "files").as_uri())
    )
    yield mlflow.get_tracking_uri()
    mlflow.set_experiment(experiment_id="0")  # which is there in every database
    mlflow.set_tracking_uri(before)


def _answer(campaign: assay.Campaign, rounds: int) -> assay.Campaign:
    finish(campaign, TRUTH, 20, most=20 * rounds)
    return campaign


def _campaign(rounds: int = 4) -> assay.Campaign:
    campaign = assay.create_campaign(
        {"p": SCORE}, score="p", threshold=0.5, within=0.02, seed=7, name="spam-week-46"
    )
    return _answer(campaign, rounds)


@pytest.mark.usefixtures("tracking")
def test_the_estimate_is_in_a_run_of_its_own_with_its_history_and_report(tmp_path: Path) -> None:
    campaign = _campaign()
    run_id = assay.log_to_mlflow(campaign)
    assert mlflow.active_run() is None
    client, estimate = mlflow.MlflowClient(), campaign.estimate()
    run = client.get_run(run_id)
    assert (run.info.status, run.info.run_name) == ("FINISHED", "spam-week-46")
    assert run.data.metrics == {
        "precision": estimate.value,
        "precision_ci_low": estimate.low,
        "precision_ci_high": estimate.high,
        "precision_labels": 80.0,
    }
    logged = {
        (point.step, point.value) for point in client.get_metric_history(run_id, "precision_ci_low")
    }
    assert logged == {
        (point.labels, point.low) for point in history_in(campaign.desk.current())["precision"]
    }
    assert len(logged) == 4
    params = run.data.params
    assert params["assay.goal"] == "±0.02 at 95% confidence"
    assert json.loads(params["assay.design"]) == assay.Design().to_dict()
    assert (params["assay.seed"], params["assay.items"]) == ("7", "2000")
    assert params["assay.fingerprint"] == campaign.settings.source.fingerprint
    folder = Path(mlflow.artifacts.download_artifacts(run_id=run_id, dst_path=str(tmp_path)))
    report = campaign.report()
    assert (folder / "report.html").read_text() == report.html
    told = json.loads((folder / "report.json").read_text())
    assert told == json.loads(json.dumps(report.to_dict()))


@pytest.mark.usefixtures("tracking")
def test_it_goes_into_the_active_run_again_and_again_and_leaves_it_open() -> None:
    campaign = _campaign(rounds=2)
    with mlflow.start_run() as run:
        mlflow.log_params({"seed": 99})  # the model's own
        for rounds in (0, 2):
            _answer(campaign, rounds)
            assert assay.log_to_mlflow(campaign, prefix="w46/", report=False) == run.info.run_id
        assert mlflow.active_run() is not None
    found = mlflow.MlflowClient().get_run(run.info.run_id).data
    assert found.metrics["w46/precision_labels"] == 80
    assert found.metrics["w46/precision"] == campaign.estimate().value
    assert found.params["w46/assay.seed"] == "7"


@pytest.mark.usefixtures("tracking")
def test_several_metrics_have_names_that_mlflow_takes_and_what_is_unknown_is_not_logged() -> None:
    campaign = assay.create_campaign(
        {"p": SCORE},
        classifiers={
            "a.b": {"score": "p", "threshold": 0.5},
            "ü": {"score": "p", "threshold": 0.6},
        },
        metrics={"precision:a.b": 0.1, "recall:a.b - recall:ü": 0.1},
    )
    names = {"precision.a.b", "recall.a.b - recall.ü"}
    nothing = mlflow.MlflowClient().get_run(assay.log_to_mlflow(campaign, report=False)).data
    assert not names & set(nothing.metrics)
    assert nothing.metrics["precision.a.b_ci_high"] == 1.0
    _answer(campaign, 3)
    found = mlflow.MlflowClient().get_run(assay.log_to_mlflow(campaign, report=False)).data
    for name, estimate in zip(sorted(names), campaign.estimates().values(), strict=True):
        assert found.metrics[name] == estimate.value
        assert found.metrics[f"{name}_ci_low"] == estimate.low


@pytest.mark.usefixtures("tracking")
def test_what_mlflow_refuses_is_told_and_the_run_is_not_left_open() -> None:
    with pytest.raises(InputError, match="MLflow refuses"):
        assay.log_to_mlflow(_campaign(1), prefix="100%", report=False)
    assert mlflow.active_run() is None
    other = assay.create_campaign({"p": SCORE}, score="p", threshold=0.5, budget=9, seed=8)
    with mlflow.start_run():
        assay.log_to_mlflow(_campaign(1), report=False)
        with pytest.raises(InputError, match="another prefix"):
            assay.log_to_mlflow(other, report=False)  # would be a seed of 7 and of 8
        assay.log_to_mlflow(other, prefix="other.", report=False)


@pytest.mark.usefixtures("tracking")
def test_a_server_that_is_not_there_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "0")
    before = mlflow.get_tracking_uri()
    mlflow.set_tracking_uri("http://127.0.0.1:9")
    try:
        with pytest.raises(StorageError, match="MLflow failed"):
            assay.log_to_mlflow(_campaign(1), report=False)
    finally:
        mlflow.set_tracking_uri(before)


def test_without_mlflow_the_install_command_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "mlflow", None)  # Python's own way to forbid an import
    with pytest.raises(MissingDependencyError) as told:
        assay.log_to_mlflow(_campaign(0))
    assert told.value.hint == "pip install 'assay-eval[mlflow]'"


@pytest.mark.usefixtures("tracking")
def test_hostile_names_are_texts_and_lead_nowhere(tmp_path: Path) -> None:
    values = ["../..", "<script>alert(1)</script>\x1bc\u202e", "=1+1", "w" * 400]
    groups = np.array([values[number % 4] for number in range(len(SCORE))], dtype=object)
    names = ("<script>\x1b[2J\u202e'; DROP TABLE runs;--", "../../etc/passwd")
    for name in names:
        campaign = assay.create_campaign(
            {"p": SCORE, "g": groups},
            score="p",
            threshold=0.5,
            metrics=["precision", *(f"precision[g={value}]" for value in values)],
            slices=["g"],
            budget=40,
            name=name,
        )
        run_id = assay.log_to_mlflow(_answer(campaign, 1))
        client = mlflow.MlflowClient()
        run = client.get_run(run_id)
        assert run.info.status == "FINISHED"
        told = [run.info.run_name, *run.data.params.values(), *run.data.metrics]
        assert not any(sign in text for sign in "\x1b\u202e\n" for text in told)
        assert len(run.data.metrics) == len({*run.data.metrics}) >= 3 * 5
        assert all(len(metric) <= 250 and "/" not in metric for metric in run.data.metrics)
        paths = {file.path for file in client.list_artifacts(run_id)}
        assert paths == {"report.html", "report.json"}
        folder = Path(mlflow.artifacts.download_artifacts(run_id=run_id, dst_path=str(tmp_path)))
        assert "<script>alert" not in (folder / "report.html").read_text()


@pytest.mark.usefixtures("tracking")
@pytest.mark.parametrize("prefix", ["../x/", "/abs/", "a//b/", "..", "\x1b[2J", "x" * 300, "a\n"])
def test_a_prefix_that_leads_elsewhere_is_refused(prefix: str) -> None:
    with pytest.raises(InputError, match="MLflow refuses") as refused:
        assay.log_to_mlflow(_campaign(1), prefix=prefix)
    assert "another prefix" in refused.value.hint
