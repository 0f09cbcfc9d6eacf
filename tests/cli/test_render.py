"""What people read in a terminal: its width, its words, nothing that a terminal would obey."""

import ast
import inspect
import io
import json
import re
import unicodedata
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console, RenderableType
from typer.testing import CliRunner

import assay
from assay.campaign import create_campaign, import_labels
from assay.cli import app
from assay.cli.commands import COMMANDS
from assay.cli.output import in_options
from assay.cli.render import half_width_bar, interval_bar, view
from assay.cli.status import progress_text, standing_of
from assay.core.goal import Goal
from assay.core.targets import Target
from assay.results import (
    Estimate,
    Estimates,
    Notes,
    Pairs,
    StratumRow,
    Table,
    notes_once,
    printable,
    sizes_table,
    strata_table,
)

signed = st.floats(-1.0, 1.0)


def view_of(estimate: Estimate, goal: Goal) -> RenderableType:
    return view(standing_of(Estimates({estimate.metric: estimate}), goal))


def rendered(what: RenderableType | Table, width: int = 80) -> str:
    what = view([what]) if isinstance(what, Table) else what
    screen = Console(file=io.StringIO(), width=width, force_terminal=False)
    screen.print(what)
    assert isinstance(screen.file, io.StringIO)
    return screen.file.getvalue()


def estimate_of(
    value: float | None, low: float, high: float, *, labels: int = 100, stopped: str | None = None
) -> Estimate:
    return Estimate(
        metric="precision",
        value=value,
        low=low,
        high=high,
        confidence=0.95,
        standard_error=None,
        labels=labels,
        cannot_judge=0,
        worst_case=None,
        interval="Wilson 1927, on the effective sample size (Franco et al. 2019)",
        anytime=False,
        stopped=stopped,
    )


@given(st.text())
def test_printable_leaves_nothing_that_a_terminal_obeys(text: str) -> None:
    left = [sign for sign in printable(text) if unicodedata.category(sign)[0] in "CZ"]
    obeyed = {sign for sign in left if unicodedata.category(sign) not in ("Zs", "Cn")}
    assert obeyed <= {"\n", "\t", "\u200c", "\u200d"}


@given(st.text(alphabet=st.characters(categories=("L", "N", "P", "S", "Zs"))))
def test_printable_leaves_ordinary_text_alone(text: str) -> None:
    assert printable(text) == text


@pytest.mark.parametrize(
    "hostile",
    ["\x1b[2J", "\x1b]0;title\x07", "\x9b31m", "\r", "\x08", "\x7f", "\u202e", "\u2028", "\x00"],
)
def test_printable_writes_hostile_signs_out(hostile: str) -> None:
    assert hostile[0] not in printable(f"a{hostile}b")
    assert printable(f"a{hostile}b").startswith("a\\")


def check_bar(low: float, value: float, high: float) -> None:
    text = interval_bar(low, high, value).plain
    start, bar, end = text.partition("├")[0], text[text.index("├") + 1 : text.index("┤")], text
    assert len(bar) == 40
    assert bar.count("●") == 1
    assert float(start) <= low + 1e-9
    assert float(end.partition("┤")[2]) >= high - 1e-9


@given(signed, signed, signed)
def test_interval_bar_has_one_width_and_holds_its_interval(a: float, b: float, c: float) -> None:
    for low, value, high in (sorted((a, b, c)), sorted((abs(a), abs(b), abs(c)))):
        check_bar(low, value, high)
    assert not interval_bar(low, high, value).plain.startswith("-")


def test_interval_bar_around_zero() -> None:
    text = interval_bar(-0.03, 0.02, -0.01).plain
    assert text == "-0.05 ├────────━━━━━━━━●━━━━━━━━━━━────────────┤ 0.05"


@given(st.floats(0.0, 0.5), st.floats(1e-4, 0.499))
def test_half_width_bar_has_one_width(half_width: float, within: float) -> None:
    bar = half_width_bar(half_width, within).plain.partition("  ")[0]
    assert len(bar) == 40
    assert bar.index("│") == 7
    reached = bar.rindex("━") + 1 if "━" in bar else 0
    assert (reached > 8) == (round(40 * min(half_width / (5 * within), 1.0)) > 8)


def test_progress_names_half_width_goal_and_budget_or_the_reason_of_a_stop() -> None:
    goal, told = Goal("precision", within=0.02, budget=500), "half-width 0.0340, goal 0.02"
    going, stopped = (estimate_of(0.9, 0.866, 0.934, stopped=why) for why in (None, "it is met"))
    assert progress_text(going, goal) == f"{told}; 100 of 500 labels"
    assert progress_text(stopped, goal) == f"{told}; 100 of 500 labels; it is met"
    narrow = progress_text(estimate_of(0.9, 0.89, 0.91), goal)
    assert "one more round must confirm" in narrow


def test_of_very_many_strata_the_largest_are_shown_and_the_others_summed() -> None:
    rows = [StratumRow(f"stratum {k}", 100 + k, 4, 1, 0, rate=0.25) for k in range(45)]
    for table in (strata_table(rows), sizes_table(rows)):
        lines = rendered(table).splitlines()[2:]
        assert len(lines) == 31
        assert lines[0].startswith("stratum 15 ")
        assert lines[29].startswith("stratum 44 ")
        rest = lines[30].split()
        assert rest[:4] == ["15", "smaller", "strata", f"{sum(range(100, 115)):,}"]
    assert rendered(strata_table(rows)).splitlines()[-1].split()[-2:] == ["60", "0.250"]
    assert len(rendered(strata_table(rows[:40])).splitlines()) == 42


def several(**changes: object) -> Estimates:
    """Return the estimates of a precision and of a difference that is below 0."""
    first = {**vars(estimate_of(0.9, 0.88, 0.92)), "within": 0.03, **changes}
    second = {**first, "value": -0.01, "low": -0.06, "high": 0.04, "labels": 55}
    names = ("precision:cnn_2", "precision:cnn_2 - precision:mve")
    every = zip(names, (first, second), strict=True)
    return Estimates({name: Estimate(**{**values, "metric": name}) for name, values in every})


GOAL = Goal(
    targets=(Target("precision", "cnn_2", within=0.03), Target("precision", "cnn_2", "mve", 0.03))
)


def test_a_note_is_told_once_and_about_whom() -> None:
    every = {
        f"f1:{name}": Estimate(**{**vars(estimate_of(0.9, 0.8, 1.0)), "notes": notes})
        for name, notes in {
            "a": ("all", "most"),
            "b": ("all", "most"),
            "c": ("all", "most"),
            "d": ("all", "most", "mine"),
            "e": ("all",),
        }.items()
    }
    assert notes_once(every) == ["all", "f1:a, f1:b, f1:c and 1 more: most", "f1:d: mine"]


def test_markup_in_data_is_text() -> None:
    hostile = "[bold]x[/bold] [link=http://evil]y[/link]"
    blocks = (
        Pairs(((hostile, hostile),)),
        Notes((hostile,)),
        strata_table([StratumRow(hostile, 1, 0, 0, 0)]),
    )
    assert rendered(view(blocks), width=200).count(hostile) == 4


ARGUMENTS = {
    name
    for function in (create_campaign, import_labels, assay.Campaign.judge, assay.Campaign.slices)
    for name in inspect.signature(function).parameters
}
SAYS_PYTHON = re.compile(
    rf"(?<![\w.\-'\"/`=?&])({'|'.join(sorted(ARGUMENTS))})=(?!=)"
    r"|(?<![\w.])[A-Za-z_][\w.]*[a-z_]\((?:\)|\.\.\.|'|\w+=|\w+, )"
)
# Arrays, frames, the notebook and worker processes are for Python only; the others write
# markup or SQL.
NOT_TOLD = re.compile(
    r"campaign/(arrays|widget)\.py|predictions/tables\.py|simulation/(population|workers)\.py"
    r"|results/(result|notebook)\.py|predictions/(sql|spark|databases|pairs|duckdb)/|report/|web/|storage/|exchange/(label_studio|argilla)"
)
SQL_OR_MARKUP = re.compile(r"^\s*<|\bSELECT\b|\bexp\(")


def _text(node: ast.expr) -> str:
    """Return a text in the source, with something in the place of what is put into it."""
    if isinstance(node, ast.Constant):
        return str(node.value)
    if isinstance(node, ast.FormattedValue):
        return "'x'" if node.conversion == ord("r") else "x"
    parts: list[ast.expr] = []
    if isinstance(node, ast.JoinedStr):
        parts = node.values
    elif isinstance(node, ast.BinOp):
        parts = [node.left, node.right]
    elif isinstance(node, ast.IfExp):
        parts = [node.body, ast.Constant("\n"), node.orelse]
    return "".join(map(_text, parts))


def _messages() -> Iterator[tuple[str, str]]:
    root = Path(str(assay.__file__)).parent
    for path in root.rglob("*.py"):
        name = path.relative_to(root).as_posix()
        inside: set[ast.AST] = set()  # parts of texts, and docstrings
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Expr):
                inside.add(node.value)
            elif isinstance(node, ast.JoinedStr | ast.BinOp | ast.Constant):
                text = "" if node in inside else _text(node)
                if " " in text and not (NOT_TOLD.match(name) or SQL_OR_MARKUP.search(text)):
                    yield f"{name}:{node.lineno}", text
                inside |= set(ast.iter_child_nodes(node))


def test_no_message_is_in_python() -> None:
    """Hold every text of the package to the words of the command line."""
    messages = list(_messages())
    assert len(messages) > 3000
    python = [text for _, text in messages if SAYS_PYTHON.search(text)]
    assert len(python) > 100  # there is something to put in other words
    assert any("load_campaign('" in text for text in python)
    bad = [
        (where, told) for where, text in messages if SAYS_PYTHON.search(told := in_options(text))
    ]
    assert not bad


@pytest.mark.parametrize("part", ["texts", "errors"])
def test_no_command_speaks_python(part: str) -> None:
    """Hold what commands printed, for every command and 400 mistakes."""
    recorded = json.loads((Path(__file__).parents[1] / f"golden/{part}.json").read_text())
    printed = [
        line for each in recorded.values() if isinstance(each, dict) for line in _lines(each)
    ]
    assert len(printed) > 400
    assert not [line for line in printed if SAYS_PYTHON.search(line)]


@pytest.mark.parametrize("name", [*COMMANDS, "token add", "campaign rename"])
def test_no_help_speaks_python(name: str) -> None:
    told = CliRunner(env={"COLUMNS": "300"}).invoke(app, [*name.split(), "--help"])
    assert told.exit_code == 0
    assert not [line for line in told.output.splitlines() if SAYS_PYTHON.search(line)]


def _lines(document: object) -> Iterator[str]:
    values = document.values() if isinstance(document, dict) else document
    for each in values if isinstance(values, Iterable) else ():
        yield from [each] if isinstance(each, str) else _lines(each)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("pass scale='margin'", "pass --scale margin"),
        (
            "neither predicted= nor threshold= is given",
            "neither --predicted nor --threshold is given",
        ),
        ("where=\"id='a'\" is not text", "--where \"id='a'\" is not text"),
        ("leave out labels=, or sample_weight=", "leave out --labels, or --sample-weight"),
        ("no item has lang=de", "no item has lang=de"),
        ("assay follow FILE --id url", "assay follow FILE --id url"),
    ],
)
def test_words(text: str, told: str) -> None:
    assert in_options(text) == told
