"""Widget to label a campaign's items in a notebook, one at a time and blind.

The page and the kernel exchange messages only. The widget's state, which notebooks save with their
cells, holds nothing of an item.
"""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict
from importlib.resources import files
from typing import Any

from assay.campaign.desk import Desk
from assay.errors import AssayError, InputError, MissingDependencyError, PredictionsError, install
from assay.exchange import as_text
from assay.labelling import LEASE_SECONDS, checked_request, reviewer_of
from assay.results import Item, Turn
from assay.storage import Label

_HELD = 3  # items held by the page, so that the next appears at once
_MOST = 500  # answers in one message
_NO_MORE_ITEMS = "there are no more items now; campaign.ask() says why"


class Labeller:
    """Handler of the page's messages; it needs no notebook.

    `reviewer`: whose labels they are.
    """

    def __init__(self, desk: Desk, reviewer: str) -> None:
        self._desk, self.reviewer = desk, reviewer_of(reviewer)

    @property
    def words(self) -> dict[str, Any]:
        """Texts of the page: the question, and the words for yes and no."""
        settings = self._desk.settings
        yes, no = settings.reviewing.answers or ("Yes", "No")
        texts = {"question": settings.question, "yes": yes, "no": no, "reviewer": self.reviewer}
        return {name: _sendable(text) for name, text in texts.items()}

    def reply(self, message: object) -> dict[str, Any]:
        """Record the answers in a message, and return what the page shows next.

        The `turn` that is answered; receipts by key, the items, the state and the counts, as
        `Campaign.review` has them; or an error, and then nothing was recorded.
        """
        turn = message.get("turn") if isinstance(message, Mapping) else None
        about = {"turn": turn if isinstance(turn, int) else 0}
        try:
            return about | self._reply_to(message)
        except PredictionsError:
            # Its words describe the predictions, which reviewers must not know.
            return about | {"error": _NO_MORE_ITEMS}
        except AssayError as error:
            return about | {"error": _sendable(str(error))}

    def _reply_to(self, message: object) -> dict[str, Any]:
        turn = self._turn(_labels_in(message))
        receipts = turn.receipts
        if self._desk.hold_for_recut():
            with suppress(AssayError):  # keep the present strata
                self._desk.recut()
            if not turn.items:  # none had been dealt
                turn = self._turn([])
        return {
            "receipts": [asdict(receipt) for receipt in receipts],
            "items": [self._item(item) for item in turn.items],
            "state": turn.state,
            "yours": turn.yours,
            "team": turn.team,
            "budget": self._desk.settings.goal.budget,
        }

    def _turn(self, labels: Sequence[Label]) -> Turn:
        settings, desk = self._desk.settings, self._desk
        request = checked_request(labels, self.reviewer, _HELD, LEASE_SECONDS, settings, blind=True)
        return desk.following(lambda: desk.assignments.turn(request))

    def _item(self, item: Item) -> dict[str, Any]:
        """Item for the page, without anything that would sway a reviewer."""
        names = [name for name in self._desk.settings.source.seen if name in item.shown]
        fields = [[_sendable(name), _sendable(as_text(item.shown[name]))] for name in names]
        return {"id": str(item.id), "fields": fields}


def _labels_in(message: object) -> list[Label]:
    given = message.get("submits", []) if isinstance(message, Mapping) else None
    fields = ("item", "answer", "key")
    if (
        not isinstance(given, list)
        or len(given) > _MOST
        or not all(
            isinstance(each, Mapping) and all(isinstance(each.get(name), str) for name in fields)
            for each in given
        )
    ):
        raise InputError(
            "the labelling widget did not send a list of answers",
            details=f"'submits' has at most {_MOST} objects with {', '.join(fields)}, all texts",
            hint="run the cell with campaign.widget(...) again",
        )
    return [Label(each["item"], each["answer"], key=each["key"]) for each in given]


def _sendable(text: str) -> str:
    r"""Text for a notebook's messages: half a surrogate pair is replaced.

    >>> _sendable("Ω \ud800!") == "Ω \ufffd!"
    True
    """
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def widget_of(desk: Desk, reviewer: str) -> Any:
    """Widget for the last line of a cell."""
    if not desk.settings.is_binary:
        raise InputError(
            "the widget asks yes or no, and this campaign has more classes",
            hint="label on the page (assay serve), in the terminal (assay label), or tell()",
        )
    labeller = Labeller(desk, reviewer)
    try:
        from anywidget import AnyWidget
        from traitlets import Dict
    except ImportError:
        raise MissingDependencyError(
            "labelling in a notebook needs anywidget, which is not installed",
            hint=install("notebook"),
        ) from None
    here = files("assay.campaign")

    class LabelWidget(AnyWidget):
        """One item at a time, with buttons and keys; every answer is saved at once."""

        _esm = here.joinpath("widget.js").read_text(encoding="utf-8")
        _css = here.joinpath("widget.css").read_text(encoding="utf-8")
        words = Dict(labeller.words).tag(sync=True)

    widget = LabelWidget()
    widget.on_msg(lambda _, message, __: widget.send(labeller.reply(message)))
    return widget
