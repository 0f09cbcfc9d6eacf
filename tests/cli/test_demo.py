"""``assay demo`` through a pipe, on a terminal, and for machines."""

from tests.cli.conftest import Fixture


def test_on_a_terminal_the_interval_is_live(terminal: Fixture) -> None:
    screen = terminal("demo")
    screen.wait_for("next: ")
    assert screen.seen.count("half-width") > 5
    assert "\x1b[" in screen.raw
