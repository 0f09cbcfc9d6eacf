"""Bundles taken apart and sealed again."""

import json
import zipfile
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path

import assay
from assay.audit.books import Verification
from assay.audit.bundle import packed

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


def check_same_bits(campaign: assay.Campaign, folder: Path) -> None:
    """See that a campaign's bundle is clean, and has its figures to the bit."""
    path = folder / "audit.zip"
    campaign.bundle(path)
    found = assay.verify_bundle(path)
    assert found.findings == ()
    assert (found.campaign, len(found.checks)) == (campaign.name, 12)
    told = json.loads(members(path)["estimate.json"])
    right = campaign.estimates()
    assert list(told) == list(right)
    for metric, estimate in right.items():
        for field in FIGURES:
            value = getattr(estimate, field)
            assert told[metric][field] == value
            assert value is None or told[metric]["hex"][field] == float(value).hex()
