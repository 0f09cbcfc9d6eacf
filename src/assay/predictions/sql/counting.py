"""Predictions of a classifier counted and filtered in place, by SQL; only drawn items leave.

Engines differ in their `Table`; `sql.several` counts the codes of several classifiers.
"""

from collections.abc import Iterator, Sequence
from copy import copy
from dataclasses import replace

import numpy as np
import pyarrow as pa

from assay.core.bins import Scale
from assay.core.cuts import Variable
from assay.core.deck import Id, IdKind
from assay.core.error_model import SAID, Values
from assay.core.profile import ScoreCells
from assay.core.types import Floats, Ints
from assay.core.vocabulary import Vocabulary
from assay.core.weights import factor_exponent
from assay.errors import PredictionsError
from assay.predictions.batches import Batch, keyed
from assay.predictions.class_values import numbered_words, rows_of_lists
from assay.predictions.column import Ids
from assay.predictions.doubts import Doubt
from assay.predictions.engine import Probabilities, Rows, Scanner, Span, Survey
from assay.predictions.faults import refuse_missing_columns
from assay.predictions.opinions import without_opinions
from assay.predictions.query import double_sql
from assay.predictions.roles import Roles
from assay.predictions.sql.cells import XORED, count_spans, drawn, evenest_of, grouped, merged
from assay.predictions.sql.checks import SqlJudge, usable_sql
from assay.predictions.sql.items import Items, impressions_of, with_opinions
from assay.predictions.sql.judge import class_columns
from assay.predictions.sql.opinions import plain_families
from assay.predictions.sql.rows import LARGEST, Family, RowSql, family_of, is_value_sql, value_sql
from assay.predictions.sql.table import IdColumn, Table, integers, xored
from assay.predictions.tables import shown_values
from assay.predictions.values import refuse_bad_total

WEIGHED = ("sum(weight) AS weights", "xor_all(weight_word) AS weight_words")
_ITEM = RowSql("id", "value", "says")


class CountingScanner(Scanner):
    """A `Scanner` of one classifier.

    Each query reads the table once or twice. Nothing is created in the engine.
    """

    def __init__(
        self,
        table: Table,  # the rows
        roles: Roles,  # roles of the columns
        show: Sequence[str],  # columns shown to reviewers
        ids: IdColumn | None = None,  # the ids, if they were read before
        place: int = 0,  # of the classifier among several
    ) -> None:
        self.judge = SqlJudge(table, roles, place)
        refuse_missing_columns(show, list(table.types), table.source)
        self.source, self._roles, self._show = table.source, roles, tuple(show)
        self.table, self._names = table, table.names
        self.is_cluster = table.is_cluster
        self._ids = IdColumn(table, str(roles.id)) if ids is None else ids
        self._exponent: int | None = None  # exponent of the factor from weights to impressions
        number, _ = class_columns(place)
        if roles.classes is not None and roles.predicted is not None and number not in table.types:
            says = self._numbered(roles.predicted, roles.classes)
            self.judge.row = replace(self._row, says=says)

    def _numbered(self, column: str, classes: Vocabulary) -> str:
        """Write the SQL of a row's class number: -1 for no class, NULL if the class is missing."""
        name, dialect = self._names[column], self.table.dialect
        values = self.table.counted_values({"value": name})["value"]
        self._refuse_nothing(len(values))
        words = numbered_words(values, classes, column, self.source).to_pylist()
        cases = (
            f"WHEN {is_value_sql(name, each['word'], dialect)} THEN {each['number']}"
            for each in words
        )
        return f"CASE {' '.join(cases)} WHEN 1 = 0 THEN 0 END"

    @property
    def _row(self) -> RowSql:
        """Expressions of a row."""
        return self.judge.row

    @property
    def id_kind(self) -> IdKind:
        """Whether the ids are integers or strings."""
        return self._ids.kind

    @property
    def has_score(self) -> bool:
        """Whether the classifier has a score."""
        return self._roles.has_score

    @property
    def _apart(self) -> Sequence["CountingScanner"]:
        """Each classifier alone."""
        return [self]

    @property
    def probabilities(self) -> Sequence[Probabilities | None]:
        """Reader of each classifier's probabilities of all classes, if it has them."""
        return [one._probabilities_of if one._roles.of_class else None for one in self._apart]

    @property
    def opinion_families(self) -> dict[str, Family]:
        """Kind of values of each column for a model; any number is a float."""
        return plain_families({name: self.table.types[name] for name in self._roles.aux})

    def refuse_repeated_ids(self) -> None:
        """Read every id, and raise if one repeats."""
        self._ids.refuse_repeated()

    def survey(self, seed: int) -> Survey:
        """Count all items by score, in one pass; weights are summed first."""
        del seed  # to bring the first cards along would take a list in every group
        with self.table.connected():
            if not self._row.weight:
                groups = self._grouped(self._judged().with_digest(self.id_kind), XORED)
                cells = self._merged(groups)
                return Survey(cells, doubts=self.judge.checked(cells))
            self._weigh()
            groups = self._grouped(self._judged().with_weight_word(self.id_kind), XORED, *WEIGHED)
            cells = self._merged(groups)
            return Survey(
                cells,
                doubts=self.judge.checked(cells),
                weighed=evenest_of(groups, self._roles.n_classes, lambda cells: cells.by_weight),
                weights_word=xored(groups, "weight_words"),
            )

    def judged_by(self, groups: "pa.Table") -> tuple[ScoreCells, tuple[Doubt, ...]]:
        """All items by score, and doubts, from counted groups."""
        cells = self._merged(groups)
        return cells, self.judge.checked(cells)

    def cells(self, variable: Variable, scale: Scale) -> ScoreCells:
        """Count all items by another stratification variable."""
        groups = self._grouped(self._judged(variable, scale), *WEIGHED[: bool(self._row.weight)])
        self._merged(groups)  # which raises if items are invalid
        return evenest_of(groups, self._roles.n_classes, lambda cells: cells.by_weight)

    def count(self, spans: Sequence[Span], variable: Variable, scale: Scale) -> Ints:
        """Count and weigh the items in each span."""
        return count_spans(self.table, self._judged(variable, scale), spans, self._row.classes)

    def rows(self, spans: Sequence[Span], *, variable: Variable, scale: Scale, seed: int) -> Rows:
        """Rows of all spans, with their displayed values."""
        items = self._judged(variable, scale, shown=True)
        return self._taken(drawn(items, spans, self._row.classes, kind=self.id_kind, seed=seed))

    def find(self, ids: Sequence[Id], *, variable: Variable, scale: Scale) -> Rows:
        """Rows with these ids, with their displayed values."""
        with self.table.connected():
            parts = self.table.among(ids, self._ids, self._columns(shown=True), self._there)
            return self._taken(*(self._by(self._placed(part), variable, scale) for part in parts))

    def keyed(self, cells: ScoreCells, below: str = "") -> "Iterator[pa.RecordBatch]":
        """Id, key and weight of every row, piece by piece."""
        del below
        for piece in self.table.pieces(self._judged().query):
            ids, given = self._ids.of(piece["id"]), None
            if self._row.weight:
                given = piece["given"].to_numpy()
            values, predicted = piece["value"].to_numpy() + 0.0, integers(piece["says"]) == 1
            yield keyed(cells, Batch(values, predicted, ids, given=given), self.source)

    def _probabilities_of(self, ids: Sequence[Id]) -> tuple[Ids, Floats]:
        """Rows with these ids, and the probabilities of all classes."""
        expressions = {"id": self._ids.sql, "list": self.judge.list}
        parts = self.table.among(ids, self._ids, expressions)
        table = pa.concat_tables([self.table.fetch(part.query) for part in parts])
        return self._ids.of(table["id"]), rows_of_lists(table["list"], self._roles.n_classes)

    def opinions_digest(self) -> int:
        """64 bits that change if a value of a column for a model does."""
        opined = self._opined()
        if not opined:
            return 0
        expressions = {f"told_{place}": sql for place, (sql, _) in enumerate(opined)}
        items = self.table.items({"id": self._ids.sql, **expressions}).with_digest(self.id_kind)
        columns = dict(zip(expressions, (family for _, family in opined), strict=True))
        rows = with_opinions(items, columns).query.group([], XORED)
        return xored(self.table.fetch(rows), "words")

    def show(self, ids: Sequence[Id]) -> list[dict[str, object]]:
        """Show the values of the items with these ids, in their order."""
        if not self._show:
            return [{} for _ in ids]
        rows_there = self.find(ids, variable="score", scale="margin")
        shown = rows_there.shown or []
        return [shown[row] for row in rows_there.ids.rows_of(ids, self.source)]

    def opinions(self, ids: Sequence[Id]) -> dict[str, Values]:
        """Values of the score and of every column for a model, for some items."""
        if not self._roles.aux:
            raise without_opinions(self.source)
        columns = [name for name in (self._roles.score, *self._roles.aux) if name is not None]
        showing = copy(self)
        showing._show = tuple(columns)
        shown = showing.show(ids)
        return {name: [each[name] for each in shown] for name in columns}

    def _opined(self) -> list[tuple[str, Family]]:
        """Columns for a model as SQL, each with its kind of values."""
        types = self.table.types
        return [(self._names[name], family_of(types[name])) for name in self._roles.aux]

    # Items, and their expressions.

    def _columns(self, *, shown: bool = False) -> dict[str, str]:
        """Expressions of a row: id, score, label, weight, and displayed columns."""
        expressions = {"id": self._ids.sql, "value": self._row.score, "says": self._row.says}
        return expressions | self._columns_beside(shown=shown) | self._inputs

    def _columns_beside(self, *, shown: bool) -> dict[str, str]:
        """Expressions of a row: weight, in impressions and as given, and displayed columns."""
        expressions = {}
        if self._exponent is not None:
            expressions["weight"] = impressions_of(self._row.weight, self._exponent)
            expressions["given"] = self._row.weight
        if shown:
            expressions |= {f"shown_{i}": self._names[name] for i, name in enumerate(self._show)}
        return expressions

    @property
    def _inputs(self) -> dict[str, str]:
        """Columns of the table that a model uses, by their names among items."""
        model = self._roles.model
        columns = () if model is None else {each.column: None for each in model.inputs}
        return {f"input_{i}": self._names[name] for i, name in enumerate(columns) if name != SAID}

    @property
    def _there(self) -> str:
        """Condition that a row is an item: its weight is above 0."""
        return "" if self._exponent is None else f"{self._row.weight} > 0e0"

    def _placed(self, items: Items) -> Items:
        """Items with a model's log odds in place of the score, if there is a model."""
        model = self._roles.model
        if model is None:
            return items
        inputs = self._inputs
        names = {
            name: column
            for name in self.table.types
            for column in inputs
            if inputs[column] == self._names[name]
        }
        kept = [name for name in items.keep if name not in (*inputs, "value")]
        return items.with_log_odds(model, names, self.table.types, kind=self.id_kind, kept=kept)

    def _judged(
        self, variable: Variable = "score", scale: Scale = "margin", *, shown: bool = False
    ) -> Items:
        """Id, value, label, weight and displayed values of every item."""
        items = self.table.items(self._columns(shown=shown), self._there)
        return self._by(self._placed(items), variable, scale)

    def _by(self, items: Items, variable: Variable, scale: Scale) -> Items:
        """Items by a variable."""
        if variable == "score":
            return items
        by = f"{value_sql(_ITEM, variable, scale, self._roles.limit)} AS by_variable"
        others = [name for name in items.keep if name != "value"]
        return items.only(*others, by).only(*others, "by_variable AS value")

    # Answers.

    def _weigh(self) -> int:
        """Find the factor from weights to impressions; return the number of items above 0.

        Rows of weight 0 are also checked for errors, as in memory.
        """
        self._exponent = None
        weight = self._row.weight
        good = f"{usable_sql(self._row)} AND {weight} BETWEEN 0e0 AND {double_sql(LARGEST)}"
        expressions = {
            "weight": weight,
            "above": f"CASE WHEN {weight} > 0e0 THEN 1 ELSE 0 END",
            "bad": f"CASE WHEN {good} THEN 0 ELSE 1 END",
        }
        sums = (f"sum({name}) AS {name}" for name in expressions)
        table = self.table.fetch(
            self.table.items(expressions).query.group([], "count(*) AS items", *sums)
        )
        size, total, above, bad = (column[0].as_py() for column in table.columns)
        if bad:
            self.judge.tell_what_is_wrong()
        self._refuse_nothing(size)
        refuse_bad_total(float(total), f"column {self._roles.weight!r} of {self.source}")
        weights = self.table.items({"weight": weight}).query
        self._exponent = factor_exponent(float(total), size, lambda: self.table.addends(weights))
        return int(above)

    def _grouped(self, items: Items, *sums: str) -> "pa.Table":
        return self.table.fetch(grouped(items, self._row.classes, sums=sums))

    def _refuse_nothing(self, size: int) -> None:
        if not size:
            raise self.table.nothing()

    def _merged(self, groups: "pa.Table") -> ScoreCells:
        self._refuse_nothing(groups.num_rows)
        cells = merged(groups, self._roles.n_classes)
        if cells is None:
            self.judge.tell_what_is_wrong()
            raise PredictionsError(
                f"some scores of {self.source} are too far from the threshold "
                f"{self._roles.threshold}",
                details="the distance between a score and the threshold must fit in a float64",
            )
        return cells

    def _taken(self, *parts: Items) -> Rows:
        """Rows of some queries, with their displayed values."""
        tables = [self.table.fetch(part.query) for part in parts]
        if not tables:
            empty = self._judged(shown=True).only(*self._columns(shown=True), where="1 = 0")
            tables = [self.table.fetch(empty.query)]
        table = pa.concat_tables(tables, promote_options="permissive")
        columns = [shown_values(table[f"shown_{i}"]) for i in range(len(self._show))]
        values = zip(*columns, strict=True) if columns else [()] * table.num_rows
        predicted = integers(table["says"])
        weighted = self._exponent is not None
        return Rows(
            self._ids.of(table["id"]),
            table["value"].to_numpy().astype(np.float64) + 0.0,  # -0.0 becomes 0.0, as in memory
            predicted == 1 if self._row.classes is None else predicted,
            [dict(zip(self._show, row, strict=True)) for row in values],
            weights=integers(table["weight"]) if weighted else None,
            given=table["given"].to_numpy().astype(np.float64) if weighted else None,
        )
