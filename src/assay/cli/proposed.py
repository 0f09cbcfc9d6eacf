"""``assay create FILE`` alone: the columns of the file, and a command that uses them."""

import sys
from collections.abc import Mapping
from typing import Any

import typer
from rich.text import Text

from assay.cli.options import scan_of
from assay.cli.output import console
from assay.cli.render import view
from assay.cli.taking import Typed
from assay.errors import InputError
from assay.predictions import Proposal, as_command, propose
from assay.results import Column, Table, printable

_GOAL = {"metric": ["precision"], "within": 0.05}
_USES = frozenset(
    {"score", "predicted", "threshold", "classifiers", "probabilities", "multilabel", "classes"}
)


def completed(
    file: str | None,
    source: Typed,
    columns: Mapping[str, Any],
    asked: Mapping[str, Any],
    *,
    as_json: bool,
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Columns and goal as typed; if no column is named, those that are proposed and accepted."""
    if file is None or _USES & columns.keys() or "threshold_for" in asked:
        return {**columns}, {**asked}
    proposal = propose(scan_of(file, source))
    usual = {} if {"within", "budget", "at_least"} & asked.keys() else _GOAL
    columns, asked = {**proposal.options, **columns}, {**usual, **asked}
    command = as_command(file, {**source, **columns, **asked})
    if not {"score", "predicted"} & columns.keys():
        raise InputError(
            f"no column of {printable(file)} looks like a score or a predicted label",
            details=f"columns: {', '.join(each.name for each in proposal.columns)}",
            hint="name one: --predicted COLUMN, or --score COLUMN --threshold NUMBER",
        )
    if as_json or not sys.stdin.isatty():
        raise InputError(
            f"the columns of {printable(file)} are not named", hint=f"perhaps {command}"
        )
    screen = console(stderr=True)
    screen.print(view([_columns_table(proposal)]))
    screen.print(
        Text.assemble("\n", ("proposed: ", "dim"), (command, "bold"), "\n"), soft_wrap=True
    )
    if not typer.confirm("Create this campaign?", default=True, err=True):
        raise InputError("no campaign was created", hint=f"change what is wrong: {command}")
    return columns, asked


def _columns_table(proposal: Proposal) -> Table:
    """Columns, their first values, and what each is probably for."""
    headings = tuple(Column(name, "text") for name in ("column", "first values", "use"))
    rows = (
        (each.name, " · ".join(each.examples), proposal.use_of(each.name))
        for each in proposal.columns
    )
    return Table("Columns", headings, tuple(rows))
