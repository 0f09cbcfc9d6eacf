"""Coordinated samples: one deck for several classifiers, each dealt the cards that it calls yes.

Each is a sample without replacement in which every subset is equally likely. As an id keeps its
number in every set, the samples share what they can: of two, the first min(a, b) of the ids that
both call yes, where the one sample holds a and the other b such ids. No classifier need be a
parent, any number can take part, nothing is mixed, and a child's child is as good as a child.

Recycling shares min(X, n_C CIR) on average (`formulas.expected_savings`). That is the same number
where one side always decides: a child within its parent, if the parent's sample is without
replacement, or samples so unequal that a <= b. Else both fall short of
min(n_P PIR, n_C CIR) by at most a fraction of a binomial's standard deviation s. With n labels
each, PIR = CIR = c and s^2 = n c (1 - c), that is 0.4 s for recycling and 0.4 s sqrt(2c) here, as
a and b have correlation 1 - c: less for c < 1/2, more for c > 1/2.
"""

import numpy as np

from assay.core.types import Ints, Words
from assay.errors import InputError
from assay.simulation.recycling.mix_sequence import whole_number


def coordinated_sample(members: Ints, numbers: Words, n: int) -> Ints:
    """Return the first n cards of the deck restricted to a set: its ids with the least numbers.

    Parameters
    ----------
    members : array of int
        The set: distinct ids in any order.
    numbers : array of uint64
        Their numbers, as `assay.core.deck.numbers` gives them.
    n : int
        At most so many; all of a smaller set.

    Examples
    --------
    >>> from assay.core.deck import numbers
    >>> model, next_model = np.arange(0, 100), np.arange(10, 110)
    >>> first = coordinated_sample(model, numbers(model, seed=1), 10)
    >>> second = coordinated_sample(next_model, numbers(next_model, seed=1), 10)
    >>> np.intersect1d(first, second).size
    9
    """
    n = whole_number("n", n, least=0)
    if numbers.shape != members.shape:
        raise InputError(f"{members.size} ids came with {numbers.size} numbers")
    # The cut comes before the sort: a set may hold millions, its sample a thousand.
    first = np.argpartition(numbers, n)[:n] if n < members.size else np.arange(members.size)
    return members[first[np.argsort(numbers[first])]]
