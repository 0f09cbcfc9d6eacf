"""Why an evaluation is over, in words, with what it would take where unjudged items are why."""

from collections.abc import Sequence

from assay.core.standing import Standing
from assay.core.stopping import Reason
from assay.core.unjudged import least_to_settle, swing


def told(reason: Reason, standings: Sequence[Standing]) -> str:
    """Return why an evaluation is over, by how its targets stood when it ended."""
    if reason is not Reason.UNJUDGED:
        return reason.told(standings[0].goal.at_least)
    each = max(standings, key=_excess)
    allowed, could_move = _allowed(each), _could_move(each)
    settling = least_to_settle(each.unjudged, could_move, allowed)
    what = "it" if len(standings) == 1 else each.name
    items = "1 item that" if each.unjudged == 1 else f"{each.unjudged:,} items that"
    near = "narrow enough, but"
    does = f"could move {what} by {could_move:.3f}"
    if each.goal.at_least is not None:
        near = f"cannot say whether it is at least {each.goal.at_least}, as"
        does = "could turn the answer"
    number = "it" if each.unjudged == 1 else f"about {settling:,} of them"
    return f"{near} {items} could not be judged {does}: judging {number} would settle it"


def _allowed(standing: Standing) -> float:
    """Return how far unjudged items may move a target without undoing its goal."""
    if standing.goal.at_least is not None:
        return abs(float(standing.look.moments.value) - standing.goal.at_least)
    return standing.goal.within or 1.0


def _could_move(standing: Standing) -> float:
    """Return how far unjudged items could move a target; towards the limit, if there is one."""
    if standing.goal.at_least is None:
        return standing.could_move
    value = float(standing.look.moments.value)
    least, most = map(float, swing(standing.tallies, standing.metric))
    return value - least if value >= standing.goal.at_least else most - value


def _excess(standing: Standing) -> float:
    """Return how many times as far as they may unjudged items could move a target."""
    return _could_move(standing) / max(_allowed(standing), 1e-12)
