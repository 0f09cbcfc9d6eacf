"""The audit bundle: all that a campaign's estimates rest on, in one zip that any machine can check.

A bundle is made from a `Snapshot`, the campaign at one moment without what is nobody else's
business. What follows from it (estimates, tables) is worked out from the snapshot alone;
`assay.verify` does the same again, and compares.
"""

from assay.bundle.everything import REPORT, members_of
from assay.bundle.manifest import FORMAT, FORMAT_VERSION, MANIFEST, manifest_of, versions
from assay.bundle.parsing import json_of, snapshot_of
from assay.bundle.snapshot import Snapshot, laid_out, restore, take, until
from assay.bundle.write import Bundle, named_zip, write_bundle

__all__ = [
    "FORMAT",
    "FORMAT_VERSION",
    "MANIFEST",
    "REPORT",
    "Bundle",
    "Snapshot",
    "json_of",
    "laid_out",
    "manifest_of",
    "members_of",
    "named_zip",
    "restore",
    "snapshot_of",
    "take",
    "until",
    "versions",
    "write_bundle",
]
