"""Files of labels: formats in which items go out to be judged and labels come back."""

from typing import TYPE_CHECKING

from assay.lazy import on_demand

if TYPE_CHECKING:
    from assay.exchange.content import MOST_BYTES, Content, LimitError, Limits, is_zip, unzip
    from assay.exchange.formats import FORMATS, Format, find_format, format_of
    from assay.exchange.judgements import (
        JUDGEMENT_FORMATS,
        Judgement,
        Judgements,
        read_judgements,
    )
    from assay.exchange.label_studio import ID as TASK_ID
    from assay.exchange.label_studio import config as task_config
    from assay.exchange.label_studio import write_batch as write_tasks
    from assay.exchange.rows import (
        FURTHER,
        FileLabel,
        People,
        as_text,
        check_rows,
        count,
        first,
    )
    from assay.exchange.studio import HEADER, GoneError, LabelStudio, Task
    from assay.exchange.tables import (
        Batch,
        Columns,
        Sheet,
        guard,
        read_label_file,
        read_map,
        sheet_of,
        unguard,
    )
    from assay.exchange.webhook import Webhook
else:
    __getattr__ = on_demand(
        __name__,
        {
            "content": "MOST_BYTES Content LimitError Limits is_zip unzip",
            "formats": "FORMATS Format find_format format_of",
            "judgements": "JUDGEMENT_FORMATS Judgement Judgements read_judgements",
            "label_studio": "TASK_ID=ID task_config=config write_tasks=write_batch",
            "rows": "FURTHER FileLabel People as_text check_rows count first",
            "studio": "HEADER GoneError LabelStudio Task",
            "tables": "Batch Columns Sheet guard read_label_file read_map sheet_of unguard",
            "webhook": "Webhook",
        },
    )

__all__ = [
    "FORMATS",
    "FURTHER",
    "HEADER",
    "JUDGEMENT_FORMATS",
    "MOST_BYTES",
    "TASK_ID",
    "Batch",
    "Columns",
    "Content",
    "FileLabel",
    "Format",
    "GoneError",
    "Judgement",
    "Judgements",
    "LabelStudio",
    "LimitError",
    "Limits",
    "People",
    "Sheet",
    "Task",
    "Webhook",
    "as_text",
    "check_rows",
    "count",
    "find_format",
    "first",
    "format_of",
    "guard",
    "is_zip",
    "read_judgements",
    "read_label_file",
    "read_map",
    "sheet_of",
    "task_config",
    "unguard",
    "unzip",
    "write_tasks",
]
