import pytest

from niulab.training.schedules import Schedule, constant


def test_a_schedule_is_a_function_of_the_absolute_step_and_the_planned_total():
    linear = Schedule(start=1.0, end=0.0)
    assert [linear.at(step, 1000) for step in (0, 250, 1000, 2000)] == [1.0, 0.75, 0.0, 0.0]
    cosine = Schedule(start=1.0, end=0.0, shape="cosine")
    assert cosine.at(500, 1000) == pytest.approx(0.5)
    assert cosine.at(250, 1000) > 0.75
    early = Schedule(start=1.0, end=0.5, until=0.5)
    assert [early.at(step, 1000) for step in (250, 500, 900)] == [0.75, 0.5, 0.5]
    assert constant(0.3).at(123, 1000) == 0.3
