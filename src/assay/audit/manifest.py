"""What a bundle says of itself: its format, who made it, and a digest of each of its files."""

import json
import platform
from collections.abc import Mapping
from functools import cache
from hashlib import sha256
from importlib.metadata import version
from typing import Any

from assay.audit.members import last_link
from assay.audit.snapshot import Snapshot

MANIFEST = "manifest.json"
FORMAT = "assay audit bundle"
FORMAT_VERSION = 1


def manifest_of(snapshot: Snapshot, members: Mapping[str, bytes]) -> bytes:
    """Return the manifest of a bundle with these files."""
    settings, events = snapshot.settings, snapshot.events
    document: dict[str, Any] = {
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        "versions": dict(versions()),
        "campaign": settings.name,
        "predictions": {"fingerprint": settings.source.fingerprint, "rows": settings.source.rows},
        "log": {
            "labels": len(events),
            "last_at": events[-1].told_at if events else None,
            "last_link": last_link(snapshot),
        },
        "names": snapshot.names,
        "shown": snapshot.shown,
        "sha256": {name: sha256(content).hexdigest() for name, content in members.items()},
    }
    return json.dumps(document, indent=1).encode() + b"\n"


@cache
def versions() -> Mapping[str, str]:
    """Return what the figures were worked out with."""
    packages = {name: version(name) for name in ("assay", "numpy", "scipy")}
    return {"python": platform.python_version(), **packages}
