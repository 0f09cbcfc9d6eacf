"""How a campaign draws labels and looks at them, in words."""

from assay.core.design import Design
from assay.core.goal import JointGoal
from assay.labelling.settings import Settings
from assay.report.facts import HowFacts
from assay.results.text import goal_words, strata_words

_SHARED_OUT = {
    "explore": "labels go where the errors are, and never quite nowhere else",
    "chance": "strata are drawn at random with known chances, most where the errors are",
    "uni": "every stratum is drawn with the same chance",
    "pps": "strata are drawn in proportion to their items",
    "opt": "strata are drawn in proportion to their items and their spread",
    "pro": "labels are shared out in proportion to the items",
    "equ": "every stratum gets equally many labels",
    "opt-a1": "after a first round, labels are shared out once by the spread found (OPT-A1)",
    "opt-a2": "labels are shared out round by round by the spread found (OPT-A2)",
}
_ESTIMATED = {
    "unbiased": "every stratum's rate is that of its labels",
    "smoothed": "every stratum's rate is smoothed (m-estimate)",
}
_QUOTED = "the value allows for how labels were drawn, and for the stop"
_JOINT = "labels go where all metrics together need fewest more"


def how_facts(settings: Settings) -> HowFacts:
    """Return how labels are drawn and looked at."""
    mode, promise = _mode(settings.design)
    return HowFacts(
        mode=mode,
        promise=promise,
        design_words=_design_words(settings),
        goal_words=goal_words(settings.goal),
        seed=settings.seed,
        design=settings.design.to_dict(),
        goal=settings.goal.to_dict(),
    )


def _mode(design: Design) -> tuple[str, str]:
    """Return what a design is called, and what its interval promises."""
    if design.bets:
        return "guaranteed", (
            "every interval that was ever shown is right at once, as often as its confidence says: "
            "by a theorem, for any population whose items can be judged"
        )
    if design.stop == "budget":
        return "fixed", (
            "the interval at the end of the budget is right as often as its confidence says; those "
            "before it are not made for it"
        )
    if not design.may_stop:
        return "one look", (
            "the interval is right for one look, at a number of labels that was fixed before; "
            "stopping at a narrow moment makes it right less often"
        )
    if design.stop == "centred":
        return "centred", (
            "the estimate ± the goal is itself right as often as the confidence says, at the look "
            "that stopped it: by simulation, docs/certainty.md"
        )
    return "default", (
        "the interval is made to be right, as often as its confidence says, at the narrow look "
        "that stopped it: by simulation, docs/certainty.md; looks on the way may miss"
    )


def _design_words(settings: Settings) -> str:
    design, strata = settings.design, settings.strata
    number = f"{strata.n_strata:,} strata" if strata.n_strata > 1 else "one stratum"
    parts = [f"{number} by {strata.variable}: {strata_words(settings.design, strata)}"]
    if not settings.source.has_score or strata.n_strata == 1:
        parts = [number]
    joint = isinstance(settings.goal, JointGoal)
    parts.append(_JOINT if joint else _SHARED_OUT[design.allocation])
    quoted = design.interval == "stratified"
    parts.append(_QUOTED if quoted else _ESTIMATED[design.estimator])
    parts.append("no item is drawn twice")
    if design.replacement:
        parts.append("the interval leaves out that the population is finite")
    return "; ".join(parts)
