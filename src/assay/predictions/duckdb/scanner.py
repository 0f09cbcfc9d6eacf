"""Predictions that DuckDB reads in place, and numpy counts: of one or several classifiers."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from functools import cache, partial
from tempfile import TemporaryFile
from typing import IO, Any

import numpy as np
import pyarrow as pa

from assay.core.bins import Rule, Scale
from assay.core.cuts import Variable, confidence
from assay.core.deck import Id, IdKind
from assay.core.error_model import RANK, Values, columns_at
from assay.core.profile import ScoreCells, evenest
from assay.core.types import Floats, Ints
from assay.core.weights import as_impressions
from assay.predictions.batches import (
    ALL,
    Answer,
    Batch,
    BatchScanner,
    Some,
    UnusableError,
    find_cells,
    marked_cells,
    places_of,
    rows_of,
)
from assay.predictions.column import Ids
from assay.predictions.contract import by_model
from assay.predictions.doubts import Doubt
from assay.predictions.draw import TOP
from assay.predictions.duckdb.loading import with_columns_apart
from assay.predictions.duckdb.readable import reading
from assay.predictions.duckdb.reader import DuckReader, Telling
from assay.predictions.duckdb.relations import open_relation
from assay.predictions.engine import Listed, Probabilities, Survey
from assay.predictions.faults import changed
from assay.predictions.layout import Layout, Steps
from assay.predictions.opinions import without_opinions
from assay.predictions.passes import (
    BITS,
    DIGEST,
    GIVEN,
    LISTED,
    Columns,
    FirstIds,
    FirstPass,
    Kept,
    Odds,
    Ranked,
    columns_of,
    odds_words,
    places_by,
)
from assay.predictions.roles import about
from assay.predictions.scan import Scan
from assay.predictions.sql.rows import Family

# Ids that the first pass lists: enough for 2,000 cards of every stratum with at least a hundredth
# of all items, and at most 4 MB.
_LISTED = 220_000


def first_limit(size: int) -> int:
    """Largest number in the deck of which the first pass over `size` rows lists the id."""
    return min(TOP, int(_LISTED / size * 2**64))


class DuckScanner(BatchScanner):
    """A `Scanner` of rows that DuckDB reads in batches.

    For one classifier, values are its scores, and labels are yes and no, or class numbers. For
    several, or with slices or second opinions, values are mean ranks and labels are codes.
    """

    streams = True

    def __init__(self, reader: DuckReader, layout: Layout) -> None:
        layout.refuse_many_codes(reader.slices, reader.source)
        self._reader, self._layout, self.source = reader, layout, reader.source
        self.n_codes = layout.n_codes(reader.slices)
        self._exponent = 0  # exponent of the factor from weights to impressions
        self._telling = Telling({}, [])
        self._ranked: Ranked | None = None  # by the cells of the first pass

    @property
    def id_kind(self) -> IdKind:
        """Whether the ids are integers or strings."""
        return self._reader.ids.kind

    @property
    def has_score(self) -> bool:
        """Whether the classifier has a score."""
        return self._layout.first.has_score

    @property
    def opinion_families(self) -> Mapping[str, Family]:
        """Kind of values of each column for a model; any number is a float."""
        return self._reader.opinion_families

    def refuse_repeated_ids(self) -> None:
        """Read every id, and raise if one repeats."""
        self._reader.ids.refuse_repeated()

    # First pass.

    def survey(self, seed: int) -> Survey:
        """Count all items, and list the first cards."""
        with reading(self.source):
            if self._layout.weight is not None:
                self._exponent = self._reader.weigh()
            size, rules = self._reader.size_and_rules()
            if not self._layout.is_coded:
                return self._survey_of_scores(seed, size, rules[0])
            with TemporaryFile(dir=self._reader.folder) as file:
                return self._survey_of_codes(seed, size, rules, file)

    def _survey_of_scores(self, seed: int, size: int, rule: Rule) -> Survey:
        """Count all items by score and label, in one pass for each rule that is tried."""
        count = cache(lambda rule: self._counted(rule, seed, size))
        result = evenest(count, rule, lambda survey: survey.cells)
        result = replace(result, doubts=self._reader.checked(0, result.cells))
        if self._layout.weight is None:
            return result
        weighed = evenest(count, rule, lambda survey: survey.cells.by_weight)
        return replace(result, weighed=weighed.cells)

    def _counted(self, rule: Rule, seed: int, size: int) -> Survey:
        first = self._reader.sparing(lambda: self._passed([rule], seed, size))
        cells = first.cells(0)
        listed = self._listed(first, seed, size, lambda kept: find_cells(cells, kept.keys[0]))
        return Survey(cells, listed, weights_word=first.weights_word)

    def _survey_of_codes(self, seed: int, size: int, rules: list[Rule], file: IO[bytes]) -> Survey:
        """Count all items by each score, then by mean rank and code."""
        counting = partial(self._evenest, rules, seed, size, file)
        first, counted = self._reader.sparing(counting)
        doubts = self._checked(counted)
        steps = [Steps.of(cells, place) for place, cells in enumerate(counted)]
        scored = [role.has_score for role in self._layout.judges.values()]
        self._ranked = ranked = Ranked(steps, scored)
        cells = ranked.count(first.kept(), self.n_codes)
        if {first.size, *(step.cells.size for step in steps)} != {size}:
            raise changed(self.source)
        fingerprint = self._layout.fingerprint(counted, cells)
        if self._layout.model is not None:
            return self._survey_by_model(fingerprint)

        def cell_of(kept: Kept) -> Ints:
            batch = ranked.of(kept)
            return find_cells(cells, places_of(batch.values, batch.predicted, cells.rule))

        return Survey(
            cells,
            self._listed(first, seed, size, cell_of),
            doubts,
            fingerprint,
            weighed=None if self._layout.weight is None else cells,
            weights_word=first.weights_word,
            slices=self._reader.slices,
            coded=True,
        )

    def _passed(
        self, rules: Sequence[Rule], seed: int, size: int, file: IO[bytes] | None = None
    ) -> FirstPass:
        """Read all rows once, by a rule for each score; a file keeps what later passes need."""
        reader = self._reader
        self._telling = reader.telling(rules)
        if file is not None:
            file.seek(0)
            file.truncate()
        around, first = {DIGEST: reader.digest}, None
        if self._layout.weight is not None:
            around[GIVEN] = reader.weight  # first cards depend on it: read once strata are known
        elif self.id_kind == "integer":  # they follow from their digests
            first = FirstIds(seed, first_limit(size), signed=reader.ids.signed)
        else:
            around[LISTED] = reader.first_ids(seed, first_limit(size))
        if reader.slices:
            around[BITS] = reader.bits
        judges, xor = self._telling.judges, self._layout.is_one
        kept: dict[str, Any] = {"file": file, "size": size}
        passed = FirstPass(judges, around, **kept, first=first, xor=xor, exponent=self._exponent)
        every = file is not None  # of several, ranks are among the items of weight 0, too
        asked = {**around, **self._telling.columns}
        with self._usable(tell=True), closing(reader.batches(asked, every=every)) as batches:
            passed.take(batches)
        return passed

    @contextmanager
    def _usable(self, *, tell: bool = False) -> Iterator[None]:
        """Raise an error if a row is not usable: what is wrong with it, or that it has changed."""
        try:
            yield
        except UnusableError:
            if tell:
                self._reader.tell_what_is_wrong()
            raise changed(self.source) from None

    def _evenest(
        self, rules: list[Rule], seed: int, size: int, file: IO[bytes]
    ) -> tuple[FirstPass, list[ScoreCells]]:
        """Read all rows by the rules that make the cells of each classifier most even."""
        places, first = range(len(rules)), self._passed(rules, seed, size, file)
        counted = [first.cells(place) for place in places]
        finer = [cells.finer_rule or cells.rule for cells in counted]
        if finer != rules:
            first = self._passed(finer, seed, size, file)
            each = zip(counted, map(first.cells, places), strict=True)
            counted = [min(pair, key=lambda cells: cells.heaviest) for pair in each]
        best = [cells.rule for cells in counted]
        return first if best == finer else self._passed(best, seed, size, file), counted

    def _checked(self, counted: Sequence[ScoreCells]) -> tuple[Doubt, ...]:
        """Doubts about each classifier; raise if its counts show that something is wrong."""
        doubts = list[Doubt]()
        for place, (name, cells) in enumerate(zip(self._layout.judges, counted, strict=True)):
            with about(name):
                doubts += [doubt.about(name) for doubt in self._reader.checked(place, cells)]
        return tuple(doubts)

    def _survey_by_model(self, fingerprint: str) -> Survey:
        """Count all items by a model's log odds and code."""
        items = self.items("rank", "margin")
        cells, word = marked_cells(items, "margin", self.n_codes, odds_words)
        of_model = by_model(fingerprint, word)
        return Survey(cells, fingerprint=of_model, slices=self._reader.slices, coded=True)

    def _listed(
        self, first: FirstPass, seed: int, size: int, cell_of: Callable[[Kept], Ints]
    ) -> Listed | None:
        """First cards that a pass has listed, if any, each with its cell."""
        listed = first.listed()
        if listed is None:
            return None
        ids, kept = listed
        return Listed(seed, first_limit(size), Ids.of(ids, self.id_kind), cell_of(kept))

    # Later passes.

    def ask(self, question: Callable[[], Answer]) -> Answer:
        """Answer of a pass; errors of DuckDB are raised as errors of the source."""
        with reading(self.source):
            return question()

    def counted(self, items: Iterable[Batch], rule: Rule, classes: int) -> ScoreCells:
        """Count items by the bins of a rule; say what is wrong with those that have none."""
        with self._usable(tell=True):
            return super().counted(items, rule, classes)

    def items(self, variable: Variable, scale: Scale, some: Some = ALL) -> Iterator[Batch]:
        """Batches of scores, mean ranks or log odds, and of labels or codes."""
        where = "" if some.ids is None else self._reader.among(some.ids)
        if some.spans:
            where = self._reader.below(some.spans, some.seed, self._exponent)
        odds = self._odds
        more = {} if odds is None else odds.columns
        ids = some is not ALL or odds is not None
        for columns, items in self._items_with(more, ids=ids, where=where):
            if odds is not None:
                yield odds.placed(columns, items)
            elif variable == "confidence":
                limit = self._layout.first.limit or 0.0
                values = confidence(items.values, items.predicted.astype(np.bool_), scale, limit)
                yield replace(items, values=values)
            else:
                yield items

    @property
    def _odds(self) -> Odds | None:
        """Log odds in place of the mean rank; None without a model."""
        model = self._layout.model
        if model is None or not self._layout.is_coded:
            return None
        return Odds(model, self._reader.inputs(model))

    def _items_with(
        self, more: Mapping[str, str], *, ids: bool, where: str
    ) -> Iterator[tuple[Columns, Batch]]:
        """Items that fulfil a condition, by scores or mean ranks, and values of expressions."""
        expressions = {**self._telling.columns, **more}
        if self._reader.slices:
            expressions[BITS] = self._reader.bits
        if self._layout.weight is not None:
            expressions[GIVEN] = self._reader.weight
        asked = {"id": self._reader.id, **expressions} if ids else expressions
        for batch in self._reader.batches(asked, where):
            with self._usable():
                columns = columns_of(batch, expressions)
                items = self._judgements(columns, batch.num_rows)
            given = columns.get(GIVEN)
            yield (
                columns,
                replace(
                    items,
                    ids=Ids.of(batch.column("id"), self.id_kind) if ids else None,
                    digest=None,
                    weights=None if given is None else as_impressions(given, self._exponent),
                    given=given,
                ),
            )

    def _judgements(self, columns: Columns, size: int) -> Batch:
        """Scores and labels, or mean ranks and codes, of some rows."""
        if not self._layout.is_coded:
            return self._telling.judges[0].batch(columns, size)
        if self._ranked is None:
            raise changed(self.source)
        keys = places_by(self._telling.judges, columns, size)
        return self._ranked.of(Kept(keys, np.zeros(size, dtype=np.uint64), columns.get(BITS)))

    def show(self, ids: Sequence[Id]) -> list[dict[str, object]]:
        """Show the values of the items with these ids, in their order."""
        return self._reader.shown(ids, self._layout.show)

    # Of classes.

    @property
    def probabilities(self) -> Sequence[Probabilities | None]:
        """Reader of each classifier's probabilities of all classes, if it has them."""
        return [
            partial(self._reader.probabilities, place) if role.of_class else None
            for place, role in enumerate(self._layout.judges.values())
        ]

    def summed_probabilities(self) -> Floats | None:
        """Sum the probabilities of each class by predicted class, shape (K, K)."""
        return self._reader.summed_probabilities() if self.has_probabilities[0] else None

    # Of columns for a model.

    def opinions(self, ids: Sequence[Id]) -> dict[str, Values]:
        """Values of some items: of every column, the scores, and the mean rank."""
        if not self._layout.aux:
            raise without_opinions(self.source)
        own = None if self._layout.is_coded else self._layout.first.score
        names = [name for name in (own, *self._layout.aux) if name is not None]
        shown = self._reader.shown(ids, names)
        values: dict[str, Values] = {name: [each[name] for each in shown] for name in names}
        return values | (self._scores(ids) if self._layout.is_coded else {})

    def _scores(self, ids: Sequence[Id]) -> dict[str, Values]:
        """Scores and mean ranks of some items."""
        scores = {f"s{place}": each for place, each in enumerate(self._reader.scores.values())}
        with reading(self.source):
            batches = list(self._items_with(scores, ids=True, where=self._reader.among(ids)))
        rows = rows_of([items for _, items in batches])
        parts = [[columns[name] for columns, _ in batches] for name in scores]
        each = [np.concatenate(part) + 0.0 for part in parts]  # -0.0 becomes 0.0
        order = np.array(rows.ids.rows_of(ids, self.source), dtype=np.int64)
        names = [*self._reader.scores, RANK]
        return columns_at(dict(zip(names, [*each, rows.values], strict=True)), order)

    def opinions_digest(self) -> int:
        """64 bits that change if a value of a column for a model does."""
        return self._reader.opinions_digest() if self._layout.aux else 0

    # Of one of two sets to join.

    def keyed(self, cells: ScoreCells, below: str = "") -> "Iterator[pa.RecordBatch]":
        """Id, key and weight of rows; with columns for a model, these and the score."""
        telling = self._reader.telling([cells.rule])
        (judge,) = telling.judges
        kind = pa.uint16() if cells.bin.size < 2**16 else pa.int32()
        for batch in self._reader.keyed(telling.columns, below):
            with self._usable():
                columns = columns_of(batch, judge.columns)
                key = find_cells(cells, judge.places(columns, batch.num_rows))
            named = {n: batch.column(n) for n in batch.schema.names if n not in columns}
            id = named.pop("id")
            yield pa.record_batch({"id": id, "key": pa.array(key, kind), **named})


def open_duck(scan: Scan, layout: Layout) -> DuckScanner:
    """Open predictions of one or several classifiers that DuckDB can read."""
    more = partial(with_columns_apart, apart=layout.apart) if layout.apart else None
    wanted = list(dict.fromkeys([*layout.columns, *layout.show]))
    relation = open_relation(scan, wanted, staged=True, more=more)
    return DuckScanner(DuckReader(relation, layout), layout)
