"""The strata of a population: a layer of cuts for each predicted label."""

import operator
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from assay.core.cut_methods import UNEVEN, Facing, canonical_method, cut
from assay.core.cuts import Cuts
from assay.core.profile import Profile, as_scores
from assay.core.types import Bools, Floats, Ints
from assay.errors import AssayError, DesignError, InputError

Side = bool | None


_SAID = {True: "yes", False: "no"}


@dataclass(frozen=True)
class Layer:
    """The strata of the items that share a predicted label.

    Parameters
    ----------
    side : bool or None
        The predicted label; None where the strata are of items of both.
    cuts : Cuts
        How the layer is cut.
    sizes : tuple of int
        The items in each of its strata; at least one.
    weights : tuple of int, optional
        The impressions in each (`core.weights`), where items have weights.
    """

    side: bool | None
    cuts: Cuts
    sizes: tuple[int, ...]
    weights: tuple[int, ...] | None = None

    def __post_init__(self) -> None:
        """Refuse an empty stratum."""
        if self.side not in (True, False, None):
            raise DesignError(
                f"the side of a layer is {self.side!r}", details="it must be True, False or None"
            )
        if len(self.sizes) != self.cuts.n_strata or min(self.sizes) < 1:
            raise DesignError(
                f"stratum sizes are {self.sizes}",
                details=f"there must be {self.cuts.n_strata}, each at least 1",
            )
        if self.weights is not None and (
            len(self.weights) != len(self.sizes)
            or any(weight < size for weight, size in zip(self.weights, self.sizes, strict=True))
        ):
            raise DesignError(
                f"stratum weights are {self.weights}",
                details=f"there must be {self.cuts.n_strata}, each at least 1 an item",
            )


@dataclass(frozen=True)
class Strata:
    """All strata of a population, numbered 0 to H - 1 through its layers.

    Parameters
    ----------
    variable : str
        What the scores are, in words: 'score', 'probability of the predicted class', ...
    layers : tuple of Layer
        One for each predicted label, or a single one for both.
    """

    variable: str
    layers: tuple[Layer, ...]

    def __post_init__(self) -> None:
        """Refuse layers that would give an item two strata."""
        sides = [layer.side for layer in self.layers]
        if not sides or len(set(sides)) < len(sides) or (None in sides and len(sides) > 1):
            raise DesignError(
                f"layers are of the predicted labels {sides}",
                details="there must be one for True, one for False, one for each, or one for None",
            )

    @property
    def sizes(self) -> Ints:
        """The items in each stratum, shape (H,)."""
        return np.array([size for layer in self.layers for size in layer.sizes], dtype=np.int64)

    @property
    def weighted(self) -> bool:
        """Whether items count by weight."""
        return self.layers[0].weights is not None

    @property
    def weights(self) -> Ints:
        """What each stratum counts for: its impressions, or else its items, shape (H,)."""
        each = [layer.sizes if layer.weights is None else layer.weights for layer in self.layers]
        return np.array([weight for weights in each for weight in weights], dtype=np.int64)

    def weighed(self, sizes: Ints, weights: Ints) -> Self:
        """Return the strata with so many items and impressions in each.

        They were cut by impressions: what was noted of their sizes is not about items.
        """
        ends = np.cumsum([layer.cuts.n_strata for layer in self.layers])[:-1]
        each = zip(self.layers, np.split(sizes, ends), np.split(weights, ends), strict=True)
        return replace(
            self,
            layers=tuple(
                Layer(
                    layer.side,
                    replace(layer.cuts, notes=_not_of_sizes(layer.cuts.notes)),
                    tuple(items.tolist()),
                    tuple(weighs.tolist()),
                )
                for layer, items, weighs in each
            ),
        )

    @property
    def n_strata(self) -> int:
        """The number of strata, H."""
        return sum(layer.cuts.n_strata for layer in self.layers)

    @property
    def says_yes(self) -> Bools | None:
        """The predicted label of each stratum, shape (H,); None where strata straddle labels."""
        if self.layers[0].side is None:
            return None
        return np.array([layer.side is True for layer in self.layers for _ in layer.sizes])

    @property
    def notes(self) -> tuple[str, ...]:
        """What happened while cutting, each note with the layer's predicted label."""
        return tuple(
            note if layer.side is None else f"{_SAID[layer.side]}: {note}"
            for layer in self.layers
            for note in layer.cuts.notes
        )

    def describe(self) -> list[str]:
        """Return one short text for each stratum.

        Examples
        --------
        >>> cuts = Cuts(method="equal", points=(0.25, 0.5), owner=(0, 1, 2))
        >>> for text in Strata("score", (Layer(True, cuts, (5, 2, 1)),)).describe():
        ...     print(text)
        yes, score below 0.25
        yes, score 0.25 to 0.5
        yes, score 0.5 or more
        """
        texts = []
        for layer in self.layers:
            said = "" if layer.side is None else f"{_SAID[layer.side]}, "
            texts += [f"{said}{self.variable} {text}" for text in layer.cuts.describe()]
        return texts

    def assign(self, values: Floats, predicted: Bools) -> Ints:
        """Return the stratum of each item.

        Parameters
        ----------
        values : array, shape (N,)
            The items' scores; finite.
        predicted : array of bool, shape (N,)
            Their predicted labels.

        Returns
        -------
        array of int64, shape (N,)
            0 to H - 1; -1 for an item whose predicted label has no layer.

        Examples
        --------
        >>> cuts = Cuts(method="equal", points=(0.5,), owner=(0, 1))
        >>> strata = Strata("score", (Layer(True, cuts, (5, 2)),))
        >>> strata.assign(np.array([0.1, 0.9, 0.9]), np.array([True, True, False]))
        array([ 0,  1, -1])
        """
        scores = as_scores(values)
        labels = np.asarray(predicted)
        if labels.dtype != np.bool_ or labels.shape != scores.shape:
            raise InputError(
                f"predicted labels are {labels.dtype} of shape {labels.shape}",
                details=f"they must be bool of shape {scores.shape}, one for each score",
            )
        number = np.full(scores.size, -1, dtype=np.int64)
        first = 0
        for layer in self.layers:
            within = layer.cuts.assign(scores)
            within += first + 1  # from -1, which is what the items of no layer keep
            if layer.side is not None:
                within *= labels == layer.side  # three times faster than a masked copy
            number += within
            first += layer.cuts.n_strata
        return number

    def to_dict(self) -> dict[str, Any]:
        """Return what JSON can carry; `from_dict` restores it exactly."""
        return {
            "variable": self.variable,
            "layers": [
                {
                    "side": layer.side,
                    "cuts": layer.cuts.to_dict(),
                    "sizes": list(layer.sizes),
                    **({} if layer.weights is None else {"weights": list(layer.weights)}),
                }
                for layer in self.layers
            ],
        }

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> Self:
        """Restore what `to_dict` returned.

        Examples
        --------
        >>> from assay.core.profile import profile_of
        >>> profile = profile_of(np.array([0.1, 0.2, 0.9]))
        >>> strata = stratify({None: profile}, variable="score", method="equal", bins=2)
        >>> Strata.from_dict(strata.to_dict()) == strata
        True
        """
        try:
            layers = tuple(
                Layer(
                    side=layer["side"],
                    cuts=Cuts.from_dict(layer["cuts"]),
                    sizes=tuple(map(operator.index, layer["sizes"])),
                    weights=tuple(map(operator.index, layer["weights"]))
                    if "weights" in layer
                    else None,
                )
                for layer in stored["layers"]
            )
            return cls(variable=str(stored["variable"]), layers=layers)
        except AssayError:
            raise
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            raise DesignError(
                f"stored strata cannot be read: {type(error).__name__}: {error}",
                details="they must be what Strata.to_dict returned",
            ) from error


def _not_of_sizes(notes: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(note for note in notes if not note.startswith(UNEVEN))


def stratify(
    profiles: Mapping[bool | None, Profile], *, variable: str, method: str, bins: int
) -> Strata:
    """Cut the profile of each predicted label into strata.

    Parameters
    ----------
    profiles : mapping of True, False or None to Profile
        The scores of the items with each predicted label; None for items of both.
    variable : str
        What the scores are, in words.
    method : str
        One of `METHODS`.
    bins : int
        The number of strata in each layer; for ``auto`` in both together.

    Returns
    -------
    Strata
        With one layer for each profile, in their order.

    Examples
    --------
    >>> from assay.core.profile import profile_of
    >>> yes, no = profile_of(np.array([0.6, 0.7, 0.9])), profile_of(np.array([0.1, 0.4]))
    >>> strata = stratify({True: yes, False: no}, variable="score", method="perc", bins=2)
    >>> strata.sizes, strata.says_yes
    (array([1, 2, 1, 1]), array([ True,  True, False, False]))
    """
    facing = _facing(profiles)
    if canonical_method(method) == "auto" and facing:
        method, bins = "depth", max(bins // 2, 1)
    layers = []
    for side, profile in profiles.items():
        cuts = cut(profile, method, bins, facing.get(side))
        layers.append(Layer(side, cuts, tuple(cuts.sizes(profile).tolist())))
    return Strata(variable, tuple(layers))


def _facing(profiles: Mapping[bool | None, Profile]) -> dict[bool | None, Facing]:
    """Return where the threshold is, seen from either side; nothing where there is one side only.

    Of a score that falls where others rise, yes has the lower scores.
    """
    yes, no = profiles.get(True), profiles.get(False)
    if yes is None or no is None:
        return {}
    upright = _median(yes) >= _median(no)
    return {True: Facing(not upright, no.total), False: Facing(upright, yes.total)}


def _median(profile: Profile) -> float:
    return float(profile.mean[np.searchsorted(np.cumsum(profile.count), profile.total / 2)])
