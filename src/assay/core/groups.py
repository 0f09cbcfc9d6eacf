"""Names of classifiers, and groups of items that a target may be about.

A group is a slice (the items in German), or the items to which a classifier was applied if not to
all (last week's). A bit of an item's code, behind the predicted labels, is set for each of its
groups: items of one code are in the same groups, so a target of a group is exact on the same
parts as any other. The labels of J classifiers with K classes are below K^J, the code's *unit*,
and the bits are the code's multiple of it.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self, overload

import numpy as np

from assay.core.types import Bools, Ints
from assay.errors import InputError

MOST_CLASSIFIERS = 62  # the bits of a code that any engine's signed 64 bits hold with room to spare


@dataclass(frozen=True)
class Within:
    """Items that are in all of some groups: the population of a metric.

    >>> Within(4, 0b10).holds(0b1001), Within(4, 0b10).holds(0b0101), Within().holds(3)
    (True, False, True)
    """

    unit: int = 1  # unit of the codes
    bits: int = 0  # one for each group; 0 if a metric is about all items

    def __bool__(self) -> bool:
        return bool(self.bits)

    @overload
    def holds(self, code: int) -> bool: ...

    @overload
    def holds(self, code: Ints) -> Bools: ...

    def holds(self, code: int | Ints) -> bool | Bools:
        """Whether items of a code belong to it."""
        if not self.bits:
            return np.ones(code.shape, dtype=np.bool_) if isinstance(code, np.ndarray) else True
        return code // self.unit & self.bits == self.bits


EVERYWHERE = Within()
"""All items."""


@dataclass(frozen=True)
class Groups:
    """The groups of a population.

    >>> groups = Groups(("lang=de", "week 1"), among=(("old", "week 1"),))
    >>> [bin(groups.within(4, name, "lang=de").bits) for name in ("new", "old")]
    ['0b1', '0b11']
    """

    # With the unit u, bit j of code // u is set if the j-th group holds the item.
    names: tuple[str, ...] = ()
    # Classifiers that were applied to a group only; the others were applied to all items.
    among: tuple[tuple[str, str], ...] = ()

    def __bool__(self) -> bool:
        return bool(self.names)

    def within(self, unit: int, classifier: str, slice: str | None) -> Within:
        """Items that a metric is about."""
        names = {slice, dict(self.among).get(classifier)} - {None}
        return Within(unit, sum(1 << self.names.index(name) for name in names if name is not None))

    def describe_slices(self, unit: int, code: int) -> str:
        """Slices of a code's items, for people; empty if there are none.

        >>> Groups(("lang=de", "lang=en")).describe_slices(4, 0b0111)
        'lang=de'
        """
        whose = {group for _, group in self.among}
        names = [name for j, name in enumerate(self.names) if code // unit >> j & 1]
        return ", ".join(name for name in names if name not in whose)

    def to_dict(self) -> dict[str, Any]:
        """Convert the groups to JSON values."""
        return {"names": list(self.names), "among": [list(pair) for pair in self.among]}

    @classmethod
    def from_dict(cls, stored: Mapping[str, Sequence[Any]] | None) -> Self:
        """Restore the result of `to_dict`; campaigns from before groups existed have none."""
        if stored is None:
            return cls()
        pairs = tuple((str(classifier), str(group)) for classifier, group in stored["among"])
        return cls(tuple(map(str, stored["names"])), pairs)


NO_GROUPS = Groups()
"""If every classifier was applied to all items, and no target is about a slice."""


def refuse_bad_names(names: Sequence[str]) -> None:
    """Raise an error for invalid names of classifiers.

    They are part of the names of metrics, such as "precision:cnn".

    >>> refuse_bad_names(["cnn", "our cnn"])
    Traceback (most recent call last):
    assay.errors.InputError: a classifier cannot be called 'our cnn'
    a name has at most 200 letters, digits, _ . and -
    """
    if not 1 <= len(names) <= MOST_CLASSIFIERS:
        raise InputError(
            f"there are {len(names)} classifiers",
            details=f"there must be at least 1 and at most {MOST_CLASSIFIERS}",
        )
    for name in names:
        if not (isinstance(name, str) and re.fullmatch(r"[\w.-]{1,200}", name)):
            raise InputError(
                f"a classifier cannot be called {repr(name)[:202]}",
                details="a name has at most 200 letters, digits, _ . and -",
            )
    refuse_repeated_names(names)


def refuse_repeated_names(names: Sequence[str]) -> None:
    """Raise an error for two classifiers with one name."""
    for place, name in enumerate(names):
        if name in names[:place]:
            raise InputError(
                f"two classifiers are called {name!r}", details=f"names: {', '.join(names)}"
            )
