"""Summary of a new campaign in the terminal: its source, its strata, and its goal."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from assay.campaign import Campaign
from assay.cli.options import follow_up, reading
from assay.cli.output import collecting_warnings, tell
from assay.cli.render import commitment_line, view
from assay.core.bins import Scale
from assay.core.design import Design
from assay.core.goal import Goal
from assay.core.metrics import TABLE
from assay.core.strata import Strata
from assay.errors import counted
from assay.labelling import Settings, Source
from assay.results import (
    Block,
    Cell,
    Column,
    Document,
    Notes,
    Pairs,
    Table,
    goal_words,
    headed,
    metric_name,
    printable,
    sizes_table,
    strata_words,
)

_Rows = list[tuple[str, str]]

# Summary of a new campaign of several metrics: classifiers, and half-widths.


_RECYCLED = "samples of each yes-set (paper 3), reusing labels"
_TOGETHER = "allocated to all metrics together"


def several_facts(settings: Settings) -> _Rows:
    """Facts that hold for all metrics."""
    source, goal, strata = settings.source, settings.goal, settings.strata
    cells = sum(len(heap.codes) for heap in strata.heaps)
    mean = "the items' rank by the score of the predicted class"
    if len(source.columns["classifiers"]) > 1 or not strata.vocabulary.has_matrix:
        mean = "the mean of the items' ranks by each score"
    same = "predicted classes" if strata.of_classes else "predictions"
    how = f"of {cells:,} cells: items with the same {same}"
    if strata.vocabulary.has_matrix:
        how = "each of items with similar ranks, of one predicted class or several"
    class_names = _listed(strata.classes) + strata.vocabulary.note
    classes = [("classes", class_names)] if strata.of_classes else []
    return [
        *_by_weight(source),
        *_second_opinions(source),
        *classes,
        ("goal", goal_words(goal)),
        ("question", settings.question),
        ("strata", f"{strata.n_strata:,}, {how}"),
        ("cut by", mean if source.has_score else "nothing (no score)"),
        ("labels", _RECYCLED if settings.design.recycles else _TOGETHER),
    ]


_MOST_LISTED = 12  # classes that are listed
_STAR = "*"  # stands for the name of a class in the pattern of columns


def _listed(classes: Sequence[str]) -> str:
    """List the first classes, with the number of all."""
    few = ", ".join(classes[:_MOST_LISTED])
    return f"{len(classes):,}: {few}" + (", …" if len(classes) > _MOST_LISTED else "")


def classifiers_table(source: Source, strata: Strata) -> Table:
    """Classifiers, their columns, and the number of items that each predicts yes."""
    if strata.vocabulary.has_matrix:
        return _of_classes_table(source)
    if strata.of_classes:
        return _of_sets_table(source, strata)
    rows = tuple(
        (
            Cell(name, "strong"),
            columns.get("score") or "–",
            _yes_where(columns),
            f"{items / strata.items:.1%}" if strata.weighted and strata.items else f"{items:,}",
        )
        for (name, columns), items in zip(
            source.columns["classifiers"].items(), strata.yes_items or (), strict=True
        )
    )
    number = Column("weight" if strata.weighted else "items")
    return Table(
        "Classifiers", (*_texts("classifier", "score", "predicts yes where"), number), rows
    )


def _texts(*headings: str) -> tuple[Column, ...]:
    return tuple(Column(heading, "text") for heading in headings)


def _of_classes_table(source: Source) -> Table:
    """Classifiers, and the columns with their predicted classes."""
    rows = []
    for name, columns in source.columns["classifiers"].items():
        every = columns.get("probabilities")
        predicted = columns.get("predicted") or f"the most probable of {every}"
        rows.append((Cell(name, "strong"), columns.get("score") or every or "–", predicted))
    return Table("Classifiers", _texts("classifier", "score", "predicted class"), tuple(rows))


def _of_sets_table(source: Source, strata: Strata) -> Table:
    """Classes, their columns, and the number of items predicted to have each."""
    rows, columns_by_name = [], source.columns["classifiers"]
    pairs = [(name, class_name) for name in strata.classifiers for class_name in strata.classes]
    for (name, class_name), items in zip(pairs, strata.yes_items or (), strict=True):
        columns = columns_by_name.get(class_name) or columns_by_name.get(name, {})
        shown_name = class_name if len(strata.classifiers) == 1 else f"{class_name}:{name}"
        rows.append(
            (Cell(shown_name, "strong"), _predicted_where(columns, class_name), f"{items:,}")
        )
    return Table("Classes", (*_texts("class", "predicted where"), Column("items")), tuple(rows))


def _predicted_where(columns: Mapping[str, Any], class_name: str) -> str:
    probabilities, predicted = columns.get("probabilities"), columns.get("predicted")
    if predicted is not None and _STAR not in str(predicted) and probabilities is not None:
        return f"{predicted} has it"
    of_class = {"score": columns.get("score") or probabilities, "predicted": predicted}
    columns_of_class = {
        k: None if v is None else str(v).replace(_STAR, class_name) for k, v in of_class.items()
    }
    return _yes_where({**columns, **columns_of_class})


def targets_table(goal: Goal) -> Table:
    """Metrics and their half-widths."""
    rows = tuple(
        (target.name, "–" if target.within is None else f"±{target.within:g}")
        for target in goal.targets
    )
    return Table("Metrics", headed("metric", "within"), rows)


def classifiers_document(source: Source, strata: Strata) -> dict[str, dict[str, Any]]:
    """Classifiers as plain values."""
    document: dict[str, dict[str, Any]] = {
        name: {option: value for option, value in columns.items() if value is not None}
        for name, columns in source.columns["classifiers"].items()
    }
    if strata.of_classes:
        return document
    for columns, items in zip(document.values(), strata.yes_items or (), strict=True):
        columns["says_yes_to"] = items / strata.items if strata.weighted and strata.items else items
    return document


def _yes_where(columns: Mapping[str, Any]) -> str:
    predicted, positive = columns.get("predicted"), columns.get("positive")
    if predicted is None:
        return f"{columns['score']} >= {columns['threshold']:g}"
    return predicted if positive is None else f"{predicted} = {positive}"


def make_campaign(
    make: Callable[[], Campaign],
    what: str,
    document: Callable[[Campaign], Mapping[str, Any]],
    render: Callable[[Campaign], RenderableType],
    storage: str | None,
    *,
    as_json: bool,
) -> None:
    """Create a campaign, showing progress, and report it with the next command."""
    with reading(what), collecting_warnings() as warnings:
        campaign = make()
    tell(
        partial(document, campaign),
        partial(render, campaign),
        warnings=warnings,
        next_command=follow_up(_next(campaign), campaign.name, storage),
        as_json=as_json,
    )


def _next(campaign: Campaign) -> str:
    """Next command; `label` is for one reviewer, and items may want more."""
    if campaign.done:
        return "status"
    return "serve" if campaign.settings.reviewing.per_item > 1 else "label"


def render_campaign(campaign: Campaign, *, scale_given: bool) -> RenderableType:
    """Summary for people."""
    blocks = [*_source_and_goal(campaign.settings, scale_given=scale_given)]
    if campaign.settings.goal.threshold_for is None:  # a ladder has too many to read
        blocks.append(sizes_table(campaign.strata()))
    cautions = () if campaign.settings.forecast is None else campaign.settings.forecast.cautions
    blocks.append(Notes((*_notes(campaign), *cautions)))
    headline = Text.assemble((printable(campaign.name), "bold"), (" is ready", "dim"))
    shown = view(Document.of(campaign.name, *blocks).blocks)
    return Group(headline, Text(), shown, Text(), commitment_line(campaign.settings))


def document(campaign: Campaign, *, scale_given: bool) -> dict[str, Any]:
    """Summary as plain values."""
    settings = campaign.settings
    source, goal, strata = settings.source, settings.goal, settings.strata
    if not goal.single:
        own: dict[str, Any] = {
            "variable": strata.variable,
            "classifiers": classifiers_document(source, strata),
            **({"classes": list(strata.classes)} if strata.of_classes else {}),
        }
    else:
        own = {
            "variable": settings.design.variable,
            "scale": source.scale,
            "scale_given": scale_given,
        }
    return {
        "campaign": campaign.name,
        "read": {
            "source": source.description,
            "rows": source.rows,
            "ids": source.id_kind,
            "fingerprint": source.fingerprint,
        },
        "commitment": settings.commitment,
        "goal": goal.to_dict(),
        "design": settings.design.to_dict(),
        **own,
        "strata": [asdict(row) for row in campaign.strata()],
        "notes": _notes(campaign),
        "question": settings.question,
        **({} if settings.forecast is None else {"forecast": settings.forecast.to_dict()}),
    }


_AUX = "learned from the labels, at 100, 200, 400, ... of them"


def _source_and_goal(settings: Settings, *, scale_given: bool) -> list[Block]:
    """Source and goal, in blocks."""
    source, goal, strata = settings.source, settings.goal, settings.strata
    items = counted(source.rows, "item")
    read = ("read", f"{source.description}: {items}, ids are {source.id_kind}s")
    if not goal.single:
        return [
            Pairs((read, *several_facts(settings))),
            classifiers_table(source, strata),
            targets_table(goal),
        ]
    return [Pairs((read, *_facts(settings, goal, scale_given=scale_given)))]


def _facts(settings: Settings, goal: Goal, *, scale_given: bool) -> _Rows:
    design, scale = settings.design, settings.source.scale
    return [
        ("metric", f"{metric_name(goal.metric)}: {TABLE[goal.metric].text}"),
        *_by_weight(settings.source),
        *_second_opinions(settings.source),
        ("goal", goal_words(goal)),
        *([("forecast", settings.forecast.words)] if settings.forecast else []),
        ("question", settings.question),
        ("strata", _strata_text(settings)),
        ("cut by", _variable_text(settings)),
        ("scale", f"{scale}, {_scale_reason(scale, given=scale_given)}"),
        ("labels", f"{design.allocation} allocation, {_estimated(design)}"),
    ]


def _by_weight(source: Source) -> _Rows:
    weight = source.columns.get("sample_weight")
    return [("weights", f"{weight} (items are drawn in proportion to it)")] if weight else []


def _second_opinions(source: Source) -> _Rows:
    return [("aux", f"{', '.join(source.aux)}: {_AUX}")] if source.aux else []


def _estimated(design: Design) -> str:
    if design.interval == "stratified":
        return "estimate corrected for adaptive sampling"
    return f"{design.estimator} estimates"


def _strata_text(settings: Settings) -> str:
    design = settings.design
    number = f"{design.bins} a predicted label"
    if design.strata in ("auto", "ladder"):
        number = f"{settings.strata.n_strata} in all"
    return f"{design.strata}, {number}: {strata_words(design, settings.strata)}"


def _variable_text(settings: Settings) -> str:
    source = settings.source
    if not source.has_score:
        return "nothing (no score)"
    if settings.design.variable == "score":
        return "the score"
    how = {"probability": "the probability of the predicted class", "margin": "the margin's size"}
    return f"confidence: {how[source.scale]}"


def _scale_reason(scale: Scale, *, given: bool) -> str:
    if given:
        return "as given"
    where = "all scores lie" if scale == "probability" else "not all scores lie"
    return f"because {where} between 0 and 1"


def _notes(campaign: Campaign) -> list[str]:
    columns = campaign.settings.source.columns
    visible = [*campaign.settings.source.seen, columns["id"]]
    hidden = [name for name in columns["show"] if name not in visible]
    notes = list(campaign.settings.strata.notes)
    if hidden:
        names = ", ".join(hidden)
        notes.append(f"{names} hidden from reviewers, so that they label blind")
    if not campaign.settings.source.seen:
        notes.append("reviewers will see ids only: name the columns that they need with --show")
    return notes
