"""Two sets of predictions that stay in place, joined by id inside an engine.

Each set is counted in place as if it were alone; its cells give the rank of every score among its
own items. Only ids and cells are joined. In the join, a row of either set looks up the
contributions of its cells to the code and to the sum of ranks; for a row in both, the mean is half
of that sum. The results equal those in memory (`assay.predictions.pairs.compared`) to the last bit.

With weights, those of the rows are joined, too. An item has one weight; its impressions follow from
the sum over the items of both, in a separate pass before counting.
"""

from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn, Self

import numpy as np
import pyarrow as pa

from assay.core.deck import Id
from assay.core.error_model import RANK, Model, Values, columns_at
from assay.core.profile import ScoreCells
from assay.core.types import Floats, Ints
from assay.core.weights import factor_exponent
from assay.errors import PredictionsError
from assay.predictions.batches import Batch, keys_of
from assay.predictions.column import Ids, places_among
from assay.predictions.contract import by_model
from assay.predictions.doubts import Doubt
from assay.predictions.engine import Listed, Scanner, Survey, note, number_of
from assay.predictions.faults import changed
from assay.predictions.layout import Steps
from assay.predictions.predictions import Predictions
from assay.predictions.roles import score_name
from assay.predictions.sql.rows import Family
from assay.predictions.union import PartsScanner, fingerprint_of
from assay.predictions.values import refuse_bad_total

SIDES = ("old", "new")
"""Names of the two sides in a join."""


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


def tell_of_move(side: Predictions, engine: str) -> None:
    """Announce that the rows of a side are moved: an id, a score, a label and a weight of each."""
    note(f"{side.size:,} rows of {side.source} are moved to {engine}")


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


class PairScanner(PartsScanner):
    """Two sets of predictions: values are mean ranks, and labels are codes.

    An engine joins the two, by id and key (`Scanner.keyed`), any number of times.

    `parts`: the earlier and the later; `names`: their names; `shows`: whether reviewers see any
    columns; `model`: its log odds replace the mean rank.
    """

    parts: tuple[Predictions, Predictions]

    def __init__(
        self,
        parts: tuple[Predictions, Predictions],
        names: tuple[str, str],
        *,
        shows: bool,
        model: Model | None = None,
    ) -> None:
        super().__init__(parts)
        self._names, self._shows, self.model = names, shows, model
        # The rank of each cell within its side, and its contribution to a code, with presence.
        self._steps = [_steps_of(part.survey.cells, place) for place, part in enumerate(parts)]
        self._weighted = parts[0].weighted
        # Exponent of the factor that converts weights to impressions, once it is known.
        self.exponent: int | None = None
        self._open()

    @abstractmethod
    def _open(self) -> None:
        """Make the sides known to the engine."""

    @abstractmethod
    def weighing(self) -> Weighing:
        """Sum the weights, and find items that have two."""

    @abstractmethod
    def weights(self) -> Iterable[Floats]:
        """Numbers, in pieces, whose exact sum is that of the weights."""

    @abstractmethod
    def joint(self) -> tuple[ScoreCells, int | None]:
        """Count all items by the mean rank and the code.

        The number is the exclusive or of `assay.predictions.draw.weight_words`; with a model, the
        word for `assay.predictions.contract.by_model`.
        """

    def again(self) -> Self:
        """Copy of the scanner after a new pass over both sets."""
        old, new = (part.as_it_is_now() for part in self.parts)
        return type(self)((old, new), self._names, shows=self._shows, model=self.model)

    def placed_by(self, model: Model) -> Self:
        """Copy of the scanner with a model's log odds in place of the mean rank."""
        return type(self)(self.parts, self._names, shows=self._shows, model=model)

    def survey(self, seed: int) -> Survey:
        """Join all items, and count them by mean rank and code."""
        if self._weighted:
            self._weigh()
        cells, word = self.joint()
        self._refuse_other_sizes(cells)
        fingerprint = fingerprint_of(self.parts)
        if self.model is not None:
            return Survey(cells, None, (), by_model(fingerprint, word or 0))  # of scores: none
        return Survey(
            cells,
            self._listed(cells, seed),
            doubts_about(self.parts, self._names),
            fingerprint,
            weighed=cells if self._weighted else None,
            weights_word=word,
        )

    def _weigh(self) -> None:
        """Find the factor from weights to impressions; raise if an item has two weights."""
        weighing = self.weighing()
        if weighing.first is not None:
            self.refuse_repeated_ids()
            refuse_two_weights(weighing, weighing.first, self.parts)
        refuse_bad_total(weighing.total, self.source)
        self.exponent = factor_exponent(weighing.total, weighing.items, self.weights)

    def _refuse_other_sizes(self, cells: ScoreCells) -> None:
        """Raise if a side has another number of items than were joined.

        An id that is twice in one and once in the other is joined twice.
        """
        for place, part in enumerate(self.parts):
            inside = cells.predicted >> 2 + place & 1 == 1
            if int(cells.count[inside].sum()) != part.size:
                self.refuse_repeated_ids()
                raise changed(self.source)

    def _listed(self, cells: ScoreCells, seed: int) -> Listed | None:
        """First cards of both, as far as both have listed theirs."""
        one, other = (part.survey.listed for part in self.parts)
        if one is None or other is None or {one.seed, other.seed} != {seed}:
            return None
        limit = min(one.limit, other.limit)
        sides = []
        for each, step in zip((one, other), self._steps, strict=True):
            low = np.flatnonzero(number_of(each.ids.digest, seed) <= np.uint64(limit))
            at = each.cell[low]
            sides.append((each.ids.take(low), step.rank[at], step.code[at], None))
        ids, values, codes, *_ = put_together(*sides)
        return Listed(seed, limit, ids, keys_of(cells, Batch(values, codes), self.source))

    def show(self, ids: Sequence[Id]) -> list[dict[str, object]]:
        """Show the values of items: from the later predictions, if they have them."""
        return super().show(ids) if self._shows else [{} for _ in ids]


def _steps_of(cells: ScoreCells, place: int) -> Steps:
    alone = Steps.of(cells, place)
    return Steps(cells, alone.rank, alone.code + (cells.classes**2 << place))


def doubts_about(parts: Sequence[Predictions], names: Sequence[str]) -> tuple[Doubt, ...]:
    """Problems with the scores of both, each with a name."""
    pairs = zip(parts, names, strict=True)
    return tuple(doubt.about(name) for part, name in pairs for doubt in part.doubts)


def refuse_two_weights(weighing: Weighing, first: Id, parts: Sequence[Predictions]) -> NoReturn:
    """Raise because items have two weights: the first, and others."""
    by: Any = {"variable": "score", "scale": "margin"}
    given = [part.scanner.find([first], **by).given for part in parts]
    weights = [float(each[0]) for each in given if each is not None and each.size]
    short = [f"{weight:g}" for weight in weights]
    if len({*short}) < len(weights):
        short = [repr(weight) for weight in weights]  # which distinguishes any two
    weights_there = (
        f"{weight} in {part.source}" for weight, part in zip(short, parts, strict=True)
    )
    raise PredictionsError(
        f"item {first!r} has weight {' and '.join(weights_there)}",
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
