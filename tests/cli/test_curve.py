"""`assay curve`: a table, JSON, and files."""

import csv
import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import assay
from assay.cli import app

run = CliRunner().invoke


@pytest.fixture(scope="module")
def storage(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("curve")
    rng = np.random.default_rng(3)
    score = rng.beta(0.6, 0.8, 3000)
    truth = rng.random(3000) < score
    file = folder / "p.csv"
    file.write_text("p\n" + "\n".join(map(repr, score.tolist())) + "\n")
    url = f"sqlite:///{folder / 'a.db'}"
    campaign = assay.create_campaign(
        file, score="p", threshold=0.5, metric="accuracy", budget=150, name="spam", storage=url
    )
    while not campaign.done:
        campaign.tell({item.id: bool(truth[int(item.id)]) for item in campaign.ask(50)})
    return url


def test_a_dozen_thresholds_are_shown(storage: str) -> None:
    shown = run(app, ["curve", "spam", "--storage", storage])
    assert shown.exit_code == 0, shown.output
    assert "from 150 labels of 3,000 items" in shown.output
    assert "average precision 0." in " ".join(shown.output.split())
    assert "* the campaign's own threshold" in shown.output


def test_one_threshold_is_asked_for(storage: str) -> None:
    arguments = ["curve", "spam", "--storage", storage, "--at", "0.7", "--json"]
    (point,) = json.loads(run(app, arguments).output)["points"]
    assert 0.7 <= point["threshold"] < 0.75
    refused = run(app, ["curve", "spam", "--storage", storage, "--at", "7"])
    assert refused.exit_code != 0
    assert "no score is as high as 7" in refused.output


def test_files_are_written_by_how_their_name_ends(storage: str, tmp_path: Path) -> None:
    for name in ("c.html", "c.csv", "c.png"):
        saved = run(app, ["curve", "spam", "--storage", storage, "-o", str(tmp_path / name)])
        assert saved.exit_code == 0, saved.output
    page = (tmp_path / "c.html").read_text()
    assert 'type="range"' in page
    assert "src=" not in page  # it needs nothing else
    rows = list(csv.DictReader((tmp_path / "c.csv").read_text().splitlines()))
    assert float(rows[0]["recall"]) == 1.0
    assert set(rows[0]) >= {"precision_band_low", "specificity_high", "share"}
    assert (tmp_path / "c.png").read_bytes().startswith(b"\x89PNG")
    again = run(app, ["curve", "spam", "--storage", storage, "-o", str(tmp_path / "c.csv")])
    assert again.exit_code != 0
    assert run(app, ["curve", "spam", "--storage", storage, "-o", "c.pdf"]).exit_code != 0


def test_a_report_has_the_curve_where_it_is_asked_for(storage: str, tmp_path: Path) -> None:
    file = tmp_path / "r.html"
    saved = run(app, ["report", "spam", "--storage", storage, "--curve", "-o", str(file)])
    assert saved.exit_code == 0, saved.output
    page = file.read_text()
    assert "The curve of the score" in page
    assert "<script" not in page
    plain = run(app, ["report", "spam", "--storage", storage])
    assert "The curve of the score" not in plain.output


def test_curves_are_simulated(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    score = rng.beta(0.6, 0.8, 2000)
    truth = rng.random(2000) < score
    file = tmp_path / "p.csv"
    rows = "\n".join(f"{s!r},{int(y)}" for s, y in zip(score.tolist(), truth, strict=True))
    file.write_text(f"p,y\n{rows}\n")
    asked = ["simulate", str(file), "--label", "y", "--score", "p", "--threshold", "0.5"]
    asked += ["--curve", "--budget", "60", "--replications", "2"]
    told = json.loads(run(app, [*asked, "--json"]).output)
    assert [row["design"] for row in told["rows"]] == ["random", "default"]
    assert set(told["ratio"]) == {"precision", "recall", "f1", "specificity"}
    assert run(app, [*asked, "--design", "perc-opt"]).exit_code != 0
    assert run(app, [*asked, "--metric", "precision"]).exit_code != 0
