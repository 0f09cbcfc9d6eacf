"""Creation and loading of campaigns."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from numbers import Integral
from typing import Any
from warnings import warn

import numpy as np

from assay.campaign.campaign import Campaign
from assay.campaign.lessons import columns_for_model, lessons_from
from assay.campaign.prior_labels import PriorLabels
from assay.campaign.setup import Setup, by_lessons, seed_after, set_up_of_any
from assay.core import deck
from assay.core.asked import Asked
from assay.core.design import Design
from assay.core.strata import Strata
from assay.errors import AssayWarning, DesignError, is_storable, printable
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
    key_name,
    parts_in,
    refuse_bad_show,
    shown_with,
)
from assay.storage import CardRow, Label, Session, Store, open_store

_LONGEST_NAME = 200  # of a campaign


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
    """Start an evaluation.

    Parameters
    ----------
    predictions : path, SQL query, DataFrame, Arrow table, mapping of arrays, `Scan`, `Predictions`
        One row for each item that the classifier was applied to: in files of Parquet, CSV or JSON
        lines, in memory, in Spark. A `Scan` can say more: a table of a database, which rows, which
        engine.
    score : str, optional
        The column with the classifier's score. Without it there are no strata to gain from.
    predicted : str, optional
        The column with the predicted label: yes or no, true or false, 1 or 0, or any value with
        `positive`.
        Without it, items with a score of at least `threshold` are predicted positive.
    id : str or sequence of str, optional
        The column with the items' ids, integers or strings; or several columns that together tell
        an item from all others, ``["day", "user", "rank"]``, which reviewers then see. Without it
        the row number.
    threshold : float, optional
        Where the predicted label changes. With `predicted`, the two are checked to agree.
    positive : optional
        The value of `predicted` that means yes.
    classes : list, mapping or path, optional
        The classes that items are of, where these are more than yes and no: names; a mapping of
        names to guidelines, or to mappings with ``aliases`` and ``guideline``; or a file of these
        (JSON, CSV or TSV). When left out, they are the values of `predicted`, if these are three or
        more and `positive` is not given.
    multilabel : bool
        Whether an item may have several of the classes, or none. They are told by `classifiers`,
        one for each class, which bears its name; by `probabilities` with a `threshold`; or by
        `predicted`: the columns of every class's yes and no, as in ``is_*``, or a column with the
        classes of each item, in lists or with ``|`` between them. A metric is then of one class,
        ``precision:CLASS``, and without one of each.
    probabilities : str, optional
        Instead of `predicted` and `score`: the columns with the classes' probabilities, as in
        ``p_*``; or a column of lists.
    score_of : {"positive", "predicted", "negative"}, optional
        Whose score it is. That of the predicted class (how sure the classifier is of what it says)
        or of the negative one is turned into the positive class's: 1 - score.
    show : sequence of str
        Columns that reviewers see.
    slices : sequence of str
        Columns that cut the items into slices (language, country, source), for `Campaign.slices`;
        reviewers do not see them, unless they are in `show`, too.
    sample_weight : str, optional
        The column with the items' weights (traffic, impressions), finite and not negative: the
        metric is over weighted items, which are drawn in proportion to weight. Beside
        `classifiers`, all predictions are read into memory.
    aux : sequence of str
        Columns with second opinions: another model's score, a judge's verdict, metadata; numbers,
        true and false, or categories, which may be missing. From the campaign's own labels it is
        learned what they tell, and labels go where it helps. They are never taken for truth, and
        reviewers never see them.
    learned_from : str, optional
        An earlier campaign in the same storage, last week's, with such columns: what its labels say
        of them is where this one begins, and this one's own labels go on from there.
    scale : {"probability", "percent", "margin"}, optional
        What the score is; otherwise told by its range. Percentages are divided by 100, and so is
        the threshold.
    classifiers : mapping of str to mapping, optional
        Several classifiers of the same items, by name: of each its `score`, `predicted`,
        `threshold` and `positive`, as above, those it has; or a pair: the columns of score and
        predicted label, ``{"cnn": ("p_cnn", "said")}``, or the column of scores and a threshold.
    metric : str, names, or mapping of names to half-widths, optional
        ``precision``, ``recall``, ``f1``, ``accuracy``, ``false_omission_rate``, ``prevalence``,
        ``specificity``, ``false_positive_rate``, ``negative_predictive_value``,
        ``balanced_accuracy`` or ``matthews_correlation``; precision when left out. Of more classes
        than yes and no, ``accuracy``, which it is when left out, ``macro_f1`` and others of
        `assay.core.confusion`, with `probabilities` also ``top_5_accuracy`` of any k; or of one
        class, ``precision:CLASS``. Several come from one set of labels: ``precision:cnn``,
        ``recall:new - recall:old``, each with a half-width of its own where it says so:
        ``precision:cnn within 0.01``. A single name is of every classifier.
    metrics : names, or mapping of names to half-widths, optional
        Another name of `metric`, for several.
    within, budget, confidence
        The goal: an interval of half-width `within` at this confidence, or so many answers.
    simultaneous : bool
        The confidence is that all metrics are right at once, not each.
    at_least : float, optional
        Another goal: to know whether the metric is at least this, yes or no, at this confidence.
    threshold_for : str, optional
        Another question: which threshold keeps a floor, ``precision >= 0.95``, ``recall >= 0.9``,
        or several, ``precision >= 0.9 and recall >= 0.5 and the most precision``. Floors may be of
        precision, recall, specificity and negative predictive value. `Campaign.threshold` has the
        answer, which is true at this confidence however often one looks. There is no `threshold`
        beside it.
    gain : float
        With `threshold_for`: it is over when no other threshold can have so much more of what is
        wanted (recall where precision has a floor), as a share; or at the budget.
    sample_of : int, optional
        The predictions are of a random sample of so many items: those that a judge was asked
        about, or that a model was run on. Interval and goal are then about all of these.
    design : Design, optional
        How to sample; by default ``Design()``, ``Design.guaranteed()`` with `at_least`, or
        ``Design.ladder()`` with `threshold_for`.
    labels : path, mapping or pairs, optional
        Labels of items that were drawn at random before, of all items or of each predicted label's:
        a CSV or Parquet file with columns ``id`` (or named like `id`) and ``label``, or ids and
        answers. They count as the first round, also towards a budget, and are never asked for
        again.
    question : str, optional
        What reviewers are asked of every item: ``Is this page spam?``
    reviewers_per_item, overlap
        So many reviewers judge each item of a random share `overlap` of all, so that their
        agreement can be told; an item on which they disagree waits for a ruling.
    answers : tuple of str, optional
        What yes and no are called where people answer: ``("Spam", "Not spam")``. What is stored,
        and what files hold, stays yes and no.
    name, storage : str
        What the campaign is called and where it is kept: ``sqlite:///file.db``,
        ``postgresql://user@host/database``. Without it, it is in memory and gone with the process;
        the environment's ``ASSAY_STORAGE`` is for the command line, and for campaigns that are
        there already.
    seed : int
        Fixes every draw. The same seed and id give an item the same place in the order for ever.

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
    precision 0.667 [0.667, 0.667] at 95%, 3 labels: every item has been looked at
    """
    if not isinstance(name, str) or not name.strip():
        raise DesignError(f"a campaign's name must be a word or more, got {name!r}")
    if len(name) > _LONGEST_NAME or not is_storable(name):
        raise DesignError(
            f"a campaign cannot be called {printable(name[:40])!r}, with {len(name):,} characters",
            details=f"a name has at most {_LONGEST_NAME}, all of which a database can keep",
        )
    if isinstance(seed, Integral) and not isinstance(seed, bool):
        seed = int(seed)  # numpy's integers too; what is no seed is refused below
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
    settings = settings_of(
        setup, scans, name=name, seed=setup.seed, reviewing=reviewing, slices=slices
    )
    return _keep(setup, settings, open_store(storage))


def _lessons(storage: str | None, name: str, columns: Mapping[str, Any]) -> Lessons | None:
    """Return what an earlier campaign has learned; warn where that is nothing."""
    if not columns.get("aux"):
        raise DesignError(
            f"learned_from={name!r} is given without aux=",
            details="what it has learned is what second opinions tell",
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
            f"campaign {name!r} has learned nothing that the score does not tell: the first strata "
            "are by the score",
            AssayWarning,
            stacklevel=3,
        )
    return lessons


def settings_of(
    setup: Setup,  # predictions that are read and cut for a goal
    scans: Sequence[Scan],  # where the predictions were read from
    *,
    name: str,
    seed: int,  # of the deck and of every draw
    reviewing: Reviewing,  # how many reviewers an item wants
    # slices, scores: columns whose values are kept with every card; scores beside those that
    # `setup` has.
    slices: Sequence[str] = (),
    scores: Sequence[str] = (),
) -> Settings:
    """Return what is fixed of a new campaign; `scans` are where its predictions were read from."""
    for doubt in setup.doubts:
        warn(doubt.warning, AssayWarning, stacklevel=3)
    found = setup.predictions
    source = Source(
        parts=parts_of(found, scans),
        columns={**setup.columns, "show": list(setup.columns["show"])},
        id_kind=found.id_kind,
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
        seed=seed,
        source=source,
        reviewing=reviewing,
        classes=setup.classes,
    )


def parts_of(found: Predictions, scans: Sequence[Scan]) -> tuple[Part, ...]:
    """Return where predictions are, and how they are told from others."""
    return tuple(
        Part(
            description=part.source,
            scan=scan.to_dict() if scan.is_lasting else None,
            fingerprint=part.fingerprint(),
            rows=part.size,
        )
        for part, scan in zip(parts_in(found), scans, strict=True)
    )


def _keep(setup: Setup, settings: Settings, store: Store) -> Campaign:
    """Put a new campaign into the store, with the first cards of every deck."""
    prior_labels, strata, found = setup.prior_labels, setup.strata, setup.predictions
    on_top: list[CardRow] = []
    if prior_labels is not None:
        on_top = _on_top(prior_labels, strata)
    # Not in the transaction: others may write while the predictions are read.
    below = more_cards(settings, found, depth(settings), on_top)
    settings = sealed(settings, [*on_top, *below])
    with store.write() as session:
        key = session.create(settings.name, settings.to_dict())
        session.add_strata(key, strata.sizes.tolist())
        session.add_cards(key, [*on_top, *below])
        if prior_labels is not None:
            _go_on_from(session, key, prior_labels, on_top, strata.n_strata)
    confirm_source(store, settings)
    return Campaign(store, key, settings, found)


def _on_top(prior_labels: PriorLabels, strata: Strata) -> list[CardRow]:
    """Return the cards of labels from before, which lie on top of the decks."""
    counts = [0] * strata.n_strata
    rows = []
    for card, stratum in zip(prior_labels.cards, prior_labels.strata(strata).tolist(), strict=True):
        rows.append(card_row(card, stratum, counts[stratum]))
        counts[stratum] += 1
    return rows


def _go_on_from(
    session: Session, key: int, prior_labels: PriorLabels, rows: Sequence[CardRow], n_strata: int
) -> None:
    """Store the labels from before as the first round."""
    counts = np.bincount([row.stratum for row in rows], minlength=n_strata).tolist()
    session.add_round(key, 0, counts)
    # No look counts before the second round is complete (Figure 1 of paper 1), but these labels may
    # be all that the goal takes: an empty round lets the campaign look at them.
    session.add_round(key, 1, [0] * n_strata)
    # Rulings, because nobody is to be asked again, however many reviewers items are for.
    told = [
        Label(row.item_id, answer.value, FROM_BEFORE, ruling=True)
        for row, answer in zip(rows, prior_labels.answers, strict=True)
    ]
    session.add_labels(key, told)
