"""The picture of scores against what was found: the stratum's scores across, its rate upwards."""

from dataclasses import dataclass
from operator import attrgetter

from assay.report.axis import Axis
from assay.report.blocks import Figure
from assay.report.charts import SIDE
from assay.report.facts import Facts, Range, StratumFacts

_RATE = attrgetter("rate")


def draw_reliability(facts: Facts) -> Figure | None:
    """Draw the strata that have labels; None where there are not two to compare, or no score."""
    seen = [_point(each, facts) for each in facts.strata if each.rate is not None]
    points = [point for point in seen if point is not None]
    if len(points) < 2 or not facts.variable:
        return None
    share = "correct" if facts.variable == "confidence" or facts.outcome == "correct" else "yes"
    across = Axis.over(end for point in points for known in point.ranges for end in known)
    upwards = Axis.over(end for point in points for end in (point.low, point.high))

    def at(x: float, y: float) -> str:
        return f"{across.at(x) * SIDE:.1f},{(1 - upwards.at(y)) * SIDE:.1f}"

    def lines(ends: list[tuple[float, float, float, float]]) -> str:
        return "".join(f"M{at(x, y)} {at(to_x, to_y)}" for x, y, to_x, to_y in ends)

    key = [("dot", f"share of {share}"), ("whisker", "its interval"), ("span", "stratum")]
    layers = [("grid", lines([(across.start, y, across.end, y) for y in upwards.values]))]
    start, end = max(across.start, upwards.start), min(across.end, upwards.end)
    if facts.is_probability and start < end:
        key.append(("diagonal", "where a probability would be exactly right"))
        layers.append(("diagonal", lines([(start, start, end, end)])))
    spans = [(low, each.rate, high, each.rate) for each in points for low, high in each.ranges]
    layers += [
        ("span", lines(spans)),
        ("whisker", lines([(each.x, each.low, each.x, each.high) for each in points])),
        ("dot", "".join(f"M{at(each.x, each.rate)}h0" for each in points)),
    ]
    least, most = min(points, key=_RATE), max(points, key=_RATE)
    return Figure(
        title=f"{facts.variable.capitalize()} against the share of {share}",
        words=f"Of {len(points):,} strata with labels, the share of {share} reaches from "
        f"{least.rate:.3f} ({least.stratum}) to {most.rate:.3f} ({most.stratum}).",
        layers=tuple(layers),
        key=tuple(key),
        across=across.texts,
        upwards=upwards.texts[::-1],
        unit="mean rank of the scores" if facts.variable == "rank" else facts.variable,
    )


@dataclass(frozen=True)
class _Point:
    """A stratum in the picture: where it is drawn, and where its dot stands."""

    stratum: str
    ranges: tuple[tuple[float, float], ...]
    x: float
    rate: float
    low: float
    high: float


def _point(stratum: StratumFacts, facts: Facts) -> _Point | None:
    """Return where a stratum is drawn; None where nothing is known of its scores.

    Its dot is in the middle of its widest range; but where scores end is not always known, and then
    it stands at the cut.
    """
    rate, low, high = stratum.rate or 0.0, stratum.low, stratum.high
    if facts.variable == "confidence" and stratum.said_yes is False:  # where a no is correct
        rate, low, high = 1 - rate, 1 - high, 1 - low
    known = [_known(each, stratum.said_yes, facts) for each in stratum.ranges]
    drawn = [(ends[0], ends[-1]) for ends in known if ends]
    if not drawn:
        return None
    start, end = max(drawn, key=lambda ends: ends[1] - ends[0])
    return _Point(stratum.stratum, tuple(drawn), (start + end) / 2, rate, low, high)


def _known(ends: Range, said_yes: bool | None, facts: Facts) -> list[float]:
    """Return the ends of scores that are known.

    A probability has ends of its own; but where it has no threshold, nobody knows where the scores
    of a predicted label begin.
    """
    least, most = ends
    if facts.is_probability:
        least = 0.0 if least is None and said_yes is not True else least
        most = 1.0 if most is None and said_yes is not False else most
    return [end for end in (least, most) if end is not None]
