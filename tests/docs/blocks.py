"""The blocks of a page: what is typed, what should come out, and what is not run, and why."""

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
RUN = {"bash", "python", "pycon"}
# Read, not run; a text directly below a block is what comes out of it.
SHOWN = {"text", "math", "yaml"}

_FENCE = re.compile(
    r"^(?P<indent> *)```(?P<language>\w*)\n(?P<text>.*?)^(?P=indent)```[ \t]*$",
    re.DOTALL | re.MULTILINE,
)
_NOT_RUN = re.compile(r"<!-- not run: (?P<reason>[^>]+?) -->\s*\Z")


@dataclass(frozen=True)
class Block:
    """Something that a reader of a page may type."""

    page: str
    line: int
    language: str
    text: str
    expected: str | None = None
    not_run: str | None = None

    def __str__(self) -> str:
        return f"{self.page}:{self.line}"


def pages() -> list[Path]:
    """Return the README and every page of the site that is written by hand."""
    return [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def blocks_of(page: Path) -> list[Block]:
    """Return what a page has in fences, each with the output that stands directly below it."""
    return parse(page.read_text(), page.relative_to(ROOT).as_posix())


def parse(text: str, page: str) -> list[Block]:
    """Return the blocks of a text.

    Examples
    --------
    >>> page = "```bash" + chr(10) + "echo 7" + chr(10) + "```"
    >>> parse(page, "page.md")[0].text
    'echo 7\\n'
    """
    found: list[Block] = []
    end = 0
    for match in _FENCE.finditer(text):
        between, end = text[end : match.start()], match.end()
        body = re.sub(rf"^{match['indent']}", "", match["text"], flags=re.MULTILINE)
        if match["language"] == "text" and found and not between.strip():
            found[-1] = _with_output(found[-1], body)
            continue
        reason = _NOT_RUN.search(between)
        line = text.count("\n", 0, match.start()) + 1
        not_run = reason["reason"] if reason else None
        found.append(Block(page, line, match["language"], body, not_run=not_run))
    return found


def _with_output(block: Block, expected: str) -> Block:
    return Block(block.page, block.line, block.language, block.text, expected, block.not_run)


def matches(printed: str, expected: str) -> bool:
    """Tell whether a text is what a page shows, where ``...`` stands for what varies.

    Within a line it stands for anything in that line, as a line of its own for any lines.

    Examples
    --------
    >>> matches("a 7 b\\nc\\nd\\n", "a ... b\\n...\\nd"), matches("a 7 b\\nc", "a ... b")
    (True, False)
    """
    lines = [line.rstrip() for line in expected.strip("\n").splitlines()]
    pattern = "".join(
        "(?:.*\n)*?" if line.strip() == "..." else _of_line(line) + "\n" for line in lines
    )
    tidy = "".join(f"{line.rstrip()}\n" for line in printed.strip("\n").splitlines())
    return re.fullmatch(pattern, tidy) is not None


def _of_line(line: str) -> str:
    return ".*".join(re.escape(part) for part in line.split("..."))
