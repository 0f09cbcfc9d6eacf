"""`assay curve`: a table, JSON, and files."""

import csv
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
    assert "Metrics by threshold" in page
    assert "<script" not in page
    plain = run(app, ["report", "spam", "--storage", storage])
    assert "Metrics by threshold" not in plain.output
