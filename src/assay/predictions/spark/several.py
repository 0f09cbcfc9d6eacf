"""Several classifiers in Spark: a job for each, and one for the mean rank and code of all."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from assay.core.bins import Rule
from assay.core.deck import Id
from assay.core.error_model import RANK as MEAN_RANK
from assay.core.error_model import Model, Values, columns_at
from assay.core.profile import ScoreCells
from assay.core.types import Floats
from assay.errors import PredictionsError
from assay.predictions.column import refuse_missing_columns
from assay.predictions.contract import by_model
from assay.predictions.doubts import Doubt
from assay.predictions.engine import Survey
from assay.predictions.keys import key_parts, key_sql
from assay.predictions.roles import Roles
from assay.predictions.scan import Scan
from assay.predictions.spark.columns import (
    NEVER,
    refuse_other_arithmetic,
    spark_bin,
    with_digest,
    xored,
)
from assay.predictions.spark.opinions import with_log_odds, with_words
from assay.predictions.spark.scanner import DIGEST_PIECES, SparkScanner, grouped, merged_by
from assay.predictions.spark.source import (
    SparkRows,
    column_name,
    open_rows,
    reading_with_spark,
)
from assay.predictions.spark.values import BITS, rows_with_slices
from assay.predictions.spark.weights import (
    WEIGHT_WORD,
    impressions_of,
    with_weight_word,
)
from assay.predictions.sql.rows import Family, RowSql
from assay.predictions.sql.several import Several, Steps, counts_codes, mean_sql, steps_of
from assay.predictions.tables import shown_values

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_ODDS_WORD = "odds_word"  # the column with what an item and its log odds add to the fingerprint


def open_spark(
    scan: Scan, roles: Mapping[str, Roles], show: Sequence[str], slices: Sequence[str] = ()
) -> SparkScanner:
    """Open predictions of one classifier or several that Spark can read.

    The session is used as it is: none of its settings are changed, and no views are made in it.

    `roles`: which columns are each classifier's; all name the same column of ids; `show`: the
    columns that people see; `slices`: groups of items, of which codes tell, too.
    """
    first, *_ = roles.values()
    rows = open_rows(scan)
    with reading_with_spark(rows.source):
        rows = _with_key(rows, first.id)
        refuse_other_arithmetic(rows.frame.sparkSession)
        if counts_codes(roles, slices):
            return SparkSeveral(rows, roles, show, slices)
        return SparkScanner(rows, first, show)


def _with_key(rows: SparkRows, id: str | None) -> SparkRows:
    """Return rows with a column for the key, where that is made of others."""
    parts = key_parts(id, list(rows.types))
    if not parts:
        return rows
    refuse_missing_columns(parts, list(rows.types), rows.source)
    names = {part: column_name(part) for part in parts}
    key = key_sql(parts, names, rows.types, dialect="spark", source=rows.source)
    return replace(rows, frame=rows.frame.selectExpr("*", f"{key} AS {column_name(str(id))}"))


class SparkSeveral(SparkScanner):
    """A `Scanner` of several classifiers: values are mean ranks, and what a row says is a code."""

    def __init__(
        self,
        rows: SparkRows,  # the rows
        roles: Mapping[str, Roles],
        show: Sequence[str],
        slices: Sequence[str] = (),
    ) -> None:
        first, *_ = roles.values()
        rows, self._slices = rows_with_slices(rows, slices)
        super().__init__(rows, replace(first, model=None), show)
        self._model = first.model
        self._several = Several(roles, self._slices, rows.source)
        self._each = self._several.alone(lambda role: SparkScanner(rows, role, (), self._ids))
        codes, weight = self._several.n_codes, self._row.weight
        # What each classifier says is looked at by itself.
        self._row = RowSql(self._row.id, "0e0", "0", classes=codes, weight=weight)
        said = [
            f"{expression} AS {name}_{place}"
            for place, one in enumerate(self._each.values())
            for name, expression in (
                ("score", one.row.score),
                ("says", f"CAST({one.row.says} AS INT)"),
            )
        ]
        if self._slices:
            said.append(BITS)
        if self._weights:
            said.append(f"{self._row.weight} AS weight")
        shown = [f"{column_name(name)} AS shown_{i}" for i, name in enumerate(show)]
        aux = [f"{column_name(name)} AS aux_{i}" for i, name in enumerate(first.aux)]
        self._rows_of_each = rows.frame.selectExpr(f"{self._ids.sql} AS id", *shown, *aux, *said)

    def survey(self, seed: int) -> Survey:
        """Count all items by each score, then by mean rank and code: two jobs.

        With a model there is one more, by log odds and code.
        """
        del seed  # as of one
        steps, doubts = steps_of(self._counted_apart())
        (size,) = {step.cells.size for step in steps}
        self._items = self._ranked = self._placed(steps)
        if self._weights:
            exponent, size = self._factor()
            self._items = impressions_of(self._items, exponent)
        if self._model is not None and self._several.is_one:  # its own cells tell the fingerprint
            return self._placed_survey(self._model, steps[0].cells.fingerprint(), size)
        cells, groups = self._counted_by("probability", size)
        fingerprint = self._several.fingerprint(steps, cells)
        if self._model is not None:
            return self._placed_survey(self._model, fingerprint, size)
        return Survey(
            cells,
            None,
            doubts,
            fingerprint,
            weighed=cells if self._weights else None,
            weights_word=xored(groups, WEIGHT_WORD) if self._weights else None,
            slices=self._slices,
            coded=True,
        )

    def _placed_survey(self, model: Model, fingerprint: str, size: int) -> Survey:
        """Count all items by a model's log odds and code."""
        self._items = self._placed_by(model)
        cells, groups = self._counted_by("margin", size)
        told = by_model(fingerprint, xored(groups, _ODDS_WORD))
        return Survey(cells, None, (), told, slices=self._slices, coded=True)

    def _counted_by(self, rule: Rule, size: int) -> tuple[ScoreCells, "pa.Table"]:
        """Count items by the bins of a rule, and raise where there are not so many."""
        items, sums = self._with_words(self._items, rule)
        groups = self._rows.fetch(grouped(items, self._row.classes, rules=[rule], more=sums))
        if groups[rule].null_count:
            self.tell_what_is_wrong()
            raise self._changed()
        cells = merged_by(groups, rule, self._row.classes or 2)
        if cells.size != size:
            raise self._changed()
        return cells, groups

    def _changed(self) -> PredictionsError:
        return PredictionsError(f"{self.source} has changed while it was read")

    def _counted_apart(self) -> dict[str, "_Counted"]:
        """Count the items by each score: a row is as many as there are classifiers."""
        judged = (f"{place}, score_{place}, says_{place}" for place in range(len(self._each)))
        stacked = f"stack({len(self._each)}, {', '.join(judged)}) AS (classifier, value, says)"
        items, more = self._rows_of_each.selectExpr("id", stacked), {}
        if self._several.is_one:  # the cells tell its fingerprint
            items, more = with_digest(items, "id", self.id_kind), {"digest": "bit_xor"}
        groups = self._rows.fetch(grouped(items, by=["classifier"], more=more))
        classifier = groups["classifier"].to_numpy()
        return {
            name: _Counted(one, groups.filter(pa.array(classifier == place)))
            for place, (name, one) in enumerate(self._each.items())
        }

    def _placed(self, steps: Sequence[Steps]) -> "DataFrame":
        """Return every item's mean rank and code, with what each classifier says of it.

        Every executor gets the ranks of all bins, in a row of lists.
        """
        rows, told, ranks, codes = self._rows_of_each, {}, [], []
        kept = [column_name(name) for name in rows.columns]
        for place, (role, step) in enumerate(zip(self._several.roles.values(), steps, strict=True)):
            codes.append(f"{step.cells.classes**place}L * says_{place}")
            if not role.has_score:
                continue
            lowest, by_bin = ranks_by_bin(step)
            told[f"ranks_{place}"] = pa.array([by_bin], pa.list_(pa.float64()))
            bin = spark_bin(f"score_{place}", step.cells.rule)
            ranks.append(f"get(ranks_{place}, {bin} - ({lowest}))")
        if self._slices:
            codes.append(f"{2 ** len(steps)}L * {BITS}")
        if told:
            lists = rows.sparkSession.createDataFrame(pa.table(told))
            rows = rows.crossJoin(lists.hint("broadcast"))
        value = f"CASE WHEN {NEVER} THEN 0e0 ELSE {mean_sql(ranks)} END AS score"
        code = f"{' + '.join(codes)} AS says"
        return rows.selectExpr(*kept, value, code)

    def _placed_by(self, model: Model) -> "DataFrame":
        """Return every item as before, but with a model's log odds in the mean rank's place."""
        names, types = self._model_columns()
        others = [column_name(name) for name in self._ranked.columns if name != "score"]
        return with_log_odds(
            *(self._ranked, model, names, types), says="says", told=others, kind=self.id_kind
        )

    def _model_columns(self) -> tuple[dict[str, str], dict[str, str]]:
        """Return what a model may take, by its name in `_ranked`, and the types."""
        names = {name: f"aux_{place}" for place, name in enumerate(self._roles.aux)}
        types = {name: self._rows.types[name] for name in names}
        names |= {name: f"score_{place}" for name, place in self._several.scores.items()}
        names[MEAN_RANK] = "score"
        return names, {name: types.get(name, "double") for name in names}

    def opinions(self, ids: Sequence[Id]) -> dict[str, Values]:
        """Return what is said of some items: by every column, by the scores, by the mean rank."""
        names, _ = self._model_columns()
        rows = self._ids.only(ids, self._ranked.selectExpr("id", *names.values()))
        found = self._rows.fetch(rows)
        order = np.array(self._ids.of(found["id"]).rows_of(ids, self.source), dtype=np.int64)
        told: dict[str, Values] = {
            name: shown_values(found[column])
            if name in self._roles.aux
            else found[column].to_numpy() + 0.0
            for name, column in names.items()
        }
        return columns_at(told, order)

    def _opined(self) -> list[tuple[str, Family]]:
        """Return what is said for a model of a row: by every column, and by the scores."""
        each = list(self._each.values())
        scores = self._several.scores.values()
        return [*super()._opined(), *((each[place].row.score, "float") for place in scores)]

    def _with_words(self, items: "DataFrame", rule: Rule) -> tuple["DataFrame", dict[str, str]]:
        """Return items with what is summed up of them, and how: digests, weights or log odds."""
        more = ["weight"] if self._weights else []
        rows = items.selectExpr("id", "score AS value", "says", *more)
        rows = with_digest(rows, "id", self.id_kind)
        if rule == "margin":
            rows = rows.withColumnRenamed("digest", "word")
            rows = with_words(rows, {"value": "float"}, ["id", "value", "says"])
            return rows.withColumnRenamed("word", _ODDS_WORD), {_ODDS_WORD: "bit_xor"}
        sums = dict.fromkeys(DIGEST_PIECES, "sum")
        if self._weights:
            rows = with_weight_word(rows)
            sums |= {"weight": "sum", WEIGHT_WORD: "bit_xor"}
        pieces = [
            f"shiftrightunsigned(digest, {shift}) & {2**bits - 1}L AS {name}"
            for name, (shift, bits) in DIGEST_PIECES.items()
        ]
        return rows.selectExpr("*", *pieces), sums


class _Counted:
    """One of several classifiers, whose items were counted together with the others'."""

    def __init__(self, one: SparkScanner, groups: "pa.Table") -> None:
        self._one, self._groups = one, groups

    def judged(self) -> tuple[ScoreCells, tuple[Doubt, ...]]:
        """Return the counts of all items by score, and what looks odd."""
        return self._one.judged_by(self._groups)


def ranks_by_bin(step: Steps) -> tuple[int, Floats]:
    """Return the lowest bin of a classifier, and the rank of it and every bin above."""
    cells = step.cells
    lowest = int(cells.bin.min())
    ranks = np.full(int(cells.bin.max()) - lowest + 1, np.nan)
    ranks[cells.bin - lowest] = step.rank
    return lowest, ranks
