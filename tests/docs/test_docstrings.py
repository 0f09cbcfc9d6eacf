"""Docstrings: functions with many parameters say what these are."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

SOURCE = Path(__file__).parents[2] / "src" / "assay"
MANY = 4


def functions(node: ast.Module | ast.ClassDef) -> Iterator[ast.FunctionDef]:
    """Yield the public functions and methods."""
    for each in node.body:
        if isinstance(each, ast.FunctionDef) and not each.name.startswith("_"):
            yield each
        elif isinstance(each, ast.ClassDef) and not each.name.startswith("_"):
            yield from functions(each)


def parameters(function: ast.FunctionDef) -> list[str]:
    given = function.args
    every = [*given.posonlyargs, *given.args, *given.kwonlyargs]
    return [each.arg for each in every if each.arg not in ("self", "cls")]


def test_functions_with_many_parameters_say_what_they_are() -> None:
    silent, seen = [], 0
    for file in sorted(SOURCE.rglob("*.py")):
        if file.parent.name == "cli":
            continue  # a command's options have help texts
        for function in functions(ast.parse(file.read_text(encoding="utf-8"))):
            if len(parameters(function)) >= MANY:
                seen += 1
                if "Parameters\n" not in (ast.get_docstring(function) or ""):
                    silent.append(f"{file.relative_to(SOURCE)}: {function.name}")
    assert silent == []
    assert seen > 100


def test_module_docstrings_say_what_a_module_is() -> None:
    """The first word is not a question's; `assay demo` and the like are commands."""
    for file in sorted(SOURCE.rglob("*.py")):
        doc = ast.get_docstring(ast.parse(file.read_text(encoding="utf-8"))) or ""
        assert doc, file
        assert doc.split()[0] not in ("What", "How", "Where", "Which", "When", "Who"), file


SECTION = re.compile(r"Parameters\n-+\n(.*?)(?:\n\n[A-Z][a-z]+\n-+\n|\Z)", re.S)


def told(doc: str) -> list[str]:
    """Return the names in a Parameters section."""
    found = SECTION.search(doc)
    lines = found[1].splitlines() if found else []
    heads = [line.partition(" : ")[0] for line in lines if line and not line.startswith(" ")]
    return [name.strip().lstrip("*") for head in heads for name in head.split(",")]


def strangers(function: ast.FunctionDef) -> list[str]:
    """Return the names that are told of a function and are no parameters of it."""
    given = function.args
    more = [each.arg for each in (given.vararg, given.kwarg) if each is not None]
    known = {*parameters(function), *more}
    return [name for name in told(ast.get_docstring(function) or "") if name not in known]


def test_no_parameter_is_told_that_is_not_there() -> None:
    found = [
        f"{file.relative_to(SOURCE)}: {function.name}: {name}"
        for file in sorted(SOURCE.rglob("*.py"))
        for function in functions(ast.parse(file.read_text(encoding="utf-8")))
        for name in strangers(function)
    ]
    assert found == []
    renamed = 'def old(table):\n    """Do.\n\n    Parameters\n    ----------\n    desk : x\n    """'
    (wrong,) = functions(ast.parse(renamed))
    assert strangers(wrong) == ["desk"]
