"""How long to torture: a short run with all other tests, the full one with ``make torture``."""

import os
import sys

FULL = os.environ.get("ASSAY_TORTURE") == "1"


def sized(short: int, full: int) -> int:
    """Return how many of something to do."""
    return full if FULL else short


def report(line: str) -> None:
    """Tell what was done, where somebody has asked for the full run."""
    if FULL:
        sys.stdout.write(f"\n  {line}\n")
        sys.stdout.flush()
