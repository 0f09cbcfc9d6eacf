"""The program as it is started: exit codes, streams, and no traceback."""

import os
import subprocess
import sys
from pathlib import Path

from assay.errors import VERSION


def assay(*words: str, folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "assay", *words],
        cwd=folder,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        timeout=120,
        check=False,
        env={**os.environ, **environment},
    )


def test_version(folder: Path) -> None:
    result = assay("--version", folder=folder)
    assert (result.returncode, result.stdout) == (0, f"assay {VERSION}\n")


def test_alone_it_shows_what_it_can_do(folder: Path) -> None:
    shown = assay(folder=folder).stdout
    assert "Usage: assay " in shown
    for command in ("demo", "create", "label", "import", "export", "status"):
        assert f" {command} " in shown


def test_an_error_goes_to_stderr_with_exit_code_1(folder: Path) -> None:
    result = assay("status", folder=folder)
    assert (result.returncode, result.stdout) == (1, "")
    assert result.stderr.startswith("error: there is no storage at sqlite:///assay.db")
    assert "Traceback" not in result.stderr


def test_signs_that_the_encoding_lacks_end_nothing(folder: Path) -> None:
    """The result of a whole campaign must not be lost for want of a ± sign."""
    words = ["--id", "id", "--score", "p", "--threshold", "0.5", "--within", "0.1"]
    made = assay("create", "predictions.csv", *words, folder=folder, PYTHONIOENCODING="ascii")
    assert (made.returncode, made.stderr) == (0, "")
    shown = assay("status", "campaign", folder=folder, PYTHONIOENCODING="ascii")
    assert (shown.returncode, shown.stderr) == (0, "")


def test_ids_are_exported_in_utf_8_whatever_the_locale(folder: Path) -> None:
    (folder / "p.csv").write_text("id,p\nä€,0.9\n", encoding="utf-8")
    words = ["--id", "id", "--score", "p", "--threshold", "0.5", "--budget", "1"]
    assay("create", "p.csv", *words, folder=folder)
    batch = assay("export", "campaign", "--what", "batch", folder=folder, PYTHONIOENCODING="ascii")
    assert "ä€" in batch.stdout
