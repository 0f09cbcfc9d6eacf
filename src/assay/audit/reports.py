"""A saved report, worked out again from the log as it was then."""

import json
import re
from os import PathLike
from typing import Any

from assay.audit.books import Checked, checked
from assay.audit.compare import differences
from assay.audit.snapshot import laid_out, take, until
from assay.errors import InputError
from assay.exchange.content import Content
from assay.labelling.settings import Settings
from assay.report import report_of
from assay.storage import Session

_NUMBERED = re.compile(r"reviewer \d+")


def check_report(
    session: Session, key: int, settings: Settings, path: str | PathLike[str]
) -> Checked:
    """Compare every field of a report with what it must have been.

    Labels that came after the report was made are left out: the log is only ever appended to.
    """
    saved = _saved(Content(path))
    now = take(session, key, settings, names=True, shown=True)
    then = until(now, saved["campaign"]["last_label_at"], saved["answers"]["rounds"])
    named = not all(_NUMBERED.fullmatch(each["name"]) for each in saved["reviewers"])
    again = report_of(laid_out(then), names=named).to_dict()
    since = len(now.events) - len(then.events)
    notes = [f"{since:,} labels came after the report was made"] if since else []
    findings = differences("report.json", _json(saved), _json(again))
    return checked("the report follows from the log", len(again), findings, notes)


def _saved(content: Content) -> dict[str, Any]:
    text = content.text()
    try:
        saved = json.loads(text)
        last_at, rounds = saved["campaign"]["last_label_at"], saved["answers"]["rounds"]
        names = [each["name"] for each in saved["reviewers"]]
    except (ValueError, LookupError, TypeError, RecursionError):
        saved, last_at, rounds, names = None, None, None, []
    texts = all(isinstance(each, str) for each in (*names, last_at or ""))
    if not isinstance(saved, dict) or not texts or type(rounds) is not int or rounds < 0:
        raise InputError(
            f"{content.name} is no report of Assay in JSON",
            hint="assay report NAME -o report.json writes one",
        )
    return saved


def _json(document: dict[str, Any]) -> bytes:
    return json.dumps(document).encode()
