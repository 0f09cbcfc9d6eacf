"""The strata of a population: cells of what the classifiers say, cut by score or rank.

A **code** says what all classifiers said of an item: bit k is set where classifier k says yes. The
items of one code are a cell; cells that are drawn from together are a heap (`assay.core.cells`),
and a heap may be cut further by a score. Of a single classifier without a name the heaps are its
two predicted labels, or both together. A **part** is what one stratum and one cell have in common:
labels are counted by part, so that a metric of any of the classifiers is exact even where a stratum
holds items that it says yes to and others.
"""

import operator
import re
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
from assay.core.profile import as_scores
from assay.core.targets import NO_GROUPS, Groups, refuse_bad_names
from assay.core.types import LARGEST_EXACT, Bools, Floats, Ints
from assay.core.vocabulary import YES_OR_NO, Vocabulary
from assay.errors import AssayError, DesignError, InputError

Side = bool | None
"""Of which predicted label: True only the items predicted yes, False only no, None all."""

UNNAMED = ("",)
"""The classifiers' names where there is one, which needs none."""

EITHER = -1
"""The code of a part with items of both predicted labels, which are not told apart."""

_CODES: dict[Side, tuple[int, ...]] = {True: (1,), False: (0,), None: (0, 1)}
_SAID: dict[Side, str] = {True: "yes", False: "no", None: ""}
# Up to here a cell is described by the classifiers' names, beyond by how many of them say yes.
_FEW_NAMES = 5


@dataclass(frozen=True)
class Strata:
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

    # Their names, in the order of the bits of a code; `UNNAMED` for one without a name.
    classifiers: tuple[str, ...]
    heaps: tuple[Heap, ...]  # the cells drawn from together, and how they are cut
    parts: tuple[Part, ...]  # ascending; only what has items
    variable: str = "rank"  # what the heaps are cut by: 'score', 'confidence', 'rank'
    # All items of the population; otherwise those of the parts. Items that no target needs labels
    # of are in no heap.
    items: int | None = None
    yes_items: tuple[int, ...] | None = None  # of these, what each classifier says yes to
    groups: Groups = NO_GROUPS  # what the bits of a code behind the classifiers' mean
    rest: tuple[tuple[int, int], ...] = ()  # where there are groups, the items that are in no heap
    # Where items have weights, what each part counts for (`core.weights`); `items`, `yes_items` and
    # `rest` are then in impressions, too.
    impressions: tuple[int, ...] | None = None
    # Those that items are of, in the order of their numbers: no and yes, if not others. A code is
    # then sum_k c_k K^k, and `rest` tells of all items that are in no heap.
    classes: tuple[str, ...] = YES_OR_NO.names
    # Whether an item may have several of the classes: c_k is then the number of a set of them, and
    # K the number of such sets. `yes_items` has the items that each classifier says each class of.
    multilabel: bool = False

    @classmethod
    def of_sides(
        cls,
        # What the scores are, in words: 'score', 'probability of the predicted class', .
        variable: str,
        # How the items of each predicted label are cut; None for those of both together.
        cuts: Mapping[Side, Cuts],
        sizes: Sequence[int],  # the items in each stratum, numbered through the sides
        weights: Sequence[int] | None = None,  # the impressions in each, where items have weights
    ) -> Self:
        """Return the strata of one classifier, which has no name.

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
        """Refuse codes in two heaps, and parts that are not those of the heaps."""
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
        either = set() if self.is_named else {EITHER}
        heap_codes = [
            either if either and len(heap.codes) > 1 else set(heap.codes)
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
        if len(self._place) < len(self.parts):
            raise DesignError("two parts are of the same stratum and code")
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
        """Whether the classifiers have names; of one without, a stratum is one part."""
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
        """What each stratum counts for: its impressions, or else its items, shape (H,)."""
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
        """What the classifiers said of each part's items, shape (C,)."""
        return np.array([code for _, code, _ in self.parts], dtype=np.int64)

    @cached_property
    def part_size(self) -> Ints:
        """The items in each part, shape (C,)."""
        return np.array([items for _, _, items in self.parts], dtype=np.int64)

    @cached_property
    def part_weight(self) -> Ints:
        """What each part counts for: its impressions, or else its items, shape (C,)."""
        if self.impressions is None:
            return self.part_size
        return np.array(self.impressions, dtype=np.int64)

    def part_of(self, stratum: int, code: int) -> int:
        """Return which of the parts holds a stratum's items with a code."""
        if not self.is_named:
            return stratum
        try:
            return self._place[stratum, code]
        except KeyError:
            raise InputError(f"stratum {stratum} has no item with the code {code}") from None

    def has_part(self, stratum: int, code: int) -> bool:
        """Tell whether a stratum has items with a code."""
        return (stratum, code) in self._place

    @cached_property
    def _place(self) -> dict[tuple[int, int], int]:
        return {(stratum, code): place for place, (stratum, code, _) in enumerate(self.parts)}

    @property
    def held(self) -> list[tuple[int, int]]:
        """Every stratum with each code that items of it may have."""
        return [
            (stratum, each)
            for stratum, code, _ in self.parts
            for each in ((0, 1) if code == EITHER else (code,))
        ]

    @property
    def sides(self) -> list[Side]:
        """What one classifier says of each heap's items; None of one where it says both."""
        return [heap.side for heap in self.heaps]

    @property
    def unit(self) -> int:
        """What all classifiers say of an item is below it, and its groups are multiples of it."""
        return int(self.vocabulary.kinds ** len(self.classifiers))

    @property
    def of_classes(self) -> bool:
        """Whether items are of more classes than yes and no."""
        return self.classes != YES_OR_NO.names

    @cached_property
    def vocabulary(self) -> Vocabulary:
        """The classes, without what people are told of them."""
        return Vocabulary(self.classes, multilabel=self.multilabel)

    @cached_property
    def straddles(self) -> bool:
        """Whether strata hold items of both predicted labels, which are not told apart.

        What is counted is then whether the prediction was correct (paper 2).
        """
        return bool((self.part_code == EITHER).any())

    @property
    def counted(self) -> str:
        """What is counted of the items of a stratum: those that are yes, or correct predictions."""
        return "correct" if self.of_classes or self.straddles else "yes"

    @property
    def says_yes(self) -> Bools | None:
        """The predicted label of each stratum, shape (H,), by one classifier without a name.

        None where strata straddle labels, or there are several classifiers.
        """
        return None if self.is_named or self.straddles else self.part_code > 0

    def weighed(self, sizes: Ints, weights: Ints) -> Self:
        """Return the strata with so many items and impressions in each part.

        They were cut by impressions: what was noted of their sizes is not about items.
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
        """Return the same strata with more items in each part."""
        parts = zip(self.parts, more.tolist(), strict=True)
        return replace(
            self,
            parts=tuple((stratum, code, items + new) for (stratum, code, items), new in parts),
        )

    @property
    def notes(self) -> tuple[str, ...]:
        """What happened while cutting, each note with what the classifiers said."""
        if not self.is_named:
            each = [(self._said(heap), note) for heap in self.heaps for note in _told(heap.cuts)]
            return tuple(f"{said}: {note}" if said else note for said, note in each)
        about: dict[str, list[str]] = {}
        for heap in self.heaps:
            for note in _told(heap.cuts):
                about.setdefault(note, []).append(self._said(heap))
        return tuple(
            f"{first} and {len(others)} more: {note}" if others else f"{first}: {note}"
            for note, (first, *others) in about.items()
        )

    def describe(self, variable: str | None = None) -> list[str]:
        """Return one short text for each stratum; `variable` is what it is called, if otherwise."""
        texts = []
        for heap in self.heaps:
            said = self._said(heap)
            if self.is_named and not heap.cuts.points:
                texts.append(said)
                continue
            before = f"{said}{';' if self.is_named else ','} " if said else ""
            texts += [
                f"{before}{variable or self.variable} {text}" for text in heap.cuts.describe()
            ]
        return texts

    def _said(self, heap: Heap) -> str:
        if not self.is_named:
            return _SAID[heap.side]
        if self.of_classes:
            return self._called(heap)
        if len(heap.codes) > 1:
            yes = [self._yes(code).bit_count() for code in heap.codes]
            how_many = f"{min(yes)} to {max(yes)}" if min(yes) < max(yes) else f"{yes[0]}"
            return f"{len(heap.codes):,} cells, {how_many} of {len(self.classifiers)} yes"
        (code,) = heap.codes
        slices = self.groups.slices_told(self.unit, code)
        where = [slices] if slices else []
        if len(self.classifiers) > _FEW_NAMES:
            said = f"{self._yes(code).bit_count()} of {len(self.classifiers)} yes"
            return "; ".join([said, *where])
        asked = [k for k, name in enumerate(self.classifiers) if self._applies(name, code)]
        answers = {
            answer: [self.classifiers[k] for k in asked if code >> k & 1 == bit]
            for answer, bit in (("yes", 1), ("no", 0))
        }
        told = [f"{_listed(names)} {answer}" for answer, names in answers.items() if names]
        return "; ".join([", ".join(told), *where])

    def _called(self, heap: Heap) -> str:
        """Return what the items of a heap are called, where there are more classes."""
        K, number = self.vocabulary.kinds, len(self.classifiers)
        if number > 1:
            return (
                f"{len(heap.codes):,} cells" if len(heap.codes) > 1 else self._called_by_each(heap)
            )
        names = [self._called_in(code % K) for code in heap.codes]
        if len(names) > _FEW_NAMES:
            return f"{len(names):,} {'sets of classes' if self.multilabel else 'classes'}"
        return " or ".join(names)

    def _called_in(self, number: int) -> str:
        """Return what a classifier says where it says this: a class, or a set of them."""
        return " and ".join(self.vocabulary.held(number)) or "no class"

    def _called_by_each(self, heap: Heap) -> str:
        K, (code,) = self.vocabulary.kinds, heap.codes
        return ", ".join(
            f"{name}: {self._called_in(code // K**place % K)}"
            for place, name in enumerate(self.classifiers)
            if self._applies(name, code)
        )

    def _yes(self, code: int) -> int:
        return code & (1 << len(self.classifiers)) - 1

    def _applies(self, classifier: str, code: int) -> bool:
        return self.groups.within(self.unit, classifier, None).holds(code)

    def first_said(self, code: int) -> int:
        """Return the number of the class that the first classifier says of a code's items.

        It is the first of those that were applied to them.
        """
        K = self.vocabulary.kinds
        if not self.groups:
            return code % K
        applied = (k for k, name in enumerate(self.classifiers) if self._applies(name, code))
        return int(code // K ** next(applied, 0) % K)

    def assign(self, values: Floats, said: NDArray[Any]) -> Ints:
        """Return the stratum of each item.

        `values`, (N,): the items' stratification variable; finite; `said`, (N,): what the
        classifiers said of them: codes, or of one without a name, bools.

        0 to H - 1; -1 for an item that is in no heap.

        >>> cuts = Cuts(method="equal", points=(0.5,), owner=(0, 1))
        >>> strata = Strata.of_sides("score", {True: cuts}, (5, 2))
        >>> strata.assign(np.array([0.1, 0.9, 0.9]), np.array([True, True, False]))
        array([ 0,  1, -1])
        """
        if self.is_named:
            return assign_strata(values, said, self.heaps)
        scores = as_scores(values)
        labels = np.asarray(said)
        if labels.dtype != np.bool_ or labels.shape != scores.shape:
            raise InputError(
                f"predicted labels are {labels.dtype} of shape {labels.shape}",
                details=f"they must be bool of shape {scores.shape}, one for each score",
            )
        number = np.full(scores.size, -1, dtype=np.int64)
        first = 0
        for heap in self.heaps:
            within = heap.cuts.assign(scores)
            within += first + 1  # from -1, which is what the items of no heap keep
            if heap.side is not None:
                within *= labels == heap.side  # three times faster than a masked copy
            number += within
            first += heap.cuts.n_strata
        return number

    def to_dict(self) -> dict[str, Any]:
        """Return what JSON can carry; `from_dict` restores it exactly."""
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
            **(self._with_groups() if self.groups or self.of_classes else {}),
            **({} if self.impressions is None else {"impressions": list(self.impressions)}),
            **({"classes": list(self.classes)} if self.of_classes else {}),
            **({"multilabel": True} if self.multilabel else {}),
        }

    def _layers(self) -> list[dict[str, Any]]:
        """Return the heaps as the first schema has them, each with its strata's counts."""
        sizes, weights = iter(self.sizes.tolist()), iter(self.weights.tolist())
        layers = []
        for heap in self.heaps:
            count = heap.cuts.n_strata
            own = {"side": heap.side, "cuts": heap.cuts.to_dict(), "sizes": [*islice(sizes, count)]}
            more = {"weights": [*islice(weights, count)]} if self.weighted else {}
            layers.append({**own, **more})
        return layers

    def _with_groups(self) -> dict[str, Any]:
        return {"groups": self.groups.to_dict(), "rest": [list(each) for each in self.rest]}

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> Self:
        """Restore what `to_dict` returned, of this version or any before.

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
            classes=tuple(map(str, stored.get("classes", YES_OR_NO.names))),
            multilabel=bool(stored.get("multilabel", False)),
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
            # One after the other they might add up where single ones do not fit.
            if each and list(map(len, each)) != [one.n_strata for one in cuts.values()]:
                raise DesignError(
                    f"stratum sizes are {each}",
                    details="there is one layer for each predicted label, and one size a stratum",
                )
        sizes, weights = ([one for each in ones for one in each] for ones in counts.values())
        return cls.of_sides(str(stored["variable"]), cuts, sizes, weights or None)


def _not_of_sizes(cuts: Cuts) -> Cuts:
    return replace(cuts, notes=tuple(note for note in cuts.notes if not note.startswith(UNEVEN)))


def _listed(names: Sequence[str]) -> str:
    *others, last = names
    return f"{', '.join(others)} and {last}" if others else last


def _told(cuts: Cuts) -> list[str]:
    """Return the notes that matter: that of unequal sizes only where one is over twice another."""
    found = []
    for note in cuts.notes:
        sizes = [int(size) for size in re.findall(r"\d+", note)[:2]]
        if not (note.startswith(UNEVEN) and len(sizes) == 2 and sizes[1] <= 2 * sizes[0]):
            found.append(note)
    return found
