"""An evaluation on arrays, in the manner of `sklearn.metrics`."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from math import isnan

import numpy as np
from numpy.typing import ArrayLike

from assay.campaign.create import create_campaign
from assay.core.answers import Answer, answers_to, find_answer, parse_answer
from assay.core.design import Design
from assay.core.types import Ints
from assay.core.vocabulary import Vocabulary
from assay.errors import InputError, LabelError, PredictionsError, did_you_mean
from assay.predictions import ScoreOf, ScoreScale
from assay.results import Estimate

Oracle = Callable[[Ints], Iterable[object]]
_LISTED = 5  # values in an error
_YES_AND_NO = 2  # number of labels possible without names of classes


def evaluate(
    y_pred: ArrayLike | None = None,
    *,
    y_score: ArrayLike | None = None,
    threshold: float | None = None,
    oracle: Oracle | None = None,
    y_true: ArrayLike | None = None,
    pos_label: str | float | None = None,
    classes: Sequence[object] | None = None,
    score_of: ScoreOf | None = None,
    scale: ScoreScale | None = None,
    sample_weight: ArrayLike | None = None,
    metric: str | None = None,
    within: float | None = 0.02,
    budget: int | None = None,
    confidence: float = 0.95,
    batch: int = 20,
    seed: int = 0,
    design: Design | None = None,
) -> Estimate:
    """Estimate a metric of predictions in arrays from as few true labels as possible.

    Runs a campaign in memory to its end. If people answer, or the campaign must survive the
    process, use `create_campaign`.

    Parameters
    ----------
    y_pred : array, shape (N,), optional
        Predicted labels: true or false, 1 or 0, or any value with `pos_label`; or one of three or
        more classes. Default: a score of at least `threshold` means yes.
    y_score : array, shape (N,) or (N, K), optional
        Scores of yes, or of the predicted class; or the probabilities of all classes, in the order
        of `classes`. Without them, stratification saves no labels.
    threshold : float, optional
        Score from which on items are predicted positive.
    oracle : callable, optional
        Function that gets an array of at most `batch` row numbers, and returns the true labels of
        these rows in the same order, or ``"cannot judge"``. Called until the goal is reached.
    y_true : array, shape (N,), optional
        True labels, to replay an evaluation. Only those that are drawn are used; others may be
        missing. Either this or `oracle` is required.
    pos_label : optional
        Value of `y_pred` and of the true labels that means yes.
    classes : sequence, optional
        Classes, if these are not yes and no. Default: the sorted values of `y_pred` and `y_true`,
        if there are three or more.
    score_of, scale
        Class and scale of the scores, as in `create_campaign`.
    sample_weight : array, shape (N,), optional
        Weight of each row: its traffic, its impressions (docs/weights.md).
    metric, within, budget, confidence, design, seed
        As in `create_campaign`; with classes also ``accuracy``, ``macro_f1``, ``recall:CLASS`` and
        others. The campaign ends when the interval's half-width is at most `within`, or after
        `budget` answers.
    batch : int
        Number of true labels requested at a time.

    Returns
    -------
    Estimate
        The estimate with its interval, and the number of labels used.

    Examples
    --------
    >>> import assay
    >>> rng = np.random.default_rng(0)
    >>> y_score = rng.random(50_000)
    >>> y_true = rng.random(50_000) < y_score
    >>> estimate = assay.evaluate(
    ...     y_score=y_score, threshold=0.5, oracle=lambda rows: y_true[rows], within=0.05)
    >>> bool(estimate.low <= y_true[y_score >= 0.5].mean() <= estimate.high), estimate.labels < 400
    (True, True)
    """
    if y_pred is None and y_score is None:
        raise InputError(
            "nothing to evaluate: give `y_pred` or `y_score`",
            hint="evaluate(y_pred, y_score=..., oracle=...)",
        )
    names = None
    if classes is not None or (pos_label is None and threshold is None):
        names = _classes(classes, y_pred, y_true, y_score)
    columns, probabilities = _columns(y_pred, y_score, names)
    if sample_weight is not None:
        columns["sample_weight"] = sample_weight
    with _in_words_of_arrays():
        campaign = create_campaign(
            columns,
            score="y_score" if "y_score" in columns else None,
            probabilities=probabilities,
            classes=names,
            predicted="y_pred" if y_pred is not None else None,
            sample_weight="sample_weight" if sample_weight is not None else None,
            threshold=threshold,
            positive=pos_label if y_pred is not None else None,
            score_of=score_of,
            scale=scale,
            metric=metric,
            within=within,
            budget=budget,
            confidence=confidence,
            design=design,
            storage="sqlite://",  # in memory, whatever the environment says
            seed=seed,
        )
    asked = _oracle(oracle, y_true, campaign.settings.source.rows)
    if y_true is not None and pos_label is not None:
        _refuse_unknown(pos_label, y_true, y_pred)
    while not campaign.done:
        rows = np.array([item.id for item in campaign.ask(batch)], dtype=np.int64)
        answers = _answers(asked(rows), rows, pos_label, campaign.settings.classes)
        campaign.tell(zip(rows.tolist(), answers, strict=True))
    return campaign.estimate()


@contextmanager
def _in_words_of_arrays() -> Iterator[None]:
    """Rename `positive=` to `pos_label=` in the errors of `create_campaign`."""
    try:
        yield
    except PredictionsError as error:
        parts = (error.problem, error.details, error.hint)
        problem, details, hint = (text.replace("positive=", "pos_label=") for text in parts)
        raise PredictionsError(problem, details=details, hint=hint) from None


def _classes(
    given: Sequence[object] | None,  # the named classes
    y_pred: ArrayLike | None,
    y_true: ArrayLike | None,
    y_score: ArrayLike | None,
) -> list[str] | None:
    """Class names; None for yes and no."""
    shape = np.shape(() if y_score is None else y_score)
    if given is None:
        predicted, truth = (set(map(_plain, _listed(labels))) for labels in (y_pred, y_true))
        # Labels of two kinds are not classes: one kind is yes and no.
        named = predicted | truth if predicted & truth else predicted
        plain = all(find_answer(each, Vocabulary()) for each in named)
        given = None if plain or len(named) <= _YES_AND_NO else Vocabulary.of(named).names
    if len(shape) > 1 and (given is None or shape[1:] != (len(given),)):
        raise InputError(
            f"y_score has the shape {shape}, and classes are "
            + ("not named" if given is None else f"{len(given):,}"),
            hint="classes=[...] names them, in the order of the columns of y_score",
        )
    return None if given is None else [str(_plain(each)) for each in given]


def _listed(labels: ArrayLike | None) -> list[object]:
    """Labels that name a class."""
    values = set(np.asarray(() if labels is None else labels).tolist())
    not_classes = {*answers_to()[2:], Answer.NONE_OF_THESE}
    missing = (None, "")
    return [
        each
        for each in values - not_classes
        if each not in missing and not (isinstance(each, float) and isnan(each))
    ]


def _plain(label: object) -> object:
    """Label as other arrays may have it: whole numbers without a fraction."""
    return int(label) if isinstance(label, float) and label.is_integer() else label


def _columns(
    y_pred: ArrayLike | None, y_score: ArrayLike | None, classes: Sequence[str] | None
) -> tuple[dict[str, ArrayLike], str | None]:
    """Arrays as columns, and the names of the columns of probabilities, if any."""
    given = {"y_pred": y_pred, "y_score": y_score}
    columns = {name: values for name, values in given.items() if values is not None}
    if classes is None or y_score is None or np.ndim(y_score) == 1:
        return columns, None
    del columns["y_score"]
    each = np.asarray(y_score).T
    columns |= {f"y_score_{name}": scores for name, scores in zip(classes, each, strict=True)}
    return columns, "y_score_*"


def _oracle(oracle: Oracle | None, y_true: ArrayLike | None, size: int) -> Oracle:
    if (oracle is None) == (y_true is None):
        raise InputError(
            "true labels come from an `oracle` or from `y_true`, "
            + ("and neither was given" if oracle is None else "and both were given"),
            hint="oracle=lambda rows: [ask_someone(row) for row in rows]",
        )
    if oracle is not None:
        return oracle
    truth = np.asarray(y_true)
    if truth.shape != (size,):
        raise InputError(
            f"y_true has the shape {truth.shape}, for {size:,} predictions",
            hint="give one true label for each prediction, in the same order",
        )
    return lambda rows: truth[rows]


def _refuse_unknown(pos_label: object, y_true: ArrayLike, y_pred: ArrayLike | None) -> None:
    """Raise if no true label is the positive one, and some are not known to be negative.

    All items may be negative: then the labels are values that `y_pred` has, or all equal.
    """
    values = _values(y_true, pos_label)
    predicted = values if y_pred is None and len(values) == 1 else _values(y_pred, pos_label)
    if pos_label not in values and not values <= predicted:
        listed = sorted(values, key=str)
        more = f" and {len(listed) - _LISTED:,} others" if listed[_LISTED:] else ""
        raise InputError(
            f"pos_label={pos_label!r} occurs nowhere in y_true",
            details=f"got {', '.join(map(repr, listed[:_LISTED]))}{more}",
            hint=did_you_mean(str(pos_label), [each for each in listed if isinstance(each, str)])
            or "pos_label is the value that means yes, in y_pred and in the true labels",
        )


def _values(labels: ArrayLike | None, pos_label: object) -> set[str | float]:
    """Values of an array of labels; other types are refused when an item is drawn."""
    kind = str if isinstance(pos_label, str) else int | float
    return {
        each
        for each in np.asarray(() if labels is None else labels).tolist()
        if isinstance(each, kind)
        and not isinstance(each, Answer)
        and each != Answer.CANNOT_JUDGE.value
        and not (isinstance(each, float) and isnan(each))
    }


def _answers(
    returned: Iterable[object], rows: Ints, pos_label: object, classes: Vocabulary
) -> list[Answer]:
    """Labels of the rows by the oracle, as answers."""
    if not isinstance(returned, Iterable):
        raise InputError(f"the oracle must return the labels of the rows it got, not {returned!r}")
    labels = returned.tolist() if isinstance(returned, np.ndarray) else list(returned)
    if len(labels) != rows.size:
        raise InputError(
            f"the oracle was asked for {rows.size:,} rows and returned {len(labels):,} labels",
            hint="return one for each row, in the same order; 'cannot judge' for an item "
            "without a label",
        )
    answers = []
    for row, label in zip(rows.tolist(), labels, strict=True):
        try:
            answers.append(_answer(label, pos_label, classes))
        except LabelError as error:
            raise LabelError(
                f"the true label of row {row}: {error.problem}",
                details=error.details,
                hint=error.hint,
            ) from None
    return answers


def _answer(label: object, pos_label: object, classes: Vocabulary) -> Answer:
    unjudged = isinstance(label, str) and label == Answer.CANNOT_JUDGE.value
    if pos_label is None or unjudged or isinstance(label, Answer):
        return parse_answer(label, classes)
    same = label == pos_label
    nan = isinstance(label, float | np.floating) and np.isnan(label)
    # Only pandas.NA compares to neither.
    if label is None or nan or not isinstance(same, bool | np.bool_):
        raise LabelError(
            f"{label!r} is not a label", hint="give 'cannot judge' for an item without a label"
        )
    if isinstance(label, str) != isinstance(pos_label, str):
        raise LabelError(
            f"{label!r} is of another kind than pos_label={pos_label!r}",
            hint="pos_label is the value that means yes, in y_pred and in the true labels",
        )
    return Answer.YES if same else Answer.NO
