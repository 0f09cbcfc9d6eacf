"""Names of classifiers, and groups of items that a target may be about.

A group is a slice (the items in German), or the items that a classifier was applied to where not
all of them were (last week's). Whether an item is in a group is told by a bit of its code, behind
those of what the classifiers say: items of one code lie in the same groups, so a target of a group
is exact on the same parts as any other.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

from assay.errors import InputError

MOST_CLASSIFIERS = 62  # the bits of a code that any engine's signed 64 bits hold with room to spare


@dataclass(frozen=True)
class Groups:
    """The groups of a population.

    Parameters
    ----------
    names : tuple of str
        With K classifiers, bit K + j of a code is set where the j-th group holds the item.
    among : tuple of (classifier, group)
        The classifiers that were applied to a group only; the others, to all items.

    Examples
    --------
    >>> groups = Groups(("lang=de", "week 1"), among=(("old", "week 1"),))
    >>> [bin(groups.bits(2, name, "lang=de")) for name in ("new", "old")]
    ['0b100', '0b1100']
    """

    names: tuple[str, ...] = ()
    among: tuple[tuple[str, str], ...] = ()

    def __bool__(self) -> bool:
        return bool(self.names)

    def bits(self, classifiers: int, classifier: str, slice: str | None) -> int:
        """Return the bits that are set in the code of every item that a metric is about.

        Parameters
        ----------
        classifiers : int
            How many there are.
        classifier : str
            Whose metric it is; empty where it is nobody's.
        slice : str or None
            The group that it is restricted to.
        """
        held = {slice, dict(self.among).get(classifier)} - {None}
        return sum(1 << classifiers + self.names.index(name) for name in held if name is not None)

    def slices_told(self, classifiers: int, code: int) -> str:
        """Return the slices that hold a code's items, for people; empty where there are none.

        Examples
        --------
        >>> Groups(("lang=de", "lang=en")).slices_told(2, 0b0111)
        'lang=de'
        """
        whose = {group for _, group in self.among}
        held = [name for j, name in enumerate(self.names) if code >> classifiers + j & 1]
        return ", ".join(name for name in held if name not in whose)

    def to_dict(self) -> dict[str, Any]:
        """Return what JSON can carry."""
        return {"names": list(self.names), "among": [list(pair) for pair in self.among]}

    @classmethod
    def from_dict(cls, stored: Mapping[str, Sequence[Any]] | None) -> Self:
        """Restore what `to_dict` returned; campaigns from before there were groups have none."""
        if stored is None:
            return cls()
        pairs = tuple((str(classifier), str(group)) for classifier, group in stored["among"])
        return cls(tuple(map(str, stored["names"])), pairs)


NO_GROUPS = Groups()
"""Where every classifier was applied to all items, and no target is about a slice."""


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
