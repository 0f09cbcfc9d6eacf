"""Several classifiers in Spark: a job for each, and one for the mean rank and code of all."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from assay.core.profile import ScoreCells
from assay.core.types import Floats
from assay.errors import PredictionsError
from assay.predictions.column import refuse_missing_columns
from assay.predictions.doubts import Doubt
from assay.predictions.engine import Survey
from assay.predictions.judgements import about
from assay.predictions.keys import key_parts, key_sql
from assay.predictions.memory import fingerprint_text
from assay.predictions.roles import Roles
from assay.predictions.scan import Scan
from assay.predictions.spark.columns import (
    HALVES,
    NEVER,
    halves_of,
    lower_of,
    mixed,
    refuse_other_arithmetic,
    spark_bin,
    with_digest,
    word_of,
)
from assay.predictions.spark.opinions import with_bits
from assay.predictions.spark.scanner import SparkScanner, grouped, merged_by
from assay.predictions.spark.slices import BITS, rows_with_slices
from assay.predictions.spark.source import (
    SparkRows,
    column_name,
    open_rows,
    reading_with_spark,
)
from assay.predictions.spark.weights import (
    WEIGHT_WORD,
    impressions_of,
    weights_word,
    with_weight_word,
)
from assay.predictions.sql.deck import spark_text_digest
from assay.predictions.sql.rows import RowSql
from assay.predictions.sql.several import Steps, mean_sql, n_codes, steps_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_MOST_CODES = 2**40  # with the bins of a rank they are numbers of 64 bits
# A word in pieces of so many bits: the sum of some 10^12 pieces fits into a BIGINT.
_PIECES = {"lowest": (0, 22), "middle": (22, 21), "highest": (43, 21)}


def open_spark(
    scan: Scan, roles: Mapping[str, Roles], show: Sequence[str], slices: Sequence[str] = ()
) -> SparkScanner:
    """Open predictions of one classifier or several that Spark can read.

    The session is used as it is: none of its settings are changed, and no views are made in it.

    Parameters
    ----------
    scan : Scan
        Where they are.
    roles : mapping of str to Roles
        Which columns are each classifier's; all name the same column of ids.
    show : sequence of str
        The columns that people see.
    slices : sequence of str
        Groups of items, of which codes tell, too.
    """
    first, *_ = roles.values()
    rows = open_rows(scan)
    with reading_with_spark(rows.source):
        rows = _with_key(rows, first.id)
        refuse_other_arithmetic(rows.frame.sparkSession)
        if len(roles) == 1 and not slices:
            (role,) = roles.values()
            return SparkScanner(rows, role, show)
        return SparkSeveral(rows, roles, show, slices)


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
    """A `Scanner` of several classifiers: values are mean ranks, and what a row says is a code.

    Parameters
    ----------
    rows : SparkRows
        The rows.
    roles, show, slices
        As in `open_spark`.
    """

    def __init__(
        self,
        rows: SparkRows,
        roles: Mapping[str, Roles],
        show: Sequence[str],
        slices: Sequence[str] = (),
    ) -> None:
        first, *_ = roles.values()
        rows, self._slices = rows_with_slices(rows, slices)
        super().__init__(rows, first, show)
        self._all = roles
        self._each: dict[str, SparkScanner] = {}
        for name, role in roles.items():
            with about(name):
                self._each[name] = SparkScanner(rows, replace(role, weight=None), (), self._ids)
        codes = n_codes([*roles.values()]) << len(self._slices)
        if codes > _MOST_CODES:
            raise PredictionsError(
                f"{len(roles)} classifiers with {len(self._slices)} slices of {rows.source} are "
                "more than a code holds",
                details=f"together they may be {_MOST_CODES.bit_length() - 1}",
                hint="name fewer slices",
            )
        # What each classifier says is looked at by itself.
        self._row = RowSql(self._row.id, "0e0", "0", classes=codes, weight=self._row.weight)
        said = [
            f"{expression} AS {name}_{place}"
            for place, one in enumerate(self._each.values())
            for name, expression in (
                ("score", one.row.score),
                ("says", f"CAST({one.row.says} AS INT)"),
            )
        ]
        if self._slices:  # as what one more classifier says
            last = len(self._each)
            said += [f"CAST({BITS} AS DOUBLE) AS score_{last}"]
            said += [f"CAST({BITS} > 0 AS INT) AS says_{last}", BITS]
        if self._weights:
            said.append(f"{self._row.weight} AS weight")
        shown = [f"{column_name(name)} AS shown_{i}" for i, name in enumerate(show)]
        self._rows_of_each = rows.frame.selectExpr(f"{self._ids.sql} AS id", *shown, *said)

    def survey(self, seed: int) -> Survey:
        """Count all items by each score, then by mean rank and code: two jobs."""
        del seed  # as of one
        steps, doubts = steps_of(self._counted_apart())
        (size,) = {step.cells.size for step in steps}
        self._items = self._placed(steps)
        sums = dict.fromkeys(_PIECES, "sum")
        if self._weights:
            exponent, size = self._factor()
            self._items = impressions_of(self._items, exponent)
            sums |= {"weight": "sum", WEIGHT_WORD: "bit_xor"}
        items = self._with_pieces(self._items)
        groups = self._rows.fetch(
            grouped(items, self._row.classes, rules=["probability"], more=sums)
        )
        if groups["probability"].null_count:
            self._tell_what_is_wrong()
            raise self._changed()
        cells = merged_by(groups, "probability", self._row.classes or 2)
        if cells.size != size:
            raise self._changed()
        total = sum(
            int(groups[f"sum({name})"].to_numpy().astype(object).sum()) << shift
            for name, (shift, _) in _PIECES.items()
        )
        return Survey(
            cells,
            None,
            doubts,
            fingerprint_text(cells.size, total),
            weighed=cells if self._weights else None,
            weights_word=weights_word(groups) if self._weights else None,
            slices=self._slices,
            coded=True,
        )

    def _changed(self) -> PredictionsError:
        return PredictionsError(f"{self.source} has changed while it was read")

    def _counted_apart(self) -> dict[str, "_Counted"]:
        """Count the items by each score: a row is as many as there are classifiers."""
        judged = (f"{place}, score_{place}, says_{place}" for place in range(len(self._each)))
        stacked = f"stack({len(self._each)}, {', '.join(judged)}) AS (classifier, value, says)"
        items = self._rows_of_each.selectExpr("id", stacked)
        groups = self._rows.fetch(grouped(items, by=["classifier"], more={}))
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
        for place, (role, step) in enumerate(zip(self._all.values(), steps, strict=True)):
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

    def _with_pieces(self, items: "DataFrame") -> "DataFrame":
        """Return items with what the fingerprint is made of: each one's word in pieces."""
        places = range(len(self._each) + bool(self._slices))
        kept, says = ["id", "value", "says"], [f"says_{place}" for place in places]
        if self._weights:
            items = with_weight_word(with_digest(items, "id", self.id_kind))
            kept += ["weight", WEIGHT_WORD]
        scores = [f"score_{place}" for place in places]
        rows = items.selectExpr("id", "score AS value", "says", *kept[3:], *says, *scores)
        rows = with_bits(rows, [*kept, *says], scores)
        words = {score: halves_of(score) for score in scores}
        if self.id_kind == "string":
            rows = rows.selectExpr("*", f"{spark_text_digest('id')} AS word")
            rows = mixed(rows, [*kept, *says, "word"], words)
            word = halves_of("word")
        else:
            rows = mixed(rows, [*kept, *says], {**words, "word": halves_of("id")})
            word = "word_upper", lower_of("word")
        for place in places:
            left = [f"{score}_{half}" for score in scores[place + 1 :] for half in HALVES]
            keep = [*kept, *says[place + 1 :], *left]
            upper = f"{word[0]} ^ {scores[place]}_upper AS upper"
            plus = f"({word[1]} ^ {lower_of(scores[place])}) + {says[place]} AS lower"
            rows = rows.selectExpr(*keep, upper, plus)
            # The sum may have a 33rd bit, which the upper half gets; it may lose one in turn.
            over, lower = halves_of("lower")
            (_, upper) = halves_of(f"(upper + {over})")
            rows = mixed(rows, keep, {"word": (upper, lower)})
            word = "word_upper", lower_of("word")
        pieces = [
            f"shiftrightunsigned(word, {shift}) & {2**bits - 1}L AS {name}"
            for name, (shift, bits) in _PIECES.items()
        ]
        return rows.selectExpr(*kept, f"{word_of(*word)} AS word").selectExpr(*kept, *pieces)


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
