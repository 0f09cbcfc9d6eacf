"""Who gave the answers of a file: people have other names in other tools."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from assay.errors import InputError, LabelError, did_you_mean
from assay.exchange.rows import Row
from assay.labelling.accept import reviewer_of

_LIST_AT_MOST = 20  # names in an error


class People:
    """From the names in a file to the names of a campaign's reviewers.

    Parameters
    ----------
    unnamed : str
        Who gave the answers that the file names nobody for.
    rename : mapping of str to str
        Who people are here, by their names in the file.

    Examples
    --------
    >>> people = People("", {"label-studio:5": "ann"})
    >>> [row.reviewer for row in people.name([Row("task 1", reviewer="label-studio:5")])]
    ['ann']
    """

    def __init__(self, unnamed: str, rename: Mapping[str, str]) -> None:
        self._unnamed = reviewer_of(unnamed, empty=True)
        self._rename: dict[str, str] = {}
        for there, here in rename.items():
            name = reviewer_of(here)
            if self._rename.setdefault(reviewer_of(there), name) != name:
                raise InputError(f"{there!r} is renamed to more than one name")
        self._found: set[str] = set()

    def name(self, rows: Iterable[Row]) -> Iterator[Row]:
        """Yield the rows, each with the name of somebody whom the store can keep."""
        for row in rows:
            try:
                there = reviewer_of(row.reviewer, empty=True)
            except InputError as error:
                yield replace(row, problem=row.problem or error.problem)
                continue
            if there:
                self._found.add(there)
            yield replace(row, reviewer=self._rename.get(there, there) or self._unnamed)

    def check(self, file: str) -> None:
        """Raise where somebody was to be renamed who is not in the file: it is a slip."""
        absent = [name for name in self._rename if name not in self._found]
        if absent:
            found = sorted(self._found)
            more = ", ..." if len(found) > _LIST_AT_MOST else ""
            names = ", ".join(map(repr, found[:_LIST_AT_MOST])) or "none"
            raise LabelError(
                f"{absent[0]!r} is to be renamed, but not in {file}; nothing was recorded",
                details=f"names in it: {names}{more}",
                hint=did_you_mean(absent[0], found),
            )
