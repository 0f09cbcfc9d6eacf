"""Several classifiers of the same items, in plain Python from the definitions."""

import struct
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from hashlib import sha256
from typing import Any

import numpy as np
import pyarrow as pa

from assay.core.deck import Id
from assay.predictions import Predictions, read_predictions
from tests.predictions.contract import SEED, Item, plain_bin, plain_rule

SIZE = 1_500

CLASSIFIERS: dict[str, dict[str, object]] = {
    "odds": {"score": "p", "threshold": 0.3},
    "rare": {"score": "q", "predicted": "rarely", "positive": "true"},
    "margin": {"score": "m", "predicted": "said"},
    "votes": {"predicted": "vote"},
    "sure": {"score": "c", "predicted": "sure", "score_of": "predicted"},
}
"""All kinds: each rule of the bins, with and without a score, turned, by a threshold."""


def _numbers(kind: str, *rows: tuple[float, ...]) -> bytes:
    """Return columns one after the other, eight bytes a number."""
    columns = zip(*rows, strict=True)
    return b"".join(struct.pack(f"<{len(rows)}{kind}", *column) for column in columns)


@dataclass(frozen=True, eq=False)
class Several:
    """The same predictions twice: as a table, and as they are meant.

    `scores` and `said` are by classifier and row; a classifier without a score has None.
    """

    table: "pa.Table"
    ids: Sequence[Id]
    scores: Mapping[str, Sequence[float] | None]
    said: Mapping[str, Sequence[bool]]

    def read(self, source: object) -> Predictions:
        options: dict[str, Any] = {"classifiers": {name: CLASSIFIERS[name] for name in self.said}}
        return read_predictions(source, **options, id="key", show=["text"], seed=SEED)

    @cached_property
    def items(self) -> list[Item]:
        texts = self.table["text"].to_pylist()
        return [
            Item(id, 0.0, yes=False, shown={"text": text})
            for id, text in zip(self.ids, texts, strict=True)
        ]

    @cached_property
    def codes(self) -> list[int]:
        return [
            sum(2**place for place, said in enumerate(self.said.values()) if said[row])
            for row in range(len(self.ids))
        ]

    @cached_property
    def ranks(self) -> list[float]:
        totals, scored = [0.0] * len(self.ids), 0
        for name, scores in self.scores.items():
            if scores is None:
                continue
            scored += 1
            rule = plain_rule(list(zip(scores, self.said[name], strict=True)))
            bins = [plain_bin(score, rule) for score in scores]
            count, below, middle = Counter(bins), 0, {}
            for bin in sorted(count):
                middle[bin] = (below + count[bin] / 2) / len(bins)
                below += count[bin]
            totals = [total + middle[bin] for total, bin in zip(totals, bins, strict=True)]
        return [total / scored if scored else 0.5 for total in totals]

    def fingerprint(self) -> str:
        told = b""
        for name, scores in self.scores.items():
            if scores is None:
                continue
            judged = list(zip(scores, self.said[name], strict=True))
            rule = plain_rule(judged)
            count = sorted(
                Counter((plain_bin(score, rule), said) for score, said in judged).items()
            )
            told += f"{rule}:{len(count)};".encode()
            told += _numbers("q", *((*cell, number) for cell, number in count))
        cells: dict[tuple[int, int], list[tuple[float, int]]] = {}
        for value, code, item in zip(self.ranks, self.codes, self.items, strict=True):
            cell = cells.setdefault((plain_bin(value, "probability"), code), [])
            cell.append((value, item.digest))
        order = sorted(cells.items())
        told += _numbers("q", *((*cell, len(inside)) for cell, inside in order))
        told += _numbers("d", *((min(inside)[0], max(inside)[0]) for _, inside in order))
        told += _numbers(
            "Q", *((sum(digest for _, digest in inside) % 2**64,) for _, inside in order)
        )
        return f"assay-predictions-3:{len(self.ids)}:{sha256(told).hexdigest()[:16]}"


@cache
def several(*names: str, seed: int = 1, strings: bool = False) -> Several:
    """Return a population with some of the classifiers, or all of them."""
    rng = np.random.default_rng(seed)
    base = rng.normal(-1.0, 2.0, SIZE)
    noisy = base + rng.normal(0.0, 1.0, (4, SIZE))
    p = (1 / (1 + np.exp(-noisy[0]))).astype(np.float32)
    p[:3] = [0.0, -0.0, 1.0]
    q = np.exp(2 * noisy[1] - 18)
    m = 3 * noisy[2]
    m[:2] = [-0.0, 1e300]
    rarely, said, vote, sure = q > 1e-8, m > 0.5, rng.random(SIZE) < 0.3, noisy[3] > 0
    confident = 1 / (1 + np.exp(-np.abs(noisy[3])))
    ids = (rng.permutation(SIZE) * 7 - 4_000).tolist()
    keys: list[Id] = [f"é {id}" if strings else id for id in ids]
    table = pa.table(
        {
            "key": pa.array(keys, pa.string() if strings else pa.int64()),
            "p": p,
            "q": q,
            "m": m,
            "c": confident,
            "rarely": ["true" if yes else "false" for yes in rarely],
            "said": said,
            "vote": vote.astype(np.int8),
            "sure": ["Yes" if yes else "no" for yes in sure],
            "text": [f"item {row}" for row in range(SIZE)],
            "lang": ["en" if id % 2 else "fr" for id in ids],
        }
    )
    turned = [c if yes else 1.0 - c for c, yes in zip(confident.tolist(), sure, strict=True)]
    scores: dict[str, list[float] | None] = {
        "odds": p.astype(np.float64).tolist(),
        "rare": q.tolist(),
        "margin": m.tolist(),
        "votes": None,
        "sure": turned,
    }
    judged = {
        "odds": [score >= 0.3 for score in p.astype(np.float64).tolist()],
        "rare": rarely.tolist(),
        "margin": said.tolist(),
        "votes": vote.tolist(),
        "sure": sure.tolist(),
    }
    chosen = names or tuple(CLASSIFIERS)
    return Several(
        table,
        keys,
        {name: scores[name] for name in chosen},
        {name: judged[name] for name in chosen},
    )
