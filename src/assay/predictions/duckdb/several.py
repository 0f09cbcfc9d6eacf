"""Several classifiers that DuckDB reads in place: all counted in one pass."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from tempfile import TemporaryFile
from typing import Any

import numpy as np

from assay.core.bins import Rule, Scale
from assay.core.cuts import Variable
from assay.core.deck import Id
from assay.core.error_model import RANK, Values
from assay.core.profile import ScoreCells
from assay.core.types import Floats
from assay.predictions.batches import Batch, count_cells, find_cells, places_of
from assay.predictions.contract import Doubt, by_model
from assay.predictions.duckdb.loading import fetch_shown, with_columns_apart
from assay.predictions.duckdb.passes import (
    BITS,
    Columns,
    FirstPass,
    Kept,
    Odds,
    Ranked,
    odds_words,
    places_by,
)
from assay.predictions.duckdb.readable import identifier, reading
from assay.predictions.duckdb.relations import Relation, open_relation
from assay.predictions.duckdb.scanner import DuckScanner, Telling, changed
from assay.predictions.engine import Survey
from assay.predictions.layout import Layout, Steps
from assay.predictions.roles import about
from assay.predictions.scan import Scan
from assay.predictions.sql.checks import refuse_bad_rows
from assay.predictions.sql.rows import Family, RowSql
from assay.predictions.sql.scanner import SqlScanner


def open_duck(scan: Scan, layout: Layout) -> DuckScanner:
    """Open predictions of one or several classifiers that DuckDB can read."""
    more = partial(with_columns_apart, apart=layout.apart) if layout.apart else None
    wanted = list(dict.fromkeys([*layout.columns, *layout.show]))
    relation = open_relation(scan, wanted, staged=True, more=more)
    if layout.is_coded:
        return DuckSeveral(relation, layout)
    return DuckScanner(relation, layout.first, layout.show)


class DuckSeveral(DuckScanner):
    """A `Scanner` of several classifiers: values are mean ranks, and labels are codes."""

    def __init__(self, relation: Relation, layout: Layout) -> None:
        super().__init__(relation, replace(layout.first, model=None), layout.show, place=None)
        self._layout, self._model = layout, layout.model
        self._slices, self._bits = self.find_slices(layout.groups)
        layout.refuse_many_codes(self._slices, relation.label)
        self._each = layout.alone(
            lambda role, place: DuckScanner(relation, role, (), self._ids, place)
        )
        for one in self._each.values():
            self._sql = one.classes.beside(self._sql)
        judges = layout.judges
        self._own = [(role, self._each[name].row) for name, role in judges.items()]
        self._scored = [role.has_score for role in judges.values()]
        self._n_codes = layout.n_codes(self._slices)
        self._ranked: Ranked | None = None  # by the cells of the first pass
        self._telling = Telling({}, [])

    def survey(self, seed: int) -> Survey:
        """Count all items by each score, then by mean rank and code, and list the first cards."""
        with reading(self.source), TemporaryFile(dir=self._relation.folder) as file:
            if self._row.weight:
                self._refuse_bad_weights()
                self._weigh()
            size, rules = self._size_and_rules()

            def passed(rules: Sequence[Rule]) -> FirstPass:
                ends = [role.predicted is not None or role.n_classes > 2 for role, _ in self._own]
                ends = [told or rule == "margin" for told, rule in zip(ends, rules, strict=True)]
                self._telling = Telling.of(self._own, rules, ends)
                file.seek(0)
                file.truncate()
                return self._passed(self._telling, seed, size, file)

            first = passed(rules)
            found = [self._judged_by(number, first) for number in range(len(rules))]
            steps = [Steps.of(cells, place) for place, (cells, _) in enumerate(found)]
            if [step.cells.rule for step in steps] != rules:
                first = passed([step.cells.rule for step in steps])
            self._ranked = ranked = Ranked(steps, self._scored)
            cells = ranked.count(first.kept(), self._n_codes)
            if {first.size, *(step.cells.size for step in steps)} != {size}:
                raise changed(self.source)
            fingerprint = self._fingerprint(steps, cells, seed)
            if self._model is not None:
                return self._placed_by(fingerprint)
        listed = first.listed()
        if listed is not None:
            ids, kept = listed
            batch = ranked.of(kept)
            cell = find_cells(cells, places_of(batch.values, batch.said, cells.rule))
        return Survey(
            cells,
            None if listed is None else self._listed(seed, size, ids, cell),
            tuple(doubt for _, odd in found for doubt in odd),
            fingerprint,
            weighed=cells if self._row.weight else None,
            weights_word=first.weights_word,
            slices=self._slices,
            coded=True,
        )

    @property
    def _apart(self) -> Sequence[SqlScanner]:
        return list(self._each.values())

    def _fingerprint(self, steps: Sequence[Steps], cells: ScoreCells, seed: int) -> str:
        """Fingerprint of everything read; of one classifier that of its cells."""
        each = [step.cells for step in steps]
        if self._layout.is_one:  # these have no digests
            each = [one.survey(seed).cells for one in self._each.values()]
        return self._layout.fingerprint(each, cells)

    def _placed_by(self, fingerprint: str) -> Survey:
        """Count all items by a model's log odds and code."""
        word = np.uint64(0)

        def marked() -> Iterator[Batch]:
            nonlocal word
            for batch in self._items("rank", "margin", ids=True):
                word ^= np.bitwise_xor.reduce(odds_words(batch))
                yield batch

        cells = count_cells(marked(), "margin", self._n_codes, lambda each: each)
        told = by_model(fingerprint, int(word))
        return Survey(cells, fingerprint=told, slices=self._slices, coded=True)

    def _items(
        self, variable: Variable, scale: Scale, *, ids: bool = False, where: str = ""
    ) -> Iterator[Batch]:
        """Items that fulfil a condition, with mean ranks or log odds, and codes."""
        del variable, scale
        odds = self._odds
        more = {} if odds is None else odds.columns
        for batch, columns, ranks in self._ranks(more, ids=ids or odds is not None, where=where):
            items = self._batch(batch, columns, ranks.values, ranks.said)
            yield items if odds is None else odds.placed(columns, items)

    @property
    def _odds(self) -> Odds | None:
        """Log odds in place of the mean rank; None without a model."""
        if self._model is None:
            return None
        names = {name: identifier(name) for name in self._roles.aux} | self._scores()
        types = {**self._relation.types, **dict.fromkeys(self._scores(), "DOUBLE")}
        return Odds(self._model, names, types)

    def _ranks(
        self, more: Mapping[str, str], *, ids: bool, where: str
    ) -> Iterator[tuple[Any, Columns, Batch]]:
        """Values of expressions for items, with their mean ranks and codes."""
        told = {**self._telling.columns, **more}
        if self._slices:
            told[BITS] = self._bits
        for batch, columns in self._told(told, ids=ids, where=where):
            if self._ranked is None:
                raise changed(self.source)
            keys = places_by(self._telling.judges, columns, batch.num_rows)
            none = np.zeros(batch.num_rows, dtype=np.uint64)
            yield batch, columns, self._ranked.of(Kept(keys, none, columns.get(BITS)))

    def _scores(self) -> dict[str, str]:
        """Scores of classifiers that have some, as SQL."""
        scores = self._layout.scores.items()
        return {name: f"({self._own[place][1].score})" for name, place in scores}

    def opinions(self, ids: Sequence[Id]) -> dict[str, Values]:
        """Values of some items: of every column, the scores, and the mean rank."""
        shown = fetch_shown(self._relation, self._roles.id, ids, self._roles.aux)
        told: dict[str, Values] = {name: [each[name] for each in shown] for name in self._roles.aux}
        scores = {
            f"s{place}": f"{sql}::DOUBLE" for place, sql in enumerate(self._scores().values())
        }
        parts: list[list[Floats]] = []
        held = []
        with reading(self.source):
            for batch, columns, ranks in self._ranks(scores, ids=True, where=self._among(ids)):
                held += self._ids.of(batch.column("id")).at(np.arange(batch.num_rows))
                parts.append([*(columns[name] for name in scores), ranks.values])
        place = {id: row for row, id in enumerate(held)}
        order = np.array([place[id] for id in ids], dtype=np.int64)
        for name, values in zip([*self._scores(), RANK], zip(*parts, strict=True), strict=True):
            told[name] = np.concatenate(values)[order] + 0.0
        return told

    def _opined(self) -> list[tuple[str, Family]]:
        return [*super()._opined(), *((sql, "float") for sql in self._scores().values())]

    def _around(self, seed: int, size: int) -> dict[str, str]:
        more = {BITS: self._bits} if self._slices else {}
        return super()._around(seed, size) | more

    def _refuse_bad_weights(self) -> None:
        """Raise if a weight is invalid, or an id is missing."""
        row = RowSql(self._row.id, "0e0", "0", is_sure=True, weight=self._row.weight)
        weight = self._roles.weight
        written = {weight: identifier(weight)} if weight and self._relation.is_text else {}
        refuse_bad_rows(self._inspected, row, self._roles, written=written)

    def _size_and_rules(self) -> tuple[int, list[Rule]]:
        """Return the number of rows, and the bin rule of each classifier."""
        rules = []
        for name, one in self._each.items():
            with about(name):
                size, rule = one.size_and_rule()
            rules.append(rule)
        return size, rules

    def _judged_by(self, number: int, first: FirstPass) -> tuple[ScoreCells, tuple[Doubt, ...]]:
        """Return the counts of a classifier, and doubts about it."""
        name, one = list(self._each.items())[number]
        cells, ends = first.cells(number), first.judges[number].ends
        with about(name):
            if cells.finer_rule is not None if ends else first.are_heavy(number):
                cells, doubts = one.judged()
            else:  # labels by a threshold, in many small cells, are as they should be
                doubts = one.checked(cells) if ends else ()
        return cells, tuple(doubt.about(name) for doubt in doubts)

    def tell_what_is_wrong(self) -> None:
        """Read the rows again, to check their ids, then the columns of each classifier."""
        if self._inspected.count([f"{self._row.id} IS NULL"])[0]:
            next(iter(self._each.values())).tell_what_is_wrong()  # it begins with the ids
        for name, one in self._each.items():
            with about(name):
                one.tell_what_is_wrong()
