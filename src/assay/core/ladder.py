"""Bets on a ladder of thresholds: which of them keep a metric above a floor, by a theorem.

The items are cut into cells by their scores. A threshold says yes to the cells above it. "The
metric at threshold t is below its floor" is a hypothesis that can be bet against card by card, as
in `core.betting`: with T_h the positives of cell h it says

    const_t + above * sum_{h above t} T_h + below * sum_{h below t} T_h < 0,

for precision with above = 1, below = 0 and const_t = -floor * (items above t), for recall with
above = 1 - floor, below = -floor and const_t = 0. Whoever bets against a true hypothesis grows
1/alpha times as rich with a chance of at most alpha, however the cards are chosen and however often
one looks (Ville).

Thresholds are tried in a fixed order, from one that is easy to hold outwards, and each only after
all before it have been shown to hold. The first that does not hold ends the order, except with a
chance of alpha: so all of them together are wrong with that chance, and trying many costs nothing
[1]_. Where the order begins is chosen by the first labels of a campaign, which nobody bets on.

References
----------
.. [1] Maurer, Hothorn and Lehmacher (1995). Multiple comparisons in drug clinical trials and
   preclinical assays: a-priori ordered hypotheses. In: Biometrie in der chemisch-pharmazeutischen
   Industrie 6.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple, Self

import numpy as np

from assay.core.betting import boldness
from assay.core.rungs import Chain, Rungs
from assay.core.special import ndtr, ndtri
from assay.core.tallies import Tallies
from assay.core.types import Floats, Ints

# Any guess, stake and chance that is fixed before a card is drawn keeps the theorem; these decide
# only how many labels it takes. They were chosen on five of the eight populations that
# benchmarks/thresholds.py has; cs, covtype and news20 were not looked at before.
_MOST = 0.9  # of its wealth a bettor may lose on one card
_PACE = 5  # cards between two changes of the stakes
_PRIOR = 2.0  # labels that a wide neighbourhood weighs in a narrow one's rate
_OWN = 10.0  # labels that the neighbourhood weighs in a cell's own: rates change slowly with scores
_NARROW, _WIDE = 40.0, 8.0  # a neighbourhood's standard deviation is this part of all cells
_SURE = 5.0  # standard errors from its floor, from which a threshold is bet on as in the long run
_SLACK = 1.1  # what bets need, over what a single look would
_BY_SIZE, _NEAR, _EVERYWHERE = 0.05, 0.05, 0.01  # shares of the cards that go by other rules
_NEXT = 0.3  # of the cards go to the first threshold that is not shown, where it is likely to be
_LIKELY = 0.9
_INSIDE = 0.4  # of the positives at a floor's end are inside of the first threshold
_LEAST, _GREATEST = 0.002, 0.998  # of a guessed rate
_TINY = 1e-12


class Guess(NamedTuple):
    """What is guessed of the cells: rates, cards left, positives and the spread of those left."""

    q: Floats
    left: Floats
    T: Floats
    w: Floats


@dataclass(frozen=True, eq=False)
class Ladder:
    """Cells, floors that all have to hold, and how cards are drawn and bet on."""

    sizes: Floats  # (H,): the items of each cell, those with the highest scores first
    floors: tuple[Rungs, ...]
    pilot: int  # labels before the first bet

    def begin(self, shape: tuple[int, ...] = ()) -> tuple[Chain, ...]:
        """Return what the bettors own before the first card."""
        return tuple(Chain.begin(shape, self.sizes.size) for _ in self.floors)

    @cached_property
    def kernels(self) -> tuple[Floats, Floats]:
        """How much labels at other scores weigh, in a wide and in a narrow neighbourhood."""
        place = np.arange(self.sizes.size)
        apart = (place[:, None] - place) / self.sizes.size
        wide, narrow = (np.exp(-0.5 * (apart * part) ** 2) for part in (_WIDE, _NARROW))
        return wide, narrow

    def rates(self, tallies: Tallies) -> Floats:
        """Return a guess of every cell's rate, never 0 or 1, from the labels at scores nearby."""
        n, x = tallies.n, tallies.x
        wide, narrow = self.kernels
        q = (x @ wide + 0.5) / (n @ wide + 1.0)
        q = (x @ narrow + _PRIOR * q) / (n @ narrow + _PRIOR)
        return np.clip((x + _OWN * q) / (n + _OWN), _LEAST, _GREATEST)

    def variance(self, tallies: Tallies, gradient: Floats) -> Floats:
        """Return the variance of a sum of guessed positives, to first order, (...).

        The guess is linear in the labels: sum_j C_j x_j, whose variance is
        sum_j C_j^2 n_j q_j (1 - q_j).

        `gradient`, (..., H): what a positive of each cell adds to the sum.
        """
        n, (wide, narrow) = tallies.n, self.kernels
        guess = self.guess(tallies)
        own = gradient * guess.left / (n + _OWN)
        near = _OWN * own / (n @ narrow + _PRIOR)
        far = _PRIOR * near / (n @ wide + 1.0)
        C = gradient + own + near @ narrow + far @ wide
        return np.asarray((C**2 * n * guess.q * (1 - guess.q)).sum(axis=-1))

    def guess(self, tallies: Tallies) -> Guess:
        """Return what is guessed of the cells from the labels so far."""
        q, left = self.rates(tallies), self.sizes - tallies.n - tallies.u
        return Guess(q, left, tallies.x + left * q, left * np.sqrt(q * (1 - q)))

    def started(self, chains: tuple[Chain, ...], tallies: Tallies) -> tuple[Chain, ...]:
        """Return the chains with their first threshold chosen, where there are labels enough.

        Where the floor seems to end there are so many positives above the threshold, or below it
        where fewer yes are wanted; the first threshold has two fifths of these. If the floor seems
        to hold nowhere, it is where the metric seems to be highest.
        """
        due = tallies.answers >= self.pilot
        T = self.guess(tallies).T
        upto = np.cumsum(T, axis=-1)
        far = np.arange(1, self.sizes.size + 1)
        found = []
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
            found.append(replace(chain, start=start))
        return tuple(found)

    def chances(
        self, tallies: Tallies, chains: tuple[Chain, ...], room: Floats, horizon: int
    ) -> Floats:
        """Return the chances with which the next cards are of each cell, (..., H); sum 1.

        Before the first bet half of the cards go to all cells alike, and then to the place where
        each floor seems to end; later to the threshold that promises most.

        `chains`: as `started` returns them; `room`, (..., H): cards that can be dealt; cells
        without any have no chance.
        """
        there = np.where(room > 0, 1.0, 0.0)
        even = _shares(there)
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
        """Return the chances that serve one floor best."""
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
        return _shares(
            rest * spread
            + _BY_SIZE * by_size
            + _NEAR * _shares(near * there)
            + _EVERYWHERE * _shares(there)
        )

    def _at(self, rungs: Rungs, threshold: Ints, w: Floats) -> Floats:
        """Return shares in proportion to w over the cells that count at one threshold."""
        above = np.arange(self.sizes.size) <= threshold[..., None]
        return _shares(w * np.where(above, abs(rungs.above), abs(rungs.below)))

    def power(self, guess: Guess, rungs: Rungs, chain: Chain, cards: Floats) -> Floats:
        """Return the chance that so many more cards show a threshold to hold, (..., H).

        If the guesses are right, and all cards went where they tell most of that threshold.

        `cards`: (..., 1).
        """
        scale = rungs.scale(guess.T)
        fpc = np.maximum(1 - cards / np.maximum(rungs.counted(guess.left), 1.0), 0.02)
        sd = rungs.spread(guess.w) / scale * np.sqrt(fpc / cards)
        gap = np.clip(rungs.goal - chain.up, 1e-3, 8.0)
        z = rungs.total(guess.T) / scale / np.maximum(sd, _TINY) + _SLACK * ndtri(np.exp(-gap))
        return np.asarray(np.where(chain.best_up >= rungs.goal, 1.0, ndtr(z)))

    def worth(self, guess: Guess, rungs: Rungs) -> Floats:
        """Return what each threshold is worth: recall where more yes is wanted, else precision."""
        upto = np.cumsum(guess.T, axis=-1)
        below = upto[..., -1:] if rungs.outward else np.cumsum(self.sizes)
        return np.asarray(upto / np.maximum(below, _TINY))

    def fold(
        self,
        chains: tuple[Chain, ...],  # what they owned before, as `started` returns it
        before: Tallies,  # the labels before the round
        # (..., B): the cards in the order drawn: 2 h + 1 for a positive of cell h, 2 h for a
        # negative, -2 - h for one that could not be judged, -1 for none.
        kinds: Ints,
        *,
        # (..., H): with which the cell of each card was drawn, independently. No cell may run out
        # before the round's last card.
        chances: Floats,
        horizon: int,  # labels by which the answer is wanted
    ) -> tuple[Chain, ...]:
        """Return what the bettors own after a round of cards."""
        left, found = np.maximum(horizon - before.answers, 1.0)[..., None], []
        for rungs, chain in zip(self.floors, chains, strict=True):
            table = _Table.of(self, rungs, before, chances)
            cards = np.where((chain.start >= 0)[..., None], kinds, -1)
            up, best_up = table.settle(+1, (chain.up, chain.best_up), cards, left)
            down, best_down = table.settle(-1, (chain.down, chain.best_down), cards, left)
            found.append(Chain(chain.start, up, best_up, down, best_down))
        return tuple(found)


@dataclass(frozen=True, eq=False)
class _Table:
    """What the bets of one floor on a round rest on: the labels before it, and the chances.

    `over` is 1 over the chances, `counted` their sum over the cells that count at a threshold,
    `weighed` the cards left over their chance, `variance` that of what a card pays, and `error` the
    standard error of the guessed metric.
    """

    rungs: Rungs
    guess: Guess
    unjudged: Floats
    over: Floats
    counted: Floats
    weighed: Floats
    scale: Floats
    variance: Floats
    error: Floats

    @classmethod
    def of(cls, ladder: Ladder, rungs: Rungs, before: Tallies, chances: Floats) -> Self:
        """Return it for a round.

        `chances`, (..., H): with which cells are drawn.
        """
        guess = ladder.guess(before)
        scale, spread = rungs.scale(guess.T), guess.q * (1 - guess.q)
        over = np.where(chances > 0, 1 / np.where(chances > 0, chances, 1.0), 0.0)
        counted, weighed = rungs.counted(chances), guess.left * over
        near = before.n @ ladder.kernels[1] + 1.0
        pays = rungs.squares(weighed * guess.left * spread) * counted
        return cls(
            rungs,
            guess,
            before.u,
            over,
            counted,
            weighed,
            scale,
            variance=np.maximum(pays / scale**2, _TINY),
            error=np.sqrt(rungs.squares(ladder.sizes**2 * spread / near)) / scale,
        )

    def settle(
        self, sign: int, owned: tuple[Floats, Floats], kinds: Ints, left: Floats
    ) -> tuple[Floats, Floats]:
        """Return what bettors own after a round, and the most they ever did.

        A card that nobody can judge counts against them: a rule that is fixed before the card is
        seen, so the bet is fair whatever such items are.

        `owned`, (..., H): what they owned before, and the most; `kinds`, (..., B): the cards, as in
        `Ladder.fold`; `left`, (..., 1): cards until the answer is wanted.
        """
        wealth, best = owned
        rungs, q, place = self.rungs, self.guess.q, np.arange(self.guess.q.shape[-1])
        against = [min(sign * each, 0.0) * sign for each in (rungs.above, rungs.below)]
        base = rungs.total(self.guess.T) + rungs.sum_of(self.unjudged, *against)
        base = base / self.scale
        most = self._most(sign, base, kinds.shape[-1])
        stake = np.zeros_like(wealth)
        for card in range(kinds.shape[-1]):
            if card % _PACE == 0:
                stake = np.minimum(self._stake(sign * base, wealth, left - card), most)
                stake = np.where(best < rungs.goal, stake, 0.0)
            kind = kinds[..., card, None]
            cell = np.where(kind >= 0, kind // 2, np.maximum(-2 - kind, 0))
            coefficient = np.where(cell <= place, rungs.above, rungs.below)
            outcome = np.where(kind >= 0, kind % 2, sign * coefficient < 0)
            surprise = coefficient * (outcome - np.take_along_axis(q, cell, -1)) / self.scale
            # Cards of the same cell that came before it in the round are no longer left.
            again = _earlier(kinds, card)[..., None] * np.take_along_axis(self.over, cell, -1)
            weight = (np.take_along_axis(self.weighed, cell, -1) - again) * self.counted
            inside = (kind != -1) & (coefficient != 0)
            pays = sign * stake * (base + surprise * weight)
            wealth = wealth + np.where(inside, np.log1p(np.where(inside, pays, 0.0)), 0.0)
            best = np.maximum(best, wealth)
            base = base + np.where(inside, surprise, 0.0)
        return wealth, best

    def _stake(self, edge: Floats, wealth: Floats, left: Floats) -> Floats:
        """Return stakes: bold near the floor, and as in the long run far above it."""
        cards = np.maximum(left * self.counted, 1.0)
        sure = np.maximum(edge - self.error, 0.0)
        sure = np.where(sure > _SURE * np.sqrt(self.variance / cards), sure, 0.0)
        bold = boldness(self.rungs.goal - wealth) / np.sqrt(self.variance * cards)
        return np.asarray(np.maximum(sure / (self.variance + sure**2), bold))

    def _most(self, sign: int, base: Floats, cards: int) -> Floats:
        """Return the largest stakes: the worst card leaves a tenth of the wealth."""
        rise, fall = self.weighed * (1 - self.guess.q), self.weighed * self.guess.q
        loss = self.rungs.largest(*((rise, fall) if sign > 0 else (fall, rise)))
        # The sums move by less than 1 with every card of the round.
        worst = (loss * self.counted + cards) / self.scale - sign * base
        return np.asarray(_MOST / np.maximum(worst, _TINY))


def _earlier(kinds: Ints, card: int) -> Floats:
    """Return how many of the round's earlier cards were of the same cell."""
    cells = np.where(kinds >= 0, kinds // 2, -2 - kinds)
    same = (cells[..., :card] == cells[..., card, None]) & (kinds[..., :card] != -1)
    return np.asarray(same.sum(axis=-1, dtype=np.float64))


def _shares(weights: Floats) -> Floats:
    total = weights.sum(axis=-1, keepdims=True)
    return np.asarray(weights / np.where(total > 0, total, 1.0))
