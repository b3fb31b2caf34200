"""Progress is said seldom, in plain words, and the time that is left by the pace so far."""

import io

import pytest

from termwise.inference.progress import Forecast, Progress, TextMonitor


def test_the_text_monitor_is_silent_at_first_and_then_writes_once_a_second():
    stream = io.StringIO()
    monitor = TextMonitor(stream)
    for seconds in (0.1, 1.5, 2.1, 2.5, 3.0):
        monitor(Progress(0, 7, -12.3456, seconds, 36))
    lines = stream.getvalue().splitlines()
    assert lines == ["fitting 36 rows: start 1, 7 evaluations, objective -12.35, 2 s"]
    monitor(Progress(1, 8, -12.3456, 3.3, 36))
    assert stream.getvalue().splitlines()[1:] == [
        "fitting 36 rows: start 2, 8 evaluations, objective -12.35, 3 s"
    ]


def test_the_text_monitor_says_how_long_it_will_take_if_that_is_known():
    stream = io.StringIO()
    TextMonitor(stream)(Progress(0, 7, -12.3456, 99.0, 4000, remaining=300.0))
    assert stream.getvalue() == (
        "fitting 4000 rows: start 1, 7 evaluations, objective -12.35, 99 s, about 5 min left\n"
    )


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_on_a_terminal_one_line_has_a_bar_and_is_gone_in_the_end():
    stream = Terminal()
    monitor = TextMonitor(stream)
    monitor.close()
    assert stream.getvalue() == ""
    monitor(Progress(0, 7, -12.3456, 30.0, 4000, remaining=90.0))
    assert stream.getvalue() == (
        "\r\033[K[#####...............] 25 % fitting 4000 rows: start 1, 7 evaluations, objective -12.35, "
        "30 s, about 90 s left"
    )
    monitor.close()
    assert stream.getvalue().endswith("left\r\033[K")


def test_a_forecast_is_the_work_that_is_left_at_the_pace_so_far():
    now = 0.0
    forecast = Forecast([(2.0, 3), (10.0, 4)], lambda: now)
    forecast.next_stage()
    now = 1.0  # two units of work a second
    assert forecast.remaining() == pytest.approx((2 * 2.0 + 4 * 10.0) / 2.0)
    now = 2.0
    assert forecast.remaining() == pytest.approx((1 * 2.0 + 4 * 10.0) / 2.0)
    forecast.next_stage()  # sooner than was expected
    now = 7.0
    assert forecast.remaining() == pytest.approx(3 * 10.0 / 2.0)


def test_a_climb_that_goes_on_longer_than_expected_is_taken_to_be_near_its_end():
    now = 0.0
    forecast = Forecast([(1.0, 2)], lambda: now)
    forecast.next_stage()
    left = []
    for now in (1.0, 2.0, 3.0, 4.0):  # noqa: B007
        left.append(forecast.remaining())
    assert left == pytest.approx([1.0, 1.0, 1.0, 1.0])
