"""``assay demo`` through a pipe, on a terminal, and for machines."""

from collections.abc import Callable
from typing import Any

Fixture = Callable[..., Any]


def test_in_a_pipe_it_prints_lines(run: Fixture) -> None:
    told = run("demo").stdout
    assert "200,000 generated messages" in told
    assert "the answers come from the generator's truth" in told
    assert "half-width" in told
    assert "Stopped: the goal is met." in told
    assert "simple random sampling would have needed" in told
    assert "the mean of 200 simulated evaluations" in told
    assert "true precision" in told
    assert "next: assay create FILE" in told
    assert "\x1b" not in told
    assert max(map(len, told.splitlines())) <= 80


def test_on_a_terminal_the_interval_is_live(terminal: Fixture) -> None:
    screen = terminal("demo")
    screen.wait_for("next: ")
    assert screen.seen.count("half-width") > 5
    assert "\x1b[" in screen.raw


def test_a_bad_seed_is_told(run: Fixture) -> None:
    result = run("demo", "--seed", "-1")
    assert result.exit_code == 1
    assert "seed -1 cannot be used" in result.stderr
