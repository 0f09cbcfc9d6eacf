"""Docstrings: sections of parameters stand where people can import the name, and nowhere else."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import assay

SOURCE = Path(__file__).parents[2] / "src" / "assay"
MANY = 4
EXPORTED = [getattr(assay, name) for name in assay.__all__]
# What is inherited can be reached, too.
PUBLIC = {(getattr(each, "__module__", ""), getattr(each, "__name__", "")) for each in EXPORTED} | {
    (base.__module__, base.__name__)
    for each in EXPORTED
    if isinstance(each, type)
    for base in each.__mro__
}
SECTIONS = re.compile(r"^(Parameters|Attributes|Returns|Yields|Raises|Notes)\n---", re.M)
Documented = ast.FunctionDef | ast.ClassDef


def documented(
    node: ast.Module | ast.ClassDef, module: str, public: bool = False
) -> Iterator[tuple[bool, Documented]]:
    """Yield classes and functions, and whether they can be reached from `assay`."""
    for each in node.body:
        if isinstance(each, Documented):
            known = public or (isinstance(node, ast.Module) and (module, each.name) in PUBLIC)
            known = known and not each.name.startswith("_")
            yield known, each
            if isinstance(each, ast.ClassDef):
                yield from documented(each, module, known)


def every() -> Iterator[tuple[str, bool, Documented]]:
    for file in sorted(SOURCE.rglob("*.py")):
        module = ".".join(file.relative_to(SOURCE.parent).with_suffix("").parts)
        for public, node in documented(ast.parse(file.read_text(encoding="utf-8")), module):
            yield f"{module}: {node.name}", public, node


def parameters(function: ast.FunctionDef) -> list[str]:
    given = function.args
    every = [*given.posonlyargs, *given.args, *given.kwonlyargs]
    return [each.arg for each in every if each.arg not in ("self", "cls")]


def test_functions_with_many_parameters_say_what_they_are() -> None:
    many = [
        (place, ast.get_docstring(node) or "")
        for place, public, node in every()
        if public and isinstance(node, ast.FunctionDef) and len(parameters(node)) >= MANY
    ]
    assert [place for place, doc in many if "Parameters\n" not in doc] == []
    assert len(many) > 15


def test_other_names_have_no_sections() -> None:
    found = [
        place
        for place, public, node in every()
        if not public and SECTIONS.search(ast.get_docstring(node) or "")
    ]
    assert found == []


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
        f"{place}: {name}"
        for place, _, node in every()
        if isinstance(node, ast.FunctionDef)
        for name in strangers(node)
    ]
    assert found == []
    renamed = 'def old(table):\n    """Do.\n\n    Parameters\n    ----------\n    desk : x\n    """'
    ((_, wrong),) = documented(ast.parse(renamed), "")
    assert isinstance(wrong, ast.FunctionDef)
    assert strangers(wrong) == ["desk"]
