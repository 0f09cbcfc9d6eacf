"""Campaigns of more classes than yes and no, from predictions to estimates."""

import pytest
from sklearn import metrics as sk

import assay
from assay.errors import AssayError
from tests.kinds import BY_TOPIC, TOPICS, finish, topics
from tests.sklearn_metrics import value_of

N = 600
METRICS = [
    *("accuracy", "macro_f1", "macro_precision", "macro_recall", "weighted_f1"),
    *("weighted_precision", "weighted_recall", "balanced_accuracy", "cohen_kappa"),
    *("matthews_correlation", "precision:cs", "recall:bio", "f1:physics", "prevalence:math"),
    "specificity:math",
]


def test_every_metric_at_full_labelling_is_that_of_scikit_learn() -> None:
    table, truth = topics(N)
    campaign = assay.create_campaign(table, **BY_TOPIC, metrics=METRICS, budget=N)
    finish(campaign, truth)
    found = campaign.estimates()
    assert list(found) == METRICS
    for name in METRICS:
        value = value_of(name, truth, table["topic"])
        assert found[name].value == pytest.approx(value, abs=1e-12), name
        assert found[name].low == pytest.approx(value, abs=1e-12), name
        assert found[name].high == pytest.approx(value, abs=1e-12), name


def test_a_metric_of_every_class_where_none_is_named() -> None:
    table, _ = topics(N)
    campaign = assay.create_campaign(table, **BY_TOPIC, metric="recall", within=0.2)
    assert [*campaign.estimates()] == [f"recall:{name}" for name in TOPICS]
    plain = assay.create_campaign(table, **BY_TOPIC, budget=50)
    assert [*plain.estimates()] == ["accuracy"]
    (item, *_) = plain.ask(1)
    with pytest.raises(AssayError, match="did you mean 'physics'"):
        plain.tell({item.id: "fysics"})


def test_the_matrix_at_full_labelling_is_that_of_scikit_learn() -> None:
    table, truth = topics(N)
    campaign = assay.create_campaign(table, **BY_TOPIC, budget=N)
    finish(campaign, truth)
    matrix = campaign.confusion()
    true = sk.confusion_matrix(truth, table["topic"], labels=TOPICS)
    for said, name in enumerate(TOPICS):
        for is_of, other in enumerate(TOPICS):
            cell = matrix.cell(name, other)
            items = 0.0 if cell is None else cell.items
            assert items == pytest.approx(true[is_of, said])
            if cell is not None:
                share = true[is_of, said] / true[:, said].sum()
                assert cell.low == pytest.approx(share)
                assert cell.high == pytest.approx(share)
    assert matrix.predicted == {name: int((table["topic"] == name).sum()) for name in TOPICS}
    assert matrix.confused[0].items == max(true[i, j] for i in range(4) for j in range(4) if i != j)
    assert sorted(matrix.order) == sorted(TOPICS)
