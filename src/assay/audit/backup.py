"""Backups of a storage: made during labelling, checked, restored, and compared with it."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from hashlib import file_digest
from os import PathLike
from pathlib import Path
from typing import Any

from assay.audit.verify import verify_campaign
from assay.errors import AssayError, StorageError
from assay.storage import copy_backup, new_database, open_storage, open_store, place_of


@dataclass(frozen=True)
class Backup:
    """A copy of a storage."""

    path: str
    size: int  # its bytes
    sha256: str
    labels: Mapping[str, int]  # how many label events each campaign has, by name
    findings: tuple[str, ...]  # findings of `assay verify` about its campaigns

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return {**asdict(self), "findings": list(self.findings)}


def backup_storage(
    path: str | PathLike[str], *, storage: str | None = None, name: str | None = None
) -> Backup:
    """Copy a SQLite storage into one file, as it is at one moment, and check the copy.

    Reviewers may go on labelling meanwhile. Copying the file of a live storage by other means loses
    labels: the last ones are in a second file.

    Parameters
    ----------
    path : path
        Where to; nothing that is there is replaced.
    storage : str, optional
        As it was given to `create_campaign`.
    name : str, optional
        The campaign that must be in it, and that is checked; by default all of them. The copy holds
        every campaign of the storage.

    Examples
    --------
    >>> import assay, tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> storage = f"sqlite:///{folder.name}/labels.db"
    >>> campaign = assay.create_campaign(
    ...     {"p": [0.9, 0.8, 0.7]}, score="p", threshold=0.5, budget=3, storage=storage)
    >>> estimate = campaign.tell({item.id: True for item in campaign.ask(2)})
    >>> assay.backup_storage(f"{folder.name}/backup.db", storage=storage).labels
    {'campaign': 2}
    >>> assay.verify_campaign(storage=storage, against=f"{folder.name}/backup.db").clean
    True
    >>> folder.cleanup()
    """
    store = open_storage(storage)
    if name is not None:
        with store.read() as session:
            session.find(name)
    target = Path(path)
    with new_database(target) as copy:
        store.copy_to(copy)
        labels, findings = _checked(copy, name)
    return _of(target, labels, findings)


def restore_storage(path: str | PathLike[str], *, storage: str | None = None) -> Backup:
    """Check a backup and restore it to a new storage; nothing is replaced.

    Parameters
    ----------
    path : path
        Of the backup, which stays as it is.
    storage : str, optional
        Where to: ``sqlite:///labels.db``. There must be nothing yet.
    """
    target = place_of(storage)
    with new_database(target) as copy:
        copy_backup(path, copy)
        labels, findings = _checked(copy, None)
        if findings:
            raise StorageError(
                f"{path} is not restored: {findings[0]}",
                details="" if len(findings) == 1 else f"and {len(findings) - 1:,} more findings",
                hint="restore an older backup",
            )
    return _of(target, labels, ())


def _checked(file: Path, name: str | None) -> tuple[dict[str, int], tuple[str, ...]]:
    """Labels of each campaign of a copy, and findings about the copy."""
    url = f"sqlite:///{file}"
    store = open_store(url)
    try:
        with store.read() as session:
            names = session.names()
            labels = {each: len(session.labels(session.find(each)[0])) for each in names}
        findings: list[str] = []
        for each in names if name is None else [name]:
            findings += _findings(each, url)
    finally:
        store.close()
    return labels, tuple(dict.fromkeys(findings))


def _findings(name: str, url: str) -> list[str]:
    try:
        return [
            f"campaign {name!r}: {each}" for each in verify_campaign(name, storage=url).findings
        ]
    except AssayError as error:
        return [f"campaign {name!r}: {error.problem}"]


def _of(file: Path, labels: Mapping[str, int], findings: tuple[str, ...]) -> Backup:
    with file.open("rb") as content:
        digest = file_digest(content, "sha256").hexdigest()
    return Backup(str(file), file.stat().st_size, digest, dict(labels), findings)
