"""``assay curve``: precision, recall and others at every threshold of the score."""

import csv
import io
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any

from rich.text import Text

from assay.cli.exchange import format_of_name, refuse_existing, write_new
from assay.cli.options import NameOrOnly, StorageUrl, follow_up, named, open_campaign
from assay.cli.output import AsJson, console, emit, progress_bar, say_next, say_saved, working
from assay.cli.render import view_of
from assay.cli.taking import option
from assay.errors import DesignError
from assay.report import COLOURS, curve_page
from assay.results import ThresholdCurve, distinct, metric_name
from assay.simulation import Population, new_figure, simulate_curves

FORMATS = ("html", "png", "csv")


def curve(
    name: NameOrOnly = None,
    *,
    at: Annotated[float | None, option("Show only this threshold.", "SCORE", "--at")] = None,
    predictions: Annotated[
        str | None, option("The predictions, if they have moved.", "FILE")
    ] = None,
    output: Annotated[
        Path | None,
        option(
            "New file: .html (interactive), .png, or .csv with every threshold.",
            "FILE",
            "--output",
            "-o",
        ),
    ] = None,
    storage: StorageUrl = None,
    as_json: AsJson = False,
) -> None:
    """Show precision, recall, F1 and specificity at every threshold.

    Each has an interval at every threshold and a band for all thresholds together. A campaign for
    accuracy or F1 supports the whole curve; a campaign for precision supports precision above its
    threshold.
    """
    format = None if output is None else format_of_name(output, FORMATS)
    refuse_existing(output)
    if format == "png":
        new_figure()  # raises before all the work if matplotlib is missing
    name = named(name, storage)
    campaign = open_campaign(name, storage)
    with working("counting scores"):
        result = campaign.curve(predictions=predictions)
    chosen = None if at is None else result.at(at)
    if output is not None and format is not None:
        write_new(output, curve_file(result, name, format))
    if as_json:
        content = result.to_dict()
        if chosen is not None:
            content["points"] = [chosen.to_dict()]
        file = {} if output is None else {"file": str(output)}
        emit({"campaign": name, **content, **file})
        return
    screen = console()
    screen.print(Text(str(chosen)) if chosen is not None else view_of(result.document()))
    if output is not None:
        say_saved(screen, output)
    elif not campaign.done:
        say_next(screen, follow_up("label", campaign.name, storage))


def curve_file(curve: ThresholdCurve, name: str, format: str) -> bytes:
    """Curve as a file of one of `FORMATS`; `name` is the campaign's."""
    if format == "html":
        script = files("assay").joinpath("web", "static", "curve.js").read_text("utf-8")
        return curve_page(curve, name, script).encode()
    if format == "png":
        return _picture(curve)
    text = io.StringIO()
    writer = csv.DictWriter(text, list(curve.columns), lineterminator="\n")
    writer.writeheader()
    writer.writerows(curve.rows)
    return text.getvalue().encode()


def _picture(curve: ThresholdCurve) -> bytes:
    """Draw the metrics over the share of items below the threshold."""
    figure, (axis,) = new_figure(width=8.0, height=4.6)
    below = [1 - point.share for point in curve]
    for name in curve.metrics:
        values = [point.metrics[name] for point in curve]
        colour = COLOURS[name]
        bands = [(each.band_low, each.band_high) for each in values]
        for ends, faint in ((bands, 0.15), ([(each.low, each.high) for each in values], 0.3)):
            low, high = zip(*ends, strict=True)
            axis.fill_between(below, low, high, color=colour, alpha=faint, linewidth=0)
        axis.plot(below, [each.value for each in values], color=colour, label=metric_name(name))
    if curve.own is not None:
        place = 1 - curve.own.share
        axis.axvline(place, color="#444", linestyle="--", linewidth=1, label="own threshold")
    ticks = {
        min(range(len(below)), key=lambda at: abs(below[at] - place / 4)) for place in range(5)
    }
    thresholds = [curve.points[at].threshold for at in sorted(ticks)]
    axis.set_xticks([below[at] for at in sorted(ticks)], distinct(thresholds))
    axis.set_xlabel("Threshold (spaced by number of items)")
    axis.set_title(curve.headline)
    axis.legend()
    file = io.BytesIO()
    figure.savefig(file, format="png", dpi=150)
    return file.getvalue()


# ``assay simulate --curve``


def refuse_with_curve(**given: object) -> None:
    """Raise if an option is given that does not apply to a curve."""
    for name, value in given.items():
        if value:
            raise DesignError(f"--{name} cannot be combined with --curve", hint="leave it out")


def show_curves(population: Population, *, as_json: bool, **asked: Any) -> None:
    """Simulate curves, and show the results."""
    with progress_bar("simulating") as progress:
        result = simulate_curves(population, **asked, progress=progress)
    if as_json:
        emit(result.to_dict())
    else:
        console().print(view_of(result.document()))
