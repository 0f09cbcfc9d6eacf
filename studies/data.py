"""Populations of the studies: the papers' own, real ones that stand in for them, generated."""

from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from assay.core import deck
from assay.core.types import Bools, Floats, Ints
from assay.demo import fit_logistic
from assay.errors import InputError, MissingDependencyError, PredictionsError
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
            hint="without --data the study runs on populations that it generates",
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


# Paper 2's own data and classifiers (section 4), for those who have the data.
#
# Nothing is downloaded here: LIBSVM's files are read from where they lie, and rcv1 and 20
# newsgroups from scikit-learn's cache. The classifiers are LIBLINEAR's, as in the paper, with its
# defaults.


_POSITIVE_GROUPS = ("comp.", "sci.", "misc.forsale")


def news20(file: Path, *, training: int = 4_000, seed: int = 0) -> NamedPopulation:
    """Read LIBSVM's news20.binary; logistic regression trained on 4,000 random rows."""
    features, truth = _libsvm([file])
    classifier = _sklearn("linear_model").LogisticRegression(solver="liblinear")
    return _rest_after_training("news20", classifier, features, truth, training=training, seed=seed)


def epsilon(files: Sequence[Path], *, training: int = 50_000, seed: int = 0) -> NamedPopulation:
    """Read LIBSVM's epsilon; a linear support vector machine trained on 50,000 random rows.

    `files`: ``epsilon_normalized`` and ``epsilon_normalized.t``: the paper's half million rows are
    both together.
    """
    features, truth = _libsvm(files)
    classifier = _sklearn("svm").LinearSVC()
    return _rest_after_training(
        "epsilon", classifier, features, truth, training=training, seed=seed
    )


def rcv1(data_home: Path | None = None) -> NamedPopulation:
    """Take the two-class rcv1 from scikit-learn's cache; the classifier is of its training part."""
    parts = []
    for subset in ("train", "test"):
        found = _cached("fetch_rcv1", data_home, subset=subset)
        kept, truth = rcv1_two_classes(found.target, found.target_names)
        parts.append((found.data[np.flatnonzero(kept)], truth))
    (features, truth), (rest, rest_truth) = parts
    classifier = _sklearn("linear_model").LogisticRegression(solver="liblinear")
    classifier.fit(features, truth)
    return _scored("rcv1", classifier, rest, rest_truth)


def newsgroups(
    data_home: Path | None = None, *, training: int = 4_000, seed: int = 0
) -> NamedPopulation:
    """Take 20 newsgroups from scikit-learn's cache and make paper 2's two classes of it.

    Computers, science and things for sale against all others, as in news20.binary, by tf-idf.
    """
    found = _cached("fetch_20newsgroups", data_home, subset="all")
    positive = np.array([name.startswith(_POSITIVE_GROUPS) for name in found.target_names])
    vectors = _sklearn("feature_extraction.text").TfidfVectorizer(sublinear_tf=True, min_df=2)
    features = vectors.fit_transform(found.data)
    classifier = _sklearn("linear_model").LogisticRegression(solver="liblinear")
    return _rest_after_training(
        "20 newsgroups", classifier, features, positive[found.target], training=training, seed=seed
    )


def rcv1_two_classes(topics: Any, names: Sequence[str]) -> tuple[Bools, Bools]:
    """Return which documents are kept, and which of these are positive.

    LIBSVM's rcv1.binary: CCAT and ECAT against GCAT and MCAT, without documents of both sides.

    Examples
    --------
    >>> from scipy.sparse import csr_matrix
    >>> topics = csr_matrix([[1, 0, 0, 0], [0, 0, 0, 1], [0, 1, 1, 0]])
    >>> rcv1_two_classes(topics, ["CCAT", "ECAT", "GCAT", "MCAT"])
    (array([ True,  True, False]), array([ True, False]))
    """
    place = {name: number for number, name in enumerate(names)}

    def any_of(*wanted: str) -> Bools:
        columns = topics.tocsc()[:, [place[name] for name in wanted]]
        return np.asarray(columns.sum(axis=1)).ravel() > 0

    positive, negative = any_of("CCAT", "ECAT"), any_of("GCAT", "MCAT")
    kept = positive != negative
    return kept, positive[kept]


def _sklearn(module: str) -> Any:
    try:
        return import_module(f"sklearn.{module}")
    except ImportError:
        raise MissingDependencyError(
            "the papers' original data need scikit-learn", hint="pip install scikit-learn"
        ) from None


def _cached(fetch: str, data_home: Path | None, *, subset: str) -> Any:
    """Return a data set from scikit-learn's cache."""
    load = getattr(_sklearn("datasets"), fetch)
    try:
        return load(data_home=data_home, subset=subset, download_if_missing=False)
    except OSError as error:
        where = "" if data_home is None else f"data_home={str(data_home)!r}"
        raise InputError(
            f"scikit-learn has no copy of the data of {fetch}: {error}",
            hint=f'python -c "from sklearn.datasets import {fetch}; {fetch}({where})"',
        ) from None


def _libsvm(files: Sequence[Path]) -> tuple[Any, Bools]:
    """Read LIBSVM files, one after the other, as sparse features and two classes."""
    try:
        parts = _sklearn("datasets").load_svmlight_files([str(file) for file in files])
    except (OSError, ValueError) as error:
        raise PredictionsError(
            f"cannot read {', '.join(str(file) for file in files)} as LIBSVM: {error}",
            details="a row is a class, then index:value pairs, such as  +1 3:0.5 17:1",
        ) from None
    from scipy.sparse import vstack  # takes long to load, and few commands need it

    classes = np.concatenate(parts[1::2])
    found = np.unique(classes)
    if found.size != 2:
        raise PredictionsError(
            f"two classes are needed, got {found.size} in {', '.join(map(str, files))}",
            details=f"classes: {', '.join(f'{each:g}' for each in found[:10])}",
        )
    return vstack(parts[0::2], format="csr"), classes == found[1]


def _rest_after_training(
    name: str, classifier: Any, features: Any, truth: Bools, *, training: int, seed: int
) -> NamedPopulation:
    """Train on some random rows; the others are the population."""
    if not 2 <= training < truth.size:
        raise InputError(
            f"cannot train {name} on {training:,} rows", details=f"there are {truth.size:,} rows"
        )
    order = np.random.default_rng(seed).permutation(truth.size)
    chosen, rest = order[:training], np.sort(order[training:])
    if np.unique(truth[chosen]).size != 2:
        raise InputError(
            f"the {training:,} rows to train {name} on are all of one class",
            hint="train on more, or use another seed",
        )
    classifier.fit(features[chosen], truth[chosen])
    return _scored(name, classifier, features[rest], truth[rest])


def _scored(name: str, classifier: Any, features: Any, truth: Bools) -> NamedPopulation:
    margin = np.asarray(classifier.decision_function(features), dtype=np.float64)
    said = np.asarray(classifier.predict(features), dtype=np.bool_)
    return NamedPopulation(
        name, Population(y_true=truth, y_score=margin, y_pred=said, scale="margin")
    )
