"""Names of a package that are imported when they are first used.

A package whose names come from many modules would load all of them, and what they need, for one
name. Its ``__init__.pyi`` says where each name is, for type checkers, editors and this module
alike (PEP 562, SPEC 1)::

    from assay.storage.store import Store as Store

A module of another package that takes long to load, and that most calls do without, is stood in
for::

    if TYPE_CHECKING:
        import pyarrow.compute as pc
    else:
        pc = later("pyarrow.compute")
"""

import ast
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any


def on_demand(
    package: str, file: str
) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """Return the ``__getattr__``, ``__dir__`` and ``__all__`` of a package with a stub.

    >>> import assay
    >>> find, listed, names = on_demand("assay", str(assay.__file__))
    >>> find("Goal") is assay.Goal, "core" in names, "__version__" in listed()
    (True, False, True)
    """
    stub = ast.parse(Path(file).with_suffix(".pyi").read_text(encoding="utf-8")).body
    places = {
        alias.name: str(node.module)
        for node in stub
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    own = [
        node.target.id
        for node in stub
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name)
    ]  # in __init__.py
    names = sorted(
        {*own, *(name for name, home in places.items() if home != package)} - {"__all__"}
    )

    def find(name: str) -> Any:
        if name not in places:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        if places[name] == package:  # a module of its own
            return import_module(f"{package}.{name}")
        value = getattr(import_module(places[name]), name)
        setattr(sys.modules[package], name, value)  # found without this function from now on
        return value

    return find, lambda: list(names), names


class _Later:
    """What stands for a module until something of it is asked for."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> Any:
        """Return what the module has under a name, which is found without this from now on."""
        value = getattr(import_module(self._name), name)
        setattr(self, name, value)
        return value


def later(module: str) -> Any:
    """Return what stands for a module, and imports it when something of it is first used.

    >>> later("math").sqrt(9.0)
    3.0
    """
    return _Later(module)
