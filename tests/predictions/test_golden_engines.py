"""Recorded draws and errors on engines that have to be started (`python -m tests.golden`)."""

import pytest

from tests.golden import draws, faults
from tests.golden.recorded import check


@pytest.mark.filterwarnings("ignore:.* are moved to DuckDB")
@pytest.mark.parametrize("name", draws.LAYOUTS)
@pytest.mark.parametrize("engine", draws.STARTED)
def test_draws(name: str, engine: str, request: pytest.FixtureRequest) -> None:
    check("draws", name, draws.values(name, engine, request), engine=engine)


@pytest.mark.parametrize("name", faults.FAULTS)
@pytest.mark.parametrize("engine", draws.STARTED)
def test_faults(name: str, engine: str, request: pytest.FixtureRequest) -> None:
    check("faults", name, faults.text(name, engine, request), engine=engine)
