"""Whatever is changed in a bundle is found, and named; also where the digests are made right."""

import json
import re
import zipfile
from collections.abc import Callable
from io import BytesIO
from pathlib import Path

import numpy as np
import pytest

import assay
from assay.audit.bundle import packed
from assay.errors import NAME
from assay.files import LimitError
from assay.files import content as zips
from tests.audit.test_verify import TAMPERED as ALIKE
from tests.audit.zips import members, sealed, stored
from tests.kinds import create, label, several, sliced, team, weighted

Files = dict[str, bytes]
Tamper = Callable[[Files], None]


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Files:
    path = tmp_path_factory.mktemp("bundle") / "audit.zip"
    label(create("sqlite://")).bundle(path)
    return members(path)


def checked(content: bytes, folder: Path) -> tuple[str, ...]:
    path = folder / "audit.zip"
    path.write_bytes(content)
    return assay.verify_bundle(path).findings


def replaced(name: str, old: str, new: str) -> Tamper:
    """Change the first place where a pattern is found."""

    def tamper(files: Files) -> None:
        text, changes = re.subn(old, new, files[name].decode(), count=1)
        assert changes
        files[name] = text.encode()

    return tamper


def without_line(name: str, number: int) -> Tamper:
    def tamper(files: Files) -> None:
        lines = files[name].splitlines(keepends=True)
        del lines[number]
        files[name] = b"".join(lines)

    return tamper


def without_file(name: str) -> Tamper:
    def tamper(files: Files) -> None:
        del files[name]

    return tamper


def two_lines_swapped(files: Files) -> None:
    lines = files["events.jsonl"].splitlines(keepends=True)
    lines[3], lines[4] = lines[4], lines[3]
    files["events.jsonl"] = b"".join(lines)


def another_bit(files: Files) -> None:
    document = json.loads(files["estimate.json"])
    low = document["precision"]["low"]
    document["precision"]["low"] = float(np.nextafter(low, 0))
    files["estimate.json"] = json.dumps(document, indent=1).encode() + b"\n"


# Files that disagree with the store.
WRITTEN: dict[str, tuple[Tamper, str]] = {
    "an answer": (
        replaced("events.jsonl", '"answer": "yes"', '"answer": "no"'),
        r"events\.jsonl, line \d+ \(item '\d+'\), answer: 'no' is written, and 'yes' follows",
    ),
    "an event gone": (
        without_line("events.jsonl", 5),
        r"events\.jsonl, line 6 \(item '\d+'\), number: 7 is written, and 6 follows; 2\d more",
    ),
    "the last event": (without_line("events.jsonl", -1), r"line 30.*: nothing is written"),
    "two events": (two_lines_swapped, r"events\.jsonl, line 4 .*, number: 5 is written, and 4"),
    "a link": (replaced("events.jsonl", '"chain": "', '"chain": "0'), r"line 1 .*, chain"),
    "a word": (replaced("events.jsonl", "false", "0"), "late: 0 is written, and False follows"),
    "a key of a label twice": (
        replaced("events.jsonl", '"answer": "yes"', '"answer": "no", "answer": "yes"'),
        r"events\.jsonl cannot be read: the key 'answer' occurs twice",
    ),
    "a count": (
        replaced("strata.csv", r"\d+,(\d+)\n", r"99,\1\n"),
        r"strata\.csv, row 1, yes: '99' is written, and '\d+' follows",
    ),
    "a number": (
        replaced("cards.csv", r'(0,0,"\d+",1,"",)\d+', r"\g<1>5"),
        r"cards\.csv, row 1 \(item '\d+'\), number: '5' is written, and '\d{15,}' follows",
    ),
    "a probability": (
        replaced("cards.csv", r"0\.\d+", "0.5"),
        r"cards\.csv, row 1 .*, probability: '0\.5' is written, and '0\.\d+' follows",
    ),
    "a card gone": (without_line("cards.csv", 1), r"cards\.csv, row 1 .*, item"),
    "a column": (replaced("cards.csv", '"position"', '"place"'), "position: nothing is written"),
    "a round": (replaced("rounds.json", r"\d+", "9"), r"rounds\.json, number 1, number 1: 9 is"),
    "rounds": (replaced("rounds.json", r"\[", "{"), r"rounds\.json cannot be read"),
    "the seed": (replaced("settings.json", '"seed": 6', '"seed": 7'), r"settings\.json, seed: 7"),
    "a bit": (another_bit, r"estimate\.json, precision, low: 0\.\d+ is written, and 0\.\d+"),
    "some bits": (
        replaced("estimate.json", r'"value": "0x1\.....', '"value": "0x1.aaaa'),
        r"estimate\.json, precision, hex, value",
    ),
    "spaces": (replaced("estimate.json", "\n ", "\n  "), "says the same in other bytes"),
    "the program": (replaced("recompute.py", "return 0", "return 1"), r"recompute\.py is not"),
    "the text": (replaced("README.txt", "audit.zip", "other.zip"), r"README\.txt is not"),
    "bytes": (lambda files: files.update({"cards.csv": b"\xff"}), r"cards\.csv cannot be read"),
    "a file": (lambda files: files.update({"evil.sh": b"rm"}), r"evil\.sh does not belong"),
    "no file": (without_file("estimate.json"), r"estimate\.json is missing"),
    "the report": (
        replaced("report.json", r'"labels": \d+', '"labels": 999'),
        r"report\.json, metrics, precision, labels: 999 is written, and 28 follows",
    ),
    "the log's length": (
        replaced("manifest.json", '"labels": 30', '"labels": 29'),
        r"manifest\.json, log, labels: 29 is written, and 30 follows",
    ),
}


def settings(old: str, new: str) -> Tamper:
    """Change a text of the settings in the store."""
    return stored(f"UPDATE campaign SET settings = replace(settings, '{old}', '{new}')")


# What is wrong in the store itself.
STORED: dict[str, tuple[Tamper, str]] = {
    "an answer": (
        stored("UPDATE label_event SET answer = iif(answer = 'no', 'yes', 'no') WHERE id = 3"),
        r"chain is whole: label 3 of item '\d+' does not follow from label 2",
    ),
    "a label gone": (stored("DELETE FROM label_event WHERE id = 5"), "not numbered from 1 on"),
    "a key": (stored("UPDATE label_event SET submit_key = 'k' WHERE id = 1"), "or have keys"),
    "a card more": (
        stored("INSERT INTO item SELECT 1, 0, 900, 'more', 1, '{}', NULL"),
        r"item 'more' lies at place 900 of stratum 0, of which \d+ were dealt",
    ),
    "no seed": (settings('"seed": 6', '"seed": -1'), "not follow from the campaign's settings"),
    "a key twice": (settings('"seed": 6', '"seed": 7, "seed": 6'), "'seed' occurs twice"),
    "a stratum's number": (settings('"owner": [0', '"owner": [10000000000'), "owners of the"),
    "the metric": (settings("precision", "accuracies"), "settings in campaign.db cannot be read"),
    "spaces": (
        settings(", ", ",  "),
        "settings in campaign.db differ from those that this version",
    ),
    "a name": (stored("UPDATE campaign SET name = 'other'"), "from those that this version"),
    "another campaign": (
        stored("INSERT INTO campaign SELECT 2, 'b', created_at, settings FROM campaign"),
        "has 2 campaigns; a bundle has one",
    ),
    "a token": (
        stored("INSERT INTO token VALUES (1, 'campaign', 'owner', 'zoe', '0', '2026', NULL)"),
        "has rows of table token",
    ),
    "another schema": (
        stored("UPDATE assay_schema SET version = 6"),
        "does not have schema version 5",
    ),
    "a trigger": (
        stored("CREATE TRIGGER evil AFTER INSERT ON item BEGIN DELETE FROM label_event; END"),
        "holds the trigger 'evil'",
    ),
    "a view": (stored("CREATE VIEW evil AS SELECT * FROM item"), "holds the view 'evil'"),
    "a view for a table": (
        stored("DROP TABLE claim", "CREATE VIEW claim AS SELECT * FROM token"),
        "unlike a storage of Assay",
    ),
    "a table more": (stored("CREATE TABLE evil (a)"), "holds the table 'evil'"),
    "a table gone": (stored("DROP TABLE token"), "has no .* unlike a storage of Assay"),
    "an index": (stored("CREATE INDEX evil ON item (hex(shown))"), "holds the index 'evil'"),
    "a column": (stored("ALTER TABLE item ADD COLUMN evil AS (hex(shown))"), "the table 'item' of"),
    "a text for a number": (
        stored("UPDATE stratum SET size = 'many' WHERE number = 0"),
        r"campaign\.db, stratum, row 1: size is 'many', not of type int",
    ),
    "bytes for a text": (
        stored("UPDATE label_event SET comment = x'00' WHERE id = 2"),
        r"campaign\.db, label_event, row 2: comment is .*, not of type str",
    ),
    "a number for a truth": (stored("UPDATE label_event SET late = 2"), "late is '2', not of type"),
    "a text that is none": (
        stored("UPDATE label_event SET answer = CAST(x'ff' AS TEXT) WHERE id = 1"),
        r"campaign\.db cannot be read: .*UTF-8",
    ),
    "no database": (lambda files: files.update({"campaign.db": b"SQLite"}), r"campaign\.db cannot"),
    "half of it": (
        lambda files: files.update({"campaign.db": files["campaign.db"][:40_960]}),
        r"campaign\.db (cannot be read|is damaged)",
    ),
    "no store": (without_file("campaign.db"), r"campaign\.db is missing"),
}
TAMPERED = {
    **{f"{name}, written": each for name, each in WRITTEN.items()},
    **{f"{name}, stored": each for name, each in STORED.items()},
    **{f"{name}, too": (stored(*how), right) for name, (how, right) in ALIKE.items()},
}


@pytest.mark.parametrize("name", TAMPERED)
def test_what_was_changed_is_named(name: str, original: Files, tmp_path: Path) -> None:
    tamper, right = TAMPERED[name]
    files = dict(original)
    tamper(files)
    findings = checked(sealed(files), tmp_path)
    assert any(re.search(right, each) for each in findings), findings


def test_without_a_change_nothing_is_found(original: Files, tmp_path: Path) -> None:
    assert checked(sealed(original), tmp_path) == checked(packed(original), tmp_path) == ()


@pytest.mark.parametrize("name", ["an answer", "a bit", "the program", "a file", "no file"])
def test_a_digest_that_was_not_made_right_is_found(
    name: str, original: Files, tmp_path: Path
) -> None:
    files = dict(original)
    WRITTEN[name][0](files)
    assert any("sealed: " in each for each in checked(packed(files), tmp_path))


OTHERS: dict[Callable[[str], None], tuple[Tamper, str]] = {
    several: (stored("UPDATE label_event SET answer = 'no'"), "does not follow"),
    team: (stored("UPDATE label_event SET ruling = 0 WHERE ruling"), "does not follow"),
    weighted: (stored("UPDATE item SET weight = weight / 10 + 1"), r"of stratum \d+ weigh"),
    sliced: (replaced("columns.jsonl", '"de"', '"fr"'), r"columns\.jsonl, line .*'fr' is written"),
}


@pytest.mark.parametrize("make", OTHERS, ids=lambda make: make.__name__)
def test_changes_in_other_kinds_are_found(make: Callable[[str], None], tmp_path: Path) -> None:
    tamper, right = OTHERS[make]
    url = f"sqlite:///{tmp_path / 'a.db'}"
    make(url)
    assay.load_campaign(storage=url).bundle(tmp_path / "audit.zip")
    files = members(tmp_path / "audit.zip")
    assert checked(sealed(files), tmp_path) == ()
    tamper(files)
    findings = checked(sealed(files), tmp_path)
    assert any(re.search(right, each) for each in findings), findings


def test_what_is_no_bundle_is_refused(original: Files, tmp_path: Path) -> None:
    good = sealed(original)
    manifest = json.loads(original["manifest.json"])
    old, new = (
        sealed({**original, "manifest.json": json.dumps({**manifest, **each}).encode()})
        for each in ({"format_version": 3, "versions": {"assay": "0.1.0"}}, {"format_version": 5})
    )
    bare = {name: content for name, content in original.items() if name != "manifest.json"}
    for content, message in (
        (b"id,label\n", "is not a zip"),
        (good[:-30], "cannot be read"),
        (good[:1000], "cannot be read"),
        (packed({}), "is not an audit bundle"),
        (packed(bare), "is not an audit bundle"),
        (packed({**bare, "manifest.json": b"[]"}), "is not an audit bundle"),
        (packed({**bare, "manifest.json": b"{"}), "is not JSON"),
        (packed({**bare, "manifest.json": b"[" * 200_000}), "is not JSON"),
        (old, rf"format version 3, and this Assay reads version 4\n.*pip install {NAME}==0\.1\.0"),
        (new, "format version 5, and this Assay reads version 4"),
    ):
        with pytest.raises(assay.InputError, match=message):
            checked(content, tmp_path)
    with pytest.raises(assay.InputError, match="cannot be read: No such file"):
        assay.verify_bundle(tmp_path / "nothing.zip")


def test_a_bomb_is_not_unpacked(
    original: Files, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(zips, "MOST_BYTES", 1_000_000)
    with pytest.raises(
        LimitError, match="more than 1,000,000 bytes when unpacked; nothing was read"
    ):
        checked(sealed({**original, "bomb": bytes(2_000_000)}), tmp_path)


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_a_name_of_two_files_is_found(original: Files, tmp_path: Path) -> None:
    data = BytesIO(sealed(original))
    with zipfile.ZipFile(data, "a") as archive:
        archive.writestr("cards.csv", original["cards.csv"])
    assert any(
        "cards.csv occurs more than once" in each for each in checked(data.getvalue(), tmp_path)
    )


def by_another(files: Files, version: str) -> Files:
    """Return a bundle as another version would write it that words all as this one does."""
    manifest = json.loads(files["manifest.json"])
    ours, manifest["versions"]["assay"] = manifest["versions"]["assay"], version
    readme = files["README.txt"].replace(f"{NAME}=={ours}".encode(), f"{NAME}=={version}".encode())
    report = {**json.loads(files["report.json"]), "assay": version}
    return {
        **files,
        "manifest.json": json.dumps(manifest).encode(),
        "README.txt": readme,
        "report.json": json.dumps(report, indent=2).encode() + b"\n",
    }


def test_another_version_is_worth_a_note(original: Files, tmp_path: Path) -> None:
    path = tmp_path / "audit.zip"
    path.write_bytes(sealed(by_another(original, "0.0.1")))
    found = assay.verify_bundle(path)
    assert found.findings == ()
    assert "assay 0.0.1" in " ".join(note for each in found.checks for note in each.notes)


FORGED: dict[str, tuple[Tamper, str]] = {
    **{name: WRITTEN[name] for name in ("a bit", "the report", "the text")},
    "the program": (
        replaced("recompute.py", "return 0", "return 1"),
        "recompute.py is not what this version of Assay writes; do not run it",
    ),
    "the value": (
        replaced("report.json", r'"value": 0\.\d+', '"value": 0.99'),
        r"report\.json, metrics, precision, value: 0\.99 is written, and 0\.\d+ follows",
    ),
    "a figure as a word": (
        replaced("report.json", r'"size": \d+', '"size": "many"'),
        r"report\.json, strata, number 1, size: 'many' is written",
    ),
    "a word": (replaced("report.json", '"Is ', '"Was '), "the right figures, but other words"),
}


@pytest.mark.parametrize("name", FORGED)
def test_to_say_that_another_version_made_it_hides_nothing(
    name: str, original: Files, tmp_path: Path
) -> None:
    tamper, right = FORGED[name]
    files = by_another(original, "0.0.1")
    tamper(files)
    (finding,) = checked(sealed(files), tmp_path)
    assert re.search(right, finding)


def test_no_command_hides_in_a_version(original: Files, tmp_path: Path) -> None:
    findings = checked(sealed(by_another(original, "0.1; rm -r ~")), tmp_path)
    assert any("README.txt is not" in each for each in findings)
