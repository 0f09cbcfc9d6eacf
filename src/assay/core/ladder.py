"""Bets on a ladder of thresholds: which of them keep a metric above a floor, by a theorem.

The items are cut into cells by their scores. A threshold predicts yes for the cells above it. "The
metric at threshold t is below its floor" is a hypothesis to bet against card by card, as in
`core.betting`: with T_h the positives of cell h it says

    const_t + above * sum_{h above t} T_h + below * sum_{h below t} T_h < 0,

for precision with above = 1, below = 0 and const_t = -floor * (items above t), for recall with
above = 1 - floor, below = -floor and const_t = 0. A bettor against a true hypothesis multiplies the
wealth by 1/alpha with a chance of at most alpha, however the cards are chosen and however often one
looks (Ville).

Thresholds are tried in a fixed order, from an easy one outwards, and each only after all before it
have been shown to hold. The first that does not hold ends the order, except with a chance of alpha.
So the familywise error is alpha, and trying many thresholds costs nothing [1]_. The first labels of
a campaign, on which nobody bets, decide where the order begins.

References
----------
.. [1] Maurer, Hothorn and Lehmacher (1995). Multiple comparisons in drug clinical trials and
   preclinical assays: a-priori ordered hypotheses. In: Biometrie in der chemisch-pharmazeutischen
   Industrie 6.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from assay.core.allocation import normalised
from assay.core.betting import boldness
from assay.core.rungs import Chain, Rungs
from assay.core.special import ndtr, ndtri
from assay.core.tallies import Tallies
from assay.core.types import Floats, Ints

# The theorem holds for any guess, stake and probability that is fixed before a card is drawn; these
# only affect the number of labels. They were tuned on five of the eight populations in
# benchmarks/thresholds.py; cs, covtype and news20 were held out.
_MOST = 0.9  # largest share of its wealth that a bettor may lose on one card
_PACE = 5  # cards between two changes of the stakes
_PRIOR = 2.0  # weight, in labels, of a wide neighbourhood in a narrow one's rate
_OWN = 10.0  # weight, in labels, of the neighbourhood in a cell's own rate
_NARROW, _WIDE = 40.0, 8.0  # a neighbourhood's standard deviation is this part of all cells
_SURE = 5.0  # standard errors from its floor at which a threshold is bet on for the long run
_SLACK = 1.1  # evidence that bets need, relative to a single look
_BY_SIZE, _NEAR, _EVERYWHERE = 0.05, 0.05, 0.01  # shares of the cards that go by other rules
_NEXT = 0.3  # of the cards go to the expected first threshold that is not shown
_LIKELY = 0.9
_INSIDE = 0.4  # of the positives at a floor's end are above the first threshold
_LEAST, _GREATEST = 0.002, 0.998  # of a guessed rate
_TINY = 1e-12


class Guess(NamedTuple):
    """Guesses about the cells: rates, remaining cards, and positives and spread of those."""

    q: Floats
    left: Floats
    T: Floats
    w: Floats


@dataclass(frozen=True, eq=False)
class Ladder:
    """Cells, floors that must all hold, and how cards are drawn and bet on."""

    sizes: Floats  # (H,): the items of each cell, those with the highest scores first
    floors: tuple[Rungs, ...]
    pilot: int  # labels before the first bet

    def begin(self, shape: tuple[int, ...] = ()) -> tuple[Chain, ...]:
        """Wealth before the first card."""
        return tuple(Chain.begin(shape, self.sizes.size) for _ in self.floors)

    @cached_property
    def kernels(self) -> tuple[Floats, Floats]:
        """Weights of labels at other scores, in a wide and in a narrow neighbourhood."""
        place = np.arange(self.sizes.size)
        apart = (place[:, None] - place) / self.sizes.size
        wide, narrow = (np.exp(-0.5 * (apart * part) ** 2) for part in (_WIDE, _NARROW))
        return wide, narrow

    def rates(self, tallies: Tallies) -> Floats:
        """Guess of every cell's rate, never 0 or 1, from the labels at nearby scores."""
        n, x = tallies.n, tallies.x
        wide, narrow = self.kernels
        q = (x @ wide + 0.5) / (n @ wide + 1.0)
        q = (x @ narrow + _PRIOR * q) / (n @ narrow + _PRIOR)
        return np.clip((x + _OWN * q) / (n + _OWN), _LEAST, _GREATEST)

    def variance(self, tallies: Tallies, gradient: Floats) -> Floats:
        """Variance of a sum of guessed positives, to first order, (...).

        The guess is linear in the labels: sum_j C_j x_j, whose variance is sum_j C_j^2 n_j q_j (1 -
        q_j).

        `gradient`, (..., H): contribution of a positive of each cell to the sum.
        """
        n, (wide, narrow) = tallies.n, self.kernels
        guess = self.guess(tallies)
        own = gradient * guess.left / (n + _OWN)
        near = _OWN * own / (n @ narrow + _PRIOR)
        far = _PRIOR * near / (n @ wide + 1.0)
        C = gradient + own + near @ narrow + far @ wide
        return np.asarray((C**2 * n * guess.q * (1 - guess.q)).sum(axis=-1))

    def guess(self, tallies: Tallies) -> Guess:
        """Guesses about the cells from the labels so far."""
        q, left = self.rates(tallies), self.sizes - tallies.n - tallies.u
        return Guess(q, left, tallies.x + left * q, left * np.sqrt(q * (1 - q)))

    def started(self, chains: tuple[Chain, ...], tallies: Tallies) -> tuple[Chain, ...]:
        """Chains with their first threshold chosen, if there are enough labels.

        The estimated end of the floor has some number of positives above the threshold, or below it
        if fewer yes are wanted; the first threshold has two fifths of these. If the floor seems to
        hold nowhere, the first threshold is where the metric seems highest.
        """
        due = tallies.answers >= self.pilot
        T = self.guess(tallies).T
        upto = np.cumsum(T, axis=-1)
        far = np.arange(1, self.sizes.size + 1)
        started = []
        for rungs, chain in zip(self.floors, chains, strict=True):
            value = np.where(rungs.is_defined, rungs.value(T), -1.0)
            away = far if rungs.outward else far[::-1]
            holds = np.where(value >= rungs.floor, away, 0)
            end = np.where(holds.any(axis=-1), holds.argmax(axis=-1), value.argmax(axis=-1))
            amount = upto if rungs.outward else upto[..., -1:] - upto
            inside = _INSIDE * np.take_along_axis(amount, end[..., None], axis=-1)
            first = np.where((amount <= inside) & rungs.is_defined, away, 0).argmax(axis=-1)
            first = np.where(holds.any(axis=-1), first, end)
            start = np.where(due & (chain.start < 0), first, chain.start)
            started.append(replace(chain, start=start))
        return tuple(started)

    def chances(
        self, tallies: Tallies, chains: tuple[Chain, ...], room: Floats, horizon: int
    ) -> Floats:
        """Probability that the next card is from each cell, (..., H); sum 1.

        Before the first bet half of the cards go to all cells equally, and the rest to where each
        floor seems to end; later to the most promising threshold.

        `chains`: as `started` returns them; `room`, (..., H): cards that can be dealt; cells
        without any have probability 0.
        """
        there = np.where(room > 0, 1.0, 0.0)
        even = normalised(there)
        early = (tallies.answers < 0.4 * self.pilot)[..., None]
        guess = self.guess(tallies)
        labels = tallies.answers[..., None]
        parts = [
            self._towards(guess, rungs, chain, there, np.maximum(horizon - labels, 10.0))
            for rungs, chain in zip(self.floors, chains, strict=True)
        ]
        return np.asarray(np.where(early, even, np.mean(parts, axis=0)))

    def _towards(
        self, guess: Guess, rungs: Rungs, chain: Chain, there: Floats, cards: Floats
    ) -> Floats:
        """Probabilities that serve one floor best."""
        power, worth = self.power(guess, rungs, chain, cards), self.worth(guess, rungs)
        shown, ahead = chain.shown(rungs), chain.ahead(rungs)
        ahead = np.where((chain.start < 0)[..., None], rungs.is_defined, ahead)
        so_far = np.where(shown, worth, 0.0).max(axis=-1, keepdims=True)
        promise = np.where(ahead & ~shown, power * np.maximum(worth - so_far, 0.0), -1.0)
        aim = promise.argmax(axis=-1)
        step = 1 if rungs.outward else -1
        open_ = (ahead & ~shown)[..., ::step]
        following = open_.argmax(axis=-1)
        following = following if rungs.outward else self.sizes.size - 1 - following
        likely = np.take_along_axis(power, following[..., None], axis=-1) > _LIKELY
        share = np.where(likely & (chain.start >= 0)[..., None], _NEXT, 0.0)
        w = guess.w * there
        spread = (1 - share) * self._at(rungs, aim, w) + share * self._at(rungs, following, w)
        near = np.abs(np.arange(self.sizes.size) - aim[..., None]) <= self.sizes.size // 12
        by_size = self._at(rungs, aim, self.sizes * there)
        rest = 1 - _BY_SIZE - _NEAR - _EVERYWHERE
        return normalised(
            rest * spread
            + _BY_SIZE * by_size
            + _NEAR * normalised(near * there)
            + _EVERYWHERE * normalised(there)
        )

    def _at(self, rungs: Rungs, threshold: Ints, w: Floats) -> Floats:
        """Shares in proportion to w over the cells that count at one threshold."""
        above = np.arange(self.sizes.size) <= threshold[..., None]
        return normalised(w * np.where(above, abs(rungs.above), abs(rungs.below)))

    def power(self, guess: Guess, rungs: Rungs, chain: Chain, cards: Floats) -> Floats:
        """Probability that this many more cards show a threshold to hold, (..., H).

        Assumes that the guesses are right, and that all cards are the most informative for that
        threshold. `cards`: (..., 1).
        """
        scale = rungs.scale(guess.T)
        fpc = np.maximum(1 - cards / np.maximum(rungs.counted(guess.left), 1.0), 0.02)
        sd = rungs.spread(guess.w) / scale * np.sqrt(fpc / cards)
        gap = np.clip(rungs.goal - chain.up, 1e-3, 8.0)
        z = rungs.total(guess.T) / scale / np.maximum(sd, _TINY) + _SLACK * ndtri(np.exp(-gap))
        return np.asarray(np.where(chain.best_up >= rungs.goal, 1.0, ndtr(z)))

    def worth(self, guess: Guess, rungs: Rungs) -> Floats:
        """Value of each threshold: recall if more yes are wanted, else precision."""
        upto = np.cumsum(guess.T, axis=-1)
        below = upto[..., -1:] if rungs.outward else np.cumsum(self.sizes)
        return np.asarray(upto / np.maximum(below, _TINY))

    def fold(
        self,
        chains: tuple[Chain, ...],  # wealth before the round, as `started` returns it
        before: Tallies,  # the labels before the round
        # (..., B): the cards in the order drawn: 2 h + 1 for a positive of cell h, 2 h for a
        # negative, -2 - h for one that could not be judged, -1 for none.
        kinds: Ints,
        *,
        # (..., H): probability of each cell, independently for each card. No cell may run out
        # before the round's last card.
        chances: Floats,
        horizon: int,  # labels by which the answer is wanted
    ) -> tuple[Chain, ...]:
        """Wealth after a round of cards."""
        left, folded = np.maximum(horizon - before.answers, 1.0)[..., None], []
        for rungs, chain in zip(self.floors, chains, strict=True):
            table = _Table(self, rungs, before, chances)
            cards = np.where((chain.start >= 0)[..., None], kinds, -1)
            up, best_up = table.settle(+1, (chain.up, chain.best_up), cards, left)
            down, best_down = table.settle(-1, (chain.down, chain.best_down), cards, left)
            folded.append(Chain(up, down, best_up, best_down, chain.start))
        return tuple(folded)


class _Table:
    """Inputs of one floor's bets in a round: the labels before it, and the probabilities.

    `chances`, (..., H): probability of each cell. `over` is 1 over these, `counted` their sum over
    the cells that count at a threshold, `weighed` the remaining cards over their probability,
    `variance` that of a card's payment, and `error` the standard error of the guessed metric.
    """

    def __init__(self, ladder: Ladder, rungs: Rungs, before: Tallies, chances: Floats) -> None:
        self.rungs, self.unjudged, self.guess = rungs, before.u, ladder.guess(before)
        left, spread = self.guess.left, self.guess.q * (1 - self.guess.q)
        self.scale = rungs.scale(self.guess.T)
        self.over = np.where(chances > 0, 1 / np.where(chances > 0, chances, 1.0), 0.0)
        self.counted, self.weighed = rungs.counted(chances), left * self.over
        near = before.n @ ladder.kernels[1] + 1.0
        pays = rungs.squares(self.weighed * left * spread) * self.counted
        self.variance = np.maximum(pays / self.scale**2, _TINY)
        self.error = np.sqrt(rungs.squares(ladder.sizes**2 * spread / near)) / self.scale

    def settle(
        self, sign: int, owned: tuple[Floats, Floats], kinds: Ints, left: Floats
    ) -> tuple[Floats, Floats]:
        """Wealth after a round, and its maximum so far.

        A card that nobody can judge counts against the bettors. That rule is fixed before the card
        is seen, so the bet is fair whatever such items are.

        `owned`, (..., H): wealth before, and its maximum; `kinds`, (..., B): the cards, as in
        `Ladder.fold`; `left`, (..., 1): cards until the answer is wanted.
        """
        wealth, best = owned
        rungs, q, place = self.rungs, self.guess.q, np.arange(self.guess.q.shape[-1])
        against = [min(sign * each, 0.0) * sign for each in (rungs.above, rungs.below)]
        base = rungs.total(self.guess.T) + rungs.sum_of(self.unjudged, *against)
        base = base / self.scale
        most = self._most(sign, base, kinds.shape[-1])
        cells = np.where(kinds >= 0, kinds // 2, np.maximum(-2 - kinds, 0))
        stake = np.zeros_like(wealth)
        for card in range(kinds.shape[-1]):
            if card % _PACE == 0:
                stake = np.minimum(self._stake(sign * base, wealth, left - card), most)
                stake = np.where(best < rungs.goal, stake, 0.0)
            kind, cell = kinds[..., card, None], cells[..., card, None]
            coefficient = np.where(cell <= place, rungs.above, rungs.below)
            outcome = np.where(kind >= 0, kind % 2, sign * coefficient < 0)
            surprise = coefficient * (outcome - np.take_along_axis(q, cell, -1)) / self.scale
            # Earlier cards of the same cell in the round are no longer left.
            earlier = (cells[..., :card] == cell) & (kinds[..., :card] != -1)
            again = earlier.sum(axis=-1, dtype=np.float64)[..., None]
            again = again * np.take_along_axis(self.over, cell, -1)
            weight = (np.take_along_axis(self.weighed, cell, -1) - again) * self.counted
            inside = (kind != -1) & (coefficient != 0)
            pays = sign * stake * (base + surprise * weight)
            wealth = wealth + np.where(inside, np.log1p(np.where(inside, pays, 0.0)), 0.0)
            best = np.maximum(best, wealth)
            base = base + np.where(inside, surprise, 0.0)
        return wealth, best

    def _stake(self, edge: Floats, wealth: Floats, left: Floats) -> Floats:
        """Stakes: bold near the floor, and for long-run growth far above it."""
        cards = np.maximum(left * self.counted, 1.0)
        sure = np.maximum(edge - self.error, 0.0)
        sure = np.where(sure > _SURE * np.sqrt(self.variance / cards), sure, 0.0)
        bold = boldness(self.rungs.goal - wealth) / np.sqrt(self.variance * cards)
        return np.asarray(np.maximum(sure / (self.variance + sure**2), bold))

    def _most(self, sign: int, base: Floats, cards: int) -> Floats:
        """Largest stakes: the worst card leaves a tenth of the wealth."""
        rise, fall = self.weighed * (1 - self.guess.q), self.weighed * self.guess.q
        loss = self.rungs.largest(*((rise, fall) if sign > 0 else (fall, rise)))
        # The sums move by less than 1 with every card of the round.
        worst = (loss * self.counted + cards) / self.scale - sign * base
        return np.asarray(_MOST / np.maximum(worst, _TINY))
