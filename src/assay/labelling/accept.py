"""Checks of answers before they are recorded."""

import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from math import isfinite
from typing import Any, Literal

from assay.core.answers import ANSWERS, Answer, parse_answer
from assay.errors import InputError, LabelConflictError, LabelError, is_storable
from assay.labelling.assignments import TurnRequest
from assay.labelling.review_rule import SKIP, WITHDRAWN, Review
from assay.labelling.settings import Settings
from assay.labelling.state import Labelling
from assay.storage import Label

LONGEST_TEXT = 200  # characters of a reviewer's name, or of a key
LONGEST_COMMENT = 2_000
LONGEST_LEASE = 366 * 86_400.0  # seconds

_SHOW_AT_MOST = 3  # examples in an error
_SHOW_OF_AN_ID = 100  # characters
_LIST_AT_MOST = 12  # answers in an error


def check_lease(lease: float) -> None:
    """Raise if a lease is not positive, or is too long."""
    if not isfinite(lease) or not 0 < lease <= LONGEST_LEASE:
        raise InputError(f"a lease of {lease!r} seconds", details="more than 0, and at most a year")


def reviewer_of(name: str, *, empty: bool = False) -> str:
    """Normalise a reviewer's name, so that nobody agrees with themselves under two spellings."""
    return unicodedata.normalize("NFC", check_text(name, "reviewer", empty=empty)).strip()


def check_text(text: str, what: str, *, empty: bool = False) -> str:
    """Check a name or key; raise if a database could not store it."""
    if not isinstance(text, str) or not (text.strip() or empty) or len(text) > LONGEST_TEXT:
        raise InputError(
            f"{what} {str(text)[:40]!r} cannot be used",
            details=f"a text of 1 to {LONGEST_TEXT} characters",
        )
    if not is_storable(text):
        raise InputError(f"{what} {text!r} has characters that a database cannot store")
    return text


def comment_of(text: str) -> str:
    """Comment without surrounding blanks; raise if it cannot be stored.

    >>> comment_of(" a parody ")
    'a parody'
    """
    if not isinstance(text, str):
        raise LabelError(f"comment {str(text)[:40]!r} is not text")
    if len(text) > LONGEST_COMMENT:
        raise LabelError(
            f"a comment has {len(text):,} characters", details=f"at most {LONGEST_COMMENT:,}"
        )
    if not is_storable(text):
        raise LabelError(f"comment {text[:40]!r} has characters that a database cannot store")
    return text.strip()


def check_sent(label: Label, settings: Settings) -> Label:
    """Label that a page sends, as it is recorded; raise if it is invalid or has no key."""
    check_text(label.key or "", "key")
    if label.answer not in settings.words:
        few = [*settings.words][:_LIST_AT_MOST]
        more = ", ..." if len(settings.words) > _LIST_AT_MOST else ""
        given = repr(label.answer)[:202]
        raise LabelError(f"{given} is not an answer", details=", ".join(few) + more)
    return replace(label, comment=comment_of(label.comment))


def checked_request(
    labels: Sequence[Label],  # recorded for `reviewer`, whatever reviewer they name
    reviewer: str,
    want: int,  # number of items to hold
    lease: float,  # seconds for which nobody else gets them
    settings: Settings,  # of the campaign, with its possible answers
    *,
    blind: bool = False,  # as in `TurnRequest`
) -> TurnRequest:
    """Check the request of a reviewer's page."""
    check_lease(lease)
    name = reviewer_of(reviewer)
    sent = [replace(check_sent(label, settings), reviewer=name, ruling=False) for label in labels]
    return TurnRequest(sent, name, want, lease, blind)


def recorded_label(label: Label, settings: Settings) -> Label:
    """Label from a file or a program, as it is recorded; raise if it is invalid."""
    answer = label.answer
    stored = answer in settings.words and answer not in (SKIP, WITHDRAWN)
    plain = stored and not label.comment and label.late is False
    if plain and label.key is None and _is_right_name(label.reviewer):
        return label  # the usual case in a file
    right: dict[str, Any] = {
        "answer": parse_answer(answer, settings.classes).value,
        "reviewer": reviewer_of(label.reviewer, empty=True),
        "late": False,
        "key": None,
        "comment": comment_of(label.comment),
    }
    changed = {name: value for name, value in right.items() if getattr(label, name) != value}
    return replace(label, **changed) if changed else label


@lru_cache(maxsize=1_000)
def _is_right_name(reviewer: str) -> bool:
    return reviewer_of(reviewer, empty=True) == reviewer


def new_labels_of(
    labelling: Labelling,
    given: Mapping[str, Answer],
    reviewer: str,
    *,
    comments: Mapping[str, str],  # by id, of items in `given`
    revise: bool,  # whether an existing answer may be replaced
) -> list[Label]:
    """Select the new labels among one reviewer's answers; raise if one cannot be recorded.

    An answered item is not answered again without `revise`, whoever does it. Adding the first
    comment to one's own answer does not need `revise`.
    """
    _refuse_unknown(labelling, given)
    new, changed = [], []
    for item_id, answer in given.items():
        review = labelling.review(item_id)
        # Reviewers who count change their own answer; others can only rule.
        own = None if review.ruled is not None else review.counted_labels.get(reviewer)
        before = review.settled if own is None else ANSWERS[own.answer]
        written = review.comment if own is None else own.comment
        comment = comments.get(item_id, written if before is answer else "")
        if before is answer and comment == written:
            continue
        ruling = review.complete and own is None
        if ruling or (before is not None and (before is not answer or written)):
            changed.append(item_id)
        new.append(Label(item_id, answer.value, reviewer, ruling=ruling, comment=comment))
    if changed and not revise:
        raise _conflict(changed, labelling.review(changed[0]), given[changed[0]], reviewer)
    return new


Kind = Literal["new", "spare", "revised", "unchanged"]


def kinds_of(labelling: Labelling, labels: Sequence[Label], *, revise: bool) -> list[Kind]:
    """Kinds of several reviewers' labels; raise if one cannot be recorded.

    A ``spare`` label is new and does not count: its item has all the answers that it wants. Labels
    of other items make no difference.
    """
    times = Counter([label.item_id for label in labels])
    _refuse_unknown(labelling, times)
    reviews: dict[str, Review] = {}
    kinds: list[Kind] = []
    changed: list[tuple[Label, Label]] = []
    for label in labels:
        if times[label.item_id] == 1 and label.item_id not in labelling.reviews:
            kinds.append("new")  # the usual case in a file
            continue
        review = reviews.get(label.item_id)
        if review is None:
            review = reviews[label.item_id] = labelling.review(label.item_id).copy()
        before = review.ruled if label.ruling else review.labels.get(label.reviewer)
        if before is not None and _says_no_more(before, label):
            kinds.append("unchanged")
            continue
        if before is not None:
            kinds.append("revised")
            if contradicts(before, label):
                changed.append((label, before))
        else:
            kinds.append("spare" if review.complete and not label.ruling else "new")
        review.take(label)
    if changed and not revise:
        label, before = changed[0]
        raise _refusal(
            f"item {label.item_id!r} already has the answer {before.answer!r} by "
            f"{label.reviewer!r}, now {now_words(before, label)}",
            [label.item_id for label, _ in changed],
        )
    return kinds


def _refuse_unknown(labelling: Labelling, given: Iterable[str]) -> None:
    unknown = [item_id for item_id in given if not labelling.was_asked(item_id)]
    if unknown:
        raise LabelError(
            f"{_some(unknown)} not drawn by this campaign",
            details="only labels of items that the design drew may count",
            hint=f"ids are {labelling.settings.id_kind}s here; use ids of drawn items",
            ids=unknown,
        )


def _conflict(
    changed: Sequence[str], review: Review, answer: Answer, reviewer: str
) -> LabelConflictError:
    before = review.settled or review.answers.get(reviewer)
    if review.disputed or before is None:
        was = ", ".join(f"{each.value!r} by {name!r}" for name, each in review.counted.items())
    else:
        was = repr(before.value)
    other = " with another comment" if before is answer else ""
    return _refusal(
        f"item {changed[0]!r} already has the answer {was}, now {answer.value!r}{other}", changed
    )


def _says_no_more(before: Label, now: Label) -> bool:
    return before.answer == now.answer and now.comment in ("", before.comment)


def contradicts(before: Label, now: Label) -> bool:
    """Whether a label would replace its reviewer's earlier answer or comment.

    A first comment replaces nothing, and a label without one keeps the earlier comment.
    """
    return not _says_no_more(before, now) and (before.answer != now.answer or before.comment != "")


def now_words(before: Label, now: Label) -> str:
    """Words for the new answer, if it differs from the earlier one."""
    same = before.answer == now.answer
    return f"{now.answer!r} with another comment" if same else repr(now.answer)


def _refusal(problem: str, changed: Sequence[str]) -> LabelConflictError:
    return LabelConflictError(
        f"{problem}; {len(changed)} such items, nothing was recorded",
        hint="revise=True replaces the answer; the log keeps the old one",
        ids=changed,
    )


def _some(ids: Sequence[str]) -> str:
    shown = ", ".join(repr(item[:_SHOW_OF_AN_ID]) for item in ids[:_SHOW_AT_MOST])
    more = f" and {len(ids) - _SHOW_AT_MOST} more" if len(ids) > _SHOW_AT_MOST else ""
    return f"{shown}{more}: {'was' if len(ids) == 1 else 'were'}"
