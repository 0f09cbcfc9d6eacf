"""Names of a package that are imported when they are first used.

Otherwise a package with names from many modules would load all of them, and their dependencies, for
one name. Its ``__init__.pyi`` gives the module of each name, for type checkers, editors and this
module (PEP 562, SPEC 1)::

    from assay.storage.store import Store as Store

A slow import of another package that most calls do not need is replaced by a placeholder::

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
    """Functions ``__getattr__`` and ``__dir__``, and ``__all__``, of a package with a stub.

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
    """Placeholder for a module until its first use."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> Any:
        """Attribute of the module, cached for the next time."""
        value = getattr(import_module(self._name), name)
        setattr(self, name, value)
        return value


def later(module: str) -> Any:
    """Make a placeholder for a module, which is imported on first use.

    >>> later("math").sqrt(9.0)
    3.0
    """
    return _Later(module)
