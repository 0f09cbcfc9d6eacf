"""``assay verify``, as a person would run it."""

from pathlib import Path

from tests.torture.processes import PATIENCE, begin, run_command


def assert_verified(storage: str, folder: Path) -> None:
    """Fail unless the storage's campaign is found clean."""
    said = folder / "verify.log"
    process = begin(run_command, ["verify", "spam", "--storage", storage], str(said))
    process.join(5 * PATIENCE)
    assert process.exitcode == 0, said.read_text()
