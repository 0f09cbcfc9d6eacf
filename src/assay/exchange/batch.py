"""A batch of items to judge, with the columns that their reviewers see."""

from dataclasses import dataclass

from assay.results.estimates import Item


@dataclass(frozen=True)
class Batch:
    """Items to judge.

    Attributes
    ----------
    question : str
        What is asked of each.
    columns : tuple of str
        What the items show.
    items : tuple of Item
    """

    question: str
    columns: tuple[str, ...]
    items: tuple[Item, ...]
