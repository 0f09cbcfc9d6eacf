"""``python -m studies``: the coverage study, and the papers' tables."""

import typer

from studies.commands import coverage, reproduce

app = typer.Typer(
    help="The coverage study, and the tables and figures of the papers.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command()(coverage)
app.command()(reproduce)

if __name__ == "__main__":
    app(prog_name="python -m studies")
