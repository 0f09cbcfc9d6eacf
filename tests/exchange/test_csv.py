"""Labels out and in again: exact, all or nothing, and harmless in a spreadsheet."""

import csv
import io
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.campaign.exchange import Imported, import_labels, labels_sheet, write_batch
from assay.core.answers import Answer, answers_to
from assay.core.deck import Id
from assay.errors import AssayError, InputError, LabelConflictError, LabelError
from assay.exchange import Sheet
from tests.exchange.campaigns import campaign_of

# Half a surrogate pair is not text, and no id; an id with a NUL is refused, as a test below says.
texts = st.text(alphabet=st.characters(codec="utf-8", exclude_characters="\0"), max_size=6)
awkward = st.sampled_from(["007", "NA", "", "-5", "'x", "''", "=1+1", "@a", "\t", "\r\n", '"', ","])
string_ids = st.lists(st.one_of(texts, awkward), min_size=1, max_size=12, unique=True)
integer_ids = st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1, max_size=12, unique=True)
DANGEROUS = ("=", "+", "-", "@", "\t", "\r")


def written(folder: Path, text: str) -> Path:
    file = folder / "labels.csv"
    file.write_bytes(text.encode())
    return file


@settings(max_examples=25)
@given(st.one_of(string_ids, integer_ids), st.data())
def test_round_trip_is_exact(ids: Sequence[Id], data: st.DataObject) -> None:
    answers = {id: data.draw(st.sampled_from(answers_to())) for id in ids}
    source, target = campaign_of(ids), campaign_of(ids)
    source.tell(answers, reviewer="=cmd()")
    with TemporaryDirectory() as folder:
        file = written(Path(folder), labels_sheet(source).to_csv().decode())
        result = import_labels(target, file)
        again = import_labels(target, file)
    assert target.answers() == source.answers() == answers
    assert result == Imported(new=len(ids), revised=0, unchanged=0, without_label=0)
    assert again == Imported(new=0, revised=0, unchanged=len(ids), without_label=0)
    assert len(target.events()) == len(ids)


@given(st.lists(st.tuples(texts, texts), max_size=5))
def test_no_cell_begins_like_a_formula(rows: list[tuple[str, str]]) -> None:
    def check(sheet: str) -> None:
        cells = [cell for row in csv.reader(io.StringIO(sheet, newline="")) for cell in row]
        assert not any(cell.startswith(DANGEROUS) for cell in cells)

    check(Sheet(("=id", "label"), tuple(rows)).to_csv().decode())
    with pytest.raises(AssertionError):
        check("id,label\r\n=1+1,yes\r\n")


def test_shown_columns_keep_away_from_those_that_are_read() -> None:
    names = ["label", "shown label", "reviewer", "id2", "ruling"]
    columns = {name: ["true"] for name in names}
    campaign = campaign_of(["a"], columns)
    sheet = write_batch(campaign, 1).sheet
    assert len(set(sheet.columns)) == len(sheet.columns)
    assert {"reviewer", "ruling"}.isdisjoint(sheet.columns)
    filled = sheet.to_csv().decode().replace("true,\r\n", "true,yes\r\n")
    import_labels(campaign, filled.encode())
    assert [(event.reviewer, event.ruling) for event in campaign.events()] == [("", False)]


def test_rows_without_a_label_are_left_out_and_counted(tmp_path: Path) -> None:
    campaign = campaign_of(["a", "b", "c"])
    file = written(tmp_path, "id,label\na,yes\n\nb,\nc,  \n")
    assert import_labels(campaign, file) == Imported(1, 0, 0, 2)
    assert campaign.answers() == {"a": Answer.YES}


def test_a_spreadsheets_byte_order_mark_and_column_order_do_not_matter(tmp_path: Path) -> None:
    campaign = campaign_of([5])
    file = written(tmp_path, "\ufeffverdict,note,item\nTRUE,x,5\n")
    import_labels(campaign, file, id_column="item", label_column="verdict", reviewer="ann")
    assert campaign.answers() == {5: Answer.YES}
    assert campaign.events()[0].reviewer == "ann"


def test_texts_longer_than_the_csv_modules_limit_are_read(tmp_path: Path) -> None:
    limit = csv.field_size_limit()
    campaign = campaign_of(["a"])
    file = written(tmp_path, f"id,label,text\na,yes,{'x' * (limit + 1)}\n")
    assert import_labels(campaign, file).new == 1
    assert csv.field_size_limit() == limit


def test_an_error_about_many_rows_or_a_long_text_is_short() -> None:
    campaign, long = campaign_of(["a"]), "x" * 900_000
    rows = "".join(f"{number},perhaps\n" for number in range(9))
    with pytest.raises(LabelError) as many:
        import_labels(campaign, f"id,label\n{rows}".encode())
    assert many.value.problem.startswith("9 rows of ")
    assert many.value.details.splitlines()[-1] == "and 6 more"
    for content, message in (
        (f"id,label\na,{long}\n", "line 2: 'xxx.* is not an answer"),
        (f"{long},id\na,yes\n", "has no column 'label'"),
        (f'{{"{long}": 1}}', "line 1: 'id' is missing"),
    ):
        with pytest.raises(InputError, match=message) as caught:
            import_labels(campaign, content.encode())
        assert len(str(caught.value)) < 1000


@pytest.mark.parametrize("id", ["x", "1.5", "007", "1_000", "٣", "9" * 5000, ""])
def test_ids_that_are_no_whole_numbers_are_refused(id: str, tmp_path: Path) -> None:
    with pytest.raises(LabelError, match=r"line 2: .* is not a whole number"):
        import_labels(campaign_of([1, 7, 1000, 3]), written(tmp_path, f"id,label\n{id},yes\n"))


def test_a_label_that_differs_is_refused_unless_revised(tmp_path: Path) -> None:
    campaign = campaign_of(["a", "b"])
    campaign.tell({"a": "yes", "b": "yes"})
    file = written(tmp_path, "id,label\na,no\nb,yes\n")
    with pytest.raises(LabelConflictError, match="line 2: 'a' is 'no' here and was 'yes'"):
        import_labels(campaign, file)
    assert campaign.answers()["a"] is Answer.YES
    assert import_labels(campaign, file, revise=True) == Imported(0, 1, 1, 0)
    assert campaign.answers() == {"a": Answer.NO, "b": Answer.YES}


@settings(max_examples=40)
@given(st.binary(max_size=80))
def test_any_bytes_are_labels_or_an_assay_error(content: bytes) -> None:
    campaign = campaign_of(["a", "b"])
    for start in (b"", b"id,label\n"):
        with TemporaryDirectory() as folder:
            file = Path(folder) / "any.csv"
            file.write_bytes(start + content)
            try:
                import_labels(campaign, file)
            except AssayError:
                assert campaign.events() == []
