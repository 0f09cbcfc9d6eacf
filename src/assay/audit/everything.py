"""All files of a bundle but the manifest, from what lies on the table."""

from collections.abc import Mapping
from dataclasses import replace
from importlib.metadata import version
from importlib.resources import files

from assay.audit.members import tables_of
from assay.audit.snapshot import Snapshot
from assay.core.goal import Goal
from assay.core.strata import Strata
from assay.labelling.settings import Settings
from assay.labelling.state import Table
from assay.report import Report, report_of

_README = """\
An audit bundle of Assay: all that the estimates of a campaign rest on.

To check it, on any machine, with nothing else at hand:

    pip install assay=={version}
    assay verify audit.zip

That puts the campaign together again from these files alone, counts the labels again, works out
every estimate again, and compares every figure to the last bit. The exit code is 1 where something
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
{more}
A cell that begins like a formula has an apostrophe before it, so that spreadsheets leave it alone.
Reviewers are {reviewers}. What they saw of the items is {shown}.

What this cannot show: that the predictions were what they are said to be (their fingerprint is in
the manifest; who has them can compare), and that nobody made up the labels and all that follows
from them. Who keeps the SHA-256 of this zip, or the last link of the log, can tell a later one that
was made up from one that goes on from here.
"""
_PROGRAM = "recompute.py"
_MORE = {
    "columns.jsonl": "columns.jsonl   what else is known of each drawn item\n",
    _PROGRAM: "recompute.py    the value once more, from the tables alone: python recompute.py\n",
}

REPORT = "report.json"


def members_of(snapshot: Snapshot, table: Table, *, by: str | None = None) -> dict[str, bytes]:
    """Return the files by their names; the snapshot's cards lie on the table.

    They say that the version `by` of Assay wrote them, by default this one.
    """
    by = by or version("assay")
    made = tables_of(snapshot, table)
    report = report_of(table, names=snapshot.names)
    made[REPORT] = Report(replace(report.facts, assay=by)).json.encode()
    if _is_plain(snapshot.settings):
        made[_PROGRAM] = files("assay.audit").joinpath(_PROGRAM).read_bytes()
    return {"README.txt": _readme(snapshot, made, by), **made}


def _is_plain(settings: Settings) -> bool:
    """Tell whether the value is made of shares and sizes alone, as the program has it."""
    counted = isinstance(settings.strata, Strata) and not settings.strata.weighted
    single = isinstance(settings.goal, Goal) and settings.design.estimator == "unbiased"
    return counted and single


def _readme(snapshot: Snapshot, made: Mapping[str, bytes], by: str) -> bytes:
    named = "called by their names"
    told = _README.format(
        version=by,
        more="".join(line for name, line in _MORE.items() if name in made),
        reviewers=named if snapshot.names else "numbered, and their names are not here",
        shown="in columns.jsonl" if snapshot.shown else "not here",
    )
    return told.encode()
