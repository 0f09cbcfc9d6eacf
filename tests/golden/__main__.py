"""Compare results with the recorded ones: ``python -m tests.golden``.

    python -m tests.golden                          # compare all parts
    python -m tests.golden simulations draws        # compare some
    python -m tests.golden --record simulations     # record again, after a change that is meant
    python -m tests.golden --costs                  # costs at 3 million rows: some minutes

Exit code 1: something differs. If a change moves results on purpose, say in its commit which and
why. Spark, PostgreSQL and ClickHouse are skipped where they are not installed.
"""

import argparse
import contextlib
import io
import sys
from collections import Counter
from pathlib import Path

import pytest

from tests.golden import costs, recorded

_SHOWN = 5


class Outcomes:
    """Skipped tests by reason, and errors that are no differences, by part."""

    def __init__(self) -> None:
        self.skipped: dict[str, Counter[str]] = {}
        self.errors: dict[str, list[str]] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        part = report.nodeid.partition("::test_")[2].partition("[")[0]
        if report.skipped and isinstance(report.longrepr, tuple):
            self.skipped.setdefault(part, Counter())[report.longrepr[2]] += 1
        elif report.failed:
            lines = [line for line in report.longreprtext.splitlines() if line.startswith("E  ")]
            if not any("DifferentError" in line for line in lines):
                self.errors.setdefault(part, []).append(f"{report.nodeid}\n" + "\n".join(lines))


def main() -> int:
    """Compare or record the parts that are asked for. Return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tests.golden", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("parts", nargs="*", metavar="PART", help=", ".join(recorded.PARTS))
    parser.add_argument("--record", action="store_true", help="record again")
    parser.add_argument("--costs", action="store_true", help="costs at 3 million rows alone")
    given = parser.parse_args()
    if unknown := set(given.parts) - set(recorded.PARTS):
        parser.error(f"unknown part {', '.join(unknown)}; parts: {', '.join(recorded.PARTS)}")
    if given.costs:
        return costs.main(record=given.record)
    parts = given.parts or recorded.PARTS
    recorded.recording.update(parts if given.record else ())
    outcomes, text = Outcomes(), io.StringIO()
    here = Path(__file__).parent
    started = here.parent / "predictions" / "test_golden_engines.py"
    tests = [f"{here / 'test_golden.py'}::test_{part}" for part in parts]
    tests += [f"{started}::test_{part}" for part in parts if part in recorded.BY_ENGINE]
    with contextlib.redirect_stdout(text):
        code = pytest.main(["-q", "-p", "no:cacheprovider", *tests], plugins=[outcomes])
    if not recorded.seen:
        _print(text.getvalue())
    for part in parts:
        _report(part, outcomes)
    return int(code)


def _report(part: str, outcomes: Outcomes) -> None:
    """Print the line of a part, its first differences and what was skipped."""
    lines = recorded.different.get(part, [])
    if part in recorded.recording:
        recorded.write(part)
    state = "recorded" if part in recorded.recording else "same"
    state = f"{len(lines)} differ" if lines else state
    errors = outcomes.errors.get(part, [])
    state += f", {len(errors)} tests failed" if errors else ""
    _print(f"{part:12} {recorded.seen.get(part, 0):7,} values  {state}")
    for line in [*lines[:_SHOWN], *errors[:_SHOWN]]:
        _print(f"    {line}")
    for reason, count in outcomes.skipped.get(part, Counter()).items():
        _print(f"    {count} skipped: {reason}")


def _print(line: str) -> None:
    sys.stdout.write(f"{line}\n")


if __name__ == "__main__":
    sys.exit(main())
