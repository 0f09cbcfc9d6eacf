"""Paper 3's metrics in plain sums: answers as often as their items were drawn."""

from collections.abc import Mapping, Sequence

from assay.audit.values import NEITHER
from assay.core.recycling.procedure import recycle_of
from assay.labelling import Settings


def _values(hits: float, yes: float, positives: float, items: float) -> dict[str, float]:
    """Return section 6's table, of a classifier that calls so many items yes."""
    no = items - yes
    return {
        "precision": hits / yes,
        "recall": hits / positives if positives else 0.0,
        "f1": 2 * hits / (yes + positives),
        "accuracy": (no + 2 * hits - positives) / items,
        "false_omission_rate": (positives - hits) / no if no else 0.0,
        "prevalence": positives / items,
    }


def recycled_values(
    settings: Settings, answers: Sequence[Sequence[str]]
) -> Mapping[str, Sequence[float]]:
    """Return the value of every metric of a classifier that is in the table.

    `answers`: of each stratum, in the order in which its cards were dealt, as far as rounds are
    complete.
    """
    recycled = recycle_of(settings.design, settings.goal, settings.strata, settings.draw_seed)
    known = sum(map(len, answers))
    queue, route = recycled.longer_than(known), recycled.route
    left = [iter(each) for each in answers]
    told = [next(left[cell]) for cell in queue.cells[:known].tolist()]
    hits = {
        name: yes * _share([told[card] for card in draws.tolist()])
        for name, yes, draws in zip(route.names, route.yes.tolist(), queue.samples, strict=True)
        if draws.size and int(draws.max()) < known
    }
    misses = []
    for card in queue.omission.tolist():
        if card >= known:
            break
        misses.append(told[card])
    items, found = sum(settings.strata.sizes.tolist()), dict[str, list[float]]()
    positives = hits.get(route.names[0], 0.0) + route.no * _share(misses)
    for target in settings.goal.targets:
        name = target.classifier or route.names[0]
        if target.minus is None and name in hits:
            yes = float(route.yes[route.names.index(name)])
            values = _values(hits[name], yes, positives, items)
            if target.metric in values:
                found[target.name] = [min(max(values[target.metric], 0.0), 1.0)]
    return found


def _share(answers: Sequence[str]) -> float:
    """Return the share of yes among answers that say yes or no."""
    judged = [answer == "yes" for answer in answers if answer not in NEITHER]
    return sum(judged) / len(judged) if judged else 0.0
