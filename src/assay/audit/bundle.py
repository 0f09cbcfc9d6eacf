"""Write a bundle."""

from dataclasses import asdict, dataclass
from hashlib import sha256
from html import escape
from os import PathLike
from pathlib import Path
from typing import Any

from assay.audit.archive import packed
from assay.audit.everything import members_of
from assay.audit.manifest import MANIFEST, manifest_of
from assay.audit.snapshot import laid_out, take
from assay.errors import InputError
from assay.exchange.content import MOST_BYTES
from assay.labelling.state import Table
from assay.results.files import write_whole


@dataclass(frozen=True)
class Bundle:
    """A bundle that was written.

    Attributes
    ----------
    path : str
    sha256 : str
        Of the whole zip: who keeps it can tell this bundle from any other.
    size : int
        Its bytes.
    files : tuple of str
    """

    path: str
    sha256: str
    size: int
    files: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain values."""
        return {**asdict(self), "files": list(self.files)}

    def __str__(self) -> str:
        return f"{self.path}: {len(self.files)} files, {self.size:,} bytes, SHA-256 {self.sha256}"

    def _repr_html_(self) -> str:
        return f"<code>{escape(str(self))}</code>"


def named_zip(path: str | PathLike[str]) -> Path:
    """Return where a bundle shall lie; raise where the name is not a zip's.

    What is there is replaced, and a storage must not be.

    Examples
    --------
    >>> named_zip("assay.db")
    Traceback (most recent call last):
    assay.errors.InputError: a bundle cannot be written to 'assay.db'
    the name of a bundle ends in .zip
    hint: for example assay.zip
    """
    target = Path(path)
    if target.suffix.lower() != ".zip":
        raise InputError(
            f"a bundle cannot be written to {str(target)!r}",
            details="the name of a bundle ends in .zip",
            hint=f"for example {target.stem.lstrip('.') or 'audit'}.zip",
        )
    return target


def write_bundle(
    table: Table, path: str | PathLike[str], *, names: bool = False, shown: bool = False
) -> Bundle:
    """Write all that a campaign's estimates rest on into one zip.

    What follows from the labels is worked out from the bundle's own snapshot, as whoever checks it
    will do.

    Parameters
    ----------
    table : Table
        What lies before the campaign.
    path, names, shown
        As in `Campaign.bundle`.
    """
    target = named_zip(path)
    with table.read() as session:
        snapshot = take(session, table.key, table.settings, names=names, shown=shown)
    members = members_of(snapshot, laid_out(snapshot))
    if sum(map(len, members.values())) > MOST_BYTES:
        raise InputError(
            f"the bundle would hold more than {MOST_BYTES:,} bytes, and nobody could unpack it",
            hint="leave out what reviewers saw: shown=False" if shown else "",
        )
    data = packed({MANIFEST: manifest_of(snapshot, members), **members})
    write_whole(target, data)
    return Bundle(str(path), sha256(data).hexdigest(), len(data), (MANIFEST, *members))
