"""``assay demo``: the main job on generated data, with a live interval."""

import time
from typing import Annotated

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.table import Table
from rich.text import Text

from assay.campaign import Campaign
from assay.cli.output import AsJson, console, emit, say_next
from assay.cli.render import facts, half_width_bar, interval_bar, note_lines, view
from assay.cli.taking import option
from assay.demo import BATCH, GOAL, DemoResult, Population, Watcher, run
from assay.results import Estimate, done_words, sizes_table, strata_table

_WITHIN = GOAL.within or 0.0
_ROUNDS_A_LINE = 4
_SECONDS_A_ROUND = 0.12  # slow enough to be followed by eye
_NEXT = "assay create FILE --id COL --score COL --predicted COL --within 0.02"


def demo(
    seed: Annotated[int, option("Seed of the messages and of every draw.")] = 7,
    as_json: AsJson = False,
) -> None:
    """Measure a classifier on generated messages and show what it costs."""
    if as_json:
        emit(run(seed).to_dict())
        return
    screen = console()
    if screen.is_terminal:
        with Live(console=screen, auto_refresh=False) as live:
            result = run(seed, _OnTerminal(live))
    else:
        result = run(seed, _InPipe(screen))
    screen.print(_ending(result))
    say_next(screen, _NEXT)


class _InPipe(Watcher):
    """Prints a line every few rounds."""

    def __init__(self, screen: Console) -> None:
        self._screen = screen
        self._rounds = 0

    def started(self, population: Population, campaign: Campaign) -> None:
        self._screen.print(_opening(population, campaign))

    def labelled(self, estimate: Estimate) -> None:
        self._rounds += 1
        if self._rounds % _ROUNDS_A_LINE == 0 or estimate.stopped is not None:
            half_width = f"half-width {estimate.half_width:.4f}, goal {_WITHIN:g}"
            line = Text(f"{estimate.labels:5,} labels  precision {_result(estimate)}  {half_width}")
            self._screen.print(line)


class _OnTerminal(Watcher):
    """Redraws the interval after each round."""

    def __init__(self, live: Live) -> None:
        self._live = live

    def started(self, population: Population, campaign: Campaign) -> None:
        self._live.console.print(_opening(population, campaign))

    def labelled(self, estimate: Estimate) -> None:
        self._live.update(_current(estimate), refresh=True)
        time.sleep(_SECONDS_A_ROUND)


def _opening(population: Population, campaign: Campaign) -> RenderableType:
    return Group(
        Text.assemble(
            (f"{population.score.size:,} generated messages", "bold"),
            ", scored by a logistic regression that was fitted on others. It calls ",
            (f"{population.predicted.sum():,} spam", "bold"),
            ". How many of these really are spam? Goal: ",
            (f"precision within ±{_WITHIN:g} at {GOAL.confidence:.0%} confidence", "bold"),
            ".",
        ),
        Text(),
        view([sizes_table(campaign.strata())]),
        Text(),
        Text(f"Labelling {BATCH} at a time; the answers come from the generator.", "dim"),
    )


def _current(estimate: Estimate) -> Table:
    return facts(
        [
            ("labels", f"{estimate.labels:,}"),
            ("precision", Text(_result(estimate), "bold")),
            ("interval", interval_bar(estimate.low, estimate.high, estimate.value)),
            ("half-width", half_width_bar(estimate.half_width, _WITHIN)),
        ]
    )


def _ending(result: DemoResult) -> RenderableType:
    estimate = result.estimate
    where = Text("inside", "green") if result.inside else Text("outside", "red")
    table = Table(box=None, padding=(0, 3, 0, 0), show_header=False, show_edge=False)
    table.add_column(style="cyan")
    table.add_column(justify="right", style="bold")
    table.add_column(style="dim")
    on_average = "labels on average *"
    table.add_row("labels used", f"{estimate.labels:,}")
    table.add_row("this design needs", f"{result.mean_labels:,.0f}", on_average)
    random = f"{result.random_mean_labels:,.0f}"
    table.add_row("simple random sampling would have needed", random, on_average)
    table.add_row("true precision", f"{result.true_value:.3f}", where + f" {_ends(estimate)}")
    footnote = (
        f"* the mean of {result.replications} simulated evaluations of the same messages, "
        f"to the same goal, {BATCH} labels at a time"
    )
    return Group(
        Text(),
        view([strata_table(result.strata)]),
        Text(),
        Text(f"Done: {done_words([estimate])}. Precision {_result(estimate)}", "bold green"),
        Text(),
        table,
        Text(),
        Text(footnote, "dim"),
        note_lines(estimate.notes),
    )


def _result(estimate: Estimate) -> str:
    value = "not known" if estimate.value is None else f"{estimate.value:.3f}"
    return f"{value} {_ends(estimate)}"


def _ends(estimate: Estimate) -> str:
    return f"[{estimate.low:.3f}, {estimate.high:.3f}]"
