"""Which predicted labels' items an evaluation draws from."""

from assay.core.design import Design
from assay.core.metrics import sides
from assay.core.strata import Side
from assay.errors import PredictionsError


def sides_to_cut(
    design: Design, metric: str, *, positives: int, size: int, source: str
) -> list[Side]:
    """Return the sides that are cut into strata: yes, no, or None for both together.

    Accuracy by confidence mixes both predicted labels in its strata (paper 2); everything else
    keeps them apart, and leaves out what the metric needs no labels of.

    Raises
    ------
    PredictionsError
        The metric does not depend on labels, because one class is never predicted.

    Examples
    --------
    >>> sides_to_cut(Design(), "recall", positives=3, size=9, source="arrays")
    [True, False]
    >>> sides_to_cut(Design.kumar_raj(), "accuracy", positives=3, size=9, source="arrays")
    [None]
    """
    none, every = positives == 0, positives == size
    if (none and metric in ("precision", "recall", "f1")) or (
        every and metric in ("recall", "false_omission_rate")
    ):
        what = "positive" if none else "negative"
        raise PredictionsError(
            f"no row of {source} is predicted {what}, so there is no {metric} to estimate",
            details=f"{size:,} rows, {positives:,} predicted positive",
            hint="check the predicted column, `positive` and `threshold`",
        )
    if design.variable == "confidence" and metric == "accuracy":
        return [None]
    there = {True: not none, False: not every}
    return [side for side in sides(metric) if there[side]]
