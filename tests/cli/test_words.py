"""What is told on the command line is in its words: options, no arguments of Python functions."""

import ast
import inspect
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import assay
from assay.campaign import create_campaign, import_labels
from assay.cli.output import in_options

ARGUMENTS = {
    name
    for function in (create_campaign, import_labels)
    for name in inspect.signature(function).parameters
}
SAYS_ARGUMENT = re.compile(rf"(?<![\w.\-'\"/`=])({'|'.join(sorted(ARGUMENTS))})=")
# Functions of arrays are called from Python only.
ONLY_PYTHON = {"campaign/arrays.py"}


def _text(node: ast.expr) -> str:
    """Return a text in the source, with something in the place of what is put into it."""
    if isinstance(node, ast.Constant):
        return str(node.value)
    if isinstance(node, ast.FormattedValue):
        return "'x'" if node.conversion == ord("r") else "x"
    parts: list[ast.expr] = []
    if isinstance(node, ast.JoinedStr):
        parts = node.values
    elif isinstance(node, ast.BinOp):
        parts = [node.left, node.right]
    elif isinstance(node, ast.IfExp):
        parts = [node.body, ast.Constant("\n"), node.orelse]
    return "".join(map(_text, parts))


def _messages() -> Iterator[tuple[str, str]]:
    root = Path(str(assay.__file__)).parent
    for path in root.rglob("*.py"):
        name = path.relative_to(root).as_posix()
        if name in ONLY_PYTHON:
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call):
                called = getattr(node.func, "id", getattr(node.func, "attr", ""))
                if called.endswith(("Error", "Doubt")):
                    for given in [*node.args, *(each.value for each in node.keywords)]:
                        yield f"{name}:{node.lineno}", _text(given)


def test_no_error_says_an_argument() -> None:
    messages = list(_messages())
    assert len(messages) > 500
    assert any(SAYS_ARGUMENT.search(text) for _, text in messages)  # there is something to put
    bad = [
        (where, told) for where, text in messages if SAYS_ARGUMENT.search(told := in_options(text))
    ]
    assert not bad


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("say scale='margin'", "say --scale margin"),
        (
            "neither predicted= nor threshold= is given",
            "neither --predicted nor --threshold is given",
        ),
        ("where=\"id='a'\" is no text", "--where \"id='a'\" is no text"),
        ("leave out labels=, or sample_weight=", "leave out --labels, or --sample-weight"),
        ("no item has lang=de", "no item has lang=de"),
        ("assay follow FILE --id url", "assay follow FILE --id url"),
    ],
)
def test_words(text: str, told: str) -> None:
    assert in_options(text) == told
