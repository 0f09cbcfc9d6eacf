"""Studies of Assay, run from the repository and not installed: ``python -m studies --help``."""
