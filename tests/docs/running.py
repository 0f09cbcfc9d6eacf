"""A reader who types every block of a page, in order, in a folder of their own."""

import doctest
import io
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stdout
from pathlib import Path
from typing import Any

from tests.docs.blocks import ROOT, Block, matches
from tests.docs.zygote import CLIENT

_EXIT_CODE = re.compile(r"^(?P<command>.*?)\s+# exit code (?P<code>\d+)$")
_LONGEST = 120  # seconds for a block
KEYS = ".keys"  # a file of a reader's folder: what is typed to the programs of the first block
# There is no package index here; `make first` has pip install for real. A page must at least name
# a package and extras that there are.
_PIP = """\
#!{python} -I
import re, sys
asked = re.fullmatch(r"install {name}(?:\\[([a-z,]+)\\])?", " ".join(sys.argv[1:]))
sys.exit(not asked or not set((asked[1] or "web").split(",")) <= set({extras}))
"""
_DOCTEST = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS


@contextmanager
def program(folder: Path) -> Iterator[Path]:
    """Yield a folder for the PATH in which `assay` starts at once."""
    address = folder / "assay.socket"
    client = folder / "assay"
    client.write_text(CLIENT.format(python=sys.executable, socket=str(address)))
    client.chmod(0o755)
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = list(project["optional-dependencies"])
    pip = folder / "pip"
    pip.write_text(_PIP.format(python=sys.executable, name=project["name"], extras=extras))
    pip.chmod(0o755)
    with subprocess.Popen(
        [sys.executable, "-m", "tests.docs.zygote", str(address)],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        # A fork takes no threads with it: there must be none.
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"},
    ) as zygote:
        assert zygote.stdout is not None and zygote.stdout.readline() == "ready\n"
        yield folder
        zygote.communicate()


class Reader:
    """Types blocks; what one of them sets, exports, defines or writes is there for the next."""

    def __init__(self, folder: Path, path: Path, said: dict[str, str] | None = None) -> None:
        self.folder = folder
        self.said = said or {}  # names that only exist in the text, and what is there instead
        self._names: dict[str, Any] = {"__name__": "__main__"}
        self._environment = {
            **{name: value for name, value in os.environ.items() if name != "ASSAY_STORAGE"},
            "PATH": os.pathsep.join(
                (str(path), str(Path(sys.executable).parent), os.environ["PATH"])
            ),
            "COLUMNS": "100",
            "HOME": str(folder),
        }

    def type(self, block: Block) -> None:
        """Run a block; raise where it fails, or prints something else than the page shows."""
        run: dict[str, Callable[[Block], str]] = {"bash": self._bash, "python": self._python}
        if block.text.startswith(">>> "):
            self._doctest(block)
            return
        printed = run[block.language](block)
        if block.expected is not None and not matches(printed, block.expected):
            raise AssertionError(f"{block} prints\n\n{printed}\nand not\n\n{block.expected}")

    def _bash(self, block: Block) -> str:
        after = self.folder / ".environment"
        script = _checked(self._in_our_words(block.text))
        keys = self.folder / KEYS
        with (keys if keys.exists() else Path(os.devnull)).open() as typed:
            done = subprocess.run(
                ["bash", "-eo", "pipefail", "-c", f"trap 'env -0 > {after}' EXIT\n{script}"],
                cwd=self.folder,
                env=self._environment,
                stdin=typed,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                encoding="utf-8",
                timeout=_LONGEST,
                check=False,
            )
        keys.unlink(missing_ok=True)
        if done.returncode:
            raise AssertionError(f"{block} ends with {done.returncode}\n\n{done.stdout}")
        variables = after.read_text().removesuffix("\0").split("\0")
        self._environment = dict(each.split("=", 1) for each in variables)
        return done.stdout

    def _python(self, block: Block) -> str:
        printed = io.StringIO()
        with redirect_stdout(printed):
            exec(compile(self._in_our_words(block.text), str(block), "exec"), self._names)
        return printed.getvalue()

    def _doctest(self, block: Block) -> None:
        test = doctest.DocTestParser().get_doctest(
            block.text, self._names, block.page, block.page, block.line
        )
        test.globs = self._names  # not a copy: the next block goes on from here
        told = io.StringIO()
        result = doctest.DocTestRunner(optionflags=_DOCTEST).run(
            test, out=told.write, clear_globs=False
        )
        if result.failed:
            raise AssertionError(told.getvalue())

    def _in_our_words(self, text: str) -> str:
        for word, meant in self.said.items():
            text = text.replace(word, meant)
        return text


def _checked(script: str) -> str:
    """Return a script in which a command that says its exit code must end with it.

    Examples
    --------
    >>> _checked("false  # exit code 1")
    'if false; then exit 99; else test $? = 1; fi'
    """
    commands = script.replace("\\\n", " ").splitlines()
    return "\n".join(
        f"if {told['command']}; then exit 99; else test $? = {told['code']}; fi"
        if (told := _EXIT_CODE.match(line))
        else line
        for line in commands
    )
