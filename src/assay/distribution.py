"""The distribution: its name on the package index, its version, and how an extra is installed."""

NAME = "assay-eval"  # `assay` is another project there; the package and the command are `assay`
VERSION = "0.1.0"
DOCUMENTS = "https://github.com/assay-eval/assay/blob/main/docs"  # read without this repository


def install(extra: str) -> str:
    """Return the command that installs an extra, for the hint of an error.

    Examples
    --------
    >>> install("spark")
    "pip install 'assay-eval[spark]'"
    """
    return f"pip install '{NAME}[{extra}]'"
