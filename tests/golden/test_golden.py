"""Results that a change of structure must not move: `python -m tests.golden` compares them all."""

import pytest

from tests.golden import campaigns, commands, curves, draws, errors, faults, simulations
from tests.golden.recorded import check


@pytest.mark.filterwarnings("ignore:period 'one' is not done")
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


@pytest.mark.parametrize("name", [*errors.CALLS, *errors.COMMANDS])
def test_errors(name: str) -> None:
    check("errors", name, errors.texts()[name])


@pytest.mark.parametrize("name", commands.COMMANDS)
def test_commands(name: str) -> None:
    check("commands", name, commands.documents()[name])
