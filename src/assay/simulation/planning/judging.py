"""A judge that costs money: how many judgements, how many labels, and whether it pays."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, isfinite, sqrt
from numbers import Real

from assay.core.double_sampling import (
    Effort,
    Question,
    double_sampling,
    judged_strata,
    part_of_variance,
)
from assay.core.error_model import FIRST
from assay.core.goal import Goal
from assay.errors import InputError
from assay.simulation.planning.result import JudgeRow, Judging, Way

_RHOS = (0.5, 0.7, 0.9)
_WORTH_IT = 0.05  # of the cost: less is within what a plan does not know


@dataclass(frozen=True)
class Prices:
    """What a judgement and a label cost, and how well the judge is thought to know the outcome."""

    name: str
    judge_cost: float
    label_cost: float
    rhos: tuple[float, ...]

    def judging(self, goal: Goal, labels: float, at_random: float, items: int) -> Judging:
        """Return what the judge would save."""
        within = goal.within or 0.0
        question = Question(labels, items, at_random, FIRST)
        rows = [self._row(None, "none", Effort(0, labels), within)]
        for rho in self.rhos if labels < items else ():
            prices = {"judge_cost": self.judge_cost, "label_cost": self.label_cost}
            strata = judged_strata(question, rho, **prices)
            rows.append(self._row(rho, "all items", strata, within))
            part = double_sampling(question, rho, **prices)
            if part.judgements < items:
                tighter = within * sqrt(part_of_variance(question, rho, part))
                rows.append(self._row(rho, "judged items", part, tighter))
            elif strata.judgements < items:
                rows.append(self._row(rho, "all items", part, within))
        return Judging(self.name, self.judge_cost, self.label_cost, items, tuple(rows))

    def _row(self, rho: float | None, way: Way, effort: Effort, within: float) -> JudgeRow:
        whole = Effort(ceil(effort.judgements - 1e-6), ceil(effort.labels - 1e-6))
        return JudgeRow(
            rho,
            way,
            int(whole.judgements),
            int(whole.labels),
            whole.cost(self.judge_cost, self.label_cost),
            within,
        )


def prices_of(
    aux: Sequence[str],  # the judge's column
    judge_cost: float | None,
    label_cost: float | None,
    rho: float | None,
    *,
    within: float | None,  # of the goal
) -> Prices | None:
    """Return the prices that were given, or None."""
    if judge_cost is None or label_cost is None:
        _refuse_half(aux, {"judge_cost": judge_cost, "label_cost": label_cost, "rho": rho})
        return None
    if within is None:
        raise InputError(
            f"judge_cost={judge_cost!r} is given without within=",
            details="what a judge saves is told by the labels that a half-width takes",
            hint="say within=0.02, or another half-width that is wanted",
        )
    _check_price("judge_cost", judge_cost)
    _check_price("label_cost", label_cost)
    if rho is not None and not (_is_number(rho) and 0 < rho < 1):
        raise InputError(
            f"rho={rho!r} cannot be planned with",
            details="rho is a correlation, a number between 0 and 1 (exclusive)",
            hint="leave it out for a table of 0.5, 0.7 and 0.9",
        )
    names = [aux] if isinstance(aux, str) else list(aux)
    rhos = _RHOS if rho is None else (float(rho),)
    return Prices(" and ".join(names) or "a judge", float(judge_cost), float(label_cost), rhos)


def _refuse_half(aux: Sequence[str], given: dict[str, float | None]) -> None:
    """Raise where something is said of a judge, and not what it costs."""
    known = [f"{name}={value!r}" for name, value in given.items() if value is not None]
    if known or aux:
        names = [aux] if isinstance(aux, str) else list(aux)
        missing = [name for name in ("judge_cost", "label_cost") if given[name] is None]
        raise InputError(
            f"{(known or [f'aux={names!r}'])[0]} is given without "
            f"{' and '.join(f'{name}=' for name in missing)}",
            details="whether a judge pays depends on what a judgement and a label cost",
            hint="say both, such as judge_cost=0.02 and label_cost=1.5; 'assay simulate' with "
            "aux= tells what a column saves where the truth is known",
        )


def _check_price(name: str, value: object) -> None:
    if not (_is_number(value) and isinstance(value, Real) and float(value) > 0):
        raise InputError(
            f"{name}={value!r} is no price",
            details="a price is a number above 0; judgements and labels in the same currency",
            hint="of a judge that costs nothing judge all items: no plan is needed",
        )


def _is_number(value: object) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool) and isfinite(value)


def about_judge(judging: Judging) -> list[str]:
    """Say for each rho what is cheapest."""
    none = judging.rows[0]
    if len(judging.rows) == 1:
        return [f"{judging.name} is of no use: all {judging.items:,} items are labelled anyway"]
    lines = []
    for rho, row in judging.cheapest.items():
        saved = 1 - row.cost / none.cost
        start = f"{judging.name} with rho {rho:g}"
        if saved < _WORTH_IT:
            lines.append(
                f"{start} is not worth its money: {none.labels:,} labels without it cost "
                f"{_money(none.cost)}, and with it at least {_money(_least(judging, rho))}"
            )
            continue
        part = row.campaign == "judged items"
        how = (
            f"have {row.judgements:,} random items judged, and make the campaign of these alone, "
            f"as a sample of {judging.items:,} (sample_of)"
            if part
            else f"have {row.judgements:,} of {judging.items:,} items judged, and go on with all"
        )
        lines.append(
            f"{start} pays: {how}; about {row.labels:,} labels, {_money(row.cost)} in all instead "
            f"of {_money(none.cost)}, {saved:.0%} less"
        )
    return lines


def _least(judging: Judging, rho: float) -> float:
    return min(row.cost for row in judging.rows if row.rho == rho and row.judgements)


def judge_cautions(judging: Judging) -> list[str]:
    """Return what is to be known of these figures."""
    notes = [
        "rho is the correlation of the judge's verdict with the outcome among items of one score; "
        "nobody knows it before there are labels. 'assay judge' tells an earlier campaign's kappa, "
        "which is about rho over all scores, and so more than within one",
        f"the first {FIRST} labels are drawn without the judge: what it is worth is learned from "
        "them",
    ]
    if any(row.campaign == "judged items" for row in judging.rows):
        notes.append(
            "a campaign of judged items that is told of how many they are a sample (sample_of) has "
            "an interval for all items: labels have to reach the tighter half-width of the last "
            "column, and the rest is the sample's own"
        )
    return notes


def _money(cost: float) -> str:
    return f"{cost:,.0f}" if cost >= 100 else f"{cost:.2f}"
