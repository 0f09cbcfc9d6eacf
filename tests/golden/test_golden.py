"""Results that a change of structure must not move: `python -m tests.golden` compares them all."""

from typing import Any

import pytest

from tests.golden import campaigns, commands, curves, draws, errors, faults, simulations
from tests.golden.recorded import check
from tests.golden.refused import REFUSED


@pytest.mark.filterwarnings("ignore:period 'one' is in progress")
@pytest.mark.parametrize("name", campaigns.KIND)
def test_campaigns(name: str) -> None:
    check("campaigns", name, campaigns.values(name))


@pytest.mark.parametrize("name", simulations.SIMULATIONS)
def test_simulations(name: str) -> None:
    check("simulations", name, simulations.SIMULATIONS[name]())


@pytest.mark.filterwarnings("ignore:.* are moved to DuckDB")  # of SQLite
@pytest.mark.parametrize("name", draws.LAYOUTS)
@pytest.mark.parametrize("engine", draws.HERE)
def test_draws(name: str, engine: str, request: pytest.FixtureRequest) -> None:
    check("draws", name, draws.values(name, engine, request), engine=engine)


@pytest.mark.parametrize("name", faults.FAULTS)
@pytest.mark.parametrize("engine", draws.HERE)
def test_faults(name: str, engine: str, request: pytest.FixtureRequest) -> None:
    check("faults", name, faults.text(name, engine, request), engine=engine)


@pytest.mark.parametrize("name", curves.CURVES)
def test_curves(name: str) -> None:
    check("curves", name, curves.CURVES[name]())


@pytest.mark.parametrize("name", [*errors.CALLS, *errors.COMMANDS, *REFUSED])
def test_errors(name: str, refusals: dict[str, Any]) -> None:
    check("errors", name, refusals[name])


@pytest.fixture(scope="session")
def refusals() -> dict[str, Any]:
    """Error texts of all bad calls and command lines."""
    return errors.texts()


@pytest.fixture(scope="session")
def documents() -> dict[str, Any]:
    """What every command prints, as JSON; it takes as long as all of them."""
    return commands.documents("--json")


@pytest.fixture(scope="session")
def texts() -> dict[str, Any]:
    """What every command prints for people."""
    return commands.documents()


@pytest.mark.parametrize("name", commands.COMMANDS)
def test_commands(name: str, documents: dict[str, Any]) -> None:
    check("commands", name, documents[name])


@pytest.mark.parametrize("name", sorted(commands.COMMANDS.keys() - {"bundle", "token"}))  # random
def test_texts(name: str, texts: dict[str, Any]) -> None:
    check("texts", name, texts[name])
