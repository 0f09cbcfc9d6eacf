"""Verification of a stored campaign: rows complete, estimates recomputed, reports compared.

Labels are counted here from the stored rows, with independent code.
"""

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from os import PathLike
from typing import Any

from assay.audit.books import Books, Checked, Verification, checked, read_books
from assay.audit.checks import (
    check_cards,
    check_claims,
    check_file,
    check_order,
    check_rounds,
    check_strata,
)
from assay.audit.differences import differences
from assay.audit.log_checks import (
    check_against,
    check_asked,
    check_chain,
    check_copies,
    check_epochs,
    check_events,
    check_numbers,
)
from assay.audit.recount import check_all
from assay.audit.snapshot import laid_out, take, until
from assay.core.types import read_json
from assay.errors import InputError
from assay.files import Content
from assay.labelling import Settings, find_campaign, is_whole
from assay.report import report_of
from assay.storage import Session, Store, open_storage, reading_stored

# A saved report, recomputed from the log as it was then.

_NUMBERED = re.compile(r"reviewer \d+")


def check_report(
    session: Session, key: int, settings: Settings, path: str | PathLike[str]
) -> Checked:
    """Compare every field of a report with the recomputed value.

    Labels that came after the report do not count: the log is append-only.
    """
    saved = _saved(Content(path))
    now = take(session, key, settings, names=True, shown=True)
    then = until(now, saved["campaign"]["last_label_at"], saved["answers"]["rounds"])
    named = not all(_NUMBERED.fullmatch(each["name"]) for each in saved["reviewers"])
    again = report_of(laid_out(then), names=named).to_dict()
    since = len(now.events) - len(then.events)
    notes = [f"{since:,} labels came after the report was made"] if since else []
    if not settings.goal.single and saved.pop("saved", ""):
        del again["saved"]
        notes.append("savings by second opinions are not checked: they need the ranks of all items")
    findings = differences("report.json", _json(saved), _json(again))
    return checked("the report follows from the log", len(again), findings, notes)


def check_shown(books: Books) -> Checked:
    """Check that the first cards show what they did when the campaign was created."""
    seal = books.settings.source.shown
    rows = [
        (card["stratum"], card["position"], card["item_id"], card["shown"]) for card in books.cards
    ]
    findings = [] if is_whole(seal, rows) else ["what reviewers see of items has been changed"]
    return checked("items are shown as at the start", len(rows) if seal else 0, findings)


def _saved(content: Content) -> dict[str, Any]:
    text = content.text()
    try:
        saved = read_json(text)
        last_at, rounds = saved["campaign"]["last_label_at"], saved["answers"]["rounds"]
        names = [each["name"] for each in saved["reviewers"]]
    except (ValueError, LookupError, TypeError, RecursionError):
        saved, last_at, rounds, names = None, None, None, []
    texts = all(isinstance(each, str) for each in (*names, last_at or ""))
    if not isinstance(saved, dict) or not texts or type(rounds) is not int or rounds < 0:
        raise InputError(
            f"{content.name} is not a JSON report of Assay",
            hint="assay report NAME -o report.json writes one",
        )
    return saved


def _json(document: dict[str, Any]) -> bytes:
    return json.dumps(document).encode()


_CHECKS_OF_ROWS = (
    check_strata,
    check_cards,
    check_shown,
    check_order,
    check_rounds,
    check_events,
    check_asked,
    check_numbers,
    check_chain,
    check_copies,
    check_claims,
)


def verify_campaign(
    name: str = "campaign",
    *,
    storage: str | None = None,
    report: str | PathLike[str] | None = None,
    against: str | PathLike[str] | None = None,
) -> Verification:
    """Recompute a campaign's estimates from the log of its labels, and check all data behind them.

    Changes nothing. An answer changed in the database breaks the chain of the log. Rewriting all
    links from there on leaves no trace in the storage itself.

    Parameters
    ----------
    name, storage : str
        As they were given to `create_campaign`.
    report : path, optional
        A report that was saved as JSON: it is worked out again from the log as it was then, and
        every field is compared.
    against : path or str, optional
        A backup of the storage, or the URL of one: every label in it must be in the storage still,
        of whichever campaign, unchanged.

    Examples
    --------
    >>> import assay, tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> storage = f"sqlite:///{folder.name}/labels.db"
    >>> campaign = assay.create_campaign(
    ...     {"p": [0.9, 0.8, 0.7]}, score="p", threshold=0.5, budget=3, storage=storage)
    >>> estimate = campaign.tell({item.id: True for item in campaign.ask(2)})
    >>> campaign.report().save(f"{folder.name}/report.json")
    >>> assay.verify_campaign(storage=storage, report=f"{folder.name}/report.json").findings
    ()
    >>> folder.cleanup()
    """
    with open_storage(storage).read() as session:
        checks = [check_file(session)]
        if not checks[0].findings:  # otherwise any data could be read
            with reading_stored(f"campaign {name!r}"):
                checks += _checks(session, name, report)
            if against is not None:
                checks.append(check_against(session, against))
    return Verification(name, tuple(checks))


def _checks(session: Session, name: str, report: str | PathLike[str] | None) -> Iterator[Checked]:
    key, settings = find_campaign(session, name)
    books = read_books(session, key, settings)
    more = (check_epochs,) if settings.epochs else ()
    checks = (*_CHECKS_OF_ROWS, *more)
    labelling = yield from check_all(books, _Moment(session), key, checks)
    if labelling is not None and report is not None:
        yield check_report(session, key, settings, report)


class _Moment(Store):
    """A store at one moment: reviewers may go on labelling while their campaign is checked."""

    def __init__(self, session: Session) -> None:
        self._session = session

    @contextmanager
    def read(self) -> Iterator[Session]:
        yield self._session
