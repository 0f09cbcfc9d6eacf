"""Two sets of predictions that stay in place, joined by id inside an engine.

Each set is counted in place as if it were alone; its cells give the rank of every score among its
own items. Only ids and cells are joined. In the join, a row of either set looks up the
contributions of its cells to the code and to the sum of ranks; for a row in both, the mean is half
of that sum. The results equal those in memory (`assay.predictions.pair`) to the last bit.

With weights, those of the rows are joined, too. An item has one weight; its impressions follow from
the sum over the items of both, in a separate pass before counting.
"""

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn, Self, TypeAlias

import numpy as np
import pyarrow as pa

from assay.core import deck
from assay.core.bins import Scale, bins_of
from assay.core.cuts import Variable
from assay.core.deck import Id, IdKind
from assay.core.error_model import RANK, Model, Values, columns_at
from assay.core.profile import ScoreCells
from assay.core.types import Bools, Floats, Ints, Words
from assay.core.weights import as_impressions, factor_exponent
from assay.errors import PredictionsError
from assay.predictions.column import Ids, places_among
from assay.predictions.contract import by_model, joint_fingerprint, listed
from assay.predictions.engine import Listed, Rows, Scanner, Survey, note
from assay.predictions.layout import Steps
from assay.predictions.predictions import Predictions
from assay.predictions.roles import score_name
from assay.predictions.sql.query import double_sql
from assay.predictions.sql.rows import Family
from assay.predictions.values import refuse_bad_total

# The two sides of a comparison, as rows of id and key for the engine that joins them.
#
# The key is the cell of the row's score and label, from the count of that side alone. If items have
# weights, the row's own, as given, is included.


SIDES = ("old", "new")
"""Names of the two sides in a join."""

IdsType: TypeAlias = "np.dtype[Any] | None"
"""Integer type of ids, with or without sign; None for strings."""


class Side:
    """One of two sets of predictions of yes and no.

    `place`: 0 for the earlier, 1 for the later; `cells`: its counts.

    `steps`: the rank of each cell within the side, and its contribution to a code, including
    presence.
    """

    def __init__(self, part: Predictions, place: int) -> None:
        self.part, self.place, self.scanner = part, place, part.scanner
        self.cells, self.listed = part.survey.cells, part.survey.listed
        alone = Steps.of(self.cells, place)
        self.steps = Steps(self.cells, alone.rank, alone.code + (self.cells.classes**2 << place))

    @property
    def ids_type(self) -> IdsType:
        """Integer type of the ids, with or without sign; None for strings."""
        if self.part.id_kind == "string":
            return None
        ids = self.find([]).ids if self.listed is None else self.listed.ids
        return ids.values.dtype if isinstance(ids.values, np.ndarray) else None

    def pieces(self) -> Iterator["pa.RecordBatch"]:
        """Id of every row, the place of its cell (as key), and its weight if any."""
        if self.scanner.streams:
            yield from self.scanner.keyed(self.cells)
            return
        for ids, score, predicted, given in self.scanner.pieces():
            own_ids: Any = ids.values
            key = pa.array(self.cell_of(score, predicted), pa.int32())
            weight = {} if given is None else {"weight": pa.array(given)}
            yield pa.record_batch({"id": pa.array(own_ids), "key": key, **weight})

    def cell_of(self, score: Floats, predicted: Bools | Ints) -> Ints:
        """Place of each item's cell among the cells."""
        rule, classes = self.cells.rule, self.cells.classes
        known = classes * self.cells.bin + self.cells.predicted
        return place_of(classes * bins_of(score, rule) + predicted, known, self.part.source)

    def find(self, ids: Sequence[Id]) -> Rows:
        """Rows with these ids."""
        return self.scanner.find(ids, variable="score", scale="margin")

    def show(self, ids: Sequence[Id]) -> list[dict[str, object]]:
        """Show the values of items of this side."""
        return self.scanner.show(ids) if ids else []


def opinions_are_alike(old: Predictions, new: Predictions) -> bool:
    """Whether an engine can join the columns for a model: plain ones, of one kind in both.

    Dates, and text in one beside numbers in the other, are compared in memory only.
    """
    return bool(joined_opinions([old.scanner, new.scanner], ("old", "new")))


def joined_opinions(
    scanners: Sequence[Scanner], names: tuple[str, str]
) -> dict[str, tuple[str, Family]]:
    """Columns for a model of two sets: the name of each in a join, and its kind of values."""
    kinds = [each.opinion_families for each in scanners]
    if len(kinds) < len(names) or kinds[0] != kinds[1]:
        return {}
    families = kinds[0]
    if "other" in families.values():
        return {}
    columns_of = {name: (f"aux_{place}", families[name]) for place, name in enumerate(families)}
    for side, name, each in zip(SIDES, names, scanners, strict=True):
        if families and each.has_score:
            columns_of[score_name(name)] = f"score_{side}", "float"
    return columns_of


def joined_values(
    table: "pa.Table", columns: Mapping[str, str], ranks: Floats, rows: Sequence[int]
) -> dict[str, Values]:
    """Values of columns of a join, and mean ranks, of some of its rows."""
    values: dict[str, Values] = {
        name: table[column].to_numpy()
        if pa.types.is_floating(table[column].type)
        else table[column].to_pylist()
        for name, column in columns.items()
    }
    return columns_at({**values, RANK: ranks}, np.array(rows, dtype=np.int64))


def tell_of_move(side: Side, engine: str) -> None:
    """Announce that the rows of a side are moved: an id, a score, a label and a weight of each."""
    note(f"{side.cells.size:,} rows of {side.part.source} are moved to {engine}")


def numbers(ids: Ids, seed: int) -> Words:
    """Numbers of items in the deck."""
    return deck.mix(ids.digest ^ np.uint64(deck.key(seed)))


def place_of(wanted: Ints, known: Ints, source: str) -> Ints:
    """Positions of values among those that were counted, which ascend."""
    at = np.minimum(np.searchsorted(known, wanted), known.size - 1)
    if not (known[at] == wanted).all():
        raise PredictionsError(f"{source} has changed while it was read")
    return at


N_CODES = 16
"""Number of codes of two classifiers of yes and no: four bits."""

IN_BOTH = 12
"""Smallest code of an item in both."""


@dataclass(frozen=True)
class Weighing:
    """Weights of two sides together."""

    # items, in_both: number of items, and of items in both.
    items: int
    in_both: int
    total: float  # the weights of all items, added in any order
    unlike: int  # how many items have two weights
    first: Id | None  # the smallest id of these


def value_sql(ranks: str, code: str) -> str:
    """Mean rank of an item as SQL, from the sum of its ranks and its code.

    >>> value_sql("ranks", "code")
    'ranks / CASE WHEN code >= 12 THEN 2.0000000000000000e+00 ELSE 1.0000000000000000e+00 END'
    """
    return f"{ranks} / CASE WHEN {code} >= {IN_BOTH} THEN {double_sql(2)} ELSE {double_sql(1)} END"


class PairScanner(Scanner):
    """Two sets of predictions: values are mean ranks, and labels are codes.

    An engine has joined the two; it can be queried any number of times.

    `parts`: the earlier and the later; `names`: their names; `shows`: whether reviewers see any
    columns; `model`: its log odds replace the mean rank.
    """

    def __init__(
        self,
        parts: tuple[Predictions, Predictions],
        names: tuple[str, str],
        *,
        shows: bool,
        model: Model | None = None,
    ) -> None:
        self.parts: tuple[Predictions, Predictions] = parts
        self._names, self._shows, self.model = names, shows, model
        self.source = listed([part.source for part in parts])
        self._sides = Side(parts[0], 0), Side(parts[1], 1)
        self._weighted = parts[0].weighted
        # Exponent of the factor that converts weights to impressions, once it is known.
        self.exponent: int | None = None

    @abstractmethod
    def weighing(self) -> Weighing:
        """Sum the weights, and find items that have two."""

    @abstractmethod
    def weights(self) -> Iterable[Floats]:
        """Numbers, in pieces, whose exact sum is that of the weights."""

    @abstractmethod
    def counted(self) -> tuple[ScoreCells, int | None]:
        """Count all items by the mean rank and the code.

        The number is the exclusive or of `assay.predictions.draw.weight_words`; with a model, the
        word for `assay.predictions.contract.by_model`.
        """

    @abstractmethod
    def joined(self, ids: Sequence[Id]) -> Rows:
        """Rows with these ids."""

    def again(self) -> Self:
        """Copy of the scanner after a new pass over both sets."""
        old, new = (part.as_it_is_now() for part in self.parts)
        return type(self)((old, new), self._names, shows=self._shows, model=self.model)

    def placed_by(self, model: Model) -> Self:
        """Copy of the scanner with a model's log odds in place of the mean rank."""
        return type(self)(self.parts, self._names, shows=self._shows, model=model)

    @property
    def id_kind(self) -> IdKind:
        """Whether the ids are integers or strings."""
        return self._sides[0].part.id_kind

    def survey(self, seed: int) -> Survey:
        """Join all items, and count them by mean rank and code."""
        if self._weighted:
            self._weigh()
        cells, word = self.counted()
        self._refuse_other_sizes(cells)
        doubts = tuple(
            doubt.about(name)
            for name, part in zip(self._names, self.parts, strict=True)
            for doubt in part.doubts
        )
        fingerprint = joint_fingerprint(
            [part.fingerprint() for part in self.parts], sum(part.size for part in self.parts)
        )
        if self.model is not None:
            return Survey(cells, None, (), by_model(fingerprint, word or 0))  # of scores: none
        return Survey(
            cells,
            self._listed(cells, seed),
            doubts,
            fingerprint,
            weighed=cells if self._weighted else None,
            weights_word=word,
        )

    def _weigh(self) -> None:
        """Find the factor from weights to impressions; raise if an item has two weights."""
        weighing = self.weighing()
        if weighing.first is not None:
            self.refuse_repeated_ids()
            before, after = (side.find([weighing.first]).given for side in self._sides)
            weights = [float(each[0]) for each in (before, after) if each is not None and each.size]
            refuse_two_weights(weighing, weights, self.parts)
        refuse_bad_total(weighing.total, self.source)
        self.exponent = factor_exponent(weighing.total, weighing.items, self.weights)

    def _refuse_other_sizes(self, cells: ScoreCells) -> None:
        """Raise if a side has another number of items than were joined.

        An id that is twice in one and once in the other is joined twice.
        """
        for place, side in enumerate(self._sides):
            inside = cells.predicted >> 2 + place & 1 == 1
            if int(cells.count[inside].sum()) == side.cells.size:
                continue
            self.refuse_repeated_ids()
            raise PredictionsError(f"{self.source} has changed while it was read")

    def _listed(self, cells: ScoreCells, seed: int) -> Listed | None:
        """First cards of both, as far as both have listed theirs."""
        lists = [side.listed for side in self._sides]
        one, other = lists
        if one is None or other is None or {one.seed, other.seed} != {seed}:
            return None
        limit = min(one.limit, other.limit)
        sides = []
        for each, side in zip((one, other), self._sides, strict=True):
            low = np.flatnonzero(numbers(each.ids, seed) <= np.uint64(limit))
            at = each.cell[low]
            sides.append((each.ids.take(low), side.steps.rank[at], side.steps.code[at], None))
        ids, values, codes, *_ = put_together(*sides)
        place = cells.classes * bins_of(values, cells.rule) + codes
        known = cells.classes * cells.bin + cells.predicted
        return Listed(seed, limit, ids, place_of(place, known, self.source))

    def find(self, ids: Sequence[Id], *, variable: Variable, scale: Scale) -> Rows:
        """Rows with these ids, looked up in each set; with a model, in the join."""
        del variable, scale
        if self.model is not None:
            return self.joined(ids)
        sides = []
        for side in self._sides:
            rows = side.find(ids)
            at = side.cell_of(rows.values, rows.predicted)
            sides.append((rows.ids, side.steps.rank[at], side.steps.code[at], rows.given))
        ids_there, ranks, codes, given, _ = put_together(*sides)
        exponent = self.exponent
        weights = None
        if given is not None and exponent is not None:
            weights = as_impressions(given, exponent)
        return Rows(ids_there, ranks, codes, weights=weights)

    def show(self, ids: Sequence[Id]) -> list[dict[str, object]]:
        """Show the values of items: from the later predictions, if they have them."""
        before, after = self._sides
        if not ids or not self._shows:
            return [{} for _ in ids]
        rows = after.find(ids)
        late = set(rows.ids.at(np.arange(len(rows.ids))))
        shown: dict[Id, dict[str, object]] = {}
        for side, own in (
            (after, [id for id in ids if id in late]),
            (before, [id for id in ids if id not in late]),
        ):
            shown |= dict(zip(own, side.show(own), strict=True))
        return [shown[id] for id in ids]

    def refuse_repeated_ids(self) -> None:
        """Read every id, and raise if one repeats."""
        for side in self._sides:
            side.scanner.refuse_repeated_ids()


def refuse_two_weights(
    weighing: Weighing, weights: Sequence[float], parts: Sequence[Predictions | Scanner]
) -> NoReturn:
    """Raise because an item has two weights.

    `weights`: the item's weight in each set; `parts`: the earlier and the later.
    """
    short = [f"{weight:g}" for weight in weights]
    if len({*short}) < len(weights):
        short = [repr(weight) for weight in weights]  # which distinguishes any two
    weights_there = (
        f"{weight} in {part.source}" for weight, part in zip(short, parts, strict=True)
    )
    raise PredictionsError(
        f"item {weighing.first!r} has weight {' and '.join(weights_there)}",
        details=f"{weighing.unlike:,} of the {weighing.in_both:,} items in both have two weights: "
        "a label counts for both metrics, and is drawn in proportion to one weight",
        hint="give each item one weight, such as its mean over both weeks; or follow the weeks "
        "as a series, each with weights of its own",
    )


Members = tuple[Ids, Floats, Ints, Floats | None]
"""Ids, with the rank, the code and, if there are weights, the weight of each."""


def put_together(before: Members, after: Members) -> tuple[Ids, Floats, Ints, Floats | None, Ints]:
    """Distinct ids of both, with mean rank and code; those of the later set come first.

    Also the positions of the earlier ids among them.

    >>> before = Ids(np.array([7, 8])), np.array([0.2, 0.4]), np.array([5, 4]), None
    >>> after = Ids(np.array([9, 7])), np.array([0.5, 0.6]), np.array([8, 10]), None
    >>> ids, ranks, codes, _, place = put_together(before, after)
    >>> ids.values, ranks, codes, place
    (array([9, 7, 8]), array([0.5, 0.4, 0.4]), array([ 8, 15,  4]), array([1, 2]))
    """
    old, earlier, earlier_codes, weighed = before
    new, later, says, weighs = after
    at = places_among(old, new)
    there, gone = np.flatnonzero(at >= 0), np.flatnonzero(at < 0)
    ranks, codes = (
        np.concatenate([later, earlier[gone]]),
        np.concatenate([says, earlier_codes[gone]]),
    )
    ranks[at[there]] = (ranks[at[there]] + earlier[there]) / 2
    codes[at[there]] += earlier_codes[there]
    weights = None
    if weighed is not None and weighs is not None:
        weights = np.concatenate([weighs, weighed[gone]])
    at[gone] = len(new) + np.arange(gone.size)
    return Ids.concatenated([new, old.take(gone)]), ranks, codes, weights, at
