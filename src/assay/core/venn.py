"""The strata of several classifiers: cells of the Venn diagram of what they say yes to.

A **code** says what all of them said of an item: bit k is set where classifier k says yes. The
items of one code are a cell; each large cell is a heap of its own, small ones share a heap
(`assay.core.cells`), and a heap may be cut further by the items' mean rank. A **part** is
what one stratum and one cell have in common: labels are counted by part, so that a metric of any of
the classifiers is exact even where a stratum holds items that it says yes to and others.
"""

import operator
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np

from assay.core.cells import Heap, Part, assign_strata
from assay.core.cuts import Cuts
from assay.core.groups import NO_GROUPS, Groups
from assay.core.types import Floats, Ints
from assay.errors import AssayError, DesignError, InputError

MOST_CLASSIFIERS = 62  # the bits of a code that any engine's signed 64 bits hold with room to spare

# Up to here a cell is described by the classifiers' names, beyond by how many of them say yes.
_FEW_NAMES = 5


@dataclass(frozen=True)
class CellStrata:
    """All strata of a population that several classifiers judged, numbered through its heaps.

    Parameters
    ----------
    classifiers : tuple of str
        Their names, in the order of the bits of a code.
    heaps : tuple of Heap
        The cells drawn from together, and how they are cut.
    parts : tuple of (stratum, code, items)
        Ascending; only what has items.
    variable : str
        What the heaps are cut by.
    items : int, optional
        All items of the population; otherwise those of the parts. Items that no target needs labels
        of are in no heap.
    yes_items : tuple of int, optional
        Of these, what each classifier says yes to.
    groups : Groups
        What the bits of a code behind the classifiers' mean.
    rest : tuple of (code, items)
        Where there are groups, the items that are in no heap.

    Examples
    --------
    >>> whole = Cuts(method="perc", points=(), owner=(0,))
    >>> halves = Cuts(method="perc", points=(0.5,), owner=(0, 1))
    >>> strata = CellStrata(
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

    classifiers: tuple[str, ...]
    heaps: tuple[Heap, ...]
    parts: tuple[Part, ...]
    variable: str = "rank"
    items: int | None = None
    yes_items: tuple[int, ...] | None = None
    groups: Groups = NO_GROUPS
    rest: tuple[tuple[int, int], ...] = ()

    def __post_init__(self) -> None:
        """Refuse codes in two heaps, and parts that are not those of the heaps."""
        refuse_bad_names(self.classifiers)
        codes = [code for heap in self.heaps for code in heap.codes]
        bits = len(self.classifiers) + len(self.groups.names)
        if not codes or len(set(codes)) < len(codes) or max(codes) >> bits:
            raise DesignError(
                f"{len(self.heaps)} heaps with {len(set(codes))} codes, "
                f"the largest {max(codes, default=None)}",
                details="there is at least one heap, each code is in one only, "
                f"and below 2^{bits} for {len(self.classifiers)} classifiers"
                + (f" and {len(self.groups.names)} groups" if self.groups else ""),
            )
        heap_codes = [set(heap.codes) for heap in self.heaps for _ in range(heap.cuts.n_strata)]
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

    @cached_property
    def n_strata(self) -> int:
        """The number of strata, H."""
        return sum(heap.cuts.n_strata for heap in self.heaps)

    @cached_property
    def sizes(self) -> Ints:
        """The items in each stratum, shape (H,)."""
        sizes = np.zeros(self.n_strata, dtype=np.int64)
        np.add.at(sizes, self.part_stratum, self.part_size)
        return sizes

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

    def part_of(self, stratum: int, code: int) -> int:
        """Return which of the parts holds a stratum's items with a code."""
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
    def notes(self) -> tuple[str, ...]:
        """What happened while cutting, each note once, with what the classifiers said."""
        about: dict[str, list[str]] = {}
        for heap in self.heaps:
            for note in heap.cuts.notes:
                about.setdefault(note, []).append(self._said(heap))
        return tuple(
            f"{first} and {len(others)} more: {note}" if others else f"{first}: {note}"
            for note, (first, *others) in about.items()
        )

    def describe(self) -> list[str]:
        """Return one short text for each stratum."""
        texts = []
        for heap in self.heaps:
            said = self._said(heap)
            cuts = heap.cuts.describe() if heap.cuts.points else []
            texts += [f"{said}; {self.variable} {text}" for text in cuts] or [said]
        return texts

    def _said(self, heap: Heap) -> str:
        if len(heap.codes) > 1:
            yes = [self._yes(code).bit_count() for code in heap.codes]
            how_many = f"{min(yes)} to {max(yes)}" if min(yes) < max(yes) else f"{yes[0]}"
            return f"{len(heap.codes):,} cells, {how_many} of {len(self.classifiers)} yes"
        (code,) = heap.codes
        slices = self.groups.slices_told(len(self.classifiers), code)
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

    def _yes(self, code: int) -> int:
        return code & (1 << len(self.classifiers)) - 1

    def _applies(self, classifier: str, code: int) -> bool:
        needed = self.groups.bits(len(self.classifiers), classifier, None)
        return code & needed == needed

    def assign(self, values: Floats, codes: Ints) -> Ints:
        """Return the stratum of each item, as `assay.core.cells.assign_strata` does."""
        return assign_strata(values, codes, self.heaps)

    def to_dict(self) -> dict[str, Any]:
        """Return what JSON can carry; `from_dict` restores it exactly."""
        return {
            "classifiers": list(self.classifiers),
            "variable": self.variable,
            "heaps": [
                {"codes": list(heap.codes), "cuts": heap.cuts.to_dict()} for heap in self.heaps
            ],
            "parts": [list(part) for part in self.parts],
            "items": self.items,
            "yes_items": None if self.yes_items is None else list(self.yes_items),
            **(self._with_groups() if self.groups else {}),
        }

    def _with_groups(self) -> dict[str, Any]:
        return {"groups": self.groups.to_dict(), "rest": [list(each) for each in self.rest]}

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> Self:
        """Restore what `to_dict` returned.

        Examples
        --------
        >>> heap = Heap((0, 1), Cuts(method="perc", points=(), owner=(0,)))
        >>> strata = CellStrata(("cnn",), (heap,), ((0, 0, 5), (0, 1, 2)))
        >>> CellStrata.from_dict(strata.to_dict()) == strata
        True
        """
        try:
            heaps = tuple(
                Heap(tuple(map(operator.index, heap["codes"])), Cuts.from_dict(heap["cuts"]))
                for heap in stored["heaps"]
            )
            parts = [tuple(map(operator.index, part)) for part in stored["parts"]]
            return cls(
                classifiers=tuple(stored["classifiers"]),
                heaps=heaps,
                parts=tuple((stratum, code, items) for stratum, code, items in parts),
                variable=str(stored["variable"]),
                items=stored["items"],
                yes_items=None if stored["yes_items"] is None else tuple(stored["yes_items"]),
                groups=Groups.from_dict(stored.get("groups")),
                rest=tuple((int(code), int(items)) for code, items in stored.get("rest", ())),
            )
        except AssayError:
            raise
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            raise DesignError(
                f"stored strata cannot be read: {type(error).__name__}: {error}",
                details="they must be what CellStrata.to_dict returned",
            ) from error


def refuse_bad_names(names: Sequence[str]) -> None:
    """Raise an error if classifiers cannot be called so.

    Their names stand in the names of metrics, such as "precision:cnn".

    Examples
    --------
    >>> refuse_bad_names(["cnn", "our cnn"])
    Traceback (most recent call last):
    assay.errors.InputError: a classifier cannot be called 'our cnn'
    a name is of letters, digits, _ . and -
    """
    if not 1 <= len(names) <= MOST_CLASSIFIERS:
        raise InputError(
            f"there are {len(names)} classifiers",
            details=f"there must be at least 1 and at most {MOST_CLASSIFIERS}",
        )
    for name in names:
        if not (isinstance(name, str) and re.fullmatch(r"[\w.-]+", name)):
            raise InputError(
                f"a classifier cannot be called {name!r}",
                details="a name is of letters, digits, _ . and -",
            )
    for place, name in enumerate(names):
        if name in names[:place]:
            raise InputError(
                f"two classifiers are called {name!r}", details=f"names: {', '.join(names)}"
            )


def _listed(names: Sequence[str]) -> str:
    *others, last = names
    return f"{', '.join(others)} and {last}" if others else last
