"""The demo: the main job from predictions to a stop, on a population whose truth is known."""

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from assay.campaign import Campaign, create_campaign
from assay.core.design import Design
from assay.core.goal import Goal
from assay.core.metrics import ratio
from assay.core.types import Bools, Ints
from assay.demo.population import Population, make_population
from assay.results import Estimate, StratumRow
from assay.simulation import replay

GOAL = Goal("precision", within=0.02, confidence=0.95)
BATCH = 20
REPLICATIONS = 200


@dataclass(frozen=True)
class DemoResult:
    """All that the demo shows.

    Attributes
    ----------
    seed, messages, predicted_spam : int
        The population.
    estimate : Estimate
        Where the campaign stopped, and why.
    strata : tuple of StratumRow
        The strata with the labels that each got.
    true_value : float
        The precision over all messages.
    inside : bool
        Whether the interval holds it.
    mean_labels, random_mean_labels : float
        Labels at the stop with the campaign's design and with simple random sampling, each the
        mean over `replications` evaluations of the same population with the same goal, kind of
        interval and batch size.
    replications : int
    """

    seed: int
    messages: int
    predicted_spam: int
    estimate: Estimate
    strata: tuple[StratumRow, ...]
    true_value: float
    inside: bool
    mean_labels: float
    random_mean_labels: float
    replications: int

    def to_dict(self) -> dict[str, Any]:
        """Return the result as plain values."""
        goal = {"goal": GOAL.to_dict(), "batch": BATCH}
        return {**asdict(self), "estimate": self.estimate.to_dict(), **goal}


class Watcher:
    """Someone who looks on while the demo runs; this one does not look."""

    def started(self, population: Population, campaign: Campaign) -> None:
        """See the strata, before anything is labelled."""

    def labelled(self, estimate: Estimate) -> None:
        """See the estimate after another batch."""


def run(seed: int, watcher: Watcher | None = None) -> DemoResult:
    """Evaluate a generated classifier, with answers from the truth, and say what it cost.

    Examples
    --------
    >>> result = run(seed=7)
    >>> result.estimate.stopped, result.estimate.labels < result.random_mean_labels
    ('the goal is met', True)
    """
    watcher = watcher or Watcher()
    population = make_population(seed)
    campaign = create_campaign(
        {"score": population.score, "spam": population.predicted},
        score="score",
        predicted="spam",
        metric=GOAL.metric,
        within=GOAL.within,
        confidence=GOAL.confidence,
        name="demo",
        storage="sqlite://",
        seed=seed,
    )
    watcher.started(population, campaign)
    while not campaign.done:
        batch = campaign.ask(BATCH)
        answers = {item.id: population.truth[int(item.id)] for item in batch}
        watcher.labelled(campaign.tell(answers))
    estimate = campaign.estimate()
    spam_score = population.score[population.predicted]
    spam_truth = population.truth[population.predicted]
    strata, design = campaign.settings.strata, campaign.settings.design
    stratum = strata.assign(spam_score, np.ones(spam_score.size, dtype=np.bool_))
    return DemoResult(
        seed=seed,
        messages=population.score.size,
        predicted_spam=spam_score.size,
        estimate=estimate,
        strata=tuple(campaign.strata()),
        true_value=population.precision,
        inside=estimate.low <= population.precision <= estimate.high,
        mean_labels=_mean_labels(design, stratum, spam_truth, seed),
        random_mean_labels=_mean_labels(
            Design.simple_random(), np.zeros_like(stratum), spam_truth, seed
        ),
        replications=REPLICATIONS,
    )


def _mean_labels(design: Design, stratum: Ints, truth: Bools, seed: int) -> float:
    """Return the mean number of labels at the stop, over many evaluations."""
    sizes = np.bincount(stratum).astype(np.float64)
    runs = replay(
        design,
        GOAL,
        ratio(GOAL.metric, sizes, np.ones(sizes.size, dtype=np.bool_)),
        sizes=sizes,
        outcomes=np.bincount(stratum, weights=truth).astype(np.float64),
        replications=REPLICATIONS,
        rng=np.random.default_rng(seed),
        asked=BATCH,
    )
    return float(runs.labels.mean())
