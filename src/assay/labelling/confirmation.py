"""Confirmation of stored sources, once on each machine.

A storage says where a campaign's predictions are: a path, a query, a condition, a database. They
are read again when the reserve runs short, with the rights of whoever works on the campaign then.
So whoever can write the storage could read with other people's rights. What may be read is
therefore kept outside of the storage: beside the user's configuration, a file for each source that
the user gave or confirmed, named by a digest of the storage, the campaign and the source.
"""

import json
import os
import shlex
import sys
from collections.abc import Iterable, Iterator
from hashlib import sha256
from pathlib import Path
from warnings import warn

from assay.errors import AssayWarning, PredictionsError
from assay.labelling.settings import Settings
from assay.labelling.source import Source
from assay.results import printable
from assay.storage import Store

_FOLDER = "ASSAY_CONFIG_HOME"  # environment variable that names another folder
_IN_MEMORY = ("sqlite://", "sqlite:///:memory:")  # storages that no other process will open

# Confirmed in this process, for storages in memory and read-only machines.
_confirmed: set[Path] = set()


def confirm_source(store: Store, settings: Settings) -> None:
    """Allow reading a campaign's predictions from their stored location, on this machine.

    The permission ends when the stored location changes.
    """
    path = _place(store, settings)
    if path is None or path in _confirmed:
        return
    _confirmed.add(path)
    if store.name in _IN_MEMORY:
        return
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not path.exists():
            text = f"campaign {settings.name} of {store.name}\n{source_text(settings.source)}\n"
            path.write_text(printable(text), encoding="utf-8", errors="backslashreplace")
    except OSError as error:
        warn(
            f"{path.parent} cannot be written ({error.strerror}): other processes will read the "
            f"predictions of campaign {settings.name!r} again only when someone confirms it; "
            f"{_FOLDER} names another folder",
            AssayWarning,
            stacklevel=3,
        )


def is_confirmed(store: Store, settings: Settings) -> bool:
    """Whether the predictions may be read from their stored location."""
    path = _place(store, settings)
    return path is None or path in _confirmed or path.is_file()


def refuse_unconfirmed(store: Store, settings: Settings) -> None:
    """Raise if a stored location was neither given nor confirmed on this machine."""
    if is_confirmed(store, settings):
        return
    name = settings.name
    command = shlex.join(["assay", "status", name, "--confirm", "--storage", store.name])
    raise PredictionsError(
        f"the predictions of campaign {name!r} are not confirmed on this machine",
        details=f"the storage {store.name} names these predictions, to be read with your "
        f"rights:\n{source_text(settings.source)}",
        hint=f"to allow it: {command}. In Python: load_campaign({name!r}, confirm=True), or "
        f"load_campaign({name!r}, predictions=...) to give them yourself",
    )


def source_text(source: Source) -> str:
    r"""Describe a source for people: completely, and safe for a terminal.

    >>> from assay.labelling.source import Part
    >>> part = Part("a query", {"source": "SELECT *\nFROM 'a.csv'", "where": "x > 1"}, "", 9)
    >>> columns = {"id": "url", "score": "p", "show": ["text"]}
    >>> print(source_text(Source((part,), columns, "string", "probability", ("lang",))))
      source: SELECT *
            | FROM 'a.csv'
      where: x > 1
      columns: url, p
      kept in the storage, and shown: text; kept only: lang
    """
    lines = []
    for part in source.parts:
        facts = part.scan or {"source": f"{part.description}, which was given in memory"}
        for name, value in facts.items():
            # Line ends are marked: a text must not look like another line of this one.
            text = printable(value).replace("\r", "\\r").replace("\n", "\n        | ")
            lines.append(f"  {printable(name)}: {text}")
    shown, kept = list(source.columns["show"]), [*source.slices, *source.scores]
    only = [name for name in kept if name not in shown]
    used = dict.fromkeys(_names({**source.columns, "show": None}))
    lines.append(f"  columns: {_listed(used)}")
    lines.append(
        f"  kept in the storage, and shown: {_listed(shown)}"
        + (f"; kept only: {_listed(only)}" if only else "")
    )
    return "\n".join(lines)


def _names(columns: object) -> Iterator[str]:
    """Names of columns, of one classifier or several."""
    for role, value in columns.items() if isinstance(columns, dict) else ():
        if isinstance(value, dict):
            yield from _names(value)
        elif role in ("id", "score", "predicted", "sample_weight") and value is not None:
            yield str(value)


def _listed(names: Iterable[object]) -> str:
    return ", ".join(printable(name).replace("\n", "\\n") for name in names) or "none"


def _place(store: Store, settings: Settings) -> Path | None:
    """File that marks a source as confirmed; None if nothing can be read again."""
    if all(part.scan is None for part in settings.source.parts):
        return None
    identity = json.dumps([store.uid, settings.name, settings.source.to_dict()], sort_keys=True)
    return _folder() / sha256(identity.encode("utf-8", "surrogatepass")).hexdigest()


def _folder() -> Path:
    named = os.environ.get(_FOLDER)
    if named:
        return Path(named) / "confirmed"
    beside = "APPDATA" if sys.platform == "win32" else "XDG_CONFIG_HOME"
    # XDG's rule: ignore a path that is not absolute.
    config = Path(os.environ.get(beside) or "~/.config").expanduser()
    return (config if config.is_absolute() else Path("~/.config").expanduser()) / "assay/confirmed"
