"""What a plan comes to, in sentences."""

from collections.abc import Sequence

from assay.core.design import Design, price_of_peeking
from assay.core.goal import Goal
from assay.simulation.planning.assumed import Supposed
from assay.simulation.planning.result import BudgetRow, CheaperRow, Cost, Reading, WithinRow

_CLEARLY, _A_LITTLE = 0.15, 0.05  # of random sampling's labels


def about_strata(readings: Sequence[Reading]) -> list[str]:
    """Say whether stratifying pays, under each reading of the truth."""
    return [
        f"{_supposing(reading, readings)}{_pays(reading.labels, reading.random)}"
        for reading in readings
        if reading.labels is not None and reading.random is not None
    ]


def _supposing(reading: Reading, readings: Sequence[Reading]) -> str:
    return f"if {reading.name}: " if len(readings) > 1 else ""


def _pays(ours: Cost, random: Cost) -> str:
    saved = 1 - ours.mean / random.mean
    numbers = f"{ours.mean:,.0f} labels instead of random sampling's {random.mean:,.0f}"
    if saved >= _CLEARLY:
        return f"stratifying by score pays: {numbers}, {saved:.0%} fewer"
    if saved >= _A_LITTLE:
        return f"stratifying by score pays a little: {numbers}, {saved:.0%} fewer"
    more = f"{-saved:.0%} more" if saved < 0 else f"only {saved:.0%} fewer"
    return (
        f"stratifying by score does not pay: {numbers}, {more}; "
        "the scores tell too little about where the errors are"
    )


def about_worst_case(goal: Goal, most: int, items: int) -> str:
    """Say what it takes at most."""
    if goal.metric in ("recall", "f1"):
        return (
            f"there is no worst case short of all {items:,} items: how much a label tells about "
            f"{_name(goal.metric)} depends on how rare positives are"
        )
    return (
        f"whatever the truth, it takes no more than about {most:,} labels: "
        "with half of the answers yes at every score, nothing is harder"
    )


def about_budget(goal: Goal, budgets: Sequence[BudgetRow]) -> list[str]:
    """Say whether the budget is enough."""
    if goal.budget is None or goal.within is None:
        return []
    width = budgets[0].half_width.mean
    enough = "enough" if width <= goal.within else "not enough"
    return [
        f"{goal.budget:,} labels are expected to give ±{width:.4f}: {enough} for ±{goal.within:g}"
    ]


def about_misses(
    goal: Goal,
    supposed: Supposed,
    random_labels: float,
    cheaper: Sequence[CheaperRow],
    withins: Sequence[WithinRow],
) -> list[str]:
    """Say what recall or F1 costs and why, and what could be asked instead."""
    said_no, missed = supposed.said(False), supposed.positives(False)
    if goal.metric not in ("recall", "f1") or said_no == 0:
        return []
    share = missed / max(missed + supposed.positives(True), 1e-9)
    rate = missed / said_no
    found = f"1 label in {1 / rate:,.0f} finds one" if rate > 0 else "no label would find one"
    lines = [
        f"why {_name(goal.metric)} costs what it does: it depends on what the classifier misses. "
        f"Of the {said_no:,} items that it calls no, {_percent(rate)} are expected to be positive: "
        f"{missed:,.0f} items, {share:.0%} of all positives. Drawn at random among them, {found}; "
        f"simple random sampling would take about {random_labels:,.0f} labels"
    ]
    instead = []
    if cheaper:
        total = sum(row.labels.mean for row in cheaper)
        names = " and ".join(_name(row.metric) for row in cheaper)
        instead.append(f"{names} within ±{goal.within:g} take about {total:,.0f} labels together")
    if withins:
        loosest = withins[0]
        instead.append(
            f"{_name(goal.metric)} within ±{loosest.within:.3g} takes "
            f"about {loosest.labels.mean:,.0f}"
        )
    return [*lines, *([f"cheaper questions: {'; '.join(instead)}"] if instead else [])]


def about_paper_1(goal: Goal) -> str:
    """Say why paper 1's design is no bargain."""
    return f"bennett-carvalho: {price_of_peeking(Design.bennett_carvalho(), goal)}"


def _name(metric: str) -> str:
    return "F1" if metric == "f1" else metric.replace("_", " ")


def _percent(rate: float) -> str:
    return f"{rate:.1%}" if rate >= 0.01 else f"{100 * rate:.2g}%"
