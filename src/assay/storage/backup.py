"""Backup files: opened as copies, written beside their target, and renamed when complete."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from shutil import copyfile
from tempfile import TemporaryDirectory

from assay.errors import InputError
from assay.storage.store import Store, in_one_file, open_store

_COPY = "copy.db"
_PREFIX = "sqlite:///"
_LOG = "-wal"  # SQLite's log, with the last labels of a live file


@contextmanager
def open_backup(backup: str | PathLike[str]) -> Iterator[Store]:
    """Open a backup, or a storage at a URL; a file is copied first, and is not changed."""
    if "://" in str(backup):
        yield open_store(str(backup))
        return
    with TemporaryDirectory(prefix="assay-") as folder:
        copy_backup(backup, Path(folder) / _COPY)
        store = open_store(f"sqlite:///{folder}/{_COPY}")
        try:
            yield store
        finally:
            store.close()


def copy_backup(path: str | PathLike[str], target: Path) -> None:
    """Copy a file that nobody writes to, and its log if there is one."""
    source = Path(path)
    if not source.is_file():
        raise InputError(f"there is no backup {str(source)!r}", hint="`assay backup` makes one")
    for suffix in ("", _LOG):
        part = source.with_name(source.name + suffix)
        if part.is_file():
            copyfile(part, target.with_name(target.name + suffix))


def place_of(storage: str | None) -> Path:
    """File for a new storage; raise if the URL is not that of a file."""
    url = storage or os.environ.get("ASSAY_STORAGE") or ""
    if not url.startswith(_PREFIX) or not url.removeprefix(_PREFIX):
        raise InputError(
            f"a backup cannot be restored to {url or 'memory'}",
            details="a backup of SQLite is restored into a file, such as sqlite:///labels.db",
            hint="a dump of PostgreSQL is restored by pg_restore",
        )
    return Path(url.removeprefix(_PREFIX))


@contextmanager
def new_database(target: Path) -> Iterator[Path]:
    """Path for a new database; at the end of the block it is renamed to its target.

    An incomplete file never has that name, and no file is ever replaced.
    """
    _refuse_to_replace(target)
    try:
        with TemporaryDirectory(prefix=".assay-", dir=target.parent) as folder:
            copy = Path(folder) / _COPY
            yield copy
            in_one_file(copy)
            _settle(copy, target)
    except OSError as error:
        raise InputError(
            f"{target} cannot be written: {error.strerror or error}",
            hint="choose another folder, or make room",
        ) from error


def _refuse_to_replace(target: Path) -> None:
    if target.exists() or target.with_name(target.name + _LOG).exists():
        raise InputError(
            f"{target} already exists, and is not replaced", hint="move it, or choose another place"
        )


def _settle(copy: Path, target: Path) -> None:
    """Rename a complete copy, and flush it to disk; raise if the name has been taken meanwhile."""
    with copy.open("rb+") as file:
        os.fsync(file.fileno())
    try:
        os.link(copy, target)
    except FileExistsError:
        _refuse_to_replace(target)
        raise
    except OSError:  # a disk that knows no links
        _refuse_to_replace(target)
        copy.rename(target)
    folder = os.open(target.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
