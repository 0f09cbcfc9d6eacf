"""Names of a package that are imported when they are first used.

A package whose names come from many modules would load all of them, and what they need, for one
name. Its ``__init__`` says instead where each name is (PEP 562)::

    if TYPE_CHECKING:
        from assay.storage.store import Store  # what a type checker and an editor see
    else:
        __getattr__ = on_demand(__name__, {"store": "Store"})

A test holds both lists equal, and another what is loaded by what. A module of another package that
takes long to load, and that most calls do without, is stood in for::

    if TYPE_CHECKING:
        import pyarrow.compute as pc
    else:
        pc = later("pyarrow.compute")
"""

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def on_demand(package: str, homes: Mapping[str, str], modules: str = "") -> Callable[[str], Any]:
    """Return the ``__getattr__`` of a package whose names are imported on demand.

    `homes`: modules within the package, and the names that come from each, with a space between
    them; ``new=old`` is a name that is another one there.

    Examples
    --------
    >>> find = on_demand("assay", {"errors": "VERSION version=VERSION"})
    >>> find("version") == find("VERSION")
    True
    """
    places = {
        named.partition("=")[0]: (f"{package}.{home}", named.rpartition("=")[2])
        for home, names in homes.items()
        for named in names.split()
    }
    within = frozenset(modules.split())

    def find(name: str) -> Any:
        if name in within:
            return import_module(f"{package}.{name}")
        if name not in places:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        home, original = places[name]
        value = getattr(import_module(home), original)
        setattr(sys.modules[package], name, value)  # found without this function from now on
        return value

    return find


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

    Examples
    --------
    >>> later("math").sqrt(9.0)
    3.0
    """
    return _Later(module)
