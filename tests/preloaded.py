"""All that commands import, imported: for a process from which programs of tests are forked.

Names of a package's face and commands are imported when they are first used. A program that is
forked before would import them each time, for most of a second.
"""

from importlib import import_module

from assay.cli.commands import COMMANDS

_FACES = (
    *("audit", "campaign", "exchange", "labelling", "predictions", "report", "results"),
    *("simulation", "storage"),
)
_OTHERS = (
    *("assay.web.serve", "duckdb", "narwhals", "pyarrow.parquet", "pydantic.type_adapter"),
    *("rich.progress", "scipy.optimize", "scipy.stats", "sqlglot"),
)

for _module in _OTHERS:
    import_module(_module)
for _command in COMMANDS.values():
    import_module(f"assay.cli.{_command.place.partition(':')[0]}")
for _package in _FACES:
    _face = import_module(f"assay.{_package}")
    for _name in _face.__all__:
        getattr(_face, _name)
