"""Label: who says what of which item, on its way to the store and back."""

from dataclasses import KW_ONLY, dataclass, fields
from typing import Any


@dataclass(frozen=True)
class Label:
    """What a reviewer says of an item: from a page, a file or a program.

    Attributes
    ----------
    item_id : str
        The item's id; a number is taken as its text.
    answer : str
        ``yes``, ``no``, ``cannot judge``, ``broken``; ``skip``; or ``withdrawn``, which takes back
        what this reviewer has said of the item.
    reviewer : str
        Empty where nobody is named.
    late : bool
        It came when the reviewer's lease had run out. Only the campaign can tell.
    ruling : bool
        It decides the item over the heads of its reviewers.
    key : str, optional
        What the sender calls it, made at random. The same key again is the same label, not another.
    comment : str
        What the reviewer wrote beside the answer; empty where nothing.

    Examples
    --------
    >>> Label(7, "yes", "ann")
    Label(item_id='7', answer='yes', reviewer='ann', late=False, ruling=False, key=None, comment='')
    """

    item_id: str
    answer: str
    reviewer: str = ""
    _: KW_ONLY
    late: bool = False
    ruling: bool = False
    key: str | None = None
    comment: str = ""

    def __post_init__(self) -> None:
        # An answer may be a member of an enumeration, which databases take for its name.
        for name in ("item_id", "answer"):
            object.__setattr__(self, name, str(getattr(self, name)))

    def content(self) -> dict[str, Any]:
        """Return what is said, without where it stands, be it in the log or in a file."""
        return {name: getattr(self, name) for name in LABEL_FIELDS}


LABEL_FIELDS = tuple(field.name for field in fields(Label))
"""What a label consists of. Tables, files and bundles have their columns from it."""


@dataclass(frozen=True, kw_only=True)
class StoredLabel(Label):
    """A label in the log: its number there, and when it was told."""

    id: int
    told_at: str
