"""Recorded draws and errors on engines that have to be started (`python -m tests.golden`)."""

from collections.abc import Callable, Iterable

import pytest

from tests.golden import draws, faults
from tests.golden.recorded import DifferentError, check


def check_each(part: str, names: Iterable[str], engine: str, made: Callable[[str], object]) -> None:
    """Compare what is made of each name with the record, and tell all differences."""
    different = []
    for name in names:
        try:
            check(part, name, made(name), engine=engine)
        except DifferentError as error:
            different.append(str(error))
    if different:
        raise DifferentError("\n".join(different))


@pytest.mark.filterwarnings("ignore:.* are moved to DuckDB")
@pytest.mark.parametrize("family", draws.FAMILIES)
@pytest.mark.parametrize("engine", draws.STARTED)
def test_draws(family: str, engine: str, request: pytest.FixtureRequest) -> None:
    names = draws.FAMILIES[family]
    check_each("draws", names, engine, lambda name: draws.values(name, engine, request))


@pytest.mark.parametrize("engine", draws.STARTED)
def test_faults(engine: str, request: pytest.FixtureRequest) -> None:
    check_each("faults", faults.FAULTS, engine, lambda name: faults.text(name, engine, request))
