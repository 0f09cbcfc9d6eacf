"""The audit bundle of a campaign: its files, written into one zip."""

import io
import zipfile
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from hashlib import sha256
from html import escape
from importlib.resources import files
from os import PathLike
from pathlib import Path
from typing import Any

from assay.audit.members import CAMPAIGNS, MANIFEST, STORE, manifest_of, tables_of
from assay.audit.snapshot import Snapshot, campaigns_of, check_draws, laid_out, take
from assay.errors import NAME, VERSION, InputError, counted
from assay.files import MOST_BYTES
from assay.labelling import Labelling, Settings
from assay.report import Report, report_of
from assay.results import write_whole

# Zips that are byte-identical if their content is.

_ALWAYS = (1980, 1, 1, 0, 0, 0)  # the first time that a zip can hold
_READABLE = 0o644 << 16
_UNIX = 3  # platform of the zip, always the same


def packed(members: Mapping[str, bytes]) -> bytes:
    """Zip of files.

    >>> packed({"a.txt": b"yes"}) == packed({"a.txt": b"yes"})
    True
    """
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as archive:
        for name, content in members.items():
            info = zipfile.ZipInfo(name, _ALWAYS)
            info.compress_type, info.external_attr = zipfile.ZIP_DEFLATED, _READABLE
            info.create_system = _UNIX
            archive.writestr(info, content)
    return data.getvalue()


# All files of a bundle except the manifest.

_README = """\
An audit bundle of Assay: all that the estimates of a campaign rest on.

To check it, on any machine, with nothing else at hand:

    pip install {release}
    assay verify audit.zip

That reads campaign.db, counts the labels again, works out every estimate again, writes all other
files again, and compares every figure to the last bit. The exit code is 1 where something
is wrong.

manifest.json   the format, the versions it was made with, and the SHA-256 of every file
settings.json   the question, the goal, the design, the strata and the seed
strata.csv      every stratum: its items, how many were drawn, and what was said of them
cards.csv       every drawn item: its stratum and place in the deck, its number under the seed (the
                deck is in this order), the round that dealt it first, how many of its stratum were
                drawn, the probability of each to be (drawn / size; where items have weights, at
                each draw: weight / the stratum's), and the answer that counts
rounds.json     how many items of each stratum each round dealt
events.jsonl    every label, in the order they came; "chain" is the SHA-256 of the link before it
                and of the line without it
estimate.json   the estimates; "hex" has their bits
report.json     all that Campaign.report says
campaign.db     the store of the campaign, which all other files follow from: an SQLite database
{more}
A cell that begins like a formula has an apostrophe before it, so that spreadsheets leave it alone.
Reviewers are {reviewers}. What they saw of the items is {shown}.{comments}

What this cannot show: that the predictions were what they are said to be (their fingerprint is in
the manifest; who has them can compare), and that nobody made up the labels and all that follows
from them. Who keeps the SHA-256 of this zip, or the last link of the log, can tell a later one that
was made up from one that goes on from here.
"""
_PROGRAM = "recompute.py"
_MORE = {
    CAMPAIGNS: "campaigns.json  all campaigns of the storage over the same predictions: when they "
    "were made,\n                what each was committed to, and how many labels it has\n",
    "columns.jsonl": "columns.jsonl   what else is known of each drawn item\n",
    _PROGRAM: "recompute.py    the value once more, from the tables alone: python recompute.py\n",
}

REPORT = "report.json"


def members_of(snapshot: Snapshot, labelling: Labelling, *, by: str = VERSION) -> dict[str, bytes]:
    """Files derived from the store, by their names."""
    made = tables_of(snapshot, labelling)
    report = report_of(labelling, names=snapshot.names)
    made[REPORT] = Report(replace(report.facts, assay=by)).json.encode()
    if _is_plain(snapshot.settings):
        made[_PROGRAM] = files("assay.audit").joinpath(_PROGRAM).read_bytes()
    return {"README.txt": _readme(snapshot, made, f"{NAME}=={by}"), **made}


def _is_plain(settings: Settings) -> bool:
    """Whether the value depends only on shares and sizes, as in the program."""
    counted = not settings.strata.weighted
    return counted and settings.goal.single and settings.design.estimator == "unbiased"


def _readme(snapshot: Snapshot, made: Mapping[str, bytes], release: str) -> bytes:
    named = "called by their names"
    written = any(event.comment for event in snapshot.events)
    text = _README.format(
        release=release,
        more="".join(line for name, line in _MORE.items() if name in made),
        reviewers=named if snapshot.names else "numbered, and their names are not here",
        shown="in columns.jsonl" if snapshot.shown else "not here",
        comments=" What they wrote is in events.jsonl." if written else "",
    )
    return text.encode()


@dataclass(frozen=True)
class Bundle:
    """A written bundle."""

    path: str
    sha256: str  # of the whole zip: it identifies the bundle
    size: int  # its bytes
    files: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return {**asdict(self), "files": list(self.files)}

    def __str__(self) -> str:
        files = counted(len(self.files), "file")
        return f"{self.path}: {files}, {self.size:,} bytes, SHA-256 {self.sha256}"

    def _repr_html_(self) -> str:
        return f"<code>{escape(str(self))}</code>"


def named_zip(path: str | PathLike[str]) -> Path:
    """Path of a new bundle; raise if the name does not end in .zip.

    An existing file is replaced, so it must not be a storage.

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
    labelling: Labelling,  # the campaign's labelling so far
    path: str | PathLike[str],
    *,
    names: bool = False,
    shown: bool = False,
    comments: bool = False,
) -> Bundle:
    """Write all data behind a campaign's estimates into one zip.

    Derived files are computed from the bundle's own snapshot, as a verifier will do.
    """
    target = named_zip(path)
    with labelling.read() as session:
        keep = {"names": names, "shown": shown, "comments": comments}
        snapshot = replace(
            take(session, labelling.key, labelling.settings, **keep),
            campaigns=campaigns_of(session, labelling.key, labelling.settings),
        )
    check_draws(snapshot.rounds, snapshot.settings.strata)
    table = laid_out(snapshot)
    members = {**members_of(snapshot, table), STORE: table.store.content()}
    if sum(map(len, members.values())) > MOST_BYTES:
        raise InputError(
            f"the bundle would have more than {MOST_BYTES:,} bytes, too many to unpack",
            hint="leave out what reviewers saw" if shown else "",
        )
    data = packed({MANIFEST: manifest_of(snapshot, members), **members})
    write_whole(target, data)
    return Bundle(str(path), sha256(data).hexdigest(), len(data), (MANIFEST, *members))
