import numpy as np

from assay.core.stopping import Reason, count_streak, reasons
from assay.core.tallies import Tallies


def test_shapes_are_brought_together() -> None:
    tallies = Tallies(N=[10, 20], n=[[1, 2], [3, 4]], x=0)
    assert tallies.x.shape == (2, 2)
    assert tallies.answers.tolist() == [3.0, 7.0]


def test_items_that_cannot_be_judged_cost_an_answer_but_are_no_label() -> None:
    tallies = Tallies.start([10, 20]).add(n=[1, 0], x=[1, 0], u=[0, 2])
    assert float(tallies.answers) == 3
    assert float(tallies.n.sum()) == 1


def test_taking_some_evaluations_keeps_them_whole() -> None:
    tallies = Tallies(N=[[5, 6], [7, 8]], n=1, x=0)
    assert tallies.take(np.array([False, True])).N.tolist() == [[7.0, 8.0]]


# When to stop


def decide(streak: int, answers: int, budget: int | None, room: list[float]) -> Reason:
    found = reasons(
        np.array(streak),
        rounds_in_a_row=2,
        answers=np.array(float(answers)),
        budget=budget,
        room=np.array(room),
    )
    return Reason(int(found))


def test_two_rounds_in_a_row_meet_the_goal() -> None:
    streak = np.array(0)
    history = []
    for half_width in (0.03, 0.02, 0.021, 0.019, 0.018):
        streak = count_streak(streak, np.array(half_width), within=0.02)
        history.append(decide(int(streak), 10, None, [5.0]))
    assert history == [Reason.GO_ON] * 4 + [Reason.GOAL_MET]


def test_the_reason_is_the_strongest_that_holds() -> None:
    assert decide(0, 9, 10, [5.0]) is Reason.GO_ON
    assert decide(0, 10, 10, [5.0]) is Reason.BUDGET_SPENT
    assert decide(0, 10, 10, [0.0, 0.0]) is Reason.EXHAUSTED
    assert decide(2, 10, 10, [0.0, 0.0]) is Reason.GOAL_MET
    assert decide(0, 10, None, [0.0, 1.0]) is Reason.GO_ON


def test_without_a_width_there_is_no_streak() -> None:
    assert int(count_streak(np.array(5), np.array(0.0), within=None)) == 0
