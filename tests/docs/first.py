"""From nothing to a first estimate: the README's first commands, as they stand there, and timed.

``make first`` runs it. A wheel is made of this repository; an empty environment in an empty folder
outside of it then has nothing but the package index, that wheel, and a CSV. It ends with 1 where a
command fails, or the output is not what the README shows.
"""

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from assay.errors import NAME
from tests.docs.blocks import ROOT, Block, blocks_of, matches
from tests.docs.prepare import first
from tests.docs.running import KEYS

MOST = 5  # commands


def block() -> Block:
    """Return the README's first block."""
    return next(each for each in blocks_of(ROOT / "README.md") if each.language == "bash")


def commands(text: str) -> list[str]:
    """Return the commands of a block, each on one line.

    Examples
    --------
    >>> commands("assay create a.csv --name spam  # see --help" + chr(10) + "assay status spam")
    ['assay create a.csv --name spam  # see --help', 'assay status spam']
    """
    return [line for line in text.replace("\\\n", " ").splitlines() if line.strip()]


def main() -> int:
    """Run them, and print how long each took."""
    with tempfile.TemporaryDirectory(prefix="assay-first-") as empty:
        folder, home, wheels = (Path(empty, name) for name in ("folder", "venv", "wheels"))
        folder.mkdir()
        _run(
            [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "-w", str(wheels), str(ROOT)]
        )
        _run([sys.executable, "-m", "venv", str(home)])
        first(folder)
        keep = {name: value for name, value in os.environ.items() if name.startswith("PIP_")}
        environment = {
            **keep,
            "PIP_FIND_LINKS": str(wheels),  # in the place of the index, where it is not yet
            "PIP_DISABLE_PIP_VERSION_CHECK": "1",
            "PATH": f"{home / 'bin'}:/usr/bin:/bin",
            "HOME": str(folder),
            "COLUMNS": "100",
            "LANG": "C.UTF-8",
        }
        return _timed(folder, home, environment)


def _timed(folder: Path, home: Path, environment: dict[str, str]) -> int:
    printed, began = "", time.monotonic()
    shown = block()
    told = commands(shown.text)
    assert len(told) <= MOST, f"{len(told)} commands in {shown}, and {MOST} is the most"
    for command in told:
        start = time.monotonic()
        with (folder / KEYS).open() as keys:
            done = subprocess.run(
                ["bash", "-c", command],
                cwd=folder,
                env=environment,
                stdin=keys,
                capture_output=True,
                encoding="utf-8",
                check=False,
            )
        _say(f"{time.monotonic() - start:6.1f} s  {command}")
        if done.returncode:
            _say(f"it ends with {done.returncode}\n{done.stdout}{done.stderr}")
            return 1
        printed += "" if command.startswith("pip ") else done.stdout
    _say(f"{time.monotonic() - began:6.1f} s  from nothing to the first estimate, and a report")
    where = subprocess.check_output(
        [home / "bin/python", "-c", "import assay; print(assay.__file__)"],
        cwd=folder,
        env=environment,
        text=True,
    )
    assert str(home) in where, f"{NAME} was not installed, but found at {where}"
    size = sum(file.lstat().st_size for file in home.rglob("*") if not file.is_symlink())
    _say(f"{size / 1e6:6.0f} MB in the environment")
    if shown.expected is not None and not matches(printed, shown.expected):
        _say(f"{shown} shows\n\n{shown.expected}\nand this came out\n\n{printed}")
        return 1
    return 0


def _run(words: list[str]) -> None:
    subprocess.run(words, check=True, cwd=ROOT)


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
