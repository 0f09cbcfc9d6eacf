"""What is loaded by what: nothing heavy before it is used, and lists that say the same."""

import ast
import functools
import io
import json
import subprocess
import sys
from collections.abc import Iterator
from graphlib import TopologicalSorter
from importlib import import_module
from operator import attrgetter
from pathlib import Path
from types import ModuleType
from typing import Any

import grimp
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import typer
from typer.exceptions import TyperException
from typer.testing import CliRunner

import assay
from assay.cli import app
from assay.cli.commands import COMMANDS, Commands
from assay.cli.output import console, working
from assay.cli.working_line import showing_work

FACES = (
    "assay",
    *(f"assay.{name}" for name in ("audit", "campaign", "exchange", "labelling", "predictions")),
    *(f"assay.{name}" for name in ("report", "results", "simulation", "storage")),
)

# Each takes at least 20 ms to load. What a step may load is beside it in `STEPS`.
HEAVY = (
    *("numpy", "scipy.special", "scipy.stats", "scipy.optimize", "scipy.integrate"),
    *("pyarrow", "pyarrow.compute", "pyarrow.parquet", "duckdb", "narwhals", "sqlalchemy"),
    *("rich.console", "rich.progress", "typer"),
    *("pandas", "polars", "sklearn", "matplotlib", "pyspark", "psycopg", "sqlglot"),
    *("starlette", "uvicorn", "jinja2", "mlflow", "anywidget", "pydantic"),
)
STEPS = {
    "import assay": ("", set[str]()),
    "import assay.cli": ("import assay.cli", {"typer"}),
    "a worker process": ("import assay.simulation.workers", {"numpy"}),
    "assay --help": ("run('--help')", {"typer", "rich.console"}),
    "assay status": ("run('status', 'spam')", {"typer", "rich.console", "sqlalchemy", "numpy"}),
    "assay plan": (
        "run('plan', 'p.parquet', '--id', 'id', '--score', 'p', '--threshold', '0.5', "
        "'--budget', '50', '--replications', '2')",
        {"typer", "rich.console", "numpy", "pyarrow", "duckdb"},
    ),
    "assay create": (
        "run('create', 'p.parquet', '--name', 'new', '--id', 'id', '--score', 'p', "
        "'--threshold', '0.5', '--within', '0.1', '--show', 'p')",
        {"typer", "rich.console", "sqlalchemy", "numpy", "pyarrow", "pyarrow.compute", "duckdb"},
    ),
    "assay create, with texts of a CSV file": (
        "run('create', 'p.csv', '--name', 'texts', '--id', 'id', '--score', 'p', "
        "'--threshold', '0.5', '--within', '0.1', '--show', 'text')",
        {"typer", "rich.console", "sqlalchemy", "numpy", "pyarrow", "pyarrow.compute", "duckdb"},
    ),
    "assay status, all": ("run('status')", {"typer", "rich.console", "sqlalchemy", "numpy"}),
}
SCRIPT = """
import sys
import assay

def run(*words):
    from assay.cli import main
    sys.argv = ["assay", *words]
    try:
        main()
    except SystemExit as ended:
        assert not ended.code

{step}
print([name for name in {heavy} if name in sys.modules], file=sys.stderr)
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a storage, and a campaign in it with some labels."""
    place = tmp_path_factory.mktemp("loading")
    campaign = assay.create_campaign(
        {"p": np.linspace(0, 1, 300)},
        score="p",
        threshold=0.5,
        within=0.05,
        name="spam",
        storage=f"sqlite:///{place / 'assay.db'}",
    )
    campaign.tell({item.id: bool(int(item.id) % 5) for item in campaign.ask(20)})
    rows = {"id": np.arange(300), "p": np.linspace(0, 1, 300)}
    pq.write_table(pa.table(rows), place / "p.parquet")
    lines = "".join(f"{id},{p},text {id}\n" for id, p in zip(*rows.values(), strict=True))
    (place / "p.csv").write_text(f"id,p,text\n{lines}", encoding="utf-8")
    return place


@pytest.mark.parametrize("step", STEPS)
def test_nothing_heavy_is_loaded_before_it_is_used(step: str, folder: Path) -> None:
    code, allowed = STEPS[step]
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT.format(step=code, heavy=HEAVY)],
        capture_output=True,
        text=True,
        check=False,
        cwd=folder,
    )
    assert done.returncode == 0, done.stderr
    loaded = set(ast.literal_eval(done.stderr.splitlines()[-1]))
    assert loaded <= allowed


@pytest.mark.parametrize("face", FACES)
def test_every_name_of_a_face_is_there(face: str) -> None:
    module = import_module(face)
    assert len(module.__all__) > 5
    for name in module.__all__:
        assert getattr(module, name) is not None
        # A module of that name would hide it as soon as it is imported.
        assert not (Path(str(module.__file__)).parent / f"{name}.py").exists()


def test_a_name_that_is_not_there_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="module 'assay' has no attribute 'creat_campaign'"):
        attrgetter("creat_campaign")(assay)
    assert not hasattr(assay, "creat_campaign")


def test_packages_can_be_reached_from_the_root() -> None:
    done = subprocess.run(
        [sys.executable, "-c", "import assay; print(assay.core.__name__, assay.Goal.__name__)"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split() == ["assay.core", "Goal"]


def test_the_list_of_commands_says_what_they_say_themselves() -> None:
    commands = Commands()
    assert 20 < len(commands) == len(COMMANDS) < 25
    for name, command in commands.items():
        assert command.name == name
        assert COMMANDS[name].help == command.help.split("\n\n")[0].replace("\n", " ")


def commands_within(command: Any) -> Iterator[Any]:
    """Yield a command, or those of a group, and theirs."""
    yield command
    for each in getattr(command, "commands", {}).values():
        yield from commands_within(each)


TYPED = (
    *(None, "", "spam", "0.05", "7", "-3", "+3", "007", "1e-3", "nan", "inf", " 5", "1_000", "٣"),
    *("9" * 20, "0." + "1" * 20, ".5", "5.", True, 3, 0.5, ("a", "b"), ("0.5",), ()),
)


def test_what_is_typed_is_read_as_typer_reads_it_all_of_it() -> None:
    def outcome(read: Any, context: Any, value: object) -> tuple[str, str]:
        try:
            found = read(context, value)
        except TyperException as error:
            words = error.format_message()  # of a word instead of a number, ours are plainer
            is_word = "Input should be a valid" in words or "is not a" in words
            return "refused", "no number" if is_word else words
        return type(found).__name__, repr(found)

    compared = 0
    for top in Commands().values():
        for command in commands_within(top):
            context = typer.Context(command, info_name="assay")
            for parameter in command.get_params(context):
                if parameter.callback is not None:
                    continue
                theirs = functools.partial(type(parameter).process_value, parameter)
                for value in TYPED:
                    read = outcome(parameter.process_value, context, value)
                    assert read == outcome(theirs, context, value), (command.name, parameter.name)
                    compared += 1
    assert compared > 5_000


def test_the_version_is_told_without_a_command() -> None:
    assert CliRunner().invoke(app, ["--version"]).stdout == f"assay {assay.__version__}\n"
    assert isinstance(app, typer.Typer)


class Screen(io.StringIO):
    """A terminal, to whoever asks."""

    def isatty(self) -> bool:
        return True


def test_a_command_says_at_once_that_it_works_on_a_terminal_only(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    at_once: list[str] = []
    for stream in (Screen(), io.StringIO()):
        monkeypatch.setattr(sys, "stderr", stream)
        with monkeypatch.context() as patch:
            told = functools.partial(_note, stream, at_once)
            patch.setattr("assay.cli.commands.import_module", told)
            assert Commands()["status"].name == "status"
    assert at_once == ["working …", ""]  # when the import begins
    assert stream.getvalue() == ""


ERASED = f"\r{' ' * len('working …')}\r"


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_says_that_it_works_until_it_says_something(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for command in commands_within(Commands()[name]):
        if hasattr(command, "commands"):
            continue  # a group, whose commands come next
        screen = Screen()
        monkeypatch.setattr(sys, "stderr", screen)
        answered, options = command.callback.func, command.callback.args[1:]
        seen: list[str] = []

        def work(screen: Screen = screen, seen: list[str] = seen) -> None:
            seen.append(screen.getvalue())
            with working("at it"):
                seen.append(screen.getvalue())
            seen.append(screen.getvalue())
            console()
            seen.append(screen.getvalue())

        answered(work, *options)
        begun, at_it, between, over = seen
        assert begun == "working …"
        assert at_it.startswith(f"working …{ERASED}")
        assert between.endswith("working …")
        assert over == screen.getvalue() == f"{between}{ERASED}"


def test_a_command_that_fails_leaves_no_word_of_its_work(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = Screen()
    monkeypatch.setattr(sys, "stderr", screen)
    with pytest.raises(ZeroDivisionError), showing_work():
        _ = 1 / 0
    assert screen.getvalue() == f"working …{ERASED}"


def _note(stream: io.StringIO, seen: list[str], name: str) -> ModuleType:
    seen.append(stream.getvalue())
    return import_module(name)


def test_wrong_usage_with_json_is_told_as_json(folder: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "assay", "statu", "--json"],
        capture_output=True,
        text=True,
        check=False,
        cwd=folder,
    )
    assert done.returncode == 2
    assert "No such command" in json.loads(done.stderr)["error"]["problem"]


def test_no_modules_import_one_another() -> None:
    """In no circle, however long; imports within functions count."""
    graph = grimp.build_graph("assay", exclude_type_checking_imports=True)
    imported = {name: graph.find_modules_directly_imported_by(name) for name in graph.modules}
    TopologicalSorter(imported).prepare()  # raises CycleError, which names them
