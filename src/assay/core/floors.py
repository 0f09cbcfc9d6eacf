"""Questions for a threshold: the floors that it has to keep, as people write them."""

import re
import sys
from dataclasses import dataclass
from typing import Self

from assay.core.metrics import canonical_metric
from assay.core.types import between
from assay.errors import DesignError, did_you_mean

FLOORS = ("precision", "recall", "specificity", "negative_predictive_value")
"""The metrics that can have a floor: those that are one linear sum away from it."""

OUTWARD = ("precision", "specificity")
"""Those that are harder to keep above it the more items are called yes."""

EVERY_SCORE = -sys.float_info.max
"""A threshold that no score is below: where it is to be found, every item may be called yes."""

_FLOOR = re.compile(r"([a-z][a-z0-9_ ]*?)\s*(?:>=|≥|is at least)\s*([0-9.]+%?)", re.IGNORECASE)
_MOST_OF = re.compile(r"the most (recall|precision)", re.IGNORECASE)


@dataclass(frozen=True)
class ThresholdQuestion:
    """Floors that a threshold has to keep, and what is wanted most of those that do.

    >>> question = ThresholdQuestion.parse("precision >= 0.9 and the most recall")
    >>> question.floors, question.most, str(question)
    ((('precision', 0.9),), 'recall', 'precision >= 0.9')
    >>> ThresholdQuestion.parse("recall >= 90%").most
    'precision'
    """

    floors: tuple[tuple[str, float], ...]  # metrics, and what each must not be below
    # Of the thresholds that keep all floors, the one with the most of it: the lowest, or the
    # highest.
    most: str

    @classmethod
    def parse(cls, text: object) -> Self:
        """Read a question as people write it."""
        floors, most = [], None
        for part in re.split(r"\s+and\s+|,", str(text).strip()):
            if wanted := _MOST_OF.fullmatch(part.strip()):
                most = wanted[1].lower()
            elif floor := _FLOOR.fullmatch(part.strip()):
                floors.append((_metric(floor[1]), _limit(floor[2])))
            else:
                raise DesignError(
                    f"threshold_for={text!r} is not understood at {part.strip()!r}",
                    details="a floor is a metric, >= and a number",
                    hint="as in threshold_for='precision >= 0.95', 'recall >= 0.9', or 'precision "
                    ">= 0.9 and recall >= 0.5 and the most precision'",
                )
        if not floors or len({metric for metric, _ in floors}) < len(floors):
            raise DesignError(
                f"threshold_for={text!r} has {'no floor' if not floors else 'two of one metric'}",
                hint="as in threshold_for='precision >= 0.95'",
            )
        outward = floors[0][0] in OUTWARD
        return cls(tuple(floors), most or ("recall" if outward else "precision"))

    def __str__(self) -> str:
        floors = " and ".join(f"{metric} >= {limit:g}" for metric, limit in self.floors)
        outward = self.floors[0][0] in OUTWARD
        usual = "recall" if outward else "precision"
        return floors if self.most == usual else f"{floors} and the most {self.most}"


def _metric(name: str) -> str:
    metric = canonical_metric(name.strip().lower().replace(" ", "_"))
    if metric not in FLOORS:
        raise DesignError(
            f"threshold_for= cannot keep a floor under {metric}",
            details=f"metrics that can have a floor: {', '.join(FLOORS)}",
            hint=did_you_mean(metric, FLOORS) or "precision and recall are the usual ones",
        )
    return metric


def _limit(text: str) -> float:
    try:
        limit = float(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
    except ValueError:
        raise DesignError(f"threshold_for= has a floor of {text!r}", hint="as in 0.95") from None
    return between("a floor of threshold_for", limit, 0.0, 1.0, hint="0.95 means 95%")
