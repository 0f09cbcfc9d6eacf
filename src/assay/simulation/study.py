"""Simulation of designs: the labels and the coverage of each: `simulate`."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any
from warnings import warn

from assay.core.design import Design, check_together, fitted
from assay.core.goal import Asked, Goal
from assay.core.limits import LabelLimit
from assay.core.recycling.route import Route, choose_parent
from assay.core.recycling.samples import Sizes, plan_sizes
from assay.core.rules import refuse
from assay.core.stratify import cell_strata, random_strata
from assay.core.targets import Target, parse_targets
from assay.core.types import between, one_of, whole
from assay.errors import DesignError, InputError
from assay.simulation.named_designs import (
    SEVERAL_DESIGNS,
    Designs,
    SharedSamples,
    design_of_several,
    designs_by_name,
    named_design,
    names_of,
    usual_designs,
)
from assay.simulation.population import Population
from assay.simulation.rows import Entry, Simulation, Wanted, rows_of
from assay.simulation.second_opinion import AUX, RecutTask
from assay.simulation.threshold_study import of_thresholds
from assay.simulation.workers import Task, run_tasks

# Designs without finite population correction, as in the papers, are compared with random sampling
# without it; that row is not shown.
_RANDOM, _WITH_REPLACEMENT = _BASELINES = ("random", "random, with replacement")
_INDEPENDENT = "independent"
_BLOCK_OF_SEVERAL, _BLOCK_OF_RECYCLED = 200, 50  # replications


def simulate(
    population: Population,
    *,
    designs: Sequence[str] | Mapping[str, Design] | None = None,
    metric: str | Iterable[str] | Mapping[str, float] | None = None,
    metrics: Iterable[str] | Mapping[str, float] | None = None,
    within: float | None = None,
    budget: int | Sequence[int] | None = None,
    confidence: float = 0.95,
    at_least: float | None = None,
    threshold_for: str | None = None,
    gain: float = 0.05,
    simultaneous: bool = False,
    bins: int | None = None,
    parent: str | None = None,
    assume: float = 0.5,
    replications: int = 1000,
    seed: int = 0,
    batch: int = 20,
    workers: int | None = None,
    progress: Callable[[float], None] | None = None,
) -> Simulation:
    """Replay evaluations of a population whose truth is known, thousands at a time.

    Parameters
    ----------
    population : Population
        Predictions with the truth. With second opinions, a design whose strata are cut anew by them
        has another row, ``default + aux`` or ``joint + aux``.
    designs : sequence of names, or mapping of names to designs, optional
        Of one metric of one classifier, names as `named_design` has them; left out, ``default`` and
        ``perc-opt``, with a budget ``km-opt-a2``, too; with `at_least`, ``guaranteed``.
        Simple random sampling, ``random``, is always run beside them, with `at_least` by bets, too;
        for recall and F1 it is estimated by predicted label. Of several targets, some of
        `SEVERAL_DESIGNS` or of the modes of ``Design()``; left out, all of the former, or with a
        budget alone ``joint``, as the others' samples have the size that `within` asks for.
        ``independent`` is always run beside them. Of more classes than yes and no, ``joint`` or a
        mode of ``Design()``; ``random``, the same estimates from items that are drawn at random, is
        always run beside them.
    metric, metrics
        One metric, or the targets, as in `create_campaign`. Left out, precision, or of more classes
        than yes and no accuracy.
    within, budget, confidence, at_least, simultaneous
        The goal, as in `create_campaign`; several budgets give a row each.
    threshold_for, gain
        Another question, as in `create_campaign`: for a threshold that keeps floors, with a budget.
        Designs are ``default``, which is a campaign's, and ``random``, the same bets on items that
        are drawn at random. Rows tell the shares of runs that certified one and that were wrong,
        and how near it came to the best.
    bins : int, optional
        Strata for each predicted label; otherwise as each named design has them.
    parent : str, optional
        Of several: the classifier whose sample is recycled, and whose false omission rate stands
        for all. Otherwise that whose yes-set has most in common with the others'.
    assume : float
        Of several: what paper 3 assumes every precision to be at least, which decides its sizes.
    replications : int
        Evaluations a row.
    seed : int
        Fixes all numbers, whatever the number of workers; those of a design do not depend on what
        runs beside it.
    batch : int
        Labels a round, where the design leaves that open.
    workers : int, optional
        Processes; otherwise one a core.
    progress : callable, optional
        Told the share that is done.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> score = rng.beta(4, 1, 50_000)
    >>> population = Population(y_true=rng.random(50_000) < score, y_score=score, threshold=0.5)
    >>> result = simulate(population, designs=["perc-opt"], within=0.03, replications=200,
    ...                   seed=1, workers=1)
    >>> [row.design for row in result.rows], result.rows[1].change_pct < 0
    (['random', 'perc-opt'], True)

    >>> y_true = rng.random(20_000) < 0.3
    >>> predicted = {name: y_true ^ (rng.random(20_000) < 0.1) for name in ("new", "old")}
    >>> result = simulate(
    ...     Population(y_true=y_true, y_pred=predicted), metrics=["precision:new", "precision:old"],
    ...     designs=["joint"], within=0.05, replications=50, seed=1, workers=1)
    >>> [row.design for row in result.rows], result.rows[1].change_pct < -60
    (['independent', 'joint'], True)

    >>> result = simulate(population, threshold_for="precision >= 0.9", budget=400,
    ...                   replications=50, seed=1, workers=1)
    >>> [row.design for row in result.rows], result.rows[1].wrong
    (['random', 'default'], 0.0)
    """
    whole("batch", batch, 1)
    budgets = list(budget) if isinstance(budget, Sequence) else [budget]
    if not budgets:
        raise InputError("budget is an empty list", hint="budget=[100, 200, 500]")
    facts: dict[str, Any] = {"rows": population.size, "positives": population.positives}
    if threshold_for is not None:
        of_several = {"metrics": metrics, "simultaneous": simultaneous or None, "parent": parent}
        given = {"within": within, "at_least": at_least, **of_several}
        refuse(given, {"threshold_for": threshold_for})
        goal = Goal(None, None, None, confidence, threshold_for=threshold_for, gain=gain)
        goals = [replace(goal, budget=size) for size in budgets]
        more, entries = of_thresholds(population, goals, designs, bins, batch)
    else:
        targets = _targets(population, Asked(metric, metrics), within)
        of_targets = partial(
            Goal, targets=targets, confidence=confidence, simultaneous=simultaneous
        )
        # Paper 3's designs are for any number of targets, and are compared with independent
        # samples.
        shared = set(names_of(designs or ())) & set(SEVERAL_DESIGNS)
        if population.of_classes:
            refuse({"at_least": at_least, "parent": parent}, {"several": True, "classes": parent})
            goals = [of_targets(budget=size) for size in budgets]
            more = {"classes": list(population.classes)}
            chosen = _designs_of_classes(designs, bins)
            entries = [*_of_cells(population, goals, chosen, batch)]
        elif len(targets) == len(population.classifiers) == 1 and not shared:
            (one,) = targets
            goals = [Goal(one.metric, one.within, size, confidence, at_least) for size in budgets]
            entries = [*_of_one(population, goals, designs, bins, batch)]
            more = _facts_of_one(population, goals[0])
        else:
            refuse({"at_least": at_least, "several": True})
            goals = [of_targets(budget=size) for size in budgets]
            samples = _Samples(population, goals[0], parent, assume)
            more = samples.facts
            chosen = _designs_of_several(designs, targets, bins)
            entries = [*_of_cells(population, goals, chosen, batch, samples)]
    every = run_tasks(
        [entry.task for entry in entries],
        replications=replications,
        seed=seed,
        workers=workers,
        progress=progress,
    )
    complete = all(runs is not None and runs.labels.size == replications for runs in every)
    rows = tuple(row for row in rows_of(entries, every) if row.design != _WITH_REPLACEMENT)
    return Simulation(facts | more, goals[0], rows, interrupted=not complete)


def simulate_several(population: Population, **asked: Any) -> Simulation:
    """Run `simulate` in this process alone: its former name for several classifiers."""
    warn("simulate_several is now simulate; the old name will be removed", DeprecationWarning, 2)
    return simulate(population, **{"workers": 1, **asked})


def _targets(population: Population, named: Asked, within: float | None) -> tuple[Target, ...]:
    """Parse the requested targets; default: the default metric of the classes."""
    vocabulary = population.vocabulary
    metrics = [named.name or vocabulary.default_metric] if named.metrics is None else named.metrics
    return parse_targets(metrics, population.classifiers, within=within, classes=vocabulary)


def _of_one(
    population: Population,
    goals: Sequence[Goal],
    designs: Designs | None,
    bins: int | None,
    batch: int,
) -> Iterator[Entry]:
    """Yield one metric's designs for each budget, simple random sampling first."""
    name = goals[0].metric
    chosen = {
        label: fitted(design, goals[0])
        for label, design in _designs_of_one(designs, bins, goals[0]).items()
    }
    frames = {label: population.frame(design, name) for label, design in chosen.items()}
    for label, design in chosen.items():
        for goal in goals:
            check_together(design, goal, frames[label].strata.n_strata)
    spread, limit = population.random_variance(name), _honest_limit(population, goals[0])
    opined = population.opined(name)
    recut = _recut_by_opinions(chosen) if opined is not None else ()
    for goal in goals:
        for label, design in chosen.items():
            frame, compared = frames[label], _RANDOM
            if design.replacement and _WITH_REPLACEMENT in chosen:
                compared = _WITH_REPLACEMENT
            wanted = Wanted(name, frame.value, goal, spread, frame.least_variance, limit)
            task = Task.of_one(label, frame, design, goal, batch)
            yield Entry(label, task, (wanted,), compared)
            if opined is not None and label in recut:
                again = RecutTask(label + AUX, opined, design, goal, batch)
                wanted = Wanted(name, frame.value, goal, spread)  # the limit is of the score
                yield Entry(again.name, again, (wanted,), _RANDOM)


def _recut_by_opinions(chosen: Mapping[str, Design]) -> list[str]:
    """Designs whose strata a campaign would cut anew by second opinions."""
    own = {label: design for label, design in chosen.items() if label not in _BASELINES}
    recut = [
        label
        for label, design in own.items()
        if design.variable == "score" and not design.replacement
    ]
    if not recut:
        raise DesignError(
            f"none of the designs {', '.join(own)} can use second opinions",
            details="strata by the score that are cut anew, without replacement, can: default",
            hint="name the design default, or leave out aux",
        )
    return recut


def _designs_of_one(designs: Designs | None, bins: int | None, goal: Goal) -> dict[str, Design]:
    """Designs by name, simple random sampling first."""
    bets = goal.at_least is not None
    if designs is None:
        designs = usual_designs(budget=goal.budget is not None, at_least=bets)
    given = designs_by_name(designs, partial(named_design, bins=bins), _BASELINES)
    random = Design.simple_random()
    if bets:
        random = replace(Design.guaranteed(), bins=1, variable=random.variable)
        return {_RANDOM: random, **given}
    baselines = {_RANDOM: random}
    if any(design.replacement for design in given.values()):
        baselines[_WITH_REPLACEMENT] = replace(random, replacement=True)
    return {**baselines, **given}


def _facts_of_one(population: Population, goal: Goal) -> dict[str, Any]:
    facts = {
        "predicted_positives": population.predicted_positives,
        "metric": goal.metric,
        "value": population.value(goal.metric),
        "limit": population.limit(goal.metric),
        "scale": population.scale,
    }
    if (limit := _honest_limit(population, goal)) is not None:
        facts |= {"limit_labels": limit.design, "floor_labels": limit.clean}
    return facts


def _honest_limit(population: Population, goal: Goal) -> LabelLimit | None:
    """Minimum number of labels for a goal; None without a target width."""
    if goal.within is None:
        return None
    return population.honest_limit(goal.metric, goal.within, goal.confidence)


class _Samples:
    """Paper 3's designs on a population, for a goal; `parent` and `assume` as in `simulate`."""

    def __init__(
        self, population: Population, goal: Goal, parent: str | None, assume: float
    ) -> None:
        parent = choose_parent(population.by_cell, goal) if parent is None else parent
        one_of("parent", parent, population.classifiers)
        between("assume", assume, 0.0, 1.0, hint="0.9 says that every precision is at least 0.9")
        self.population, self.goal, self.assume = population, goal, assume
        self.route = Route.of(population.by_cell, goal, parent)

    @property
    def facts(self) -> dict[str, Any]:
        """Facts about the population: what each classifier predicts, and the parent."""
        known = self.population
        counts = {name: int(known.says_yes(name).sum()) for name in known.classifiers}
        return {"predicted_positives": counts, "parent": self.route.names[0]}

    def of(self, design: str) -> tuple[SharedSamples, Sizes]:
        """Prepare a design for draws, with the sizes of its samples."""
        sizes = plan_sizes(
            self.population.by_cell, self.goal, self.route, design, assume=self.assume
        )
        return SharedSamples(self.population, self.route, design, sizes), sizes


def _of_cells(
    population: Population,
    goals: Sequence[Goal],
    chosen: Mapping[str, Design | None],
    batch: int,
    samples: _Samples | None = None,
) -> Iterator[Entry]:
    """Yield designs that draw from cells of predicted labels, the reference design first.

    `samples`: for classifiers of yes and no; designs of fixed sizes use them for any budget.
    """
    targets = goals[0].targets
    truth = [population.value(target) for target in targets]
    opined = None if samples is None else population.opined_cells()
    if opined is not None and not any(chosen.values()):
        raise DesignError(
            f"none of the designs {', '.join(chosen)} can use second opinions",
            details="strata of cells that are cut anew can: joint",
            hint="name the design joint, or leave out aux",
        )
    against = next((each for each in (_RANDOM, _INDEPENDENT) if each in chosen), None)
    for number, goal in enumerate(goals):
        wanted = tuple(
            Wanted(target.name, value, each)
            for target, value, each in zip(targets, truth, goal.goals, strict=True)
        )
        for name, design in chosen.items():
            if design is None:
                if samples is not None and number == 0:
                    drawn, sizes = samples.of(name)
                    yield Entry(name, drawn, wanted, against, sizes)
                continue
            at_random = samples is None and name == _RANDOM
            cut = random_strata(population) if at_random else cell_strata(population, goal, design)
            inputs = (design, goal, cut, population.truth_in(cut, goal))
            block = _BLOCK_OF_RECYCLED if design.recycles else _BLOCK_OF_SEVERAL
            task = Task.of_strata(name, *inputs, asked=batch, block=block)
            yield Entry(name, task, wanted, against)
            if opined is not None and not design.recycles:
                recut = RecutTask(name + AUX, opined, design, goal, batch)
                yield Entry(recut.name, recut, wanted, against)


def _designs_of_classes(designs: Designs | None, bins: int | None) -> dict[str, Design | None]:
    """Designs for more classes than yes and no by name, random items first."""
    make = partial(design_of_several, bins=bins)
    chosen = {_RANDOM: Design(), **designs_by_name(designs or ["joint"], make, [_RANDOM])}
    if fixed := [name for name, design in chosen.items() if design is None]:
        raise DesignError(
            f"the design {fixed[0]} is for several classifiers of yes and no",
            details="of more classes: joint, random",
        )
    return chosen


def _designs_of_several(
    designs: Designs | None, targets: Sequence[Target], bins: int | None
) -> dict[str, Design | None]:
    """Designs by name, independent samples first; None for those of a fixed size."""
    budget_alone = [target.name for target in targets if target.within is None]
    if designs is None:
        designs = ["joint"] if budget_alone else list(SEVERAL_DESIGNS)
    chosen = designs_by_name(designs, partial(design_of_several, bins=bins))
    if not chosen:
        raise DesignError("no design is named", details=f"designs: {', '.join(SEVERAL_DESIGNS)}")
    fixed = [name for name, design in chosen.items() if design is None]
    if fixed and budget_alone:
        raise DesignError(
            f"the samples of {fixed[0]} have the size that `within` asks for, "
            f"and {budget_alone[0]} has none",
            hint="give within, or ask for the design joint alone",
        )
    return chosen if budget_alone else {_INDEPENDENT: None, **chosen}
