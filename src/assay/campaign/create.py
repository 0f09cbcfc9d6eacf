"""Creation and loading of campaigns."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from numbers import Integral
from typing import Any
from warnings import warn

from assay.campaign.campaign import Campaign
from assay.campaign.manage import refuse_bad_name
from assay.campaign.recut import columns_for_model, lessons_from
from assay.campaign.setup import Setup, by_lessons, seed_after, set_up_of_any
from assay.campaign.stored import stored
from assay.core import deck
from assay.core.design import Design
from assay.core.goal import Asked
from assay.errors import AssayWarning, DesignError
from assay.labelling import (
    FROM_BEFORE,
    Lessons,
    Part,
    Reviewing,
    Settings,
    Source,
    card_row,
    confirm_source,
    depth,
    more_cards,
    sealed,
)
from assay.options import picked
from assay.predictions import (
    Classifiers,
    Columns,
    Given,
    IdColumns,
    Predictions,
    Scan,
    ScoreOf,
    ScoreScale,
    as_scan,
    default_question,
    key_name,
    refuse_bad_show,
    shown_with,
)
from assay.storage import CardRow, Label, Store, open_store


def create_campaign(
    predictions: object,
    *,
    score: str | None = None,
    predicted: str | None = None,
    id: IdColumns | None = None,
    threshold: float | None = None,
    positive: str | float | None = None,
    score_of: ScoreOf | None = None,
    show: Sequence[str] = (),
    slices: Sequence[str] = (),
    sample_weight: str | None = None,
    aux: Sequence[str] = (),
    learned_from: str | None = None,
    scale: ScoreScale | None = None,
    classifiers: Classifiers | None = None,
    classes: Given | None = None,
    multilabel: bool = False,
    probabilities: str | None = None,
    metric: str | Iterable[str] | Mapping[str, float] | None = None,
    metrics: Iterable[str] | Mapping[str, float] | None = None,
    within: float | None = None,
    budget: int | None = None,
    confidence: float = 0.95,
    simultaneous: bool = False,
    at_least: float | None = None,
    threshold_for: str | None = None,
    gain: float = 0.05,
    sample_of: int | None = None,
    design: Design | None = None,
    labels: object = None,
    question: str | None = None,
    reviewers_per_item: int = 1,
    overlap: float = 0.0,
    answers: tuple[str, str] | None = None,
    name: str = "campaign",
    storage: str | None = None,
    seed: int = 0,
) -> Campaign:
    """Create an evaluation campaign.

    Parameters
    ----------
    predictions : path, SQL query, DataFrame, Arrow table, mapping of arrays, `Scan`, `Predictions`
        One row for each item that the classifier was applied to: Parquet, CSV or JSON lines files,
        data in memory, or Spark. A `Scan` can also select a table of a database, rows, or an
        engine.
    score : str, optional
        Column with the classifier's score. Without it, stratification saves no labels.
    predicted : str, optional
        Column with the predicted label: yes or no, true or false, 1 or 0, or any value with
        `positive`. Default: items with a score of at least `threshold` are predicted positive.
    id : str or sequence of str, optional
        Column with the items' ids, integers or strings. Several columns that together identify an
        item, ``["day", "user", "rank"]``, are also shown to reviewers. Default: the row number.
    threshold : float, optional
        Score from which on items are predicted positive. With `predicted`, the two must agree.
    positive : optional
        Value of `predicted` that means yes.
    classes : list, mapping or path, optional
        Classes of the items, if these are not yes and no: names; a mapping of names to guidelines,
        or to mappings with ``aliases`` and ``guideline``; or a file of these (JSON, CSV or TSV).
        Default: the values of `predicted`, if there are three or more and `positive` is not given.
    multilabel : bool
        Whether an item may have several of the classes, or none. They are given by `classifiers`,
        one for each class and with its name; by `probabilities` with a `threshold`; or by
        `predicted`: the yes/no columns of all classes, as in ``is_*``, or a column with the classes
        of each item, in lists or separated by ``|``. A metric is then of one class,
        ``precision:CLASS``; without a class, of each.
    probabilities : str, optional
        Instead of `predicted` and `score`: columns with the classes' probabilities, as in ``p_*``,
        or a column of lists.
    score_of : {"positive", "predicted", "negative"}, optional
        Class of the score. A score of the predicted class (the classifier's confidence) or of the
        negative class is converted to one of the positive class: 1 - score.
    show : sequence of str
        Columns that reviewers see.
    slices : sequence of str
        Columns that divide the items into slices (language, country, source), for
        `Campaign.slices`. Reviewers see them only if they are also in `show`.
    sample_weight : str, optional
        Column with the items' weights (traffic, impressions), finite and not negative: the metric
        is over weighted items, which are drawn in proportion to weight.
    aux : sequence of str
        Columns with second opinions: another model's score, a judge's verdict, metadata. Their
        values are numbers, true and false, or categories, and may be missing. The campaign learns
        from its own labels how they predict the outcome, and directs labels accordingly. They are
        never treated as the truth, and reviewers never see them.
    learned_from : str, optional
        Earlier campaign in the same storage, such as last week's, with the same columns. This
        campaign starts with what its labels say of them, and goes on with its own labels.
    scale : {"probability", "percent", "margin"}, optional
        Scale of the score. Default: inferred from the range of the scores. Percentages are divided
        by 100, and so is the threshold.
    classifiers : mapping of str to mapping, optional
        Several classifiers of the same items, by name. Each has its own `score`, `predicted`,
        `threshold` and `positive`, as above, as far as it has them; or a pair: the columns of score
        and predicted label, ``{"cnn": ("p_cnn", "said")}``, or the column of scores and a
        threshold.
    metric : str, names, or mapping of names to half-widths, optional
        ``precision`` (the default), ``recall``, ``f1``, ``accuracy``, ``false_omission_rate``,
        ``prevalence``, ``specificity``, ``false_positive_rate``, ``negative_predictive_value``,
        ``balanced_accuracy`` or ``matthews_correlation``. With more classes than yes and no:
        ``accuracy`` (the default), ``macro_f1`` and others of `assay.core.confusion`, with
        `probabilities` also ``top_5_accuracy`` of any k; or of one class, ``precision:CLASS``.
        Several metrics share one set of labels: ``precision:cnn``, ``recall:new - recall:old``,
        each with an optional half-width of its own: ``precision:cnn within 0.01``. A name without a
        classifier applies to every classifier.
    metrics : names, or mapping of names to half-widths, optional
        Alias of `metric`, for several.
    within, budget, confidence
        Goal: an interval of half-width `within` at this confidence, or `budget` answers.
    simultaneous : bool
        Whether the confidence is that all intervals are right at once, instead of each.
    at_least : float, optional
        Alternative goal: whether the metric is at least this, yes or no, at this confidence.
    threshold_for : str, optional
        Alternative goal: find a threshold that keeps a floor, ``precision >= 0.95``, ``recall >=
        0.9``, or several, ``precision >= 0.9 and recall >= 0.5 and the most precision``. Floors may
        be of precision, recall, specificity and negative predictive value. `Campaign.threshold`
        returns the answer, which holds at this confidence however often one looks. It excludes
        `threshold`.
    gain : float
        With `threshold_for`: the campaign stops when no other threshold can improve the objective
        (recall if precision has a floor) by this share, or at the budget.
    sample_of : int, optional
        Set this if the predictions are of a random sample of so many items: those that a judge was
        asked about, or that a model was run on. Interval and goal then refer to all these items.
    design : Design, optional
        Sampling design. Default: ``Design()``, ``Design.guaranteed()`` with `at_least`, or
        ``Design.ladder()`` with `threshold_for`.
    labels : path, mapping or pairs, optional
        Prior labels of items drawn at random, from all items or from those of each predicted label:
        a CSV or Parquet file with columns ``id`` (or named like `id`) and ``label``, or ids and
        answers. They count as the first round, also towards a budget, and are never asked for
        again.
    question : str, optional
        Question that reviewers answer about every item: ``Is this page spam?`` Default: with the
        class that `positive`, or the name of a column such as ``is_spam`` or ``p_spam``, names.
    reviewers_per_item, overlap
        Number of reviewers for each item of a random share `overlap` of all items, to measure their
        agreement. An item on which they disagree waits for a ruling.
    answers : tuple of str, optional
        Words for yes and no that reviewers see: ``("Spam", "Not spam")``. The storage and files
        keep yes and no.
    name, storage : str
        Name of the campaign, and its storage: ``sqlite:///file.db``,
        ``postgresql://user@host/database``. Default: in memory, lost with the process. The
        environment variable ``ASSAY_STORAGE`` applies to the command line, and to existing
        campaigns.
    seed : int
        Fixes every draw. The same seed and id always give an item the same place in the order.

    Examples
    --------
    >>> import assay
    >>> campaign = assay.create_campaign(
    ...     {"p": [0.9, 0.8, 0.7, 0.2], "yes": [True, True, True, False]},
    ...     score="p", predicted="yes", metric="precision", budget=3)
    >>> while not campaign.done:
    ...     batch = campaign.ask(2)
    ...     estimate = campaign.tell({item.id: item.id != 2 for item in batch})
    >>> print(estimate)
    precision 0.667 [0.667, 0.667] at 95%, 3 labels: every item has been reviewed
    """
    refuse_bad_name(name)
    if isinstance(seed, Integral) and not isinstance(seed, bool):
        seed = int(seed)  # numpy's integers too; an invalid seed is refused below
    deck.key(seed)
    reviewing = Reviewing(question, reviewers_per_item, overlap, answers)
    refuse_bad_show(show)
    refuse_bad_show(slices, "slices")
    id = key_name(id)
    show = shown_with(id, show)
    columns, asked = picked(Columns, locals()), picked(Asked, locals())
    read = columns.to_read(show=[*show, *(name for name in slices if name not in show)])
    lessons = None if learned_from is None else _lessons(storage, learned_from, read)
    setup = set_up_of_any(
        predictions,
        columns,
        read,
        asked,
        design=design,
        labels=labels,
        seed=seed_after(seed, lessons),
        bind=True,
    )
    setup = by_lessons(setup, lessons)
    for caution in setup.cautions:
        warn(caution, AssayWarning, stacklevel=2)
    scans = [as_scan(predictions)]
    setup = replace(setup, columns={**setup.columns, "show": show})
    if question is None and setup.classes.is_yes_or_no and classifiers is None:
        named = default_question(positive, predicted, score)
        if named != f"Is it {positive}?":  # which follows from the label that means yes
            reviewing = replace(reviewing, question=named)
    settings = settings_of(setup, scans, name=name, reviewing=reviewing, slices=slices)
    return _keep(setup, settings, open_store(storage))


def _lessons(storage: str | None, name: str, columns: Mapping[str, Any]) -> Lessons | None:
    """Lessons of an earlier campaign; warn if it learned nothing usable."""
    if not columns.get("aux"):
        raise DesignError(
            f"learned_from={name!r} needs aux=",
            details="it learned from second opinions, so their columns are needed",
            hint="name the columns: aux=[...]",
        )
    lessons, missing = lessons_from(open_store(storage), name, columns)
    if missing:
        raise DesignError(
            f"campaign {name!r} has learned from columns that are not named here: "
            f"{', '.join(missing)}",
            details=f"named: {', '.join(columns_for_model(columns))}",
            hint=f"name them, too, with aux=; or leave out learned_from={name!r}",
        )
    if lessons is None:
        warn(
            f"campaign {name!r} learned nothing beyond the score: the first strata "
            "are by the score",
            AssayWarning,
            stacklevel=3,
        )
    return lessons


def settings_of(
    setup: Setup,  # predictions that are read and cut for a goal
    scans: Sequence[Scan],  # sources of the predictions
    *,
    name: str,
    reviewing: Reviewing,  # number of reviewers per item
    # slices, scores: columns whose values are kept with every card; scores in addition to those of
    # `setup`.
    slices: Sequence[str] = (),
    scores: Sequence[str] = (),
) -> Settings:
    """Make the settings of a new campaign; `scans`: where its predictions were read."""
    for doubt in setup.doubts:
        warn(doubt.warning, AssayWarning, stacklevel=3)
    predictions = setup.predictions
    source = Source(
        parts=parts_of(predictions, scans),
        columns={**setup.columns, "show": list(setup.columns["show"])},
        id_kind=predictions.id_kind,
        scale=setup.scale,
        slices=tuple(slices),
        doubts=tuple(doubt.finding for doubt in setup.doubts),
        scores=tuple(dict.fromkeys([*setup.scores, *scores])),
        opinions="" if setup.opinions is None else f"{setup.opinions:016x}",
        lessons=setup.lessons,
        by_score=None if setup.by_score is None else setup.by_score.to_dict(),
    )
    return Settings(
        name=name,
        design=setup.design,
        goal=setup.goal,
        strata=setup.strata,
        seed=setup.seed,
        source=source,
        reviewing=reviewing,
        classes=setup.classes,
    )


def parts_of(predictions: Predictions, scans: Sequence[Scan]) -> tuple[Part, ...]:
    """Locations of predictions, with their fingerprints and sizes."""
    return tuple(
        Part(
            description=part.source,
            scan=scan.to_dict() if scan.is_lasting else None,
            fingerprint=part.fingerprint(),
            rows=part.size,
        )
        for part, scan in zip(predictions.parts, scans, strict=True)
    )


def _keep(setup: Setup, settings: Settings, store: Store) -> Campaign:
    """Store a new campaign with the first cards of every deck."""
    prior, predictions, on_top = setup.prior_labels, setup.predictions, list[CardRow]()
    counts = [0] * setup.strata.n_strata
    if prior is not None:
        for card, stratum in zip(prior.cards, prior.strata(setup.strata).tolist(), strict=True):
            on_top.append(card_row(card, stratum, counts[stratum]))
            counts[stratum] += 1
    # Not in the transaction: others may write while the predictions are read.
    cards = [*on_top, *more_cards(settings, predictions, depth(settings), on_top)]
    settings = sealed(settings, cards)
    with store.write() as session:
        key = stored(session, settings, cards, counts)
        # Rulings, because nobody is to be asked again, however many reviewers items are for.
        labels = [
            Label(row.item_id, answer.value, FROM_BEFORE, ruling=True)
            for row, answer in zip(on_top, () if prior is None else prior.answers, strict=True)
        ]
        session.add_labels(key, labels)
    confirm_source(store, settings)
    return Campaign(store, key, settings, predictions)
