"""What is known of each metric by the answers on the table, with what a reader should know."""

import numpy as np

from assay.core.goal import JointGoal
from assay.core.intervals import INTERVALS
from assay.core.standing import Standing
from assay.core.stopping import Reason
from assay.labelling.state import Table
from assay.results.estimates import Estimate, Estimates


def estimates_of(table: Table) -> Estimates:
    """Return what is known now of every metric that was asked for, by its name."""
    stopped, around = table.ledger.stopped, _notes_on_answers(table)
    return Estimates(
        {each.name: _estimate(table, each, stopped, around) for each in table.ledger.standings}
    )


def _estimate(
    table: Table, standing: Standing, stopped: str | None, around: tuple[str, ...]
) -> Estimate:
    goal, design, now = standing.goal, table.settings.design, standing.look
    defined = bool(now.moments.defined)
    return Estimate(
        metric=standing.name,
        value=float(now.moments.value) if defined else None,
        low=float(now.low),
        high=float(now.high),
        confidence=goal.confidence,
        standard_error=float(np.sqrt(now.moments.variance)) if defined else None,
        labels=standing.labels,
        cannot_judge=standing.unjudged,
        worst_case=standing.worst_case if standing.unjudged else None,
        interval=INTERVALS[design.interval].reference,
        anytime=design.anytime,
        stopped=stopped,
        notes=(*_notes_on_interval(table, standing), *_notes_on_weights(table, standing), *around),
        verdict=table.ledger.reason.verdict,
        within=goal.within,
        open=standing.open,
        could_move=standing.could_move,
        holds=design.holds,
    )


def _notes_on_interval(table: Table, standing: Standing) -> list[str]:
    moments, goal = standing.look.moments, standing.goal
    bounded = moments.bounded.nonzero()[0].tolist()
    notes: list[str] = []
    if not moments.defined:
        notes.append("there are too few labels to say anything yet")
    elif bounded:
        which = ", ".join(str(h + 1) for h in bounded)
        where = f"strata {which} of {standing.tallies.N.size}"
        if isinstance(table.settings.goal, JointGoal):
            where = "some strata"  # one metric's strata have no numbers that people see
        notes.append(
            f"too few labels in {where} to estimate their variance: "
            "its largest possible value is used"
        )
    if moments.defined and not table.settings.design.may_stop:
        if goal.within is not None:
            notes.append(
                "the interval assumes one look; stopping on its width makes it hold less often "
                "(docs/certainty.md)"
            )
        elif table.ledger.reason is Reason.GO_ON:
            notes.append(
                "the interval is made for one look, at the end of the budget; "
                "do not stop on what it shows before"
            )
    return notes


def _notes_on_weights(table: Table, standing: Standing) -> list[str]:
    """Return what is to be said where items count by weight."""
    once = standing.once
    if once is None:
        return []
    answered = int((once.judged + once.unjudged).sum())
    tallies = table.ledger.state.tallies
    draws = int((tallies.n + tallies.u).sum())
    notes = ["items count by their weight, and are drawn in proportion to it"]
    if draws > answered:
        notes[0] += f": {draws:,} draws met {answered:,} items, some of them again"
    budget = standing.goal.budget
    if table.ledger.reason is Reason.BUDGET_SPENT and (budget is None or answered < budget):
        notes.append("what was not met weighs so little that no more is drawn")
    return notes


def _notes_on_answers(table: Table) -> tuple[str, ...]:
    """Return what is to be said of answers that are missing, and not by chance."""
    waiting = {card.item_id for card in table.ledger.outstanding}
    notes: list[str] = []
    half_answered = sum(len(ids & waiting) for ids in table.rounds if not ids <= waiting)
    if table.settings.before is not None and half_answered:
        notes.append(
            f"{half_answered:,} drawn items have no answer yet, and what was drawn with them had "
            "one before; until they have, new items count too little"
        )
    if waiting and table.ledger.reason is not Reason.GO_ON:
        notes.append(
            f"{len(waiting):,} drawn items had no answer when it stopped: the interval is that of "
            "the rounds before them, or takes them at their worst"
        )
    if disputed := sum(table.review(item_id).disputed for item_id in waiting):
        notes.append(
            f"reviewers disagree on {disputed:,} items, which count only when somebody has ruled"
        )
    return tuple(notes)
