"""The documentation does what it says: programs print what stands below them, options exist."""

import io
import re
import shlex
from contextlib import redirect_stdout
from pathlib import Path

import pytest
from typer.main import get_command

from assay.cli import app

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
PROGRAM = re.compile(r"```python\n(?P<program>.*?)```\s*```text\n(?P<output>.*?)```", re.DOTALL)
COMMAND = re.compile(r"```bash\n(?P<lines>.*?)```", re.DOTALL)
LINK = re.compile(r"\]\((?P<target>[^)#:]+)(?:#[^)]*)?\)")


def programs() -> list[tuple[str, str, str]]:
    return [
        (page.name, match["program"], match["output"])
        for page in PAGES
        for match in PROGRAM.finditer(page.read_text())
    ]


def command_lines() -> list[list[str]]:
    found = []
    for page in PAGES:
        for match in COMMAND.finditer(page.read_text()):
            joined = match["lines"].replace("\\\n", " ")
            lines = (shlex.split(line, comments=True) for line in joined.splitlines())
            found += [words for words in lines if words[:1] == ["assay"]]
    return found


@pytest.mark.parametrize(("page", "program", "output"), programs(), ids=lambda v: str(v)[:20])
def test_a_program_prints_what_stands_below_it(page: str, program: str, output: str) -> None:
    printed = io.StringIO()
    with redirect_stdout(printed):
        exec(compile(program, page, "exec"), {"__name__": "__main__"})
    assert printed.getvalue().strip() == output.strip()


@pytest.mark.parametrize("words", command_lines(), ids=" ".join)
def test_a_command_and_its_options_exist(words: list[str]) -> None:
    command, rest = get_command(app), words[1:]
    if rest[0].startswith("-"):
        return
    while commands := getattr(command, "commands", {}):
        assert rest[0] in commands, f"no command {rest[0]}"
        command, rest = commands[rest[0]], rest[1:]
    options = {name for option in command.params for name in option.opts}
    used = {word.split("=")[0] for word in rest if re.match(r"--?[a-z]", word)}
    assert used <= options, f"unknown options {used - options}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_within_the_documentation_lead_somewhere(page: Path) -> None:
    for match in LINK.finditer(page.read_text()):
        assert (page.parent / match["target"]).exists(), match["target"]


def test_the_readme_has_a_program_and_both_commands_on_its_first_screen() -> None:
    first_screen = (ROOT / "README.md").read_text().splitlines()[:45]
    text = "\n".join(first_screen)
    assert all(part in text for part in ("make demo", "make test", "create_campaign", "```text"))
    assert programs()
