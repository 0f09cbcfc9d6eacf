"""Studies: the tables and figures of the papers, and the coverage study, one package each.

They are run from the repository and not installed: ``python -m studies --help``. Each study has
``run(...)``, which returns a frozen result with ``to_dict()``, and ``write(result, folder)``,
which writes its tables and figures and returns the files.
"""
