"""Bundles taken apart and sealed again."""

import json
import sqlite3
import zipfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path

import assay
from assay.audit.books import Verification
from assay.audit.bundle import packed

STORE = "campaign.db"
FIGURES = ("value", "low", "high", "standard_error")


def members(path: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def files_of(campaign: assay.Campaign, folder: Path, **how: bool) -> dict[str, bytes]:
    """Return what is in a campaign's bundle, which is left as `audit.zip`."""
    campaign.bundle(folder / "audit.zip", **how)
    return members(folder / "audit.zip")


def verified(files: Mapping[str, bytes], folder: Path, **how: str) -> Verification:
    """Return what is found in a bundle whose digests are right."""
    (folder / "audit.zip").write_bytes(sealed(files))
    return assay.verify_bundle(folder / "audit.zip", **how)


def sealed(files: Mapping[str, bytes]) -> bytes:
    """Return a bundle whose digests are right, as a forger would make it."""
    own = {name: content for name, content in files.items() if name != "manifest.json"}
    digests = {name: sha256(content).hexdigest() for name, content in own.items()}
    manifest = {**json.loads(files["manifest.json"]), "sha256": digests}
    return packed({"manifest.json": json.dumps(manifest).encode(), **own})


@contextmanager
def store_of(files: dict[str, bytes]) -> Iterator[sqlite3.Connection]:
    """Open the store of a bundle; what is changed in it is in the files afterwards."""
    connection = sqlite3.connect(":memory:")
    connection.deserialize(files[STORE])
    yield connection
    connection.commit()
    files[STORE] = connection.serialize()
    connection.close()


def stored(*statements: str) -> Callable[[dict[str, bytes]], None]:
    """Change the store of a bundle."""

    def tamper(files: dict[str, bytes]) -> None:
        with store_of(files) as connection:
            for statement in statements:
                assert connection.execute(statement).rowcount  # -1 where nothing is counted

    return tamper


def check_same_bits(campaign: assay.Campaign, folder: Path) -> None:
    """See that a campaign's bundle is clean, and has its figures to the bit."""
    path = folder / "audit.zip"
    campaign.bundle(path)
    found = assay.verify_bundle(path)
    assert found.findings == ()
    assert (found.campaign, len(found.checks)) == (campaign.name, 13)
    told = json.loads(members(path)["estimate.json"])
    right = campaign.estimates()
    assert list(told) == list(right)
    for metric, estimate in right.items():
        for field in FIGURES:
            value = getattr(estimate, field)
            assert told[metric][field] == value
            assert value is None or told[metric]["hex"][field] == float(value).hex()
