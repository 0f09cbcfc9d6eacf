"""The populations of the experiments: real ones that stand in for the papers', and generated ones.

Loaders for the papers' own data are in `assay.experiments.originals`.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from assay.core import deck
from assay.core.types import Bools, Floats, Ints
from assay.demo import fit_logistic
from assay.errors import InputError
from assay.simulation import Population

ARXIV_CATEGORIES = (
    "math",
    "cs",
    "physics",
    "cond-mat",
    "stat",
    "q-bio",
    "nlin",
    "q-fin",
    "quant-ph",
    "hep-th",
    "astro-ph",
    "hep-ph",
    "eess",
    "math-ph",
    "gr-qc",
)

_DOCUMENTS = 100_000
_TRAINING = 5_000
_TOPICS = 15
_PATTERN = np.array([1.0, 0.8, 0.6, 0.4])  # how much each feature tells about the topic
_MISFILED = 0.015  # of a topic's documents; no classifier can be right about these


@dataclass(frozen=True, eq=False)
class NamedPopulation:
    """A population, and what tables and figures call it."""

    name: str
    population: Population


def arxiv15(folder: Path) -> list[NamedPopulation]:
    """Read the 15 one-vs-rest topic classifiers that stand in for paper 1's ODP."""
    file = _existing(folder, "arxiv15.parquet")
    return [
        NamedPopulation(
            name,
            Population.read(
                file, label=f"label_{name}", score=f"score_{name}", predicted=f"pred_{name}"
            ),
        )
        for name in ARXIV_CATEGORIES
    ]


def kumar_raj_stand_ins(folder: Path) -> list[NamedPopulation]:
    """Read the populations that stand in for paper 2's, under the names of paper 2's.

    ``rcv1`` is trec07_spam (high accuracy), ``epsilon`` covtype_binary (large, moderate accuracy)
    with gradient boosting, ``epsilon (weaker)`` the same with logistic regression, ``news20``
    news20_binary.
    """
    chosen = {
        "rcv1": ("trec07_spam.parquet", "logreg"),
        "epsilon": ("covtype_binary.parquet", "hgb"),
        "epsilon (weaker)": ("covtype_binary.parquet", "logreg"),
        "news20": ("news20_binary.parquet", "logreg"),
    }
    return [
        NamedPopulation(
            name,
            Population.read(
                _existing(folder, file),
                label="label",
                score=f"score_{classifier}",
                predicted=f"pred_{classifier}",
            ),
        )
        for name, (file, classifier) in chosen.items()
    ]


def generated_topics(seed: int) -> list[NamedPopulation]:
    """Generate 15 topics and a one-vs-rest classifier of each, of precision about 0.45 to 0.91.

    The harder a topic, the less its documents differ from the others. Topics are more frequent
    in training than in the population, as happens, which is what makes a precision below 1/2.

    Examples
    --------
    >>> precisions = [each.population.value("precision") for each in generated_topics(seed=1)]
    >>> len(precisions), round(min(precisions), 1), round(max(precisions), 1)
    (15, 0.5, 0.9)
    """
    rng = np.random.default_rng([deck.key(seed), 15])
    topics = []
    for number, separation in enumerate(np.linspace(0.31, 1.25, _TOPICS), start=1):
        features, on_topic = _documents(rng, _TRAINING, 0.36, separation)
        weights = fit_logistic(features, on_topic)
        features, on_topic = _documents(rng, _DOCUMENTS, 0.2, separation)
        scored = Population(y_true=on_topic, y_score=_margin(weights, features), threshold=0.0)
        topics.append(NamedPopulation(f"topic {number}", scored))
    return topics


def generated_classifiers(seed: int) -> list[NamedPopulation]:
    """Generate three classifiers of the same documents, the weaker ones blind to some features.

    Examples
    --------
    >>> [round(each.population.value("accuracy"), 1) for each in generated_classifiers(seed=1)]
    [0.9, 0.8, 0.7]
    """
    rng = np.random.default_rng([deck.key(seed), 3])
    training, training_truth = _documents(rng, _TRAINING, 0.5, 0.9)
    documents, truth = _documents(rng, _DOCUMENTS, 0.5, 0.9)
    seen: dict[str, Ints] = {
        "high accuracy": np.array([0, 1, 2, 3]),
        "middle accuracy": np.array([1]),
        "low accuracy": np.array([2]),
    }
    classifiers = []
    for name, features in seen.items():
        weights = fit_logistic(training[:, features], training_truth)
        margin = _margin(weights, documents[:, features])
        classifiers.append(
            NamedPopulation(name, Population(y_true=truth, y_score=margin, threshold=0.0))
        )
    return classifiers


def _existing(folder: Path, file: str) -> Path:
    path = folder / file
    if not path.is_file():
        raise InputError(
            f"no {file} in {folder}",
            hint="without --data the experiment runs on populations that Assay generates",
        )
    return path


def _documents(
    rng: np.random.Generator, number: int, share: float, separation: float
) -> tuple[Floats, Bools]:
    """Return features, one row a document, and whether each is on topic."""
    alike = rng.random(number) < share
    side = np.where(alike, separation, -separation)[:, None]
    features = rng.standard_normal((number, _PATTERN.size)) + side * _PATTERN
    # Documents on topic are spread more widely in one feature: a straight line is not best.
    features[:, 0] *= np.where(alike, 1.3, 1.0)
    return features, alike & (rng.random(number) >= _MISFILED)


def _margin(weights: Floats, features: Floats) -> Floats:
    return np.asarray(weights[0] + features @ weights[1:])
