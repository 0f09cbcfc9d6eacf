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
from assay.exchange import content as zips
from assay.exchange.content import LimitError
from tests.audit.zips import members, sealed
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


TAMPERED: dict[str, tuple[Tamper, str]] = {
    "an answer": (
        replaced("events.jsonl", '"answer": "yes"', '"answer": "no"'),
        r"events\.jsonl, line \d+ \(item '\d+'\), chain: .* 2\d more such",
    ),
    "an answer and its item": (
        replaced("events.jsonl", '"answer": "yes"', '"answer": "no"'),
        r"cards\.csv, row \d+ \(item '\d+'\), answer: 'yes' is written, and 'no' follows",
    ),
    "an answer and the estimate": (
        replaced("events.jsonl", '"answer": "yes"', '"answer": "no"'),
        r"estimate\.json, precision, value: 0\.\d+ is written, and 0\.\d+ follows",
    ),
    "no answer": (replaced("events.jsonl", '"yes"', '"maybe"'), "says 'maybe', which is no answer"),
    "an event gone": (
        without_line("events.jsonl", 5),
        r"events\.jsonl, line 6 \(item '\d+'\), number: 7 is written, and 6 follows; 2\d more",
    ),
    "the last event": (
        without_line("events.jsonl", -1),
        r"manifest\.json, log, labels: 30 is written, and 29 follows",
    ),
    "two events": (two_lines_swapped, r"events\.jsonl, line 4 .*, number: 5 is written, and 4"),
    "a time": (replaced("events.jsonl", '"time": "20', '"time": "19'), r"line 1 .*, chain"),
    "a reviewer": (replaced("events.jsonl", "reviewer 01", "reviewer 02"), r"line 1 .*, chain"),
    "late": (replaced("events.jsonl", '"late": false', '"late": true'), r"line 1 .*, chain"),
    "a field": (replaced("events.jsonl", '"late"', '"latest"'), "line 1 has the fields number, "),
    "a word": (replaced("events.jsonl", "false", "0"), "line 1: late is '0', which is no bool"),
    "an item": (replaced("events.jsonl", r'"item": "\d+"', '"item": "9999"'), "nobody was asked"),
    "a size": (replaced("strata.csv", r"1,(\d+),", "1,7,"), "stratum 0 has 7 items, and"),
    "a size in the settings": (
        replaced("settings.json", r'"sizes": \[\s+\d+', '"sizes": [7'),
        r"stratum 0 has \d+ items, and 7 in the settings",
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
    "a prediction": (replaced("cards.csv", r'",1,', '",0,'), "0 was predicted of it"),
    "a place": (replaced("cards.csv", r"\n1,0,", "\n1,x,"), "position is 'x', which is no whole"),
    "a card gone": (without_line("cards.csv", 1), "place 0 is empty"),
    "a column": (replaced("cards.csv", '"position"', '"place"'), "has no column 'position'"),
    "a round": (replaced("rounds.json", r"\d+", "9"), "were dealt"),
    "a round's strata": (replaced("rounds.json", r"\d+,", ""), r"round 0 is of \["),
    "rounds": (replaced("rounds.json", r"\[", "{"), r"rounds\.json is no JSON"),
    "a key twice": (
        replaced("settings.json", '"seed": 6', '"seed": 7, "seed": 6'),
        r"settings\.json is no JSON: the key 'seed' is there twice",
    ),
    "a key of a label twice": (
        replaced("events.jsonl", '"answer": "yes"', '"answer": "no", "answer": "yes"'),
        r"events\.jsonl, line \d+ is no JSON: the key 'answer' is there twice",
    ),
    "a stratum's number": (
        replaced("settings.json", r'("owner": \[\s*)0', r"\g<1>10000000000"),
        "owners of the intervals are",
    ),
    "the seed": (replaced("settings.json", '"seed": 6', '"seed": 7'), "comes after its turn"),
    "no seed": (replaced("settings.json", '"seed": 6', '"seed": -1'), r"seed -\d cannot be used"),
    "the goal": (
        replaced("settings.json", '"confidence": 0.95', '"confidence": 0.9'),
        r"estimate\.json, precision, high",
    ),
    "the metric": (replaced("settings.json", "precision", "accuracies"), "cannot be read"),
    "the fingerprint": (
        replaced("settings.json", r'"fingerprint": "', '"fingerprint": "x'),
        r"manifest\.json, predictions, fingerprint",
    ),
    "a bit": (another_bit, r"estimate\.json, precision, low: 0\.\d+ is written, and 0\.\d+"),
    "some bits": (
        replaced("estimate.json", r'"value": "0x1\.....', '"value": "0x1.aaaa'),
        r"estimate\.json, precision, hex, value",
    ),
    "spaces": (replaced("estimate.json", "\n ", "\n  "), "says the same in other bytes"),
    "the program": (replaced("recompute.py", "return 0", "return 1"), r"recompute\.py is not"),
    "the text": (replaced("README.txt", "audit.zip", "other.zip"), r"README\.txt is not"),
    "bytes": (lambda files: files.update({"cards.csv": b"\xff"}), "is not UTF-8 text"),
    "a file": (lambda files: files.update({"evil.sh": b"rm"}), r"evil\.sh does not belong"),
    "no file": (without_file("estimate.json"), r"estimate\.json is missing"),
    "no cards": (without_file("cards.csv"), r"cards\.csv is missing"),
    "the report": (
        replaced("report.json", r'"labels": \d+', '"labels": 999'),
        r"report\.json, metrics, precision, labels: 999 is written, and 28 follows",
    ),
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
    TAMPERED[name][0](files)
    assert any("sealed: " in each for each in checked(packed(files), tmp_path))


OTHERS: dict[Callable[[str], None], tuple[Tamper, str]] = {
    several: (replaced("events.jsonl", '"answer": "yes"', '"answer": "no"'), ", chain: "),
    team: (replaced("events.jsonl", '"ruling": true', '"ruling": false'), ", chain: "),
    weighted: (
        replaced("cards.csv", r'(0,0,"\d+",1,\d+)\d,', r"\g<1>,"),
        r"cards\.csv, row 1 .*, probability|comes after its turn",
    ),
    sliced: (replaced("columns.jsonl", '"de"', '"fr"'), r"report\.json, slices"),
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
    other = {**original, "manifest.json": json.dumps({**manifest, "format_version": 4}).encode()}
    bare = {name: content for name, content in original.items() if name != "manifest.json"}
    for content, message in (
        (b"id,label\n", "is no zip"),
        (good[:-30], "cannot be read"),
        (good[:1000], "cannot be read"),
        (packed({}), "is no audit bundle"),
        (packed(bare), "is no audit bundle"),
        (packed({**bare, "manifest.json": b"[]"}), "is no audit bundle"),
        (packed({**bare, "manifest.json": b"{"}), "is no JSON"),
        (packed({**bare, "manifest.json": b"[" * 200_000}), "is no JSON"),
        (sealed(other), r"format version 4, and this Assay reads versions up to 3(.|\n)*assay \d"),
    ):
        with pytest.raises(assay.InputError, match=message):
            checked(content, tmp_path)
    with pytest.raises(assay.InputError, match="cannot be read: No such file"):
        assay.verify_bundle(tmp_path / "nothing.zip")


def test_a_bomb_is_not_unpacked(
    original: Files, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(zips, "MOST_BYTES", 1_000_000)
    with pytest.raises(LimitError, match="more than 1,000,000 bytes, and is not unpacked"):
        checked(sealed({**original, "bomb": bytes(2_000_000)}), tmp_path)


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_a_name_of_two_files_is_found(original: Files, tmp_path: Path) -> None:
    data = BytesIO(sealed(original))
    with zipfile.ZipFile(data, "a") as archive:
        archive.writestr("cards.csv", original["cards.csv"])
    assert any(
        "cards.csv is there more than once" in each for each in checked(data.getvalue(), tmp_path)
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
    **{name: TAMPERED[name] for name in ("a bit", "the report", "the text")},
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


def test_whatever_bytes_are_changed_nothing_breaks(original: Files, tmp_path: Path) -> None:
    """Files with a byte that is another, each sealed again: a finding, never a traceback.

    Bytes that only part words in a file of JSON may change without another meaning.
    """
    rng = np.random.default_rng(8)
    names = [name for name in original if name != "manifest.json"]
    for _ in range(25):
        name = names[rng.integers(len(names))]
        content = bytearray(original[name])
        place = int(rng.integers(len(content)))
        content[place] = int(rng.choice([content[place] ^ 1, 0, 34, 48, 255]))
        if bytes(content) != original[name]:
            assert checked(sealed({**original, name: bytes(content)}), tmp_path), (name, place)
