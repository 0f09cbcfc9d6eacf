"""How to judge, as the owner wrote it: headings, paragraphs and lists, and no other markup."""

import re
from dataclasses import dataclass
from typing import Literal

_HEADING = re.compile(r"#{1,6}\s+(.*)")
_LISTED = re.compile(r"\s*(?:[-*•]|\d{1,3}[.)])\s+(.*)")


@dataclass(frozen=True)
class Block:
    """A part of the guidelines; its lines are plain text, which the template escapes."""

    kind: Literal["heading", "paragraph", "list"]
    lines: tuple[str, ...]


def guideline_blocks(text: str) -> list[Block]:
    r"""Return the parts of a text.

    Examples
    --------
    >>> for block in guideline_blocks("# Spam\nUnwanted\nmail.\n\n- sells\n- begs"):
    ...     print(block.kind, block.lines)
    heading ('Spam',)
    paragraph ('Unwanted', 'mail.')
    list ('sells', 'begs')
    """
    blocks: list[Block] = []
    fresh = True
    for line in text.splitlines():
        kind, words = _read(line)
        if words and not fresh and blocks[-1].kind == kind != "heading":
            blocks[-1] = Block(kind, (*blocks[-1].lines, words))
        elif words:
            blocks.append(Block(kind, (words,)))
        fresh = not words
    return blocks


def _read(line: str) -> tuple[Literal["heading", "paragraph", "list"], str]:
    if heading := _HEADING.fullmatch(line):
        return "heading", heading[1].strip()
    if listed := _LISTED.fullmatch(line):
        return "list", listed[1].strip()
    return "paragraph", line.strip()
