"""Labels from before there was a class: which of them still say what an item is.

Who named a class then has chosen it from fewer, and the label stands. Who said that an item is none
of these may have meant a class that is there now. Such labels are withdrawn where a campaign goes
on with more classes: the log keeps both, and the items are asked about again.
"""

from collections.abc import Collection, Iterable, Sequence
from warnings import warn

from assay.core.vocabulary import NONE_OF_THESE, Vocabulary
from assay.errors import AssayWarning
from assay.labelling import WITHDRAWN, Review
from assay.storage import Label, StoredLabel

WHY = "there are more classes now"
"""The comment of a label that was withdrawn for it."""

_FEW = 8  # names that are listed


def withdrawals(events: Iterable[StoredLabel], doubtful: Collection[int]) -> list[Label]:
    """Return labels that take back those which are no answer any more."""
    if not doubtful:
        return []
    reviews: dict[str, Review] = {}
    for event in events:
        reviews.setdefault(event.item_id, Review(wanted=1)).take(event)
    standing = (
        label
        for review in reviews.values()
        for label in (*review.labels.values(), *([review.ruled] if review.ruled else ()))
    )
    return [
        Label(label.item_id, WITHDRAWN, label.reviewer, ruling=label.ruling, comment=WHY)
        for label in standing
        if isinstance(label, StoredLabel) and label.id in doubtful and label.answer == NONE_OF_THESE
    ]


def doubtful_since(
    logs: Sequence[Sequence[StoredLabel]], then: Sequence[Vocabulary], now: Vocabulary
) -> set[int]:
    """Return the numbers of the labels of campaigns that did not have all classes of now."""
    found: set[int] = set()
    for log, classes in zip(logs, then, strict=True):
        if not set(now.names) <= set(classes.names):
            found |= {event.id for event in log}
    return found


def warn_of_new_classes(then: Iterable[Vocabulary], now: Vocabulary, again: int) -> None:
    """Tell which classes are new, and how many items are asked about again."""
    known = [set(classes.names) for classes in then]
    new = [name for name in now.names if any(name not in names for names in known)]
    if not new:
        return
    listed = ", ".join(new[:_FEW]) + (", …" if len(new) > _FEW else "")
    how_many = f"{len(new):,} {'class is' if len(new) == 1 else 'classes are'}"
    told = "no item was none of these then"
    if again:
        told = f"{again:,} items that were none of these then are asked about again"
    warn(
        f"{how_many} new since these labels were given: {listed}; {told}; labels that name a class "
        "count as they are",
        AssayWarning,
        stacklevel=4,
    )
