"""How much a file of labels may hold."""

import sys
from dataclasses import dataclass

from assay.errors import LabelError


class LimitError(LabelError):
    """A file of labels is larger than it may be."""


@dataclass(frozen=True)
class Limits:
    """The most that is taken from one file, which may be a stranger's upload.

    Parameters
    ----------
    rows : int
        Rows, whether they have a label or not.
    field : int
        Characters of one field.
    """

    rows: int = 100_000
    field: int = 1_000_000

    def check_rows(self, rows: int, name: str) -> None:
        """Raise where there are too many rows."""
        if rows > self.rows:
            raise LimitError(
                f"{name} has more than {self.rows:,} rows; nothing was recorded",
                hint="take it in parts",
            )

    def check_field(self, value: object, name: str, where: str) -> None:
        """Raise where a text is too long; one anywhere inside, where a value has parts."""
        values = [value]
        while values:
            each = values.pop()
            if isinstance(each, dict):
                values += [*each.keys(), *each.values()]
            elif isinstance(each, list):
                values += each
            elif isinstance(each, str) and len(each) > self.field:
                raise LimitError(
                    f"{where} of {name} has a field of {len(each):,} characters; "
                    "nothing was recorded",
                    details=f"a field may have {self.field:,}",
                )


UNLIMITED = Limits(rows=sys.maxsize, field=sys.maxsize)
