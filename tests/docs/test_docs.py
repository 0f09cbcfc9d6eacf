"""The documentation does what it says: every block of every page is run.

A block that is not run says why, in a comment before it (``<!-- not run: reason -->``), and is
counted here, so that there cannot be more of them unnoticed. Its commands and options must exist.
"""

import re
import shlex
import sys
from collections import Counter
from pathlib import Path

import pytest
from typer import Typer
from typer.main import get_command

from assay.cli import app
from tests.docs.blocks import ROOT, RUN, SHOWN, Block, blocks_of, pages
from tests.docs.prepare import BEFORE, FILES, FIXTURES, NEEDS
from tests.docs.running import Reader

NOT_RUN = {
    "docs/certainty.md": 1,
    "docs/howto/spark.md": 1,
    "docs/random_labels.md": 1,
    "docs/reproduction.md": 1,
    "docs/several.md": 1,
}
INLINE = re.compile(r"`(?P<command>assay [a-z][^`]*)`")
LINK = re.compile(r"\]\((?P<target>[^)#:]+)(?:#[^)]*)?\)")

MADE = {ROOT / "docs/reference/python.md", ROOT / "docs/reference/command_line.md"}
"""Pages that are there when the site is built."""

BLOCKS = {page: blocks_of(page) for page in pages()}
ALL = [block for blocks in BLOCKS.values() for block in blocks]


def name_of(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


@pytest.mark.parametrize("page", [page for page in BLOCKS if BLOCKS[page]], ids=name_of)
def test_every_block_of_a_page_runs_and_prints_what_stands_below_it(
    page: Path,
    path: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    request: pytest.FixtureRequest,
) -> None:
    name = name_of(page)
    if needed := NEEDS.get(name):
        request.getfixturevalue(needed)
    said = {word: request.getfixturevalue(there) for word, there in FIXTURES.get(name, {}).items()}
    if prepare := FILES.get(name):
        prepare(tmp_path)
    monkeypatch.chdir(tmp_path)
    reader = Reader(tmp_path, path, said)
    for block in BLOCKS[page]:
        if block.language in RUN and block.not_run is None:
            for line, happens in BEFORE.items():
                if block.text.startswith(line):
                    happens(tmp_path)
            reader.type(block)


def test_what_is_not_run_says_why_and_does_not_grow() -> None:
    blocks = [block for block in ALL if block.language in RUN]
    left_out = [block for block in blocks if block.not_run is not None]
    told = [f"{len(blocks) - len(left_out)} blocks of {len(BLOCKS)} pages run, not run:"]
    told += [f"  {block}: {block.not_run}" for block in left_out]
    sys.stdout.write("\n".join(told))  # pytest -rP shows it
    assert Counter(block.page for block in left_out) == NOT_RUN
    assert len(left_out) <= 5


def test_a_fence_is_run_or_known_to_be_for_reading() -> None:
    assert {block.language for block in ALL} <= RUN | SHOWN


def commands() -> dict[str, list[str]]:
    """Return every command line of a block that is not run, or within a sentence."""
    found = {}
    for block in ALL:
        if block.language == "bash" and block.not_run is not None:
            for line in block.text.replace("\\\n", " ").splitlines():
                found[f"{block} {line}"] = shlex.split(line, comments=True)
    for page in BLOCKS:
        for match in INLINE.finditer(page.read_text()):
            found[f"{name_of(page)} {match['command']}"] = match["command"].split()
    return {where: words for where, words in found.items() if words[:1] == ["assay"]}


def unknown(words: list[str], program: Typer = app) -> list[str]:
    """Return what `assay`, or another program, does not have: a command, or options."""
    command, rest = get_command(program), words[1:]
    while known := getattr(command, "commands", {}):
        if not rest or rest[0].startswith("-"):
            break
        if rest[0] not in known:
            return [rest[0]]
        command, rest = known[rest[0]], rest[1:]
    options = {name for option in command.params for name in (*option.opts, *option.secondary_opts)}
    used = {word.split("=")[0] for word in rest if re.match(r"--?[a-z]", word)}
    return sorted(used - options - {"-h", "--help", "--version"})


def test_commands_that_are_not_run_exist_with_their_options() -> None:
    wrong = {where: found for where, words in commands().items() if (found := unknown(words))}
    assert not wrong
    assert unknown(["assay", "creat", "x.csv"]) == ["creat"]
    assert unknown(["assay", "create", "x.csv", "--withn", "0.02"]) == ["--withn"]


@pytest.mark.parametrize("page", BLOCKS, ids=name_of)
def test_links_within_the_documentation_lead_somewhere(page: Path) -> None:
    for match in LINK.finditer(page.read_text()):
        target = (page.parent / match["target"]).resolve()
        assert target.exists() or target in MADE, match["target"]


def test_the_readme_has_a_program_and_both_commands_on_its_first_screen() -> None:
    first_screen = (ROOT / "README.md").read_text().splitlines()[:45]
    text = "\n".join(first_screen)
    assert all(part in text for part in ("make demo", "make test", "create_campaign", "```text"))


WRONG = {
    "prints something else": ("python", "print(7)", "8"),
    "an exception": ("python", "1 / 0", None),
    "a failed command": ("bash", "assay status\necho fine", None),
    "a failed pipe": ("bash", "assay status --json | cat", None),
    "another exit code": ("bash", "assay status  # exit code 2", None),
    "no failure where one is told": ("bash", "assay --version  # exit code 1", None),
    "a wrong example": ("python", ">>> 1 + 1\n3\n", None),
}


@pytest.mark.parametrize("kind", WRONG)
def test_the_reader_notices(kind: str, path: Path, tmp_path: Path) -> None:
    language, text, expected = WRONG[kind]
    with pytest.raises((AssertionError, ZeroDivisionError)):
        Reader(tmp_path, path).type(Block("page.md", 1, language, text, expected))
