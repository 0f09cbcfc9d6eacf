"""Logs of judges: JSON lines, and logs that a real Inspect wrote.

``data/inspect_0.3.285.eval`` and ``.json.gz`` are what Inspect 0.3.285 wrote, with ``log_format``
eval and json (the latter packed by gzip), of a task of three samples and two epochs. Its solver
sets an output without calling a model; its scorers are Inspect's own ``match`` and ``quality``,
which returns 0.9 where the output is the target, 0.2 where it is not, and None for the third
sample.
"""

import json
import zipfile
import zlib
from io import BytesIO
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pytest
from typer.testing import CliRunner

import assay
from assay.cli import app
from assay.errors import InputError
from assay.exchange import Judgement
from assay.exchange.inspect_logs import _counted
from assay.files import LimitError, content

DATA = Path(__file__).parent / "data"
LOGS = [DATA / "inspect_0.3.285.eval", DATA / "inspect_0.3.285.json.gz"]


def lines(folder: Path, *records: Any, name: str = "judge.jsonl") -> Path:
    log = folder / name
    log.write_text("".join(json.dumps(each) + "\n" for each in records))
    return log


def zipped(folder: Path, files: dict[str, Any], how: int = zipfile.ZIP_DEFLATED) -> Path:
    log = folder / "log.eval"
    with zipfile.ZipFile(log, "w", how) as archive:
        for name, held in files.items():
            archive.writestr(name, held if isinstance(held, bytes) else json.dumps(held))
    return log


def sample(id: object, **values: object) -> dict[str, Any]:
    return {"id": id, "epoch": 1, "scores": {name: {"value": it} for name, it in values.items()}}


@pytest.mark.parametrize("log", LOGS, ids=["eval", "json"])
def test_a_real_log_of_inspect_is_read(log: Path) -> None:
    matched = assay.read_judgements(log, scorer="match")
    assert matched.rows == (
        Judgement("page-0", None, 0.5, 2),  # C in one epoch, I in the other
        Judgement("page-1", True, 1.0, 2),
        Judgement("page-2", False, 0.0, 2),
    )
    assert (matched.scorer, matched.notes) == ("match", ())
    scored = assay.read_judgements(log, scorer="quality")
    assert [row.id for row in scored.rows] == ["page-0", "page-1"]
    assert [row.score for row in scored.rows] == pytest.approx([0.55, 0.9])
    assert "2 of 6 samples have no 'quality'" in scored.notes[0]
    with pytest.raises(InputError, match=r"several scorers\n.*match, quality\n.*scorer='match'"):
        assay.read_judgements(log)
    with pytest.raises(InputError, match="did you mean 'match'"):
        assay.read_judgements(log, scorer="matc")
    both = assay.read_judgements(*LOGS, scorer="match")
    assert [row.times for row in both.rows] == [4, 4, 4]


@pytest.mark.parametrize(
    ("value", "counts"),
    [
        ("C", ("yes", 1.0)),
        ("I", ("no", 0.0)),
        ("N", ("no", 0.0)),
        ("P", (None, 0.5)),
        (1, (True, 1.0)),
        (False, (False, 0.0)),
        (0.25, (None, 0.25)),
        ("0.25", (None, 0.25)),
        ("Yes", ("Yes", None)),
    ],
)
def test_a_value_counts_as_inspect_counts_it(value: object, counts: tuple[object, object]) -> None:
    assert _counted(value) == counts


def test_logs_without_summaries_or_unfinished_are_read(tmp_path: Path) -> None:
    one, two = sample("a", judge="C"), sample("b", judge="I")
    journal = {"_journal/start.json": {}, "_journal/summaries/1.json": [one]}
    found = assay.read_judgements(zipped(tmp_path, {**journal, "_journal/summaries/2.json": [two]}))
    assert [(row.id, row.verdict) for row in found.rows] == [("a", True), ("b", False)]
    assert "the run ended as 'started'" in found.notes[0]
    files = {"header.json": {"status": "success"}, "samples/a_epoch_1.json": one}
    found = assay.read_judgements(zipped(tmp_path, {**files, "samples/b_epoch_1.json": two}))
    assert [(row.id, row.verdict) for row in found.rows] == [("a", True), ("b", False)]
    assert found.notes == ()
    parts = sample(7, grade={"tone": 1, "facts": 0.5})
    found = assay.read_judgements(
        zipped(tmp_path, {"header.json": {}, "summaries.json": [parts]}), scorer="grade.facts"
    )
    assert found.rows == (Judgement(7, None, 0.5, 1),)


def test_lines_of_any_judge_are_read(tmp_path: Path) -> None:
    log = lines(
        tmp_path,
        {"id": 1, "verdict": "yes", "score": 0.9, "model": "x"},
        {"id": 2, "verdict": False},
        {"id": 1, "verdict": "no", "score": 0.4},
        {"id": 1, "verdict": "yes", "score": None},
        {"id": 3, "score": 0.7},
        {"id": 4, "verdict": "?"},
    )
    found = assay.read_judgements(log)
    assert found.rows == (
        Judgement(1, True, 0.65, 3),
        Judgement(2, False, 0.0, 1),
        Judgement(3, None, 0.7, 1),
        Judgement(4, None, None, 1),
    )
    assert str(found) == "4 items with judgements: 1 yes, 1 no, 2 without a verdict"
    frame = found.to_frame(backend="polars")
    assert frame.schema["id"] == pl.Int64
    assert frame["verdict"].to_list() == [True, False, None, None]
    said = {"verdict": 1}
    mixed = lines(tmp_path, {"id": 7, **said}, {"id": "7", **said}, {"id": "x", **said})
    assert [row.id for row in assay.read_judgements(mixed).rows] == ["7", "x"]
    other = lines(tmp_path, {"item": "a", "said": "PASS"}, {"item": "b", "said": "fail"})
    named: dict[str, Any] = {"id_column": "item", "verdict_column": "said"}
    found = assay.read_judgements(other, **named, map={"pass": "yes", "fail": "no"})
    assert [row.verdict for row in found.rows] == [True, False]
    with pytest.raises(InputError, match=r"2 judgements .*\n.*line 1: 'PASS' is not an answer"):
        assay.read_judgements(other, **named)


def test_other_zips_and_bombs_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InputError, match="is a zip file, but not a log of Inspect"):
        assay.read_judgements(zipped(tmp_path, {"a.txt": b"x"}))
    log = zipped(tmp_path, {"header.json": {}, "summaries.json": b" " * 10_000})
    monkeypatch.setattr(content, "MOST_BYTES", 5_000)
    with pytest.raises(LimitError, match="has more than 5,000 bytes"):
        assay.read_judgements(log)
    monkeypatch.setattr("assay.exchange.inspect_logs._MOST_FILES", 1)
    with pytest.raises(LimitError, match="more than 1 files"):
        assay.read_judgements(log)
    with pytest.raises(InputError, match="unusual way"):
        monkeypatch.undo()
        assay.read_judgements(zipped(tmp_path, {"header.json": {}}, zipfile.ZIP_BZIP2))


def by_zstd(data: bytes, says: int | None = None) -> bytes:
    """Return a zip whose one file Zstandard compressed; Python before 3.14 writes none."""
    packed = pa.compress(data, codec="zstd", asbytes=True)
    file = BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("header.json", packed)
    made = bytearray(file.getvalue())
    entry = made.index(b"PK\x01\x02")
    made[entry + 10 : entry + 12] = (93).to_bytes(2, "little")
    made[entry + 16 : entry + 20] = zlib.crc32(data).to_bytes(4, "little")
    made[entry + 24 : entry + 28] = (says or len(data)).to_bytes(4, "little")
    return bytes(made)


def test_what_zstandard_compressed_is_bounded_and_checked() -> None:
    def read(zipped: bytes, most: int = 10**6) -> list[tuple[str, bytes]]:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(content, "MOST_BYTES", most)
            everything = content.unzip_each(content.Content(zipped), lambda _: True, zstd=True)
            return list(everything)

    whole = by_zstd(b"a" * 5000)
    assert read(whole) == [("header.json", b"a" * 5000)]
    with pytest.raises(LimitError):  # whatever it says of itself
        read(by_zstd(b"a" * 5000, says=10), most=4999)
    with pytest.raises(InputError, match="unusual way"):
        content.unzip(content.Content(whole), "")
    packed = pa.compress(b"a" * 5000, codec="zstd", asbytes=True)
    at = whole.index(packed)
    for place in range(at, at + len(packed)):
        wrong = bytearray(whole)
        wrong[place] ^= 0x55
        try:
            assert read(bytes(wrong)) == [("header.json", b"a" * 5000)]  # a flag that says nothing
        except InputError as error:
            assert "cannot be read" in str(error)


def test_the_command_writes_a_table_that_can_be_joined(tmp_path: Path) -> None:
    for ending in ("parquet", "csv", "jsonl"):
        out = tmp_path / f"judged.{ending}"
        words = ["judge", "--log", str(LOGS[0]), "--scorer", "match", "-o", str(out)]
        done = CliRunner().invoke(app, words)
        assert done.exit_code == 0, done.output
        assert "3 items with judgements of match: 1 yes, 1 no, 1 without a verdict" in done.output
    pages = {"id": ["page-0", "page-1", "page-2", "page-3"], "p": [0.9, 0.8, 0.3, 0.2]}
    pl.DataFrame(pages).write_parquet(tmp_path / "pages.parquet")
    joined = (
        f"SELECT p.*, j.score AS judge FROM '{tmp_path}/pages.parquet' AS p "
        f"LEFT JOIN '{tmp_path}/judged.parquet' AS j USING (id)"
    )
    campaign = assay.create_campaign(
        joined, id="id", score="p", threshold=0.5, aux=["judge"], metric="accuracy", budget=4
    )
    campaign.tell({item.id: item.id in ("page-0", "page-1") for item in campaign.ask(4)})
    quality = campaign.judge("judge", at=0.6)
    assert (quality.with_verdict, quality.share) == (3, 0.75)
    assert (quality.sensitivity.value, quality.specificity.value) == (0.5, 1.0)
    again = CliRunner().invoke(app, [*words, "--json"])
    assert again.exit_code == 1
    assert "already exists" in again.output
    wrong = CliRunner().invoke(
        app, ["judge", "--log", str(LOGS[0]), "-o", str(tmp_path / "x.json")]
    )
    assert ".parquet, .csv, .jsonl" in wrong.output
    told = CliRunner().invoke(app, [*words[:-1], str(tmp_path / "more.csv"), "--json"])
    assert json.loads(told.output)["verdicts"] == {"yes": 1, "no": 1, "without": 1}
    several = CliRunner().invoke(
        app, ["judge", "--log", str(LOGS[0]), "-o", str(tmp_path / "y.csv")]
    )
    assert "--scorer match" in several.output


def test_tables_of_verdicts_are_read(tmp_path: Path) -> None:
    """An empty verdict is none; cells that a spreadsheet must not run are read as they were."""
    rows = {"item": ["a", "-5", "c"], "verdict": ["yes", "no", ""], "score": [0.9, None, None]}
    pl.DataFrame(rows).write_parquet(tmp_path / "judged.parquet")
    (tmp_path / "judged.csv").write_text("item;verdict;score\na;yes;0.9\n'-5;no;\nc;;\n")
    for file in ("judged.parquet", "judged.csv"):
        found = assay.read_judgements(tmp_path / file, id_column="item")
        assert found.rows == (
            Judgement("a", True, 0.9, 1),
            Judgement("-5", False, 0.0, 1),
            Judgement("c", None, None, 1),
        )
    with pytest.raises(InputError, match=r"line 2: 'id' is missing; it has 'item', 'verdict'"):
        assay.read_judgements(tmp_path / "judged.csv")
    with pytest.raises(InputError, match=r"applies only to logs of Inspect, and .* has a table"):
        assay.read_judgements(tmp_path / "judged.csv", id_column="item", scorer="match")
    (tmp_path / "broken.parquet").write_bytes(b"PAR1")
    with pytest.raises(InputError, match=r"broken\.parquet cannot be read"):
        assay.read_judgements(tmp_path / "broken.parquet")
