"""Assay beside packages that correct a judge, at 500 labels with the same second opinion.

    python -m benchmarks.peers_second_opinion DATA                     # eight tasks, 120 runs each
    python -m benchmarks.peers_second_opinion DATA --runs 300 --tasks 0 6

    pip install ppi-python cje-eval truescore glide-py scikit-learn
    pip install --no-deps ssepy

Any of the packages may be missing; it is then left out, and the output says so. glide-py needs
Python 3.12; ssepy asks for numpy below 2, and runs on numpy 2.

DATA is a folder of Parquet files with columns label, score_A and pred_A of each classifier A, the
scores log-odds. A task is the accuracy or the precision of one classifier, and the judge is another
classifier's score. Packages that want a prediction of the outcome get the probability that the
judge gives to it: that the classifier is right (accuracy), or that the label is yes, of the items
that it says yes to (precision). Where a package can take two predictions, it gets the classifier's
own, too, as Assay does; where it takes one, it is run with the judge's, and with the mean of both.

Every way has 500 labels. Ways that start from labels at random are handed the same ones; ways that
choose items choose their own. cje-eval takes part in every fourth run, as it takes the time of all
the others together. All intervals are asked for at 95%. The best of the others is the one
with the least error in these very runs, which favours them.
"""

import argparse
import logging
import platform
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module, metadata
from pathlib import Path
from time import process_time
from typing import Any, NamedTuple

import numpy as np

from assay.core.design import Design, fitted
from assay.core.goal import Goal
from assay.core.types import Floats, Ints
from assay.simulation import Population
from assay.simulation.opined import OpinedItems
from assay.simulation.oracle import of_one
from assay.simulation.runs import replay
from assay.simulation.second_opinion import RecutRun
from benchmarks.peers import seed_globals
from benchmarks.second_opinion import PAIRS, Pair, read, second_of

LABELS, SEED, Z = 500, 20261117, 1.959964
TASKS = tuple(PAIRS[number] for number in (0, 1, 2, 3, 4, 6, 7, 8))
GOAL, NEVER = 0.8, 1.02  # what Assay's error is to be of the best other one's


class Answer(NamedTuple):
    """An estimate, its interval, and the labels that it took."""

    value: float
    low: float
    high: float
    labels: int


@dataclass(frozen=True, eq=False)
class Items:
    """The items of a task, and what is said of them."""

    population: Population
    pair: Pair
    opined: OpinedItems

    @classmethod
    def read(cls, folder: Path, pair: Pair) -> "Items":
        """Return the items of a task."""
        population = read(folder, pair)
        opined = population.opined(pair.metric)
        if opined is None:
            raise ValueError(f"{pair.file} was read without a second opinion")
        return cls(population, pair, opined)

    @cached_property
    def outcome(self) -> Floats:
        """What the metric is the mean of."""
        said = self.opined.predicted if self.pair.metric == "accuracy" else True
        return np.asarray(self.opined.positive == said, dtype=np.float64)

    @cached_property
    def judge(self) -> Floats:
        """The probability of the outcome by the second opinion."""
        told = self.opined.columns[second_of(self.opined)]
        return self._chance(np.asarray(told, dtype=np.float64))

    @cached_property
    def own(self) -> Floats:
        """The probability of the outcome by the classifier itself."""
        return self._chance(self.opined.score)

    @cached_property
    def both(self) -> Floats:
        """The mean of the two."""
        return (self.judge + self.own) / 2

    @property
    def truth(self) -> float:
        """What is to be estimated."""
        return float(self.outcome.mean())

    def at_random(self, run: int) -> Ints:
        """Return 500 rows: the same for all that start from labels at random."""
        rng = np.random.default_rng([SEED, run])
        return np.sort(rng.choice(self.outcome.size, LABELS, replace=False))

    def known(self, rows: Ints) -> Floats:
        """Return the outcomes of some rows, NaN elsewhere."""
        told = np.full(self.outcome.size, np.nan)
        told[rows] = self.outcome[rows]
        return told

    def _chance(self, log_odds: Floats) -> Floats:
        yes = 1 / (1 + np.exp(-np.clip(log_odds, -700, 700)))
        return np.where(self.opined.predicted, yes, 1 - yes)


Run = Callable[[int], Answer]
"""One way to estimate, for one task: from the number of a run to an answer."""


def assay_with(items: Items, _runs: int) -> Run:
    """Return campaigns of the default design with the second opinion."""
    goal = Goal(items.pair.metric, budget=LABELS)
    design = fitted(Design(), goal)

    def run(number: int) -> Answer:
        campaign = RecutRun(items.opined, design, goal, np.random.default_rng([SEED, number]))
        (last,) = campaign.run()[1].looks
        return Answer(last.moments.value[0], last.low[0], last.high[0], campaign.labels)

    return run


def assay_without(items: Items, runs: int) -> Run:
    """Return campaigns of the default design by the classifier's own score: all at once."""
    goal = Goal(items.pair.metric, budget=LABELS)
    design = fitted(Design(), goal)
    frame = items.population.frame(design, items.pair.metric)
    found = replay(
        *of_one(design, goal, frame.metric, frame.sizes, frame.outcomes),
        replications=runs,
        rng=np.random.default_rng([SEED, runs]),
    )
    ends = zip(found.value[:, 0], found.low[:, 0], found.high[:, 0], found.labels, strict=True)
    answers = [Answer(value, low, high, int(labels)) for value, low, high, labels in ends]
    return answers.__getitem__


def ppi(items: Items, proxy: Floats) -> Run:
    """Return ppi-python's PPI++."""
    package = import_module("ppi_py")

    def run(number: int) -> Answer:
        rows = items.at_random(number)
        given = items.outcome[rows], proxy[rows], np.delete(proxy, rows)
        (value,) = np.ravel(package.ppi_mean_pointestimate(*given))
        low, high = (float(np.ravel(end)[0]) for end in package.ppi_mean_ci(*given, alpha=0.05))
        return Answer(float(value), low, high, LABELS)

    return run


def truescore(items: Items, *, judged: bool) -> Run:
    """Return truescore's corrected score, or its estimate by the labels alone."""
    package = import_module("truescore.correct")

    def run(number: int) -> Answer:
        rows = items.at_random(number)
        told = items.outcome[rows]
        if judged:
            found = package.ppi_estimate(items.judge, told, rows)
        else:
            found = package.gold_only_estimate(told)
        return Answer(found.point, found.low, found.high, found.n_gold)

    return run


MOST_ROWS, CLUSTERS = 40_000, 1_000


def cje(items: Items, *, own: bool) -> Run:
    """Return cje-eval's calibrated mean, with the classifier's own score as a covariate or not.

    Its time grows with the rows times the clusters, and each row is a cluster. So rows without a
    label are put into a thousand clusters at random, by which neither the estimate nor what its
    variance estimates is changed; and of more than 40,000 rows it gets that many at random.
    """
    package = import_module("cje")
    logging.getLogger("cje").setLevel(logging.ERROR)

    def run(number: int) -> Answer:
        rng = np.random.default_rng([SEED, number, 1])
        rows, size = items.at_random(number), items.outcome.size
        cluster = rng.integers(CLUSTERS, size=size)
        cluster[rows] = CLUSTERS + np.arange(LABELS)
        kept = np.arange(size)
        if size > MOST_ROWS:
            others = rng.choice(np.delete(kept, rows), MOST_ROWS - LABELS, replace=False)
            kept = np.append(rows, others)
        found = package.calibrated_mean_ci(
            items.judge[kept],
            items.known(rows)[kept],
            cluster_ids=cluster[kept],
            covariates=items.own[kept, None] if own else None,
        )
        low, high = found.ci
        return Answer(found.estimate, low, high, found.n_oracle)

    return run


class Known:
    """Strata that are known, as ssepy wants a way to cluster: it calls ``fit`` and ``predict``."""

    def __init__(self, stratum: Ints) -> None:
        self.stratum = stratum

    def fit(self, _X: Floats) -> "Known":
        """Return itself."""
        return self

    def predict(self, _X: Floats) -> Ints:
        """Return the strata."""
        return self.stratum


def ssepy(items: Items, *, both: bool, allocation: str) -> Run:
    """Return ssepy: strata by k-means, as in its README, and the difference estimator.

    With both scores there are ten strata, with the judge's five.
    """
    package = import_module("ssepy")
    proxy = items.both if both else items.judge
    features = np.stack([items.judge, items.own], axis=1) if both else items.judge[:, None]
    k_means = import_module("sklearn.cluster").KMeans(10 if both else 5, random_state=0)
    cluster = Known(k_means.fit(features).predict(features).astype(np.int64))

    def run(number: int) -> Answer:
        seed_globals(number)
        evaluator = package.ModelPerformanceEvaluator(Yh=proxy, budget=LABELS)
        evaluator.stratify_data(clustering_algo=cluster, X=features)
        evaluator.allocate_budget(allocation_type=allocation)
        rows = evaluator.sample(sampling_method="ssrs")
        (value,), (variance,) = evaluator.compute_estimate(
            items.outcome[rows], estimator="df", tune_power=True
        )
        reach = Z * float(np.sqrt(variance))
        return Answer(value, value - reach, value + reach, len(rows))

    return run


def glide_several(items: Items) -> Run:
    """Return glide's PPI++ with two proxies and labels at random."""
    estimator = import_module("glide.estimators").MultiPPIMeanEstimator()
    proxies = np.stack([items.judge, items.own], axis=1)

    def run(number: int) -> Answer:
        return _of_glide(estimator.estimate(items.known(items.at_random(number)), proxies))

    return run


def glide_strata(items: Items, strategy: str) -> Run:
    """Return glide's stratified sampler and PPI++: five strata of equal size by the mean proxy."""
    sampler = import_module("glide.samplers").StratifiedSampler()
    estimator = import_module("glide.estimators").StratifiedPPIMeanEstimator()
    cuts = np.quantile(items.both, [0.2, 0.4, 0.6, 0.8])
    strata = np.searchsorted(cuts, items.both, side="right").astype(np.int8)

    def run(number: int) -> Answer:
        drawn = sampler.sample(
            items.both, strata, n_samples=LABELS, strategy=strategy, random_seed=number
        )
        known = items.known(np.flatnonzero(drawn))
        return _of_glide(estimator.estimate(known, items.both, strata))

    return run


def glide_active(items: Items, proxy: Floats) -> Run:
    """Return glide's active sampler and estimator.

    An item's uncertainty is the spread that its proxy implies, half and half with the mean of all:
    the paper behind it advises such a mixture, as proxies may be surer than they should be.
    """
    sampler = import_module("glide.samplers").ActiveSampler()
    estimator = import_module("glide.estimators").ASIMeanEstimator()
    spread = np.sqrt(proxy * (1 - proxy))
    unsure = (spread + spread.mean()) / 2
    unsure = np.minimum(unsure, 0.9 * unsure.mean() * unsure.size / LABELS)  # chances below 1

    def run(number: int) -> Answer:
        chance, drawn = sampler.sample(unsure, n_samples=LABELS, random_seed=number)
        known = items.known(np.flatnonzero(drawn == 1))
        return _of_glide(estimator.estimate(known, proxy, chance))

    return run


def _of_glide(found: Any) -> Answer:
    interval = found.confidence_interval
    return Answer(found.mean, interval.lower_bound, interval.upper_bound, found.n_true)


class Way(NamedTuple):
    """A way to estimate.

    Attributes
    ----------
    name, package : str
        Its name in the table, and the package.
    prepare : callable
        From a task and the number of runs to what is run.
    every : int
        Which runs it takes part in: what is slow does not in all.
    """

    name: str
    package: str
    prepare: Callable[[Items, int], Run]
    every: int = 1


OURS = (
    Way("Assay with the second opinion", "assay-eval", assay_with),
    Way("Assay without", "assay-eval", assay_without),
)
OTHERS = (
    Way("truescore, labels alone", "truescore", lambda all_, _: truescore(all_, judged=False)),
    Way("truescore, PPI++, judge", "truescore", lambda all_, _: truescore(all_, judged=True)),
    Way("ppi-python, PPI++, judge", "ppi-python", lambda all_, _: ppi(all_, all_.judge)),
    Way("ppi-python, PPI++, mean of both", "ppi-python", lambda all_, _: ppi(all_, all_.both)),
    Way("cje-eval, judge", "cje-eval", lambda all_, _: cje(all_, own=False), 4),
    Way("cje-eval, judge and own score", "cje-eval", lambda all_, _: cje(all_, own=True), 4),
    Way(
        "ssepy, judge, in proportion",
        "ssepy",
        lambda all_, _: ssepy(all_, both=False, allocation="proportional"),
    ),
    Way(
        "ssepy, both, in proportion",
        "ssepy",
        lambda all_, _: ssepy(all_, both=True, allocation="proportional"),
    ),
    Way(
        "ssepy, both, Neyman", "ssepy", lambda all_, _: ssepy(all_, both=True, allocation="neyman")
    ),
    Way("glide-py, PPI++, both", "glide-py", lambda all_, _: glide_several(all_)),
    Way(
        "glide-py, strata, in proportion",
        "glide-py",
        lambda all_, _: glide_strata(all_, "proportional"),
    ),
    Way("glide-py, strata, Neyman", "glide-py", lambda all_, _: glide_strata(all_, "neyman")),
    Way("glide-py, active, judge", "glide-py", lambda all_, _: glide_active(all_, all_.judge)),
    Way(
        "glide-py, active, mean of both", "glide-py", lambda all_, _: glide_active(all_, all_.both)
    ),
)


class Quality(NamedTuple):
    """How good some answers are.

    Attributes
    ----------
    rmse, relative_error : float
        The root of the mean squared error, and the relative standard error of that root.
    coverage, half_width, labels : float
        The share of intervals that hold the truth, and means.
    failed : int
        Runs in which the package raised an error instead of answering.
    """

    rmse: float
    relative_error: float
    coverage: float
    half_width: float
    labels: float
    failed: int


def quality(answers: Sequence[Answer], truth: float, failed: int = 0) -> Quality:
    """Return how good the answers are."""
    value, low, high, labels = np.array(answers, dtype=np.float64).T
    squared = (value - truth) ** 2
    mean = float(squared.mean())
    spread = float(squared.std(ddof=1)) / np.sqrt(squared.size)
    holds = (low - 1e-12 <= truth) & (truth <= high + 1e-12)
    return Quality(
        rmse=float(np.sqrt(mean)),
        relative_error=float(spread / mean / 2),  # of a root half that of its square
        coverage=float(holds.mean()),
        half_width=float((high - low).mean() / 2),
        labels=float(labels.mean()),
        failed=failed,
    )


def ratio(ours: Quality, other: Quality) -> tuple[float, float]:
    """Return the ratio of two errors, and its standard error as if they were independent."""
    found = ours.rmse / other.rmse
    return found, found * float(np.hypot(ours.relative_error, other.relative_error))


def measured(way: Way, items: Items, runs: int) -> Quality | None:
    """Return how good a way is; None, with the reason printed, where it does not answer at all."""
    answers, failed, why = [], 0, ""
    try:
        run = way.prepare(items, runs)
    except ModuleNotFoundError as error:
        print(f"left out: {way.name}: {error}; the top of this file says how to install")
        return None
    numbers = range(0, runs, way.every)
    for number in numbers:
        try:
            answers.append(run(number))
        except ValueError as error:
            failed, why = failed + 1, str(error)
    if failed:
        print(f"{way.name}: no answer in {failed} of {len(numbers)} runs: {why}")
    return quality(answers, items.truth, failed) if failed < len(numbers) / 2 else None


def report(items: Items, runs: int) -> float | None:
    """Print a task's table; return Assay's error as a share of the best other one's."""
    pair = items.pair
    print(f"\n{pair.file}: {pair.metric} of {pair.own}, {pair.other} as the judge; ", end="")
    print(f"{items.outcome.size:,} items, truth {items.truth:.4f}, {runs} runs\n")
    found: dict[str, Quality] = {}
    seconds: dict[str, float] = {}
    for way in (*OURS, *OTHERS):
        began = process_time()
        one = measured(way, items, runs)
        seconds[way.name] = (process_time() - began) * way.every / runs
        if one is not None:
            found[way.name] = one
    print("| | RMSE | Assay's is | coverage | half-width | labels | CPU s |\n" + "|---" * 7 + "|")
    ours = found[OURS[0].name]
    for name, one in found.items():
        share, error = ratio(ours, one)
        beside = "1" if one is ours else f"{share:.2f} ± {error:.2f}"
        print(
            f"| {name} | {one.rmse:.5f} | {beside} | {one.coverage:.3f} | {one.half_width:.4f} "
            f"| {one.labels:.0f} | {seconds[name]:.2f} |"
        )
    others = {name: one for name, one in found.items() if name not in {way.name for way in OURS}}
    if not others:
        return None
    best = min(others, key=lambda name: others[name].rmse)
    share, error = ratio(ours, others[best])
    print(f"\nbest other: {best}; Assay's error is {share:.3f} ± {error:.3f} of its", flush=True)
    return share


def versions() -> str:
    """Return the packages that are here with their versions."""
    said = []
    for name in dict.fromkeys(["numpy", *(way.package for way in OTHERS)]):
        try:
            said.append(f"{name} {metadata.version(name)}")
        except metadata.PackageNotFoundError:
            said.append(f"{name} is not here")
    return ", ".join(said)


def main() -> None:
    """Print a table for each task, and how often the goal is reached."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("--runs", type=int, default=120)
    parser.add_argument("--tasks", type=int, nargs="*", default=range(len(TASKS)))
    given = parser.parse_args()
    warnings.simplefilter("ignore")  # of the packages, about each other's versions
    print(f"Python {platform.python_version()}, {versions()}")
    shares = [report(Items.read(given.data, TASKS[task]), given.runs) for task in given.tasks]
    known = np.array([share for share in shares if share is not None])
    print(
        f"\nat most {GOAL} of the best other one's error: {(known <= GOAL).sum()} of {known.size} "
        f"tasks; above {NEVER}: {(known > NEVER).sum()}"
    )


if __name__ == "__main__":
    main()
