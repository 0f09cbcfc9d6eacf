"""How well `assay.plan` foretells the labels of the design by default, on real populations.

For every file, classifier and metric, at the first half-width of a list that takes 400 labels or
more, the simulated mean with the truth (200 evaluations) against what a plan expects

(a) from the true rates at every score: it is the same loop, and must agree but for luck;
(b) from the labels of an earlier campaign of the same design and goal, 30 times: the error of the
    mean plan, the typical (root mean square) and the worst error of one plan, and the campaigns'
    own spread for comparison: one campaign knows its own length no better;
(c) from the scores alone, taken at their word, and doubted: one item in ten has nothing to do with
    its score.

Run with ``python -m benchmarks.planning ../shared/data`` from the repository's root; words after
the folder choose populations: ``... news20 'arxiv15 cs'``. A population takes half a minute to two.
"""

import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from pyarrow import parquet

from assay.core.design import Design
from assay.core.goal import Goal
from assay.core.state import Look, State
from assay.core.stopping import Reason
from assay.core.types import Floats, Ints
from assay.predictions import from_arrays
from assay.simulation import Frame, Population, Task
from assay.simulation.planning.assumed import Supposed
from assay.simulation.planning.evidence import Evidence

METRICS = ("precision", "accuracy", "recall")
WITHINS = (0.05, 0.04, 0.03, 0.02, 0.015, 0.01, 0.0075, 0.005, 0.003, 0.002, 0.001)
ENOUGH = 400  # labels
TRUTH_RUNS, CAMPAIGNS, DRAWS, SCORE_RUNS = 200, 30, 10, 20
CLOSE = 0.15


@dataclass(frozen=True, eq=False)
class Case:
    """A classifier's population, known and supposed, with the true rate in each cell."""

    name: str
    population: Population
    supposed: Supposed
    rates: Mapping[bool, Floats]


@dataclass(frozen=True)
class Errors:
    """Relative errors of plans against the simulated mean."""

    true_rates: float
    mean: float
    typical: float
    worst: float
    close: float
    campaigns: float
    scores: float
    doubted: float


def cases(folder: Path, chosen: list[str]) -> Iterator[Case]:
    """Read every classifier of every file."""
    for file in sorted(folder.glob("*.parquet")):
        names = parquet.read_schema(file).names
        for column in (name for name in names if name.startswith("score_")):
            classifier = column.removeprefix("score_")
            name = f"{file.stem} {classifier}"
            if chosen and not any(word in name for word in chosen):
                continue
            label = "label" if "label" in names else f"label_{classifier}"
            table = parquet.read_table(file, columns=[column, f"pred_{classifier}", label])
            score, said, truth = (each.to_numpy() for each in table.itercolumns())
            yield case(name, score.astype(np.float64), said, truth)


def case(name: str, score: Floats, said: Ints, truth: Ints) -> Case:
    """Count the truth in each cell of the scores."""
    population = Population(y_true=truth, y_score=score, y_pred=said)
    supposed = Supposed.of(from_arrays(y_score=score, y_pred=said), population.scale)
    rates = {}
    for side, profile in supposed.profiles.items():
        here = said == side
        cell = np.searchsorted(profile.low, score[here], side="right") - 1
        rates[side] = np.bincount(cell, truth[here], minlength=profile.low.size) / profile.count
    return Case(name, population, supposed, rates)


def labels(frame: Frame, goal: Goal, runs: int, seed: int) -> Ints:
    """Replay evaluations of the design by default, and return their labels."""
    return Task.of_one("case", frame, Design(), goal).replay(runs, key=[seed]).labels


def campaigns(frame: Frame, goal: Goal) -> list[tuple[Ints, Ints]]:
    """Replay campaigns to their ends, and return the labels and positives in each stratum."""
    ended: list[tuple[Ints, Ints]] = []

    def watch(state: State, now: Look) -> None:
        over = now.reason != Reason.GO_ON
        tallies = state.tallies
        ended.extend(zip(tallies.n[over].astype(int), tallies.x[over].astype(int), strict=True))

    Task.of_one("before", frame, Design(), goal).replay(CAMPAIGNS, key=[3], watch=watch)
    return ended


def errors_of(case: Case, goal: Goal, mean: float) -> Errors:
    """Plan from the truth, from earlier campaigns and from scores."""
    frame = case.population.frame(Design(), goal.metric)

    def expected(rates: Mapping[bool, Floats], runs: int) -> Ints:
        return labels(case.supposed.with_rates(rates).frame(Design(), goal.metric), goal, runs, 2)

    rng = np.random.default_rng(4)
    before = campaigns(frame, goal)
    each = [Evidence(frame.strata, n, x, "a campaign") for n, x in before]
    sides = [side for side in frame.strata.sides if side is not None]
    drawn = {
        side: np.concatenate([one.draw(side, case.supposed, DRAWS, rng) for one in each])
        for side in sides
    }
    plans = expected({**case.rates, **drawn}, CAMPAIGNS * DRAWS)
    errors = plans.reshape(CAMPAIGNS, DRAWS).mean(axis=1) / mean - 1
    own = np.array([n.sum() for n, _ in before]) / mean - 1
    by_score = case.supposed.calibrated()
    return Errors(
        true_rates=expected(case.rates, TRUTH_RUNS).mean() / mean - 1,
        mean=errors.mean(),
        typical=np.sqrt((errors**2).mean()),
        worst=errors[np.abs(errors).argmax()],
        close=np.mean(np.abs(errors) <= CLOSE),
        campaigns=np.sqrt((own**2).mean()),
        scores=expected(by_score.rates, SCORE_RUNS).mean() / mean - 1,
        doubted=expected(by_score.doubted().rates, SCORE_RUNS).mean() / mean - 1,
    )


def main() -> None:
    """Print a row for each case and metric."""
    folder, *chosen = sys.argv[1:]
    print(
        "| population | metric | value | ±within | labels | (a) true rates | (b) mean plan | "
        "one plan, rms | single plans within 15% | worst single plan | campaigns, rms | "
        "(c) scores | doubted |\n"
        "|---|---|---|---|---|---|---|---|---|---|---|---|---|"
    )
    found = []
    for each in cases(Path(folder), chosen):
        for metric in METRICS:
            frame = each.population.frame(Design(), metric)
            for within in WITHINS:
                goal = Goal(metric, within=within)
                if labels(frame, goal, 10, 1).mean() >= ENOUGH:
                    break
            mean = float(labels(frame, goal, TRUTH_RUNS, 1).mean())
            errors = errors_of(each, goal, mean)
            found.append(errors)
            print(
                f"| {each.name} | {metric} | {frame.value:.3f} | {within:g} | {mean:,.0f} | "
                f"{errors.true_rates:+.1%} | {errors.mean:+.0%} | {errors.typical:.0%} | "
                f"{errors.close:.0%} | {errors.worst:+.0%} | {errors.campaigns:.0%} | "
                f"{errors.scores:+.0%} | {errors.doubted:+.0%} |",
                flush=True,
            )
    means = np.abs([errors.mean for errors in found])
    print(
        f"\n{len(found)} cases: (a) at most {max(abs(each.true_rates) for each in found):.1%}; "
        f"(b) mean plan at most {means.max():.0%}, {np.mean(means <= CLOSE):.0%} of cases within "
        f"15%, single plans {np.mean([each.close for each in found]):.0%} within 15%, median rms "
        f"{np.median([each.typical for each in found]):.0%} (campaigns themselves "
        f"{np.median([each.campaigns for each in found]):.0%}); (c) within 15% in "
        f"{np.mean([abs(each.scores) <= CLOSE for each in found]):.0%} of cases, the truth between "
        "the two readings in "
        f"{np.mean([each.scores * each.doubted <= 0 for each in found]):.0%}"
    )


if __name__ == "__main__":
    main()
