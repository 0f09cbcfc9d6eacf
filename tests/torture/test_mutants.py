"""Whatever a sealed bundle says, `verify` ends with a finding or an error, in a gigabyte."""

import json
import pickle
from collections import Counter
from pathlib import Path

import pytest

import assay
from assay.storage import open_store
from tests.audit.zips import members
from tests.kinds import KINDS, followed, revised, weighted
from tests.torture.mutants import verify_all
from tests.torture.processes import begin
from tests.torture.sizes import FULL, report, sized

MUTANTS = sized(45, 2_000)
BOMBS = slice(0, sized(2, 1_000))


@pytest.mark.filterwarnings("ignore::assay.AssayWarning")
def test_resealed_bundles_end_with_a_finding_or_an_error(tmp_path: Path) -> None:
    originals = {}
    for kind in KINDS if FULL else (followed, revised, weighted):
        url = f"sqlite:///{tmp_path / kind.__name__}.db"
        kind(url)
        with open_store(url).read() as session:
            *_, name = session.names()
        assay.load_campaign(name, storage=url).bundle(tmp_path / "audit.zip")
        originals[kind.__name__] = members(tmp_path / "audit.zip")
    pickled, told = tmp_path / "originals", tmp_path / "told"
    pickled.write_bytes(pickle.dumps(originals))
    process = begin(verify_all, str(pickled), str(told), range(MUTANTS), BOMBS)
    process.join()
    every = [json.loads(line) for line in told.read_text().splitlines()]
    became = Counter(each for _, _, each, _ in every)
    slowest = max(every, key=lambda each: each[-1])
    report(f"{len(every):,} sealed bundles: {dict(became)}; the slowest {slowest}")
    assert process.exitcode == 0
    assert set(became) <= {"finding", "error"}, [
        each for each in every if each[2] not in ("finding", "error")
    ]
    assert len(every) > 0.9 * MUTANTS
