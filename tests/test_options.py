"""Options are declared once: functions, commands and messages agree with the fields."""

from collections.abc import Callable
from dataclasses import dataclass, fields
from inspect import Parameter, signature
from typing import Annotated, Any, get_type_hints

import pytest
import typer
from rich.text import Text
from typer import Context
from typer.core import TyperGroup
from typer.main import get_command
from typer.testing import CliRunner

import assay
from assay.cli import app
from assay.cli.output import in_options
from assay.cli.taking import Typed, all_except, only, takes
from assay.core.goal import Asked
from assay.errors import AssayError
from assay.labelling import Reviewing
from assay.options import CliOption, options_of, picked
from assay.predictions import Columns, Scan

GROUPS = (Columns, Asked, Reviewing)
FUNCTIONS = (
    assay.create_campaign,
    assay.compare_campaign,
    assay.follow_campaign,
    assay.plan,
    assay.estimate,
    assay.simulate,
)
# Where a function knows more than the field says: what is left out is as in the period before, or
# as in the campaigns whose labels count again; several may be named.
OTHERWISE = {
    "follow_campaign": {"show", "aux", "metric", "confidence", "reviewers_per_item", "overlap"},
    "compare_campaign": {"metric", "reviewers_per_item", "overlap"},
    "plan": {"metric"},
    "estimate": {"metric"},
    "simulate": {"budget"},
}


def declared() -> dict[str, tuple[Any, Any]]:
    """Return the type and the default of each option, by its keyword."""
    found = {}
    for group in GROUPS:
        types, told = get_type_hints(group), get_type_hints(group, include_extras=True)
        keywords: dict[Any, str] = {option.cli: option.keyword for option in options_of(group)}
        for field in fields(group):
            (said,) = getattr(told[field.name], "__metadata__", (None,))
            found[keywords.get(said, field.name)] = (types[field.name], field.default)
    return found


@pytest.mark.parametrize("function", FUNCTIONS)
def test_keywords_are_the_fields(function: Callable[..., Any]) -> None:
    known, types = declared(), get_type_hints(function, localns={"Campaign": assay.Campaign})
    named = {
        name: (types[name], parameter.default)
        for name, parameter in signature(function).parameters.items()
        if name in known and name not in OTHERWISE.get(function.__name__, ())
    }
    assert named == {name: known[name] for name in named}
    assert len(named) >= 4


def test_a_new_campaign_has_all() -> None:
    assert set(declared()) <= set(signature(assay.create_campaign).parameters)


def test_messages_name_the_flag() -> None:
    for group in (*GROUPS, Scan):
        for option in options_of(group):
            assert in_options(f"leave out {option.keyword}=") == f"leave out {option.flag}"


def test_what_is_picked() -> None:
    given = {"score": "p", "within": 0.1, "name": "spam"}
    assert picked(Columns, given) == Columns(score="p")
    assert picked(Asked, given) == Asked(within=0.1)


def test_several_metrics_by_either_name() -> None:
    several = {"precision:a": 0.1, "f1:b": 0.2}
    assert Asked(several) == Asked(metrics=several) and Asked(several).name is None
    with pytest.raises(AssayError, match="both name several"):
        Asked(["f1"], ["recall"])
    said = {"a": [1, 1, 0, 0], "b": [1, 0, 0, 1]}
    table = {f"says_{name}": each for name, each in said.items()}
    named = {name: {"predicted": f"says_{name}"} for name in said}
    campaign = assay.create_campaign(table, classifiers=named, metric=["f1:a", "f1:b"], budget=3)
    assert list(campaign.estimates()) == ["f1:a", "f1:b"]


def test_a_goal_is_asked_for_again() -> None:
    one = Asked("recall", within=0.1, confidence=0.9)
    assert Asked.again(one.goal_of("recall")) == one
    threshold = Asked(threshold_for="precision >= 0.9", budget=90, gain=0.2)
    assert Asked.again(threshold.goal_of("precision")).threshold_for == "precision >= 0.9"
    with pytest.raises(AssayError, match="within"):
        Asked("recall", within=2.0).goal_of("recall")


@dataclass(frozen=True)
class Shelf:
    """Options of a command that is made here."""

    books: Annotated[list[str] | None, CliOption("A book.", "BOOK", list[str], flag="--book")] = (
        None
    )
    width: Annotated[float, CliOption("In metres.", typed=float)] = 1.5
    dusty: Annotated[bool, CliOption("Nobody reads.", typed=bool)] = False


@pytest.mark.parametrize(
    ("words", "typed"),
    [
        ([], {}),
        (["--book", "a", "--book", "b"], {"books": ["a", "b"]}),
        (["--width", "0"], {"width": 0.0}),  # 0 is given, and equal to False
        (["--dusty", "--width", "1.5"], {"width": 1.5, "dusty": True}),
    ],
)
def test_what_was_typed(words: list[str], typed: dict[str, Any]) -> None:
    seen: list[Any] = []

    @takes(shelf=options_of(Shelf))
    def command(room: str = "hall", *, shelf: Typed) -> None:
        """Look."""
        seen.extend([room, shelf])

    alone = typer.Typer()
    alone.command()(command)
    assert CliRunner().invoke(alone, words).exit_code == 0
    assert seen == ["hall", typed]
    shown = " ".join(CliRunner().invoke(alone, ["--help"], env={"COLUMNS": "200"}).output.split())
    assert "In metres. Default: 1.5." in shown
    kinds = [each.kind for each in signature(command).parameters.values()]
    assert kinds[1:] == [Parameter.KEYWORD_ONLY] * 3


def test_some_of_a_group() -> None:
    assert [option.flag for option in only(Shelf, "dusty", "books")] == ["--dusty", "--book"]
    assert [option.keyword for option in all_except(Shelf, "books")] == ["width", "dusty"]
    with pytest.raises(KeyError):
        only(Shelf, "books", "shoes")


def test_no_help_is_taken_for_markup() -> None:
    """Rich leaves out what stands in square brackets, such as a default that is written there."""
    group = get_command(app)
    assert isinstance(group, TyperGroup)
    context, seen = Context(group), 0
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        for each in command.params:
            text = getattr(each, "help", None) or ""
            assert Text.from_markup(text).plain == text, f"{name}: {text}"
            seen += 1
    assert seen > 200
