"""An import of many labels: accepted at once, and appended to the log piece by piece."""

from collections.abc import Sequence
from time import monotonic, sleep

from assay.storage import PIECE, Label, Session, Store, reading_stored

_Key = tuple[str, str, bool]


def in_pieces(labels: Sequence[Label]) -> tuple[Sequence[Label], Sequence[Label]]:
    """Labels to append at once, and those that wait.

    If a reviewer answers an item before their label of the file is appended, the answer counts, as
    the later of the two. It is recognised by its item and reviewer, so labels of which the file has
    several for one item and reviewer do not wait.
    """
    if len(labels) <= PIECE:
        return labels, []
    seen: set[_Key] = set()
    repeated: set[str] = set()
    for label in labels:
        key = _key(label)
        if key in seen:
            repeated.add(label.item_id)
        seen.add(key)
    at_once = [label for label in labels if label.item_id in repeated]
    others = [label for label in labels if label.item_id not in repeated]
    return at_once + others[:PIECE], others[PIECE:]


class Import:
    """Accepted labels of a campaign, while they are appended to its log."""

    def __init__(self, campaign: int) -> None:
        self._campaign = campaign
        self._last = 0  # label in the log, up to which answers are known
        self._answered = set[_Key]()  # by reviewers, since the labels were accepted

    def append(self, session: Session) -> bool:
        """Append the next piece; whether there was one."""
        piece = session.next_piece(self._campaign)
        if piece is None:
            return False
        since = session.labels(self._campaign, max(piece.after, self._last))
        self._answered.update(map(_key, since))
        with reading_stored("a file of labels that was accepted"):
            new = [label for label in piece.labels if _key(label) not in self._answered]
        stored = session.add_labels(self._campaign, new)
        session.end_answered(self._campaign, new)
        session.unstage(piece)
        self._last = max([self._last, *(label.id for label in (*since[-1:], *stored[-1:]))])
        return True


def finish_imports(store: Store, campaign: int) -> None:
    """Append all accepted labels of a campaign, in pieces between which reviewers pass."""
    with store.read() as session:
        if session.next_piece(campaign) is None or not store.is_writable:
            return
    rest = Import(campaign)
    while True:
        began = monotonic()
        with store.write() as session:
            if not rest.append(session):
                return
        sleep(monotonic() - began)


def _key(label: Label) -> _Key:
    return label.item_id, label.reviewer, label.ruling
