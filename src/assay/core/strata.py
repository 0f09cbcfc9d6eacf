"""Strata of a population: cells of predicted labels, cut by score or rank.

A **code** holds the predicted labels of an item by all classifiers: bit k is set if classifier k
predicts yes. The items of one code are a cell; cells that are sampled together are a heap
(`assay.core.cells`), and a heap may be cut further by a score. For a single unnamed classifier the
heaps are its two predicted labels, or both together. A **part** is the intersection of a stratum
and a cell: labels are counted by part, so that a metric of any classifier is exact even if a
stratum holds items of both its predicted labels.
"""

import operator
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from assay.core.cells import Heap, Part, assign_strata
from assay.core.cut_methods import UNEVEN
from assay.core.cuts import Cuts
from assay.core.groups import NO_GROUPS, Groups, refuse_bad_names
from assay.core.label_sets import vocabulary_from
from assay.core.profile import as_scores
from assay.core.strata_words import NamedWords, SideWords
from assay.core.types import LARGEST_EXACT, Bools, Floats, Ints
from assay.core.vocabulary import YES_OR_NO, OfClasses, Vocabulary
from assay.errors import AssayError, DesignError, InputError

Side = bool | None
"""Predicted label of some items: True only yes, False only no, None both."""

UNNAMED = ("",)
"""Names of a single classifier, which needs no name."""

EITHER = -1
"""Code of a part with items of both predicted labels, which are not distinguished."""

_CODES: dict[Side, tuple[int, ...]] = {True: (1,), False: (0,), None: (0, 1)}


@dataclass(frozen=True)
class Strata(OfClasses):
    """All strata of a population, numbered 0 to H - 1 through its heaps.

    >>> whole = Cuts(method="perc", points=(), owner=(0,))
    >>> halves = Cuts(method="perc", points=(0.5,), owner=(0, 1))
    >>> strata = Strata(
    ...     classifiers=("cnn", "mve"),
    ...     heaps=(Heap((3,), halves), Heap((1, 2), whole)),
    ...     parts=((0, 3, 40), (1, 3, 60), (2, 1, 7), (2, 2, 5)),
    ... )
    >>> strata.sizes, strata.part_of(2, 2)
    (array([40, 60, 12]), 3)
    >>> for text in strata.describe():
    ...     print(text)
    cnn and mve yes; rank below 0.5
    cnn and mve yes; rank 0.5 or more
    2 cells, 1 of 2 yes
    """

    # Names, in the order of the bits of a code; of a single one it may be empty.
    classifiers: tuple[str, ...]
    heaps: tuple[Heap, ...]  # the cells sampled together, and how they are cut
    parts: tuple[Part, ...]  # ascending; without empty parts
    variable: str = "rank"  # the variable that heaps are cut by: 'score', 'confidence', 'rank'
    # All items of the population; default: those of the parts. Items that no target needs labels of
    # are in no heap.
    items: int | None = None
    yes_items: tuple[int, ...] | None = None  # of these, those that each classifier predicts yes
    groups: Groups = NO_GROUPS  # meaning of the bits of a code behind the classifiers'
    rest: tuple[tuple[int, int], ...] = ()  # if there are groups, the items that are in no heap
    # If items have weights, the weight of each part (`core.weights`); `items`, `yes_items` and
    # `rest` are then in impressions, too.
    impressions: tuple[int, ...] | None = None
    # The classes in the order of their numbers; default: no and yes. With other classes a code is
    # sum_k c_k K^k, and `rest` has all items that are in no heap. If an item may have several, c_k
    # is the number of a set of classes, and K the number of such sets; `yes_items` has the items
    # that each classifier predicts each class for.
    vocabulary: Vocabulary = YES_OR_NO

    @classmethod
    def of_sides(
        cls,
        # What the scores are, in words: 'score', 'probability of the predicted class', .
        variable: str,
        # How the items of each predicted label are cut; None for those of both together.
        cuts: Mapping[Side, Cuts],
        sizes: Sequence[int],  # the items in each stratum, numbered through the sides
        weights: Sequence[int] | None = None,  # the impressions in each, if items have weights
    ) -> Self:
        """Strata of one unnamed classifier.

        >>> cuts = Cuts(method="equal", points=(0.25, 0.5), owner=(0, 1, 2))
        >>> for text in Strata.of_sides("score", {True: cuts}, (5, 2, 1)).describe():
        ...     print(text)
        yes, score below 0.25
        yes, score 0.25 to 0.5
        yes, score 0.5 or more
        """
        if not cuts or not set(cuts) <= set(_CODES) or (None in cuts and len(cuts) > 1):
            raise DesignError(
                f"layers are of the predicted labels {list(cuts)}",
                details="there must be one for True, one for False, one for each, or one for None",
            )
        codes = [
            EITHER if side is None else int(side)
            for side, each in cuts.items()
            for _ in range(each.n_strata)
        ]
        if len(sizes) != len(codes) or min(sizes) < 1:
            raise DesignError(
                f"stratum sizes are {tuple(sizes)}",
                details=f"there must be {len(codes)}, each at least 1",
            )
        return cls(
            UNNAMED,
            tuple(Heap(_CODES[side], each) for side, each in cuts.items()),
            tuple((h, code, size) for h, (code, size) in enumerate(zip(codes, sizes, strict=True))),
            variable,
            impressions=None if weights is None else tuple(weights),
        )

    def __post_init__(self) -> None:
        """Refuse codes in two heaps, and parts that do not match the heaps."""
        if self.is_named:
            refuse_bad_names(self.classifiers)
        codes = [code for heap in self.heaps for code in heap.codes]
        number, of_groups = len(self.classifiers), len(self.groups.names)
        most = self.vocabulary.kinds**number << of_groups
        if not codes or len(set(codes)) < len(codes) or max(codes) >= most:
            raise DesignError(
                f"{len(self.heaps)} heaps with {len(set(codes))} codes, "
                f"the largest {max(codes, default=None)}",
                details="there is at least one heap, each code is in one only, "
                f"and below {self.vocabulary.kinds}^{number + of_groups} for {number} classifiers"
                + (f" and {of_groups} groups" if self.groups else ""),
            )
        self._refuse_bad_parts()
        self._refuse_bad_counts()

    def _refuse_bad_parts(self) -> None:
        heap_codes = [
            {*heap.codes, EITHER} if heap.codes == _CODES[None] else {*heap.codes}
            for heap in self.heaps
            for _ in range(heap.cuts.n_strata)
        ]
        for stratum, code, items in self.parts:
            if not 0 <= stratum < self.n_strata or code not in heap_codes[stratum] or items < 1:
                raise DesignError(
                    f"a part of stratum {stratum} and code {code} has {items} items",
                    details="its code is of the stratum's heap, and it holds at least one item",
                )
        strata = [stratum for stratum, _, _ in self.parts]
        if set(strata) != set(range(self.n_strata)) or list(self.parts) != sorted(self.parts):
            raise DesignError(
                f"{len(self.parts)} parts are of {len(set(strata))} strata, or not in order",
                details=f"each of the {self.n_strata} strata has one or more, in ascending order",
            )
        if len({part[:2] for part in self.parts}) < len(self.parts):
            raise DesignError("two parts are of the same stratum and code")

    def _refuse_bad_counts(self) -> None:
        weights = self.impressions
        if weights is not None and (
            len(weights) != len(self.parts) or (np.array(weights) < self.part_size).any()
        ):
            raise DesignError(
                f"stratum weights are {weights}",
                details=f"there must be {len(self.parts)}, each at least 1 an item",
            )
        counts = (self.items or 0, *(self.yes_items or ()), *(items for _, items in self.rest))
        all_of_it = sum(weights or (items for _, _, items in self.parts))
        if min(counts) < 0 or max(all_of_it, *counts) > LARGEST_EXACT:
            raise DesignError(
                f"strata of {all_of_it} items, or of {min(counts)} to {max(counts)}",
                details="there are 0 to 2^53: beyond that numbers can no longer count one by one",
            )

    @property
    def is_named(self) -> bool:
        """Whether the classifiers have names; for an unnamed one, a stratum is one part."""
        return self.classifiers != UNNAMED

    @cached_property
    def n_strata(self) -> int:
        """The number of strata, H."""
        return sum(heap.cuts.n_strata for heap in self.heaps)

    @cached_property
    def sizes(self) -> Ints:
        """The items in each stratum, shape (H,)."""
        return self._by_stratum(self.part_size)

    @property
    def weighted(self) -> bool:
        """Whether items count by weight."""
        return self.impressions is not None

    @cached_property
    def weights(self) -> Ints:
        """Each stratum's weight: its impressions, or else its items, shape (H,)."""
        return self._by_stratum(self.part_weight)

    def _by_stratum(self, counts: Ints) -> Ints:
        sums = np.zeros(self.n_strata, dtype=np.int64)
        np.add.at(sums, self.part_stratum, counts)
        return sums

    @cached_property
    def part_stratum(self) -> Ints:
        """The stratum of each part, shape (C,)."""
        return np.array([stratum for stratum, _, _ in self.parts], dtype=np.int64)

    @cached_property
    def part_code(self) -> Ints:
        """The predicted labels of each part's items as a code, shape (C,)."""
        return np.array([code for _, code, _ in self.parts], dtype=np.int64)

    @cached_property
    def part_size(self) -> Ints:
        """The items in each part, shape (C,)."""
        return np.array([items for _, _, items in self.parts], dtype=np.int64)

    @cached_property
    def part_weight(self) -> Ints:
        """Each part's weight: its impressions, or else its items, shape (C,)."""
        if self.impressions is None:
            return self.part_size
        return np.array(self.impressions, dtype=np.int64)

    def part_of(self, stratum: int, code: int) -> int:
        """Index of the part with a stratum's items of a code."""
        try:
            return self._place[stratum, code]
        except KeyError:
            raise InputError(f"stratum {stratum} has no item with the code {code}") from None

    def has_part(self, stratum: int, code: int) -> bool:
        """Whether a stratum has items with a code."""
        return (stratum, code) in self._place

    @cached_property
    def _place(self) -> dict[tuple[int, int], int]:
        return {
            (stratum, each): place
            for place, (stratum, code, _) in enumerate(self.parts)
            for each in (_CODES[None] if code == EITHER else (code,))
        }

    @property
    def possible_codes(self) -> list[tuple[int, int]]:
        """Every stratum with each possible code of its items."""
        return [*self._place]

    @property
    def sides(self) -> list[Side]:
        """One classifier's predicted label of each heap; None for a heap with both."""
        return [heap.side for heap in self.heaps]

    @property
    def unit(self) -> int:
        """Codes of predicted labels are below it; an item's groups are multiples of it."""
        return int(self.vocabulary.kinds ** len(self.classifiers))

    @cached_property
    def straddles(self) -> bool:
        """Whether strata mix items of both predicted labels without distinguishing them.

        The outcome is then whether the prediction was correct (paper 2).
        """
        return bool((self.part_code == EITHER).any())

    @property
    def counted(self) -> str:
        """The outcome that is counted in a stratum: yes, or correct predictions."""
        return "correct" if self.of_classes or self.straddles else "yes"

    @property
    def says_yes(self) -> Bools | None:
        """The predicted label of each stratum, shape (H,), by one unnamed classifier.

        None if strata straddle labels, or there are several classifiers.
        """
        return None if self.is_named or self.straddles else self.part_code > 0

    def weighed(self, sizes: Ints, weights: Ints) -> Self:
        """Strata with these items and impressions in each part.

        They were cut by impressions, so the notes on their sizes are not about items.
        """
        return replace(
            self,
            heaps=tuple(replace(heap, cuts=_not_of_sizes(heap.cuts)) for heap in self.heaps),
            parts=tuple(
                (stratum, code, items)
                for (stratum, code, _), items in zip(self.parts, sizes.tolist(), strict=True)
            ),
            impressions=tuple(weights.tolist()),
        )

    def grown(self, more: Ints) -> Self:
        """Copy of the strata with more items in each part."""
        parts = zip(self.parts, more.tolist(), strict=True)
        return replace(
            self, parts=tuple((stratum, code, items + new) for (stratum, code, items), new in parts)
        )

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes from cutting, each with the predicted labels it is about."""
        return self._words.notes()

    def describe(self, variable: str | None = None) -> list[str]:
        """Short text for each stratum; `variable` replaces the variable's name."""
        return self._words.describe(variable or self.variable)

    @cached_property
    def _words(self) -> SideWords:
        words = NamedWords if self.is_named else SideWords
        return words(self.heaps, self.classifiers, self.vocabulary, self.groups, self.unit)

    def first_prediction(self, code: int) -> int:
        """Read the number of the first classifier's predicted class for a code.

        The first of the classifiers that were applied to its items.
        """
        applied = (k for k, name in enumerate(self.classifiers) if self._words.applies(name, code))
        return self.vocabulary.predicted(code, next(applied, 0) if self.groups else 0)

    def assign(self, values: Floats, predicted: NDArray[Any]) -> Ints:
        """Stratum of each item.

        `values`, (N,): the items' stratification variable; finite; `predicted`, (N,): their
        predicted labels: codes, or for one unnamed classifier, bools.

        0 to H - 1; -1 for an item that is in no heap.

        >>> cuts = Cuts(method="equal", points=(0.5,), owner=(0, 1))
        >>> strata = Strata.of_sides("score", {True: cuts}, (5, 2))
        >>> strata.assign(np.array([0.1, 0.9, 0.9]), np.array([True, True, False]))
        array([ 0,  1, -1])
        """
        scores, labels = as_scores(values), np.asarray(predicted)
        if labels.dtype != np.bool_ or labels.shape != scores.shape:
            return assign_strata(scores, labels, self.heaps)
        number = np.full(scores.size, -1, dtype=np.int64)
        first = 0
        for heap in self.heaps:
            within = heap.cuts.assign(scores)
            within += first + 1  # from -1, which items without a heap keep
            if heap.side is not None:
                within *= labels == heap.side  # three times faster than a masked copy
            number += within
            first += heap.cuts.n_strata
        return number

    def to_dict(self) -> dict[str, Any]:
        """Strata as JSON values; `from_dict` restores them exactly."""
        if not self.is_named:
            return {"variable": self.variable, "layers": self._layers()}
        return {
            "classifiers": list(self.classifiers),
            "variable": self.variable,
            "heaps": [
                {"codes": list(heap.codes), "cuts": heap.cuts.to_dict()} for heap in self.heaps
            ],
            "parts": [list(part) for part in self.parts],
            "items": self.items,
            "yes_items": None if self.yes_items is None else list(self.yes_items),
            **(
                {"groups": self.groups.to_dict(), "rest": [list(each) for each in self.rest]}
                if self.groups or self.of_classes
                else {}
            ),
            **({} if self.impressions is None else {"impressions": list(self.impressions)}),
            **self._with_classes(),
        }

    def _layers(self) -> list[dict[str, Any]]:
        """Heaps in the first schema, each with its strata's counts."""
        sizes, weights = iter(self.sizes.tolist()), iter(self.weights.tolist())
        layers = []
        for heap in self.heaps:
            count = heap.cuts.n_strata
            own = {"side": heap.side, "cuts": heap.cuts.to_dict(), "sizes": [*islice(sizes, count)]}
            more = {"weights": [*islice(weights, count)]} if self.weighted else {}
            layers.append({**own, **more})
        return layers

    def _with_classes(self) -> dict[str, Any]:
        if not self.of_classes:
            return {}
        stored = self.vocabulary.bare.to_dict()
        return {"classes": stored.pop("names"), **stored}

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> Self:
        """Restore the result of `to_dict`, of this version or any earlier one.

        >>> cuts = Cuts(method="equal", points=(0.5,), owner=(0, 1))
        >>> strata = Strata.of_sides("score", {None: cuts}, (2, 1))
        >>> Strata.from_dict(strata.to_dict()) == strata
        True
        """
        try:
            return cls._of_heaps(stored) if "heaps" in stored else cls._of_layers(stored)
        except AssayError:
            raise
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            raise DesignError(
                f"stored strata cannot be read: {type(error).__name__}: {error}",
                details="they must be what Strata.to_dict returned",
            ) from error

    @classmethod
    def _of_heaps(cls, stored: Mapping[str, Any]) -> Self:
        parts = [tuple(map(operator.index, part)) for part in stored["parts"]]
        weights, yes = stored.get("impressions"), stored["yes_items"]
        return cls(
            classifiers=tuple(stored["classifiers"]),
            heaps=tuple(
                Heap(tuple(map(operator.index, heap["codes"])), Cuts.from_dict(heap["cuts"]))
                for heap in stored["heaps"]
            ),
            parts=tuple((stratum, code, items) for stratum, code, items in parts),
            variable=str(stored["variable"]),
            items=None if stored["items"] is None else operator.index(stored["items"]),
            yes_items=None if yes is None else tuple(map(operator.index, yes)),
            groups=Groups.from_dict(stored.get("groups")),
            rest=tuple((int(code), int(items)) for code, items in stored.get("rest", ())),
            impressions=None if weights is None else tuple(map(operator.index, weights)),
            vocabulary=vocabulary_from(
                {**stored, "names": stored["classes"]} if "classes" in stored else None
            ),
        )

    @classmethod
    def _of_layers(cls, stored: Mapping[str, Any]) -> Self:
        layers = stored["layers"]
        cuts = {layer["side"]: Cuts.from_dict(layer["cuts"]) for layer in layers}
        counts = {
            name: [list(map(operator.index, layer[name])) for layer in layers if name in layer]
            for name in ("sizes", "weights")
        }
        for each in counts.values():
            # Together they might add up where single ones do not fit.
            if each and list(map(len, each)) != [one.n_strata for one in cuts.values()]:
                raise DesignError(
                    f"stratum sizes are {each}",
                    details="there is one layer for each predicted label, and one size a stratum",
                )
        sizes, weights = ([one for each in ones for one in each] for ones in counts.values())
        return cls.of_sides(str(stored["variable"]), cuts, sizes, weights or None)


def _not_of_sizes(cuts: Cuts) -> Cuts:
    return replace(cuts, notes=tuple(note for note in cuts.notes if not note.startswith(UNEVEN)))
