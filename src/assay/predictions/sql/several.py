"""Codes of several classifiers counted in place, or of one with slices or second opinions."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa

from assay.core.bins import Rule
from assay.core.deck import Id
from assay.core.error_model import RANK as MEAN_RANK
from assay.core.error_model import Values, columns_at
from assay.core.profile import ScoreCells
from assay.predictions.contract import by_model
from assay.predictions.doubts import Doubt
from assay.predictions.engine import Survey
from assay.predictions.faults import changed
from assay.predictions.layout import Layout, Steps
from assay.predictions.query import double_sql
from assay.predictions.roles import NO_SCORE, about
from assay.predictions.sql.cells import ODDS, SUMMED, XORED, grouped, in_pieces, merged_by
from assay.predictions.sql.counting import WEIGHED, CountingScanner
from assay.predictions.sql.items import Items, bin_sql, with_opinions
from assay.predictions.sql.judge import find_slices
from assay.predictions.sql.rows import Family, RowSql
from assay.predictions.sql.table import Table, integers, xored
from assay.predictions.tables import shown_values

BITS = "bits"
"""Column with the bits of the slices that contain an item."""


class SeveralScanner(CountingScanner):
    """A `Scanner` of several classifiers: values are mean ranks, and labels are codes."""

    def __init__(self, table: Table, layout: Layout) -> None:
        super().__init__(table, replace(layout.first, model=None), layout.show)
        self._layout, self._model = layout, layout.model
        self._slices, self._bits = find_slices(table, layout.groups)
        layout.refuse_many_codes(self._slices, table.source)
        self._each = layout.alone(
            lambda role, place: CountingScanner(table, role, (), self._ids, place)
        )
        # The predictions of each classifier are checked separately.
        codes, weight = layout.n_codes(self._slices), self._row.weight
        self.judge.row = RowSql(self._row.id, "0e0", "0", classes=codes, weight=weight)
        self._steps: list[Steps] = []
        self._by_model = False  # whether values are a model's log odds by now

    def survey(self, seed: int) -> Survey:
        """Count all items by each score, then by mean rank and code; by log odds with a model."""
        del seed  # as of one
        with self.table.connected():
            self._by_model, self._exponent = False, None
            self._steps, doubts = self._judged_apart()
            sizes = {step.cells.size for step in self._steps}
            if self._row.weight:
                sizes = {self._weigh()}
            if self._model is not None and self._layout.is_one:
                # Its own cells give the fingerprint.
                return self._survey_by_model(self._steps[0].cells.fingerprint(), sizes)
            cells, groups = self._counted_by("probability", sizes)
            fingerprint = self._layout.fingerprint([step.cells for step in self._steps], cells)
            if self._model is not None:
                return self._survey_by_model(fingerprint, sizes)
            weighted = bool(self._row.weight)
            return Survey(
                cells,
                None,
                tuple(doubts),
                fingerprint,
                weighed=cells if weighted else None,
                weights_word=xored(groups, "weight_words") if weighted else None,
                slices=self._slices,
                coded=True,
            )

    def _survey_by_model(self, fingerprint: str, sizes: set[int]) -> Survey:
        """Count all items by a model's log odds and code."""
        self._by_model = True
        cells, groups = self._counted_by("margin", sizes)
        of_model = by_model(fingerprint, xored(groups, "odds_words"))
        return Survey(cells, None, (), of_model, slices=self._slices, coded=True)

    def _counted_by(self, rule: Rule, sizes: set[int]) -> tuple[ScoreCells, "pa.Table"]:
        """Count items by the bins of a rule; raise if their number has changed."""
        items, sums = self._judged(), SUMMED
        if self._by_model:
            items = with_opinions(
                items.with_digest(self.id_kind).with_column("value AS odds"), {"odds": "float"}
            )
            sums = (ODDS,)
        elif self._row.weight:
            items, sums = in_pieces(items.with_weight_word(self.id_kind)), (*SUMMED, *WEIGHED)
        else:
            items = in_pieces(items.with_digest(self.id_kind))
        groups = self.table.fetch(grouped(items, self._row.classes, rules=[rule], sums=sums))
        if groups[rule].null_count:
            self.judge.tell_what_is_wrong()
            raise changed(self.source)
        cells = merged_by(groups, rule, self._row.classes or 2)
        if {cells.size} != sizes:
            raise changed(self.source)
        return cells, groups

    def _judged_apart(self) -> tuple[list[Steps], list[Doubt]]:
        """Ranks and codes of each classifier's cells, and doubts about their scores."""
        steps, doubts = list[Steps](), list[Doubt]()
        for (name, one), groups in zip(self._each.items(), self._counted_apart(), strict=True):
            with about(name):
                cells, own_doubts = one.judged_by(groups)
            steps.append(Steps.of(cells, len(steps)))
            doubts += [doubt.about(name) for doubt in own_doubts]
        return steps, doubts

    def _counted_apart(self) -> list["pa.Table"]:
        """Count the items by each score: in one pass, if a row can be stacked into several."""
        expressions = {"id": self._ids.sql} | self._columns_of_each
        columns = [
            {"value": f"score_{place}", "says": f"says_{place}"} for place in range(len(self._each))
        ]
        items = self.table.items(expressions)
        digests = (XORED,) if self._layout.is_one else ()  # its fingerprint comes from the cells
        stacked = self.table.stacked(items, columns)
        if stacked is not None:
            stacked = stacked.with_digest(self.id_kind) if digests else stacked
            query = grouped(stacked, self._of_each, by=["classifier"], sums=digests)
            groups = self.table.fetch(query)
            number = integers(groups["classifier"])
            return [groups.filter(pa.array(number == place)) for place in range(len(columns))]
        parts = []
        for each in columns:
            one = items.only("id", *(f"{column} AS {name}" for name, column in each.items()))
            one = one.with_digest(self.id_kind) if digests else one
            parts.append(self.table.fetch(grouped(one, self._of_each, sums=digests)))
        return parts

    @property
    def _columns_of_each(self) -> dict[str, str]:
        """Expressions of each classifier's score and label."""
        expressions: dict[str, str] = {}
        kind = "INT" if self._of_each is None else "BIGINT"  # of many classes, codes are large
        for place, one in enumerate(self._each.values()):
            expressions |= {
                f"score_{place}": one.judge.row.score,
                f"says_{place}": f"CAST({one.judge.row.says} AS {kind})",
            }
        return expressions

    @property
    def _of_each(self) -> int | None:
        """Number of classes of each classifier, if not no and yes."""
        return None if self._roles.classes is None else self._roles.n_classes

    @property
    def _apart(self) -> Sequence[CountingScanner]:
        return list(self._each.values())

    def _columns(self, *, shown: bool = False) -> dict[str, str]:
        """Expressions of a row: its id, each classifier's predictions, and the other columns."""
        expressions = (
            {"id": self._ids.sql} | self._columns_beside(shown=shown) | self._columns_of_each
        )
        expressions |= {f"aux_{i}": self._names[name] for i, name in enumerate(self._roles.aux)}
        return expressions | ({BITS: self._bits} if self._slices else {})

    def _placed(self, items: Items) -> Items:
        """Items with the mean rank, or a model's log odds, and the code."""
        ranked = self._ranked(items)
        kept = [name for name in ranked.keep if not name.startswith(("score_", "aux_", "value"))]
        if not self._by_model or self._model is None:
            return ranked.only("value", *kept) if self._roles.aux else ranked
        names, types = self._model_columns()
        return ranked.with_log_odds(self._model, names, types, kind=self.id_kind, kept=kept)

    def _ranked(self, items: Items) -> Items:
        """Items with their mean rank and code, and the columns that a model may use.

        The rank of a bin is looked up in a list that is part of the query.
        """
        query, ranks, codes, bins = items.query, [], [], []
        pairs = zip(self._layout.judges.values(), self._steps, strict=True)
        for place, (role, step) in enumerate(pairs):
            codes.append(f"says_{place} * {step.cells.classes**place}")
            if role.has_score:
                lowest, by_bin = ranks_by_bin(step)
                query, which = query.listing(by_bin)
                bin = bin_sql(f"score_{place}", step.cells.rule)
                bins.append(f"{bin} - ({lowest}) AS bin_{place}")
                ranks.append(f"element({which}, bin_{place})")
        if self._slices:
            codes.append(f"{2 ** len(self._steps)} * {BITS}")
        needed = [f"says_{place}" for place in range(len(self._steps))]
        kept = [
            name
            for name in items.keep
            if name not in (*needed, BITS) and (self._roles.aux or not name.startswith("score_"))
        ]
        needed += [BITS] if self._slices else []
        query = query.select(*kept, *needed, *bins)
        mean = f"({' + '.join(ranks)}) / {len(ranks)}e0" if ranks else double_sql(NO_SCORE)
        value = f"settled({mean}) AS value"
        return Items(query.select(*kept, value, f"{' + '.join(codes)} AS says"))

    def _model_columns(self) -> tuple[dict[str, str], dict[str, str]]:
        """Columns that a model may use, by their names among items, and their types."""
        names = {name: f"aux_{place}" for place, name in enumerate(self._roles.aux)}
        types = {name: self.table.types[name] for name in names}
        names |= {name: f"score_{place}" for name, place in self._layout.scores.items()}
        names[MEAN_RANK] = "value"
        return names, {name: types.get(name, "double") for name in names}

    def opinions(self, ids: Sequence[Id]) -> dict[str, Values]:
        """Values of some items: of every column, the scores, and the mean rank."""
        names, _ = self._model_columns()
        parts = self.table.among(ids, self._ids, self._columns(), self._there)
        queries = [self._ranked(part).only("id", *names.values()).query for part in parts]
        table = pa.concat_tables([self.table.fetch(query) for query in queries])
        order = np.array(self._ids.of(table["id"]).rows_of(ids, self.source), dtype=np.int64)
        values: dict[str, Values] = {
            name: shown_values(table[column])
            if name in self._roles.aux
            else table[column].to_numpy() + 0.0
            for name, column in names.items()
        }
        return columns_at(values, order)

    def _opined(self) -> list[tuple[str, Family]]:
        """Columns for a model and scores as SQL, each with its kind of values."""
        if not self._roles.aux:
            return []
        each = list(self._each.values())
        scores = self._layout.scores.values()
        return [*super()._opined(), *((each[place].judge.row.score, "float") for place in scores)]


def ranks_by_bin(step: Steps) -> tuple[int, list[float]]:
    """Lowest bin of a classifier, and the ranks of it and of every bin above."""
    cells = step.cells
    lowest = int(cells.bin.min())
    ranks = np.zeros(int(cells.bin.max()) - lowest + 1)
    ranks[cells.bin - lowest] = step.rank
    return lowest, ranks.tolist()
