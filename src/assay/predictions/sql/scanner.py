"""Scanners of SQL engines: the common part."""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from datetime import date
from typing import Any, NoReturn

import numpy as np
import pyarrow as pa

from assay.core.deck import Id, IdKind
from assay.core.error_model import Values
from assay.core.profile import ScoreCells
from assay.core.types import Floats
from assay.errors import PredictionsError
from assay.predictions.class_values import ranked_classes
from assay.predictions.column import Ids, refuse_missing_columns
from assay.predictions.contract import Doubt
from assay.predictions.doubts import doubts_of
from assay.predictions.engine import Scanner
from assay.predictions.faults import no_label
from assay.predictions.opinions import without_opinions
from assay.predictions.roles import NO_WORDS, YES_WORDS, Roles
from assay.predictions.sql.checks import Inspected, refuse_bad_cells, refuse_bad_rows, rows_of
from assay.predictions.sql.classes import class_columns, class_row_sql
from assay.predictions.sql.opinions import plain_families
from assay.predictions.sql.rows import (
    NUMBERS,
    Dialect,
    Family,
    RowSql,
    double_sql,
    family_of,
    is_value_sql,
    positive_score_sql,
    quoted,
    score_sql,
    text_sql,
)
from assay.predictions.values import by_frequency, slice_bits, slice_columns, slice_text


class SqlScanner(Scanner):
    """Part of a `Scanner` that queries an engine only for invalid rows."""

    dialect: Dialect = "duckdb"

    # Set by subclasses.
    _inspected: Inspected
    _ids: Any  # the ids of rows, as the engine has them

    def __init__(
        self,
        source: str,  # source of the predictions, for users
        roles: Roles,  # roles of the columns
        show: Sequence[str],  # columns shown to reviewers
        names: Mapping[str, str],  # of the columns, as SQL
        types: Mapping[str, str],
        *,
        is_text: bool,  # whether numbers are read out of text
        place: int = 0,  # of the classifier among several
    ) -> None:
        refuse_missing_columns([*roles.columns, *show], list(types), source)
        self.source, self._roles, self._show = source, roles, tuple(show)
        self._names, self._is_text = names, is_text
        options: dict[str, Any] = {"dialect": self.dialect, "is_text": is_text, "source": source}
        self._row = row_sql(roles, names, types, **options, place=place)
        _, self._list = class_columns(place)

    @property
    def id_kind(self) -> IdKind:
        """Whether the ids are integers or strings."""
        kind: IdKind = self._ids.kind
        return kind

    @property
    def _apart(self) -> "Sequence[SqlScanner]":
        """Each classifier alone."""
        return [self]

    @property
    def row(self) -> RowSql:
        """Expressions of each row."""
        return self._row

    @property
    def has_score(self) -> bool:
        """Whether the classifier has a score."""
        return self._roles.has_score

    @property
    def has_probabilities(self) -> tuple[bool, ...]:
        """Whether each classifier has the probabilities of all classes."""
        return tuple(bool(one._roles.of_class) for one in self._apart)

    @abstractmethod
    def probabilities(self, ids: Sequence[Id]) -> tuple[Ids, Floats]:
        """Rows with these ids, and the probabilities of all classes, shape (n, K)."""

    def ranked(self, ids: Sequence[Id], k: int) -> list[list[list[int]]]:
        """Return the k most probable classes in order, for each item and classifier.

        Costs a pass for each classifier with probabilities.
        """
        each: list[list[list[int]]] = []
        for one in self._apart:
            if not one._roles.of_class:
                each.append([[] for _ in ids])
                continue
            held, lists = one.probabilities(ids)
            ranked = ranked_classes(lists.__getitem__, np.arange(len(held)), k)
            each.append([ranked[row] for row in held.rows_of(ids, self.source)])
        return [list(its) for its in zip(*each, strict=True)]

    @property
    def opinion_families(self) -> dict[str, Family]:
        """Kind of values of each column for a model; any number is a float."""
        return plain_families({name: self._inspected.types[name] for name in self._roles.aux})

    def refuse_repeated_ids(self) -> None:
        """Read every id, and raise if one repeats."""
        self._ids.refuse_repeated()

    @abstractmethod
    def counted_values(self, told: Mapping[str, str]) -> "pa.Table":
        """Distinct values of expressions, with the number of rows of each."""

    def find_slices(self, written: Sequence[str]) -> tuple[tuple[str, ...], str]:
        """Names of the slices, and the SQL of the bits of those that contain a row."""
        types, conditions = self._inspected.types, {}
        values: dict[str, list[str]] = {}
        refuse_missing_columns(slice_columns(written), list(types), self.source)
        for name in slice_columns(written):
            told = {"value": self._names[name]}
            if family_of(types[name]) == "other":  # compared as the text that the engine writes
                told["text"] = text_sql(self._names[name], self.dialect)
            found = self.counted_values(told)
            texts = [slice_text(value) for value in found["value"].to_pylist()]
            values[name], _ = by_frequency(texts, np.asarray(found["number"].to_numpy()))
            each = zip(texts, found[list(told)[-1]].to_pylist(), strict=True)
            own = list(told.values())[-1]
            conditions[name] = [(text, is_value_sql(own, x, self.dialect)) for text, x in each]
        names, bits = slice_bits(written, values.__getitem__, self.source)
        cases = []
        for name, each_value in conditions.items():
            inside = [(is_it, bits[name][text]) for text, is_it in each_value if text in bits[name]]
            cases.append(" ".join(f"WHEN {is_it} THEN {own_bits}" for is_it, own_bits in inside))
        return names, " + ".join(f"CASE {case} ELSE 0 END" for case in cases)

    def checked(self, cells: ScoreCells) -> tuple[Doubt, ...]:
        """Doubts about the counts; raise if they show that something is wrong."""
        refuse_bad_cells(cells, self._inspected, self._row, self._roles)
        outside = rows_of(self._inspected, self._row, self._roles)
        return doubts_of(cells, self._roles, self.source, outside)

    def tell_what_is_wrong(self) -> None:
        """Read the rows again, to describe a problem that a count has only detected."""
        numbers = (self._roles.score, self._roles.weight) if self._is_text else ()
        written = {name: self._names[name] for name in numbers if name is not None}
        refuse_bad_rows(self._inspected, self._row, self._roles, written=written)

    def refuse_far_scores(self) -> NoReturn:
        """Raise for scores that have no distance from the threshold."""
        self.tell_what_is_wrong()
        raise PredictionsError(
            f"some scores of {self.source} are too far from the threshold {self._roles.threshold}",
            details="the distance between a score and the threshold must fit in a float64",
        )

    def show(self, ids: Sequence[Id]) -> list[dict[str, object]]:
        """Return the displayed values of the items with these ids, in their order."""
        if not self._show:
            return [{} for _ in ids]
        found = self.find(ids, variable="score", scale="margin")
        shown = found.shown or []
        return [shown[row] for row in found.ids.rows_of(ids, self.source)]

    def opinions(self, ids: Sequence[Id]) -> dict[str, Values]:
        """Values of the score and of every column for a model, for some items."""
        if not self._roles.aux:
            raise without_opinions(self.source)
        columns = [name for name in (self._roles.score, *self._roles.aux) if name is not None]
        showing = copy(self)
        showing._show = tuple(columns)
        shown = showing.show(ids)
        return {name: [each[name] for each in shown] for name in columns}


# SQL of a row's id, score, prediction and weight, from the columns with these roles.


def row_sql(
    roles: Roles,  # roles of the columns; the id has one
    names: Mapping[str, str],  # of each column its name as SQL, quoted
    types: Mapping[str, str],  # of each column its type, as the engine names it
    *,
    dialect: Dialect,  # whose SQL it is
    # Whether the columns are text of a CSV file, whose values must be parsed.
    is_text: bool,
    source: str,  # source, for users
    place: int = 0,  # of the classifier among several
) -> RowSql:
    """Expressions for some columns.

    >>> roles = Roles(score="p", predicted="spam", id="url", threshold=None, positive="yes")
    >>> names = {"p": '"p"', "spam": '"spam"', "url": '"url"'}
    >>> types = {"p": "FLOAT", "spam": "VARCHAR", "url": "VARCHAR"}
    >>> row = row_sql(roles, names, types, dialect="duckdb", is_text=False, source="a table")
    >>> print(row.says)
    CAST("spam" = 'yes' AS SMALLINT)
    """
    if roles.id is None:
        raise PredictionsError(
            f"{source} is read in place, so its rows need ids",
            details="row numbers of several files are not stable",
            hint="name the column of ids, or read it all into memory: engine 'memory'",
        )

    def number(name: str, what: str) -> str:
        written = score_sql(names[name], family_of(types[name]), dialect, is_text=is_text)
        if not written:
            raise PredictionsError(
                f"the {what}s in column {name!r} of {source} are of type {types[name]}",
                details=f"a {what} is a number",
                hint="is this the right column? Text that holds numbers must be converted first",
            )
        return written

    score = "0e0" if roles.score is None else number(roles.score, "score")
    if roles.classes is not None:
        return class_row_sql(roles, names[roles.id], score, dialect, place)
    if roles.predicted is not None:
        label = _Label(names[roles.predicted], family_of(types[roles.predicted]), dialect, is_text)
        says = label.says(roles.positive)
        score = positive_score_sql(score, roles, says)
    elif roles.limit is not None:  # Roles ensures that one of the two is given
        score = positive_score_sql(score, roles, "")
        says = f"CAST({score} >= {double_sql(roles.limit)} AS SMALLINT)"
    weight = f"CAST({number(roles.weight, 'weight')} AS DOUBLE)" if roles.weight else ""
    return RowSql(names[roles.id], score, says, is_sure="THEN 2" not in says, weight=weight)


@dataclass(frozen=True)
class _Label:
    """Column of predicted labels."""

    name: str
    family: Family
    dialect: Dialect
    is_text: bool

    def says(self, positive: object) -> str:
        """Return the number of the label, as in `RowSql`."""
        if positive is not None:
            scalar = positive.item() if isinstance(positive, np.generic) else positive
            return f"CAST({self._is(scalar)} AS SMALLINT)"
        if self.family == "boolean":
            return f"CAST({self.name} AS SMALLINT)"
        if self.family == "text":
            written = f"lower(trim({text_sql(self.name, self.dialect)}))"
            yes, no = (", ".join(f"'{word}'" for word in words) for words in (YES_WORDS, NO_WORDS))
            return _told(written, yes, no)
        if self.family in NUMBERS:
            return _told(self.name, "1", "0")
        return f"CASE WHEN {self.name} IS NOT NULL THEN 2 END"

    def _is(self, positive: object) -> str:
        """Condition that the label is the one that means yes; NULL without a label.

        Text also matches a value that Python writes the same: the command line has only text.
        """
        if not isinstance(positive, str | bool | int | float | date):
            raise no_label(positive)
        never = f"{self.name} IS NULL AND NULL"  # false, and NULL without a label
        if self.is_text and isinstance(positive, bool):
            return f"lower(trim({self.name})) = '{str(positive).lower()}'"
        if self.family == "text":
            same_kind = self.is_text or isinstance(positive, str)
            return f"{self.name} = {quoted(str(positive), self.dialect)}" if same_kind else never
        if self.family == "boolean":
            meant = [value for value in (True, False) if positive in (value, str(value))]
            return f"{self.name} = {str(meant[0]).upper()}" if meant else never
        if self.family in NUMBERS and not (self.family == "decimal" and isinstance(positive, str)):
            number = _number_like(positive, self.family)
            return f"{self.name} = {number}" if number else never
        if isinstance(positive, str | date):
            written = text_sql(self.name, self.dialect)
            return f"{written} = {quoted(str(positive), self.dialect)}"
        return never


def _told(value: str, yes: str, no: str) -> str:
    return (
        f"CASE WHEN {value} IN ({yes}) THEN 1 WHEN {value} IN ({no}) THEN 0 "
        f"WHEN {value} IS NOT NULL THEN 2 END"
    )


def _number_like(positive: object, family: Family) -> str:
    """Literal of the number; empty if it is not one of that family."""
    if isinstance(positive, str):
        try:
            number: int | float = float(positive) if family == "float" else int(positive)
        except ValueError:
            return ""
        return _number_like(number, family) if str(number) == positive else ""
    if isinstance(positive, bool | int):
        return str(int(positive))
    return double_sql(positive) if isinstance(positive, float) and np.isfinite(positive) else ""
