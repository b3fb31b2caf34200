"""The benchmark of the million flights, on few made-up ones."""

import numpy as np
import pytest

from benchmarks import delays
from benchmarks.delays import Course, Moment
from termwise.inference.progress import Progress


def test_flights_are_scored_by_every_model(made_up, monkeypatch):
    rng = np.random.default_rng(0)
    day, time = rng.integers(1, 8, 300), rng.uniform(0.0, 1440.0, 300)
    delay = 5.0 * (day > 4) + 10.0 * np.sin(time / 300.0) + rng.standard_normal(300)
    made_up("airline2008", {"DayOfWeek": day, "DepTime": time, "ArrDelay": delay}, "DayOfWeek")
    few = {"8": {"n_inducing": 8}, "16": {"n_inducing": 16}, "8+8": {"n_inducing": 8, "n_orthogonal": 8}}
    monkeypatch.setattr(delays, "QUICK_COUNTS", few)
    found = [(figure.name, figure.value) for figure in delays.run(quick=True)]
    assert dict(found)["training rows"] == 200
    nlpd = [value for name, value in found if name.strip() == "NLPD"]
    assert len(nlpd) == 6
    assert all(value < 1.0 for value in nlpd)  # 1.42 knowing nothing


def test_a_course_keeps_few_moments_and_ends_with_the_scores():
    course = Course("points", "500")
    for step in range(1, 1001):
        course(Progress(0, step, -1000.0 + step, 0.1 * step, 100))
    found = course.ended(120.0, 0.9, 1.3)
    assert len(found) == delays.MOMENTS + 1
    assert [one.evaluations for one in found[:1]] == [1]
    assert found[-2].seconds == pytest.approx(100.0)
    assert all(one.nlpd is None for one in found[:-1])
    assert found[-1] == Moment("points", "500", 120.0, 1000, 0.0, 0.9, 1.3)


def test_orthogonal_variables_are_held_against_as_many_others():
    ends = {"500": (10.0, 1.3), "1000": (40.0, 1.2), "500+500": (20.0, 1.1)}
    moments = [
        Moment(features, count, time, 1, 0.0, 0.9, nlpd)
        for features in delays.FEATURES
        for count, (time, nlpd) in ends.items()
    ]
    found = {figure.name: figure for figure in delays.mended(moments, tuple(ends), limited=True)}
    figure = found["softplus: NLPD of 500+500 above that of 1000"]
    assert figure.value == pytest.approx(-0.1)
    assert figure.met
    assert found["  seconds of 500+500 over those of 1000"].value == pytest.approx(0.5)


def test_the_courses_are_written_and_drawn(tmp_path):
    pytest.importorskip("matplotlib")
    moments = [
        Moment("points", "500", 1.0, 3, -9.5),
        Moment("points", "500", 2.0, 6, -8.5, 0.9, 1.3),
        Moment("softplus", "500", 3.0, 6, -8.5, 0.8, 1.2),
    ]
    delays.write(moments, tmp_path)
    delays.draw(moments, tmp_path)
    lines = (tmp_path / "delays.csv").read_text().splitlines()
    assert lines[0] == "features,count,seconds,evaluations,bound,rmse,nlpd"
    assert lines[1:3] == ["points,500,1,3,-9.5,,", "points,500,2,6,-8.5,0.9,1.3"]
    assert (tmp_path / "delays.png").stat().st_size > 1000
