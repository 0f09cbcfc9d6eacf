"""``assay import`` and ``assay export``: labels for spreadsheets and other tools."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.text import Text

from assay.campaign import (
    Reading,
    Written,
    config_suffix,
    import_labels,
    import_verdicts,
    write_batch,
    write_labels,
    write_unjudged,
)
from assay.cli.options import CampaignName, StorageUrl, existing, follow_up, open_campaign
from assay.cli.output import (
    AsJson,
    collecting_warnings,
    console,
    emit,
    say_next,
    say_saved,
    working,
)
from assay.cli.taking import Typed, argument, flag, option, takes
from assay.errors import InputError, counted, did_you_mean
from assay.exchange import FORMATS, read_map
from assay.options import options_of
from assay.results import printable

_WHAT = ("labels", "batch", "judge")
_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86_400}
_WRITTEN = ", ".join(name for name, format in FORMATS.items() if format.write_batch)


_OF_BOTH = ("id_column", "label_column", "map")  # options of labels that verdicts may have


@takes(reading=options_of(Reading))
def import_(
    name: CampaignName,
    file: Annotated[Path | None, argument("FILE", "File with labels.")] = None,
    *,
    judge: Annotated[
        list[Path] | None,
        option(
            "File with a judge's verdicts instead of labels: .csv, .parquet, .jsonl, .eval; "
            "repeatable.",
            "FILE",
            "--judge",
        ),
    ] = None,
    column: Annotated[
        str | None, option("With --judge: name of the column of verdicts. Default: judge.", "COL")
    ] = None,
    verdict_column: Annotated[
        str | None, option("With --judge: column of the file that has the verdicts.", "COL")
    ] = None,
    into: Annotated[
        Path | None,
        option(
            "With --judge: file to keep the verdicts in. Default: beside the storage.",
            "FILE.parquet",
        ),
    ] = None,
    reading: Typed,
    revise: Annotated[bool, flag("Replace earlier labels that differ.", "--revise")] = False,
    storage: StorageUrl = None,
    as_json: AsJson = False,
) -> None:
    """Import labels from a file.

    If any row has an error, nothing is imported. With --judge, import a judge's verdicts and use
    them as a second opinion (--aux).
    """
    of_judge = {"column": column, "verdict_column": verdict_column, "into": into}
    of_labels = {name: value for name, value in reading.items() if name not in _OF_BOTH}
    _refuse_mixed(file, judge, {**of_labels, "revise": revise} if judge else of_judge)
    if file is None:
        given = {name: value for name, value in of_judge.items() if value is not None}
        given |= {name: reading[name] for name in ("id_column",) if name in reading}
        answers = pairs_of("map", reading.get("map", []), "pass=yes")
        _take_verdicts(name, judge or [], storage, {**given, "map": answers}, as_json=as_json)
        return
    campaign = open_campaign(name, storage)
    words = {"rename": "label-studio:5=ann", "map": "spam=yes"}
    pairs = {each: pairs_of(each, reading.get(each, []), word) for each, word in words.items()}
    result = import_labels(campaign, file, revise=revise, **{**reading, **pairs})
    if as_json:
        emit({"campaign": name, **asdict(result), "done": campaign.done})
        return
    screen = console()
    if "format" not in reading:
        screen.print(
            f"read as {result.format}, inferred from its name and content (--format overrides)"
        )
    say_saved(screen, _counts(asdict(result)))
    say_next(screen, follow_up("status", name, storage))


def _refuse_mixed(
    file: Path | None, judge: list[Path] | None, others: Mapping[str, object]
) -> None:
    """Raise unless either labels or verdicts are given, with options of their own."""
    if (file is None) == (not judge):
        raise InputError(
            "no file to import is given"
            if file is None
            else "labels and verdicts cannot be imported together",
            hint="assay import NAME FILE imports labels, assay import NAME --judge FILE "
            "imports verdicts",
        )
    for name, value in others.items():
        if value:
            what = "labels" if judge else "a judge's verdicts"
            raise InputError(
                f"--{name.replace('_', '-')} applies only to {what}", hint="leave it out"
            )


def _take_verdicts(
    name: str, logs: list[Path], storage: str | None, given: dict[str, Any], *, as_json: bool
) -> None:
    url = existing(storage)
    with collecting_warnings() as warnings, working("reading verdicts and predictions"):
        imported = import_verdicts(name, *logs, storage=url, **given)
    if as_json:
        emit({**imported.to_dict(), "done": imported.campaign.done, "warnings": warnings})
        return
    screen = console()
    counts = ", ".join(
        f"{getattr(imported, what):,} {what}{' a verdict' if what == 'without' else ''}"
        for what in ("new", "replaced", "unchanged", "without")
        if getattr(imported, what) or what == "new"
    )
    place = imported.file.name if imported.file.parent == Path.cwd() else imported.file
    say_saved(screen, f"{imported.in_all:,} verdicts in {place}: {counts}")
    screen.print(
        Text(f"{printable(name)} continues with {printable(imported.column)} as a second opinion")
    )
    for warning in warnings:
        screen.print(Text(f"warning: {printable(warning)}", "yellow"))
    say_next(screen, follow_up("status" if imported.campaign.done else "label", name, storage))


def export(
    name: CampaignName,
    *,
    what: Annotated[
        str,
        option(
            "labels: everybody's current answers; batch: the next items to label; judge: a "
            "random sample of items without a judge's verdict."
        ),
    ] = "labels",
    format: Annotated[
        str, option(f"For a batch: {_WRITTEN}. For labels: csv, jsonl.", "FORMAT")
    ] = "csv",
    size: Annotated[int, option("Number of items.", None, "--size", "-n")] = 20,
    column: Annotated[
        str | None, option("With --what judge: the judge's column, if --aux names several.", "COL")
    ] = None,
    reviewer: Annotated[str | None, option("Reserve the batch for this reviewer.", "WHO")] = None,
    hold: Annotated[
        str | None, option("Reserve the batch for 90m, 8h, 2d, ... Default: 1d.", "TIME")
    ] = None,
    output: Annotated[
        Path | None, option("New file to write. Default: print.", "FILE", "--output", "-o")
    ] = None,
    config: Annotated[
        Path | None,
        option(
            "File for the tool's configuration (Label Studio) or classes. Default: beside "
            "the output.",
            "FILE",
        ),
    ] = None,
    storage: StorageUrl = None,
    as_json: AsJson = False,
) -> None:
    """Export labels, or the next items to label, for another tool."""
    _check(what, reviewer=reviewer, hold=hold, column=column)
    seconds = _seconds("1d" if hold is None else hold)
    campaign = open_campaign(name, storage)
    if config is None and output is not None and what == "batch":
        suffix = config_suffix(campaign, format)
        config = Path(f"{output}{suffix}") if suffix else None
    for file in (output, config):
        refuse_existing(file)
    if what == "labels":
        written = write_labels(campaign, format=format)
    elif what == "judge":
        with working("reading predictions"):
            written = write_unjudged(campaign, size, column=column, format=format)
    else:
        written = write_batch(campaign, size, format=format, reviewer=reviewer, lease=seconds)
    if config is not None and written.config is None:
        raise InputError(f"the format {format} has no configuration", hint="leave --config out")
    for file, content in ((output, written.content), (config, written.config)):
        if file is not None and content is not None:
            write_new(file, content)
    saved = {"file": output, "config": config}
    if as_json:
        files = {what: str(file) for what, file in saved.items() if file is not None}
        rows = {"rows": written.sheet.records()} if output is None else {}
        summary = {"campaign": name, "what": what, "format": format, "count": written.count}
        emit({**summary, **rows, **files})
        return
    _tell(written, output, config)


def pairs_of(option: str, pairs: list[str], example: str) -> dict[str, str]:
    """Names or words of a file, with their replacements."""
    names: dict[str, str] = {}
    for pair in pairs:
        if option == "map" and "=" not in pair and Path(pair).suffix:
            names |= {word: str(answer) for word, answer in read_map(pair).items()}
            continue
        word, _, replacement = pair.partition("=")
        if not word.strip() or not replacement.strip():
            form = "TOOL=NAME" if option == "rename" else "WORD=ANSWER"
            raise InputError(
                f"--{option} {pair!r} is not {form}", hint=f"such as --{option} {example}"
            )
        if names.setdefault(word, replacement) != replacement:
            raise InputError(f"--{option} has more than one name for {word!r}")
    return names


def _tell(written: Written, output: Path | None, config: Path | None) -> None:
    """Report the saved file, or print its content; remarks must not get into a pipe."""
    screen = console(stderr=output is None)
    if output is not None:
        say_saved(screen, f"{counted(written.count, 'row')} in {output}")
    elif console().is_terminal:
        typer.echo(printable(written.content.decode().replace("\r\n", "\n")), nl=False)
    else:
        # Bytes, because the locale's encoding must not change ids.
        typer.get_binary_stream("stdout").write(written.content)
    if config is not None:
        say_saved(screen, f"the labelling configuration in {config}")
    elif written.config is not None:
        screen.print("note: --config FILE saves the labelling configuration that goes with it")


def _counts(result: dict[str, object]) -> str:
    """Count the rows; rare kinds only if there are any."""
    always = ("new", "revised", "unchanged", "without_label")
    return ", ".join(
        f"{count:,} {what.replace('_', ' ')}"
        for what, count in result.items()
        if isinstance(count, int) and (count or what in always)
    )


def _check(what: str, *, reviewer: str | None, hold: str | None, column: str | None) -> None:
    if what not in _WHAT:
        raise InputError(
            f"--what {what} is unknown",
            details=f"values: {', '.join(_WHAT)}",
            hint=did_you_mean(what, _WHAT),
        )
    if reviewer is not None and what != "batch":
        raise InputError("--reviewer applies only to a batch", hint="add --what batch")
    if column is not None and what != "judge":
        raise InputError("--column applies only to items for a judge", hint="add --what judge")
    if hold is not None and reviewer is None:
        raise InputError(
            "--hold reserves a batch, but no reviewer is given", hint="add --reviewer WHO"
        )


def _seconds(text: str) -> float:
    """Seconds in a time such as 90m."""
    match = re.fullmatch(r"([0-9]{1,9})([smhd])", text.strip())
    if match is None or int(match[1]) == 0:
        raise InputError(
            f"{text!r} is not a time",
            details="expected a number and s, m, h or d, such as 90m, 8h or 2d",
        )
    return float(int(match[1]) * _UNITS[match[2]])


def refuse_existing(file: Path | None) -> None:
    """Raise if a file exists: it may hold somebody's labels."""
    if file is not None and file.exists():
        raise InputError(
            f"{file} already exists, and may contain labels",
            hint="choose another name, or move the file",
        )


def format_of_name(file: Path, formats: Sequence[str]) -> str:
    """Format of a file, by its suffix."""
    ending = file.suffix.lower().removeprefix(".")
    if ending not in formats:
        raise InputError(
            f"the name {file} has no known suffix",
            details=f"known suffixes: {', '.join(f'.{each}' for each in formats)}",
        )
    return ending


def write_new(file: Path, content: bytes) -> None:
    """Write a new file."""
    try:
        with file.open("xb") as stream:
            stream.write(content)
    except FileExistsError:
        refuse_existing(file)
    except OSError as error:
        raise InputError(f"{file} cannot be written: {error.strerror}") from None
