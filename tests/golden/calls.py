"""Python calls that are refused, by what they ask for: the text of each error is recorded."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np

import assay

SIZE = 40
P = np.linspace(0.01, 0.99, SIZE)
YES = P >= 0.5
WORDS = np.where(YES, "spam", "ham")
TABLE: dict[str, Any] = {
    "id": [f"i{row}" for row in range(SIZE)], "p": P, "yes": YES, "topic": [*"abca"] * 10
}  # fmt: skip
SCORE: dict[str, Any] = {"id": "id", "score": "p", "threshold": 0.5}
TOPIC: dict[str, Any] = {"id": "id", "predicted": "topic", "score": "p"}
BOTH: dict[str, Any] = {"new": {"score": "p", "threshold": 0.5}, "old": {"predicted": "yes"}}
EACH = np.stack([P / 2, P / 2, 1 - P], axis=1)
TAGS: dict[str, Any] = {"id": TABLE["id"], "p_cs": P, "p_bio": 1 - P}
Call = Callable[[], object]


def some(**columns: Any) -> dict[str, Any]:
    return {**TABLE, **columns}


def in_turn(*calls: Call) -> None:
    """Make calls of which only the last is refused."""
    for call in calls:
        call()


def create(**asked: Any) -> Call:
    return partial(assay.create_campaign, **{"predictions": TABLE, **SCORE, "budget": 9, **asked})


def compared(**asked: Any) -> Call:
    old, new = some(), some(p=P[::-1], topic=TABLE["topic"][::-1])
    return lambda: assay.compare_campaign(old, new, **{**SCORE, "budget": 9, **asked})


def evaluated(**asked: Any) -> Call:
    return lambda: assay.evaluate(**{"y_pred": YES, **asked})


def begun(storage: str, **asked: Any) -> Call:
    """Make the campaign `before` in a file, once."""
    return create(name="before", storage=f"sqlite:///{storage}.db", **asked)


def from_before(storage: str, given: Mapping[str, Any] | None = None, **asked: Any) -> Call:
    """Compare with labels of a campaign that was made otherwise."""
    options = {"labels_from": "before", "storage": f"sqlite:///{storage}.db", **asked}
    return partial(in_turn, begun(storage, **(given or {})), compared(**options))


def extended(storage: str, more: object, **given: Any) -> Call:
    url = f"sqlite:///{storage}.db"
    extend = partial(assay.extend_campaign, more, "before", storage=url)
    return partial(in_turn, begun(storage, **given), extend)


def followed(storage: str, **asked: Any) -> Call:
    """Follow a second period; `previous` is given unless it is asked for otherwise."""
    url: dict[str, Any] = {"storage": f"sqlite:///{storage}.db"}
    first = partial(assay.follow_campaign, TABLE, series="s", period="w1", within=0.1, seed=4)
    second = {"series": "s", "period": "w2", "previous": TABLE, **url, **asked}
    then = partial(assay.follow_campaign, some(p=P[::-1]), **second)
    return partial(in_turn, partial(first, **SCORE, **url), then)


def made_at_once(**asked: Any) -> Call:
    return partial(assay.follow_campaign, TABLE, period="w1", within=0.1, **asked)


def tagged(**asked: Any) -> Call:
    columns: dict[str, Any] = {"id": "id", "probabilities": "p_*", "threshold": 0.5, "budget": 9}
    return partial(
        assay.create_campaign, **{"predictions": TAGS, **columns, **asked}, multilabel=True
    )


def topped(**asked: Any) -> Call:
    given = {"predictions": some(each=EACH), "id": "id", "budget": 9, "classes": ["a", "b", "c"]}
    return partial(assay.create_campaign, **{**given, **asked})


def cut(**asked: Any) -> Call:
    given = {"threshold": None, "threshold_for": "precision >= 0.8", "budget": 30}
    return create(**{**given, **asked})


def same(yes: bool, metric: str) -> Call:
    columns: dict[str, Any] = {"score": "p", "predicted": "yes", "threshold": None, "id": None}
    return create(predictions={"p": P, "yes": [yes] * SIZE}, **columns, metric=metric)


WEEKS: dict[str, Any] = {**TOPIC, "threshold": None}
CALLS: dict[str, Call] = {
    "evaluate nothing": lambda: assay.evaluate(y_true=YES),
    "evaluate, no truth": evaluated(),
    "evaluate, two truths": evaluated(y_true=YES, oracle=list),
    "evaluate, lengths": evaluated(y_score=P[1:], y_true=YES),
    "evaluate, weights": evaluated(y_true=YES, sample_weight=P[1:]),
    "evaluate, less truth": evaluated(y_true=YES[1:]),
    "evaluate, few labels": evaluated(oracle=lambda _: [1]),
    "evaluate, no labels": evaluated(oracle=lambda _: None),
    "evaluate, another kind": evaluated(y_true=WORDS, pos_label=1),
    "evaluate, unknown": evaluated(y_pred=WORDS, y_true=YES, pos_label="c"),
    "evaluate, no pos_label": evaluated(y_pred=WORDS, y_true=YES),
    "evaluate, spelling": evaluated(
        y_pred=WORDS, y_true=np.where(YES, "SPAM", "ham"), pos_label="spam"
    ),
    "evaluate, spelling of scores": evaluated(
        y_pred=None, y_score=P, threshold=0.6, y_true=np.where(YES, "SPAM", "x"), pos_label="spam"
    ),
    "evaluate, unnamed classes": evaluated(y_pred=None, y_score=EACH, oracle=lambda rows: rows),
    "evaluate, classes left out": evaluated(
        y_pred=None, y_score=EACH, classes=["a", "b"], y_true=TABLE["topic"]
    ),
    **{
        f"all are {said}, {metric}": same(said, metric)
        for said, metric in (
            *((False, metric) for metric in ("precision", "recall", "f1")),
            *((True, metric) for metric in ("recall", "false_omission_rate", "f1", "accuracy")),
        )
    },
    "classes, near metric": compared(**WEEKS, metric="recall:bb"),
    "classes, aux": compared(**WEEKS, aux=["p"]),
    "classes, name of a class": compared(**WEEKS, names=("a", "new")),
    "classes, too few": compared(**WEEKS, classes=["a", "c"]),
    "classes, threshold": compared(**TOPIC, threshold=0.5, metric="macro_f1"),
    "classes after yes": from_before("yes", {"question": "Is it?"}, question="Is it?", **WEEKS),
    "compare, another question": from_before("q1", {"question": "Is it?"}, question="Or is it?"),
    "compare, a question": from_before("q2", question="Is it?"),
    "compare, another seed": from_before("seed", {"seed": 3}, seed=4),
    "compare, three names": compared(names=("a", "b", "c")),
    "compare, prevalence": compared(metric="prevalence"),
    "compare, no ids": compared(id=None),
    "compare, no campaign": from_before("none", labels_from="nobody"),
    "compare, other ids": partial(
        in_turn,
        begun("ids"),
        lambda: assay.compare_campaign(
            *[some(id=[*range(SIZE)])] * 2, **SCORE, budget=9, labels_from="before",
            storage="sqlite:///ids.db",
        ),
    ),
    "tags without a threshold": tagged(threshold=None),
    "tags of no column": tagged(probabilities="q_*"),
    "tags left out": tagged(classes=["cs"]),
    "tags with weights": tagged(sample_weight="id"),
    "tags, near class": tagged(metric="precision:cz"),
    "tags with a score": tagged(score="p_cs"),
    "tags, macro": tagged(metric="macro_f1"),
    "tags, kappa": tagged(metric="cohen_kappa"),
    "tags, unknown in a column": tagged(
        predictions={**TAGS, "tags": ["cs|bios", *["cs"] * 39]}, predicted="tags",
        probabilities=None, threshold=None, classes=["cs", "bio"],
    ),
    "top 2 of labels": topped(predicted="topic", metric="top_2_accuracy", classes=None),
    "top 5 of a score": create(metric="top-5-accuracy"),
    "top 2 by one": topped(
        classifiers={"new": {"probabilities": "each"}, "old": {"predicted": "topic"}},
        metrics=["top_2_accuracy:new - top_2_accuracy:old"],
    ),
    "top 3 of 3": topped(probabilities="each", metric="top_3_accuracy"),
    "top 2 of a class": topped(probabilities="each", metric="top_2_accuracy:a"),
    "threshold for, threshold": cut(threshold=0.5),
    "threshold for, aux": cut(aux=["topic"]),
    "threshold for, within": cut(within=0.02),
    "threshold for, at least": cut(at_least=0.9),
    "threshold for, design": cut(design=assay.Design()),
    "threshold for, classifiers": cut(classifiers=BOTH),
    "threshold for, gain": cut(gain=2.0),
    "threshold of another": lambda: assay.create_campaign(TABLE, **SCORE, budget=9).threshold(),
    "series, same period": followed("s1", period="w1"),
    "series, in memory": followed("s2", previous=None),
    "series, another week": followed("s3", previous=some(p=P[::-1])),
    "series, another metric": followed("s4", metric="recall"),
    "series, another seed": followed("s5", seed=5),
    "series, another question": followed("s6", question="Is it ham?"),
    "series, period": followed("s7", period="week 2"),
    "series, name": followed("s8", series="a/b"),
    "series, prevalence": made_at_once(series="p", **SCORE, metric="prevalence"),
    "series without ids": made_at_once(series="n", **{**SCORE, "id": None}),
    "no such series": lambda: assay.trend("z", storage="sqlite:///s1.db"),
    "weights and labels": create(sample_weight="p", labels={"i1": True}),
    "weights, at least": create(
        sample_weight="p", classifiers=BOTH, score=None, threshold=None, budget=None, at_least=0.9
    ),
    "weights, bets": create(
        sample_weight="p", classifiers=BOTH, score=None, threshold=None,
        design=assay.Design.guaranteed(),
    ),
    "labels, bets": create(labels={"i1": True}, design=assay.Design.guaranteed()),
    "no labels": create(labels={}),
    "no pairs of labels": create(labels=[]),
    "labels of a number": create(labels=7),
    "labels of no yes": create(labels={"i1": True}, metric="precision"),
    "two labels": create(labels=[("i30", True), ("i30", False)]),
    "extend by the same": extended("e1", TABLE),
    "extend by numbers": extended("e3", some(id=[*range(SIZE)])),
    "extend by margins": extended("e4", {"id": ["x"], "p": [-0.5]}),
    "extend without ids": extended("e5", {"p": [0.5]}),
    "extend by a no": extended(
        "e6", {"id": ["x"], "p": [0.1]}, predictions=some(p=(P + 1) / 2), metric="accuracy"
    ),

    "extend row numbers": extended("e7", {"p": [0.5]}, id=None),
    "extend several": extended("e8", TABLE, metrics=["precision", "accuracy"]),
    "extend weights": extended("e9", {"id": ["x"], "p": [0.5]}, sample_weight="p"),
    "extend classes": extended("e10", TABLE, **WEEKS),
}  # fmt: skip
"""By name: calls whose error is recorded; a call that is taken is recorded as one."""
