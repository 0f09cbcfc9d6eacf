"""How fast people label, by when they did."""

from datetime import UTC, datetime, timedelta

from assay.results.progress import Pace, pace_of

NOON = datetime(2026, 11, 16, 12, tzinfo=UTC)


def at(*minutes: float) -> list[str]:
    return [(NOON + timedelta(minutes=minute)).isoformat() for minute in minutes]


def test_the_last_hour_before_the_last_label_counts() -> None:
    slow, fast = range(-240, 0, 20), [minute / 2 for minute in range(121)]
    assert pace_of(at(*slow, *fast)) == Pace(an_hour=120, minutes=60)


def test_a_pause_is_no_labelling() -> None:
    before, after = range(10), range(45, 56)
    assert pace_of(at(*before, *after)) == Pace(an_hour=60, minutes=10)
    assert pace_of(at(*range(10), *range(38, 49))) == Pace(an_hour=25, minutes=48)  # 29 minutes


def test_a_file_is_no_labelling() -> None:
    assert pace_of(at(*[3.5] * 500)) is None
    assert pace_of(at(*range(7), *[6.5] * 21, *range(7, 11))) == Pace(an_hour=60, minutes=10)
    assert pace_of(at(*range(7), *[6.5] * 20, *range(7, 11))) == Pace(an_hour=180, minutes=10)


def test_few_labels_have_no_pace() -> None:
    assert pace_of([]) is None
    assert pace_of(at(0, 1, 2, 3)) is None  # four
    assert pace_of(at(0, 0.1, 0.2, 0.3, 0.9)) is None  # within a minute
    assert pace_of(at(0, 0.1, 0.2, 0.3, 1)) == Pace(an_hour=240, minutes=1)


def test_a_time_that_is_none_is_left_out() -> None:
    assert pace_of(["yesterday", "2026-11-16T12:00:00", *at(*range(6))]) == Pace(60, 5)
