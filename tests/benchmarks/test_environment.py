"""Environments are made once, and again if their making was cut short."""

import subprocess

import numpy as np
import pytest

from benchmarks.harness import environment
from benchmarks.harness.environment import STAMP, EnvironmentFailedError, folder_of, python_of
from benchmarks.harness.numbers import Numbers
from benchmarks.peers import elsewhere
from benchmarks.peers.elsewhere import Elsewhere, PeerFailedError

SCRIPT = """
import os, sys
sys.path.insert(0, {peers!r})
import numpy as np
from worker import serve

def fit(rows, y, options):
    print("noise of a library")
    if options["die"]:
        os._exit(3)
    if y[0] < 0.0:
        raise ValueError("a negative y")
    return lambda rows: {{"mean": rows[:, 0] + y.mean(), "std": np.ones(len(rows))}}

serve(fit)
"""


@pytest.fixture
def nothing(tmp_path, monkeypatch):
    """Requirements of nothing, and a folder for the environments."""
    monkeypatch.setenv("TERMWISE_BENCH_ENVS", str(tmp_path / "envs"))
    path = tmp_path / "none-requirements.txt"
    path.write_text("# nothing\n")
    return path


def test_an_environment_is_made_once(nothing, monkeypatch):
    python = python_of("none", nothing)
    said = subprocess.run([python, "-c", "import sys; print(sys.prefix)"], capture_output=True, text=True)
    assert said.stdout.strip() == str(folder_of("none", nothing))
    monkeypatch.setattr(environment, "_make", None)  # it would fail if it were called
    assert python_of("none", nothing) == python


def test_a_killed_installation_is_made_again(nothing, monkeypatch):
    folder = folder_of("none", nothing)
    made = []

    def killed(folder, _):
        folder.mkdir()
        (folder / "half").touch()
        made.append(folder)
        if len(made) == 1:
            raise KeyboardInterrupt

    monkeypatch.setattr(environment, "_make", killed)
    with pytest.raises(KeyboardInterrupt):
        python_of("none", nothing)
    assert (folder / "half").exists()
    assert not (folder / STAMP).exists()
    python_of("none", nothing)
    assert made == [folder, folder]
    assert (folder / STAMP).exists()


def test_other_requirements_are_another_environment(nothing):
    before = folder_of("none", nothing)
    nothing.write_text("# something\n")
    assert folder_of("none", nothing) != before


def test_a_failed_installation_is_one_line(nothing):
    nothing.write_text("./no-such-folder\n")
    with pytest.raises(EnvironmentFailedError, match=r"could not be made: ERROR: .*no-such-folder") as caught:
        python_of("none", nothing)
    assert "\n" not in str(caught.value)
    assert not (folder_of("none", nothing) / STAMP).exists()


@pytest.fixture
def far(tmp_path, monkeypatch):
    """A model in a process of its own that runs by our interpreter; makes one that may die in its fit."""
    import sys

    script = SCRIPT.format(peers=str(elsewhere.HERE))
    (tmp_path / "mean_script.py").write_text(script)
    monkeypatch.setattr(elsewhere, "python_of", lambda *_: sys.executable)
    monkeypatch.setattr(elsewhere, "HERE", tmp_path)
    return lambda die=False: Elsewhere("mean", Numbers.of, lambda _: {"die": die})


COLUMNS = {"x": np.array([-1.0, 0.0, 1.0])}


def test_a_model_elsewhere_keeps_what_it_learned(far):
    model = far()
    model.fit(COLUMNS, np.full(3, 2.0), [])
    for _ in range(2):
        found = model.predict(COLUMNS)
        np.testing.assert_allclose(found.mean, 2.0 + COLUMNS["x"] / COLUMNS["x"].std())
        np.testing.assert_array_equal(found.std, 1.0)
    assert model.fit_seconds >= 0.0
    assert model.predict_seconds >= 0.0
    assert model.peak_megabytes is None or 0.0 <= model.peak_megabytes < 500.0  # without the libraries
    model.close()
    assert model._process.poll() is not None


def test_an_error_elsewhere_is_told(far):
    model = far()
    with pytest.raises(PeerFailedError, match="mean failed to fit: ValueError: a negative y"):
        model.fit(COLUMNS, np.full(3, -1.0), [])
    model.fit(COLUMNS, np.ones(3), [])  # the process is still there


def test_a_process_that_dies_is_told(far):
    with pytest.raises(PeerFailedError, match="ended during fit: code 3; noise of a library"):
        far(die=True).fit(COLUMNS, np.ones(3), [])


def test_the_process_ends_with_its_model(far):
    model = far()
    process = model._process
    del model
    assert process.poll() is not None
