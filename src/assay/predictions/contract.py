"""Contract of predictions: what the rest of Assay asks of them, and how they are known again."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Literal, Protocol, runtime_checkable

import numpy as np

from assay.core.bins import Scale
from assay.core.cells import Heap, Part
from assay.core.cuts import Variable
from assay.core.deck import Id
from assay.core.profile import Profile, ScoreCells
from assay.core.strata import Side, Strata
from assay.core.targets import Groups
from assay.core.types import Floats, Ints
from assay.predictions.doubts import Doubt

IdKind = Literal["integer", "string"]


@dataclass(frozen=True)
class Card:
    """An item that was dealt from a stratum's deck."""

    id: Id
    # Whether the classifier said yes: a bool. Of classifiers that have names the code
    # (`assay.core.vocabulary`): of yes and no, bit k is set where the k-th said yes.
    predicted: int
    # What people see when they label it: one value, fit for JSON, for each column to show.
    shown: Mapping[str, object]
    # How many impressions it counts for (`assay.core.weights`), where items have weights.
    weight: int | None = None


RANKED = "assay_ranked"
"""What a card keeps of top-k accuracy, where that is wanted, beside what people see: a list for
each classifier with the numbers of the classes that it finds most probable, in their order."""


@dataclass(frozen=True)
class Found:
    """An item that was looked for by its id: its card, and its stratification variable."""

    card: Card
    value: float


@dataclass(frozen=True, eq=False)
class ClassScores:
    """What one classifier of several classes thinks of what it says."""

    cells: ScoreCells  # items by the bin of the predicted class's score, and by that class
    # (K, K): row c: the sum of the probabilities of every class over the items that are called c,
    # those below 0 taken for 0. None where only the score of the predicted class is known.
    probabilities: Floats | None = None


@runtime_checkable
class ClassScored(Protocol):
    """Predictions that remember the scores of classes, and not their ranks alone."""

    def class_scores(self) -> ClassScores | None:
        """Return the scores of one classifier of several classes; None of anything else.

        Where probabilities stay in an engine, it is a pass over them.
        """


@runtime_checkable
class Predictions(Protocol):
    """The output of one classifier or several for every item of a population.

    What several say of an item is a code: bit k is set where the k-th says yes; of more classes
    than these two, sum_k c_k K^k with the number of the class that the k-th says. To be predicted
    yes is then to be predicted yes, or another class than the first, by one of them at least. The
    score of classifiers that have names is the mean rank.

    The same predictions answer alike from whatever container they are read and, where they carry
    ids, in whatever order their rows are.
    """

    @property
    def source(self) -> str:
        """Where they come from: a path, or 'pandas DataFrame, 1,000,000 rows'."""

    @property
    def size(self) -> int:
        """The number of items."""

    @property
    def id_kind(self) -> IdKind:
        """Whether the ids are integers or strings."""

    @property
    def classifiers(self) -> tuple[str, ...]:
        """Their names, in the order of the bits of a code; `UNNAMED` for one without a name."""

    @property
    def classes(self) -> tuple[str, ...]:
        """The classes that they say, in the order of their numbers: no and yes, or others."""

    @property
    def multilabel(self) -> bool:
        """Whether they may say several classes of an item."""

    @property
    def groups(self) -> Groups:
        """What the bits behind the classifiers' mean."""

    @property
    def positives(self) -> int:
        """The number of items predicted yes."""

    @property
    def weighted(self) -> bool:
        """Whether items count by weight."""

    @property
    def score_range(self) -> tuple[float, float]:
        """The smallest and the largest score."""

    @property
    def threshold(self) -> float | None:
        """The score at which the predicted label changes, if it was given."""

    @property
    def doubts(self) -> tuple[Doubt, ...]:
        """What looks wrong with the scores: of which class they are, and on which scale."""

    def fingerprint(self) -> str:
        """Return a text that changes when an id, a predicted label or the bin of a score does.

        A score that changes only within its bin (`assay.core.bins`) is not seen, unless it is the
        smallest or the largest there of one classifier; nothing drawn depends on it.
        """

    def profile(
        self, variable: Variable, scale: Scale, sides: Sequence[Side], /
    ) -> dict[Side, Profile]:
        """Return the distribution of the stratification variable on each side.

        Cells are bins by the rule for the whole population, whatever the range of a side.
        """

    def count(self, strata: Strata, *, scale: Scale) -> Ints:
        """Return the number of items in each stratum.

        By the strata's own cuts, whatever population they were made for.
        """

    def deal(
        self, strata: Strata, *, scale: Scale, seed: int, counts: Sequence[int]
    ) -> list[list[Card]]:
        """Return the first ``counts[h]`` cards of every stratum h, in deck order.

        Fewer where the stratum holds fewer.

        Parameters
        ----------
        strata : Strata
            The strata to deal from.
        scale : Scale
            What the scores are: probabilities or margins.
        seed : int
            Of the deck.
        counts : sequence of int
            Cards wanted of each stratum.
        """

    def find(self, ids: Sequence[Id], *, variable: Variable, scale: Scale) -> list["Found | None"]:
        """Return the items with these ids; None where there is none."""

    # What follows is asked of classifiers that have names.

    def cells(self) -> dict[int, int]:
        """Return what the items with each code that occurs count for: their number, or weight."""

    def profile_heaps(self, heaps: Sequence[Sequence[int]]) -> list[Profile]:
        """Return the distribution of the rank among the items with each heap's codes."""

    def count_parts(self, heaps: Sequence[Heap]) -> tuple[Part, ...]:
        """Return the number of items in each part of the strata that the heaps are cut into."""


@runtime_checkable
class Weighing(Predictions, Protocol):
    """`Predictions` whose items may count by weight."""

    def weighed(self, strata: Strata, *, scale: Scale) -> Strata:
        """Return strata, which were cut by weight, with the items and the weight of each part."""


@runtime_checkable
class Ranking(Predictions, Protocol):
    """`Predictions` that can tell which classes are the most probable of an item."""

    @property
    def has_probabilities(self) -> tuple[bool, ...]:
        """Whether each classifier was read with the probabilities of all classes."""

    def ranked(self, ids: Sequence[Id], k: int) -> list[list[list[int]]]:
        """Return of each item, and of each classifier, the k most probable classes in order.

        Nothing of a classifier that was read without probabilities.
        """


OF_SEVERAL = "assay-predictions-3"
"""How the fingerprint of several classifiers begins."""


def joint_fingerprint(fingerprints: Sequence[str], size: int) -> str:
    """Return the fingerprint of all parts: of one, its own.

    >>> joint_fingerprint(["assay-predictions-2:tail:3:00ff"], 3)
    'assay-predictions-2:tail:3:00ff'
    """
    if len(fingerprints) == 1:
        return fingerprints[0]
    seen = sha256("\n".join(sorted(fingerprints)).encode())
    return f"assay-union-1:{size}:{seen.hexdigest()[:16]}"


def listed(sources: Sequence[str]) -> str:
    """Return where all parts come from, in a few words.

    >>> listed(["a.csv", "b.csv"]), listed(["a.csv", "b.csv", "c.csv"])
    ('a.csv and b.csv', 'a.csv and 2 more')
    """
    first, *others = sources
    if len(others) > 1:
        return f"{first} and {len(others)} more"
    return " and ".join(sources)


# Texts by which predictions are known again: they change when the predictions do.
#
# There are two kinds. Both guard against mistakes, not against somebody who wants to deceive.
#
# - ``assay-predictions-2``, of one classifier: that of its `assay.core.profile.ScoreCells`.
# - ``assay-predictions-3``, of several: of the cells of each classifier that has scores, and of the
#   cells of mean rank and code with the sum of their items' d(id) (`several_fingerprint`). It sees
#   every id with what all say of it and the bin of its mean rank, and how many scores of each
#   classifier each bin holds: all that strata and draws depend on.

_BY_MODEL = ":model-"  # what follows the fingerprint of several where they are cut by a model


def several_fingerprint(
    each: Iterable[ScoreCells], joint: ScoreCells, codes: Ints | None = None
) -> str:
    """Return the fingerprint of several classifiers.

    >>> cells = ScoreCells("probability", np.array([3]), np.array([True]), np.array([2]),
    ...                    np.array([0.5]), np.array([0.5]), np.array([7], dtype=np.uint64))
    >>> several_fingerprint([cells], cells)
    'assay-predictions-3:2:...'
    """
    seen = sha256()
    for cells in each:
        seen.update(f"{cells.rule}:{cells.bin.size};".encode())
        for whole in (cells.bin, cells.said, cells.count):
            seen.update(whole.astype("<i8").tobytes())
    said = joint.said if codes is None else codes[joint.said.astype(np.int64)]
    for whole in (joint.bin, said, joint.count):
        seen.update(whole.astype("<i8").tobytes())
    for rank in (joint.low, joint.high):
        seen.update((rank + 0.0).astype("<f8").tobytes())
    seen.update(joint.digest.astype("<u8").tobytes())
    return f"{OF_SEVERAL}:{joint.size}:{seen.hexdigest()[:16]}"


def by_model(fingerprint: str, word: int) -> str:
    """Return the fingerprint of the same predictions by a model.

    >>> by_model("assay-predictions-3:2:03", 7) == by_model("assay-predictions-3:2:03:model-1", 7)
    True
    """
    seen = sha256(np.uint64(word).tobytes()).hexdigest()[:8]
    return marked(fingerprint, f"{_BY_MODEL[1:]}{seen}")


def marked(fingerprint: str, mark: str) -> str:
    """Return the fingerprint of a part of predictions that a model was fitted to as a whole.

    >>> marked("assay-predictions-2:tail:3:00ff:model-0", "model-1")
    'assay-predictions-2:tail:3:00ff:model-1'
    """
    return f"{fingerprint.partition(_BY_MODEL)[0]}:{mark}"
