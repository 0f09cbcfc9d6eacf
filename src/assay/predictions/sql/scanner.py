"""Scanners of engines that speak SQL: what all of them have in common."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, NoReturn

from assay.core.bins import Scale
from assay.core.cuts import Variable
from assay.core.deck import Id
from assay.core.profile import ScoreCells
from assay.errors import PredictionsError
from assay.predictions.column import refuse_missing_columns
from assay.predictions.contract import IdKind
from assay.predictions.doubts import Doubt, doubts_of
from assay.predictions.engine import Rows
from assay.predictions.roles import Roles
from assay.predictions.sql.checks import Inspected, refuse_bad_cells, refuse_bad_rows, rows_of
from assay.predictions.sql.opinions import plain_families
from assay.predictions.sql.roles import row_sql
from assay.predictions.sql.rows import Dialect, Family, RowSql


class SqlScanner(ABC):
    """The part of a `Scanner` that asks an engine nothing but what is wrong with its rows."""

    dialect: ClassVar[Dialect] = "duckdb"

    # Set by whoever knows the engine.
    _inspected: Inspected
    _ids: Any  # the ids of rows, as the engine has them

    def __init__(
        self,
        source: str,  # where the predictions come from, for people
        roles: Roles,  # which column is what
        show: Sequence[str],  # the columns that people see
        names: Mapping[str, str],  # of the columns, as SQL
        types: Mapping[str, str],
        *,
        is_text: bool,  # whether numbers are read out of text
    ) -> None:
        refuse_missing_columns([*roles.columns, *show], list(types), source)
        self.source, self._roles, self._show = source, roles, tuple(show)
        self._names, self._is_text = names, is_text
        self._row = row_sql(
            roles, names, types, dialect=self.dialect, is_text=is_text, source=source
        )

    @property
    def id_kind(self) -> IdKind:
        """Whether the ids are integers or strings."""
        kind: IdKind = self._ids.kind
        return kind

    @property
    def row(self) -> RowSql:
        """What is asked of each row."""
        return self._row

    @property
    def has_score(self) -> bool:
        """Whether the classifier has a score."""
        return self._roles.has_score

    @property
    def has_probabilities(self) -> bool:
        """Whether the predictions have the probabilities of all classes."""
        return bool(self._roles.of_class)

    @property
    def opinion_families(self) -> dict[str, Family]:
        """Of each column for a model, what kind of values it holds; any number is a float."""
        return plain_families({name: self._inspected.types[name] for name in self._roles.aux})

    def refuse_repeated_ids(self) -> None:
        """Look at every id, and raise where one repeats."""
        self._ids.refuse_repeated()

    def checked(self, cells: ScoreCells) -> tuple[Doubt, ...]:
        """Raise where counts show that something is wrong, and return what looks odd."""
        refuse_bad_cells(cells, self._inspected, self._row, self._roles)
        outside = rows_of(self._inspected, self._row, self._roles)
        return doubts_of(cells, self._roles, self.source, outside)

    def tell_what_is_wrong(self) -> None:
        """Look at the rows again, to tell what a count could only notice."""
        numbers = (self._roles.score, self._roles.weight) if self._is_text else ()
        written = {name: self._names[name] for name in numbers if name is not None}
        refuse_bad_rows(self._inspected, self._row, self._roles, written=written)

    def refuse_far_scores(self) -> NoReturn:
        """Tell what is wrong with scores that have no distance from the threshold."""
        self.tell_what_is_wrong()
        raise PredictionsError(
            f"some scores of {self.source} are too far from the threshold {self._roles.threshold}",
            details="the distance between a score and the threshold must fit in a float64",
        )

    def show(self, ids: Sequence[Id]) -> list[dict[str, object]]:
        """Return what people see of the items with these ids, in their order."""
        if not self._show:
            return [{} for _ in ids]
        found = self.find(ids, variable="score", scale="margin")
        shown = found.shown or []
        return [shown[row] for row in found.ids.rows_of(ids, self.source)]

    @abstractmethod
    def find(self, ids: Sequence[Id], *, variable: Variable, scale: Scale) -> Rows:
        """Return the rows with these ids, with what people see of them."""
