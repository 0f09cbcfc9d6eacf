"""Descriptions of strata: the items of each, and how they are cut."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from assay.core.cells import Heap
from assay.core.cut_methods import UNEVEN
from assay.core.cuts import Cuts
from assay.core.groups import Groups
from assay.core.vocabulary import Vocabulary

_WORDS = {True: "yes", False: "no", None: ""}
# Up to this number a cell is described by the classifiers' names, beyond by the count of yes.
_FEW_NAMES = 5


@dataclass(frozen=True, eq=False)
class SideWords:
    """Strata of one unnamed classifier, by its predicted labels."""

    heaps: Sequence[Heap]
    classifiers: tuple[str, ...]
    vocabulary: Vocabulary
    groups: Groups
    unit: int  # codes of predicted labels are below it

    def notes(self) -> tuple[str, ...]:
        """Collect the notes from cutting, each with the predicted labels it is about."""
        heaps = self.heaps
        each = [
            (self.prediction(heap), note) for heap in heaps for note in _relevant_notes(heap.cuts)
        ]
        return tuple(f"{name}: {note}" if name else note for name, note in each)

    def describe(self, variable: str) -> list[str]:
        """Short text for each stratum."""
        return [text for heap in self.heaps for text in self.strata_of(heap, variable)]

    def strata_of(self, heap: Heap, variable: str) -> list[str]:
        """Text for each stratum of a heap."""
        name = self.prediction(heap)
        before = f"{name}, " if name else ""
        return [f"{before}{variable} {text}" for text in heap.cuts.describe()]

    def applies(self, classifier: str, code: int) -> bool:
        """Whether a classifier was applied to a code's items."""
        return self.groups.within(self.unit, classifier, None).holds(code)

    def prediction(self, heap: Heap) -> str:
        """Describe a heap's predicted labels."""
        return _WORDS[heap.side]


class NamedWords(SideWords):
    """Strata of named classifiers, by the predicted labels of all."""

    def notes(self) -> tuple[str, ...]:
        """Collect the notes from cutting, each note once."""
        about: dict[str, list[str]] = {}
        for heap in self.heaps:
            for note in _relevant_notes(heap.cuts):
                about.setdefault(note, []).append(self.prediction(heap))
        return tuple(
            f"{first} and {len(others)} more: {note}" if others else f"{first}: {note}"
            for note, (first, *others) in about.items()
        )

    def strata_of(self, heap: Heap, variable: str) -> list[str]:
        """Text for each stratum of a heap."""
        name = self.prediction(heap)
        if not heap.cuts.points:
            return [name]
        return [f"{name}; {variable} {text}" for text in heap.cuts.describe()]

    def prediction(self, heap: Heap) -> str:
        """Describe a heap's predicted labels."""
        if not self.vocabulary.is_yes_or_no:
            return self._called(heap)
        names = self.classifiers
        if len(heap.codes) > 1:
            yes = [self._yes(code) for code in heap.codes]
            how_many = f"{min(yes)} to {max(yes)}" if min(yes) < max(yes) else f"{yes[0]}"
            return f"{len(heap.codes):,} cells, {how_many} of {len(names)} yes"
        (code,) = heap.codes
        slices = self.groups.describe_slices(self.unit, code)
        where = [slices] if slices else []
        if len(names) > _FEW_NAMES:
            return "; ".join([f"{self._yes(code)} of {len(names)} yes", *where])
        asked = [k for k, name in enumerate(names) if self.applies(name, code)]
        answers = {
            answer: [names[k] for k in asked if code >> k & 1 == bit]
            for answer, bit in (("yes", 1), ("no", 0))
        }
        parts = [f"{_listed(names)} {answer}" for answer, names in answers.items() if names]
        return "; ".join([", ".join(parts), *where])

    def _yes(self, code: int) -> int:
        """Count the classifiers that predict yes."""
        return (code & (1 << len(self.classifiers)) - 1).bit_count()

    def _called(self, heap: Heap) -> str:
        """Predicted classes of a heap's items, with more than two classes."""
        if len(self.classifiers) == 1:
            names = [self._called_in(code, 0) for code in heap.codes]
            kinds = self.vocabulary.kinds_in_words
            return f"{len(names):,} {kinds}" if len(names) > _FEW_NAMES else " or ".join(names)
        if len(heap.codes) > 1:
            return f"{len(heap.codes):,} cells"
        (code,) = heap.codes
        return ", ".join(
            f"{name}: {self._called_in(code, place)}"
            for place, name in enumerate(self.classifiers)
            if self.applies(name, code)
        )

    def _called_in(self, code: int, classifier: int) -> str:
        """Text of a predicted label: a class, or a set of classes."""
        number = self.vocabulary.predicted(code, classifier)
        return " and ".join(self.vocabulary.classes_in(number)) or "no class"


def _listed(names: Sequence[str]) -> str:
    *others, last = names
    return f"{', '.join(others)} and {last}" if others else last


def _relevant_notes(cuts: Cuts) -> list[str]:
    """Relevant notes: unequal sizes only if one is more than twice another."""
    notes = []
    for note in cuts.notes:
        sizes = [int(size) for size in re.findall(r"\d+", note)[:2]]
        if not (note.startswith(UNEVEN) and len(sizes) == 2 and sizes[1] <= 2 * sizes[0]):
            notes.append(note)
    return notes
