"""A bundle as it was sealed: its zip, its manifest, and the digest of every file."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from assay.audit.books import Checked, checked
from assay.audit.manifest import FORMAT, FORMAT_VERSION, MANIFEST, versions
from assay.audit.parsing import json_of
from assay.errors import InputError
from assay.exchange.content import Content, is_zip, unzip

# It stands in a command of README.txt, and must not add another one.
_VERSION = re.compile(r"[0-9][0-9A-Za-z.+]{0,40}")


@dataclass(frozen=True)
class Sealed:
    """A bundle's files by their names, the manifest among them; `twice` are names of several."""

    members: Mapping[str, bytes]
    manifest: Mapping[str, Any]
    twice: tuple[str, ...]

    @property
    def made_by(self) -> str:
        """The version of Assay that wrote it, as it says; this one where it says no version."""
        made = self.manifest.get("versions")
        told = made.get("assay") if isinstance(made, dict) else None
        return told if isinstance(told, str) and _VERSION.fullmatch(told) else versions()["assay"]

    @property
    def is_ours(self) -> bool:
        """Whether this version of Assay wrote it."""
        return self.made_by == versions()["assay"]


def unseal(content: Content) -> Sealed:
    """Return what a bundle holds; raise where it is none that this Assay can read."""
    if not is_zip(content):
        raise InputError(f"{content.name} is no zip", hint="Campaign.bundle writes one")
    files = unzip(content, "")
    often = Counter(name for name, _ in files)
    members = {name: file.data() for name, file in files}
    manifest = json_of(members, MANIFEST) if MANIFEST in members else None
    if not isinstance(manifest, dict) or manifest.get("format") != FORMAT:
        raise InputError(
            f"{content.name} is no audit bundle of Assay",
            details=f"it has no {MANIFEST} that says so",
            hint="Campaign.bundle writes one",
        )
    if manifest.get("format_version") != FORMAT_VERSION:
        raise InputError(
            f"{content.name} has format version {manifest.get('format_version')!r}, "
            f"and this Assay reads version {FORMAT_VERSION}",
            hint=f"check it with what it was made with: {_listed(manifest.get('versions'))}",
        )
    return Sealed(members, manifest, tuple(name for name in often if often[name] > 1))


def check_seal(sealed: Sealed) -> Checked:
    """Compare every file with its digest."""
    told = sealed.manifest.get("sha256")
    digests = told if isinstance(told, dict) else {}
    there = {
        name: sha256(content).hexdigest()
        for name, content in sealed.members.items()
        if name != MANIFEST
    }
    findings = [f"{name} is there more than once" for name in sealed.twice]
    for name in dict.fromkeys((*digests, *there)):
        if name not in there:
            findings.append(f"{name} is missing")
        elif name not in digests:
            findings.append(f"{name} is not in {MANIFEST}")
        elif digests[name] != there[name]:
            findings.append(f"{name} has another SHA-256 than {MANIFEST} says")
    return checked("files are as they were sealed", len(there), findings, _on_versions(sealed))


def _on_versions(sealed: Sealed) -> Iterator[str]:
    made, here = sealed.manifest.get("versions"), versions()
    if made != here:
        yield (
            f"it was made with {_listed(made)}, and is checked with {_listed(here)}: where only "
            "the last digits of a figure or words differ, that may be why"
        )


def _listed(packages: object) -> str:
    each = packages.items() if isinstance(packages, dict) else ()
    return ", ".join(f"{name} {version}" for name, version in each)
