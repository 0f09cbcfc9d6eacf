"""The books of a campaign, checked: what is stored is whole, and Assay says what it says.

Labels are counted here from the stored rows, by code of its own.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from os import PathLike

from assay.audit.books import Verification, read_books
from assay.audit.checks import check_cards, check_order, check_rounds, check_strata
from assay.audit.claims import check_claims
from assay.audit.log import check_copies, check_events, check_numbers
from assay.audit.recount import check_answers, check_estimates, check_values
from assay.audit.reports import check_report
from assay.labelling.settings import find_campaign
from assay.labelling.state import Table
from assay.storage import Session, Store
from assay.storage.store import open_storage

_OF_WHAT_IS_STORED = (
    check_strata,
    check_cards,
    check_order,
    check_rounds,
    check_events,
    check_numbers,
    check_copies,
    check_claims,
)
_OF_WHAT_IS_SAID = (check_answers, check_values, check_estimates)


def verify_campaign(
    name: str = "campaign",
    *,
    storage: str | None = None,
    report: str | PathLike[str] | None = None,
) -> Verification:
    """Recompute a campaign's estimates from the log of its labels, and check all that it rests on.

    Nothing is changed. An answer that somebody forged in the database, with a word and an item that
    may stand there, cannot be told from a real one.

    Parameters
    ----------
    name, storage : str
        As they were given to `create_campaign`.
    report : path, optional
        A report that was saved as JSON: it is worked out again from the log as it was then, and
        every field is compared.

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
        key, settings = find_campaign(session, name)
        books = read_books(session, key, settings)
        checks = [check(books) for check in _OF_WHAT_IS_STORED]
        if not any(each.findings for each in checks):  # else it may well be impossible to load
            table = Table(_Moment(session), key, settings, None)
            table.catch_up()
            checks += [check(books, table) for check in _OF_WHAT_IS_SAID]
            if report is not None:
                checks.append(check_report(session, key, settings, report))
    return Verification(name, tuple(checks))


class _Moment(Store):
    """A store as it was at one moment: people may go on judging while their campaign is checked."""

    def __init__(self, session: Session) -> None:
        self._session = session

    @contextmanager
    def read(self) -> Iterator[Session]:
        yield self._session
