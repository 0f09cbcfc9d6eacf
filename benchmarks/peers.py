"""Assay's memory engine beside other packages that draw stratified samples of predictions.

    pip install svy samplics glide-py scikit-learn
    pip install --no-deps ssepy

Any of them may be missing; it is then left out, and the output says so. glide-py needs Python 3.12.
ssepy asks for numpy below 2, with which neither Assay nor the others work; it runs on numpy 2, but
not as fast. To see it at its best, ``pip install ssepy scikit-learn "numpy<2"`` elsewhere and run
this file there: it does without Assay too.

The task: 1,000,000 predictions of which the truth is known, 10 strata of equal size by how sure the
classifier was, 1,000 labels shared out in proportion, drawn without replacement, and the accuracy
with its standard error. Stratify, allocate, draw and estimate are timed. Not timed: imports, one
run to warm up, and what brings the data into the form that a package wants; so the peers are handed
the confidence, which Assay computes from the scores. Peers that cannot cut a score into strata are
given the fastest way that we found in numpy (`tenths`).

All run in one process, in turn, forwards and backwards; on a busy machine the processor's time
tells more than the clock. Every answer of every run is checked: 1,000 labels, at most 4 standard
errors from the truth, and a standard error within a quarter of the exact one.

Run with ``python benchmarks/peers.py``; what it prints is the table of docs/peers.md.
"""

import os
import platform
import random
import time
import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module, metadata
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from numpy.typing import NDArray

SIZE, STRATA, LABELS = 1_000_000, 10, 1_000
RUNS = 15

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Ints = NDArray[np.int64]
Strata = NDArray[np.int8]


@dataclass(frozen=True)
class Answer:
    """An estimate, its standard error, and the labels that it took."""

    value: float
    error: float
    labels: int


Run = Callable[[int], Answer]
"""The timed part: from a seed to an answer."""


class Population:
    """Predictions with calibrated scores, and the truth about them."""

    def __init__(self, size: int, seed: int) -> None:
        rng = np.random.default_rng(seed)
        self.score: Floats = rng.beta(2, 2, size)
        self.predicted: Bools = self.score >= 0.5
        truth = rng.random(size) < self.score
        self.correct: Floats = (self.predicted == truth).astype(np.float64)
        self.ids: Ints = rng.permutation(size)

    @cached_property
    def confidence(self) -> Floats:
        """The probability of the predicted label."""
        return np.where(self.predicted, self.score, 1 - self.score)

    @cached_property
    def accuracy(self) -> float:
        """What is to be estimated."""
        return float(self.correct.mean())

    @cached_property
    def exact_error(self) -> float:
        """The standard error of the stratified mean under the task's design."""
        strata = tenths(self.confidence)
        sizes = np.bincount(strata)
        rates = np.bincount(strata, weights=self.correct) / sizes
        variances = rates * (1 - rates) * sizes / (sizes - 1)
        drawn = LABELS * sizes / sizes.sum()
        shares = sizes / sizes.sum()
        return float(np.sqrt((shares**2 * (1 - drawn / sizes) * variances / drawn).sum()))

    def refuse_wrong(self, answer: Answer, name: str) -> None:
        """Raise where an answer is not one to the task."""
        near = abs(answer.value - self.accuracy) <= 4 * answer.error
        as_sure_as_it_may = 0.75 < answer.error / self.exact_error < 1.25
        if answer.labels != LABELS or not near or not as_sure_as_it_may:
            raise RuntimeError(
                f"{name} says {answer}; the accuracy is {self.accuracy:.4f}, its standard error "
                f"from {LABELS} labels {self.exact_error:.4f}"
            )


def tenths(values: Floats) -> Strata:
    """Return the stratum of each item, ten of equal size.

    Narrow integers, because numpy finds and compares them fastest: with 64 bits glide-py takes
    1.6 times as long.
    """
    places = np.arange(1, STRATA) * len(values) // STRATA
    stratum = np.zeros(len(values), dtype=np.int8)
    for cut in np.partition(values, places)[places]:
        stratum += values >= cut
    return stratum


def assay_engine(population: Population, ids: Ints | None = None) -> Run:
    """Return Assay without its store."""
    from assay.core.allocation import proportional, round_to_total
    from assay.core.estimate import estimate
    from assay.core.forms import ratio
    from assay.core.stratify import stratify
    from assay.core.tallies import Tallies
    from assay.predictions import from_arrays

    by_id = population.correct
    if ids is not None:
        by_id = np.empty_like(population.correct)
        by_id[ids] = population.correct

    def run(seed: int) -> Answer:
        found = from_arrays(y_score=population.score, y_pred=population.predicted, ids=ids)
        profiles = found.profile("confidence", "probability", [None])
        strata = stratify(profiles, variable="confidence", method="perc", bins=STRATA)
        sizes = strata.sizes.astype(np.float64)
        counts = round_to_total(proportional(sizes, LABELS), LABELS, room=sizes)
        decks = found.deal(strata, scale="probability", seed=seed, counts=counts.tolist())
        outcomes = [sum(by_id[int(card.id)] for card in deck) for deck in decks]
        accuracy = ratio("accuracy", sizes, strata.says_yes)
        tallies = Tallies(sizes, [len(deck) for deck in decks], outcomes)
        moments = estimate(tallies, accuracy, "unbiased", replacement=False)
        return Answer(float(moments.value), float(np.sqrt(moments.variance)), sum(map(len, decks)))

    return run


def assay_campaign(population: Population) -> Run:
    """Return a whole campaign, kept in an SQLite file, that is asked for all labels at once."""
    import assay

    columns = {"p": population.score, "yes": population.predicted}
    truth = population.predicted == population.correct.astype(bool)
    design = assay.Design.kumar_raj(strata="perc", allocation="pro", bins=STRATA)

    def run(seed: int) -> Answer:
        with TemporaryDirectory() as folder:
            campaign = assay.create_campaign(
                columns,
                score="p",
                predicted="yes",
                metric="accuracy",
                budget=LABELS,
                design=design,
                storage=f"sqlite:///{Path(folder) / 'campaign.db'}",
                seed=seed,
            )
            while not campaign.done:
                campaign.tell({item.id: truth[int(item.id)] for item in campaign.ask(LABELS)})
            found = campaign.estimate()
        if found.value is None or found.standard_error is None:
            raise RuntimeError(f"no estimate: {found}")
        return Answer(found.value, found.standard_error, found.labels)

    return run


def seed_globals(seed: int) -> None:
    """Seed what two of the peers draw from: the generators that the process shares."""
    random.seed(seed)
    import_module("numpy.random").set_bit_generator(np.random.MT19937(seed))


class Tenths:
    """`tenths`, as ssepy wants a way to cluster: it calls ``fit`` and ``predict``."""

    def fit(self, X: Floats) -> "Tenths":
        """Cut the first column."""
        self.stratum = tenths(X[:, 0])
        return self

    def predict(self, _X: Floats) -> Strata:
        """Return what `fit` found: ssepy asks about the same items."""
        return self.stratum


def ssepy(population: Population, cluster: Callable[[], object]) -> Run:
    """Return ssepy as its README has it, with the sampling method that goes with strata."""
    evaluator_of = import_module("ssepy").ModelPerformanceEvaluator
    confidence, correct = population.confidence, population.correct

    def run(seed: int) -> Answer:
        seed_globals(seed)
        evaluator = evaluator_of(Yh=confidence, budget=LABELS)
        evaluator.stratify_data(clustering_algo=cluster(), X=confidence)
        evaluator.allocate_budget(allocation_type="proportional")
        rows = evaluator.sample(sampling_method="ssrs")
        (value,), (variance,) = evaluator.compute_estimate(correct[rows], estimator="ht")
        return Answer(value, float(np.sqrt(variance)), len(rows))

    return run


def ssepy_as_documented(population: Population) -> Run:
    """Return ssepy with scikit-learn's k-means, as in its README."""
    k_means = import_module("sklearn.cluster").KMeans
    return ssepy(population, lambda: k_means(n_clusters=STRATA, random_state=0, n_init="auto"))


def glide(population: Population, *, powered: bool) -> Run:
    """Return glide's stratified sampler with its classical or its prediction-powered estimator."""
    sampler = import_module("glide.samplers").StratifiedSampler()
    estimators = import_module("glide.estimators")
    confidence, correct = population.confidence, population.correct

    def run(seed: int) -> Answer:
        strata = tenths(confidence)
        drawn = sampler.sample(
            confidence, strata, n_samples=LABELS, strategy="proportional", random_seed=seed
        )
        if powered:
            labels = np.where(drawn == 1, correct, np.nan)
            found = estimators.StratifiedPPIMeanEstimator().estimate(labels, confidence, strata)
            return Answer(found.mean, found.std, found.n_true)
        rows = np.flatnonzero(drawn)
        found = estimators.StratifiedClassicalMeanEstimator().estimate(
            correct[rows], strata[rows], stratum_weights=np.bincount(strata) / len(strata)
        )
        return Answer(found.mean, found.std, int(found.n))

    return run


def svy(population: Population) -> Run:
    """Return svy; the frame that it draws from is there before the clock starts."""
    package, polars = import_module("svy"), import_module("polars")
    frame = polars.DataFrame({"correct": population.correct})
    confidence = population.confidence

    def run(seed: int) -> Answer:
        strata = tenths(confidence)
        sizes = dict(enumerate(np.bincount(strata).tolist()))
        shares = package.SampleSize().allocate(LABELS, pop_size=sizes).to_polars()
        counts = dict(zip(shares["stratum"], shares["n"], strict=True))
        items = frame.with_columns(polars.Series("stratum", strata))
        sample = package.Sample(items, package.Design(stratum="stratum"))
        found = sample.sampling.srs(n=counts, rstate=seed).estimation.mean("correct").to_polars()
        return Answer(found["est"].item(), found["se"].item(), found["n"].item())

    return run


def samplics(population: Population) -> Run:
    """Return samplics, the predecessor of svy."""
    with warnings.catch_warnings(action="ignore", category=FutureWarning):  # it is retired
        package = import_module("samplics")
    confidence, correct, rows = population.confidence, population.correct, np.arange(SIZE)

    def run(seed: int) -> Answer:
        seed_globals(seed)
        strata = tenths(confidence)
        sizes = dict(enumerate(np.bincount(strata).tolist()))
        counts, _ = package.allocate("propal", list(sizes), sizes, samp_size=LABELS)
        selection = package.SampleSelection(package.SelectMethod.srs_wor, strat=True)
        drawn, _, chances = selection.select(rows, counts, strata)
        found = package.TaylorEstimator(package.PopParam.mean)
        found.estimate(
            correct[drawn], samp_weight=1 / chances[drawn], stratum=strata[drawn], fpc=selection.fpc
        )
        return Answer(found.point_est, found.stderror, int(drawn.sum()))

    return run


@dataclass(frozen=True)
class Contender:
    """A way to do the task: its name in the table, its package, and what prepares it."""

    name: str
    package: str
    prepare: Callable[[Population], Run]


CONTENDERS = (
    Contender("Assay, engine", "assay", assay_engine),
    Contender("Assay, engine, with ids", "assay", lambda all_: assay_engine(all_, all_.ids)),
    Contender("Assay, campaign in SQLite", "assay", assay_campaign),
    Contender("glide-py, classical", "glide-py", lambda all_: glide(all_, powered=False)),
    Contender("glide-py, prediction-powered", "glide-py", lambda all_: glide(all_, powered=True)),
    Contender("svy", "svy", svy),
    Contender("samplics", "samplics", samplics),
    Contender("ssepy, our cuts", "ssepy", lambda all_: ssepy(all_, Tenths)),
    Contender("ssepy, k-means", "ssepy", ssepy_as_documented),
)


def prepared(population: Population) -> dict[Contender, Run]:
    """Return what can run here, warmed up; say what cannot."""
    ready: dict[Contender, Run] = {}
    for contender in CONTENDERS:
        try:
            run = contender.prepare(population)
        except ModuleNotFoundError as error:
            print(f"left out: {contender.name}: {error}; the top of this file says how to install")
            continue
        population.refuse_wrong(run(0), contender.name)
        ready[contender] = run
    return ready


@dataclass
class Times:
    """Seconds of each run, on the clock and of the processor."""

    wall: list[float]
    cpu: list[float]


def measured(population: Population, ready: dict[Contender, Run]) -> dict[Contender, Times]:
    """Return the times of every contender, each checked answer by answer."""
    times = {contender: Times([], []) for contender in ready}
    for number in range(1, RUNS + 1):
        order: Iterable[Contender] = ready if number % 2 else reversed(ready)
        for contender in order:
            wall, cpu = time.perf_counter(), time.process_time()
            answer = ready[contender](number)
            times[contender].cpu.append(time.process_time() - cpu)
            times[contender].wall.append(time.perf_counter() - wall)
            population.refuse_wrong(answer, contender.name)
    return times


def versions(packages: Iterable[str]) -> str:
    """Return the packages with their versions."""
    return ", ".join(f"{name} {metadata.version(name)}" for name in dict.fromkeys(packages))


def main() -> None:
    """Print the table."""
    population = Population(SIZE, seed=0)
    ready = prepared(population)
    load = os.getloadavg()[0]
    times = measured(population, ready)
    print(f"Python {platform.python_version()}, {os.cpu_count()} cores, load before {load:.1f}")
    print(versions(["numpy", *(contender.package for contender in ready)]))
    print(f"accuracy {population.accuracy:.4f}, standard error {population.exact_error:.4f}\n")
    print("| | CPU ms | times Assay's engine | ms on the clock | times Assay's engine |")
    print("|---|---|---|---|---|")
    engine = times.get(CONTENDERS[0], Times([], []))
    for contender, each in times.items():
        cpu, wall = beside(each.cpu, engine.cpu), beside(each.wall, engine.wall)
        print(f"| {contender.name} | {cpu} | {wall} |")


def beside(seconds: list[float], ours: list[float]) -> str:
    """Return two columns: the median in ms, and how many times ours that is, if ours is there."""
    median = np.median(seconds)
    return f"{1000 * median:,.0f} | " + (f"{median / np.median(ours):.1f}" if ours else "")


if __name__ == "__main__":
    main()
