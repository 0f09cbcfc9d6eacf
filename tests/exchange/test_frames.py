"""Labels in a DataFrame."""

from collections.abc import Callable
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from assay.campaign.exchange import import_labels
from assay.core.answers import Answer
from assay.errors import InputError, LabelError
from tests.exchange.campaigns import campaign_of


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table])
def test_a_table_says_what_its_file_would(make: Callable[..., Any]) -> None:
    campaign = campaign_of(["a", "'=b", "c", "d"])
    cells = {"id": ["a", "'=b", "c"], "label": ["yes", "ham", None], "reviewer": ["ann", "", None]}
    told = import_labels(campaign, make(cells), map={"ham": "no"})
    assert (told.new, told.without_label, told.format) == (2, 1, "jsonl")
    assert campaign.answers() == {"a": Answer.YES, "'=b": Answer.NO}
    assert import_labels(campaign, make({"id": ["d"], "label": [True]})).new == 1
    with pytest.raises(LabelError, match="of the DataFrame cannot be taken"):
        import_labels(campaign, make({"id": ["d"], "label": ["perhaps"]}))


def test_what_is_no_table_is_refused() -> None:
    with pytest.raises(InputError, match="not read from dict"):
        import_labels(campaign_of(["a"]), {"a": "yes"})
