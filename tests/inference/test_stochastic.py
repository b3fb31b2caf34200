"""Minibatches find what all rows would, and a fit that was stopped goes on as if it had not been."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from termwise.encode.rows import ArrayChunk
from termwise.errors import CheckpointError, NumericalError, OptionError, TermwiseWarning
from termwise.inference import coarse, sparse_sites, stochastic
from termwise.inference.blocks import Setting
from termwise.inference.bound import Decoupled
from termwise.inference.checkpoint import Checkpoints, new_folder, old_folder
from termwise.inference.climb import free_parameters
from termwise.inference.coarse import Data, SparseOptions, fit_sparse
from termwise.inference.minibatches import Minibatches
from termwise.inference.site_blocks import SitePull, site_statistics, site_step
from termwise.inference.sparse import push_of
from termwise.inference.sparse_sites import Inducing, SparseSiteObjective, bound_gradient
from termwise.inference.stochastic import State, Stochastic, fit_stochastic
from termwise.inference.workers import LocalWorkers
from termwise.likelihoods import Gaussian, Logit, Poisson, Student
from tests.inference.test_approximate import problem
from tests.inference.test_coarse import model_of, table

ROWS = 3000
every = pytest.mark.parametrize("likelihood", [Logit(), Poisson(), Student(0.5, 4.0), Gaussian(0.3)])


def view_at(model, theta, inducing, known):
    push, _ = push_of(Setting(model, theta, inducing))
    return known.seen(push.setting, push.root)


@every
@pytest.mark.parametrize("orthogonal", [None, Decoupled(2), Decoupled(4, mean_only=True)])
def test_the_gradient_is_that_of_the_bound_wherever_the_inducing_values_are(likelihood, orthogonal):
    model, X, observed, theta = problem(likelihood, n=40)
    rows = ArrayChunk(X, observed.y, observed.weight, observed.offset)
    Z = X[~np.isnan(X).any(axis=1)][:6]
    rng = np.random.default_rng(1)
    root = rng.standard_normal((6, 6))
    known = Inducing(root @ root.T, rng.standard_normal(6), orthogonal)

    def bound(at):
        view, divergence = view_at(model, at, Z, known)
        return site_statistics(rows, view).value - divergence

    view, _ = view_at(model, theta, Z, known)
    found = site_step(rows, SitePull(view))
    gradient, _ = bound_gradient(view, found.sums, found.reached)
    step = 1e-5
    expected = [(bound(theta + one) - bound(theta - one)) / (2.0 * step) for one in step * np.eye(theta.size)]
    free = free_parameters(model)
    np.testing.assert_allclose(gradient[free], np.array(expected)[free], rtol=1e-4, atol=1e-5)


@every
def test_a_minibatch_of_all_rows_comes_to_the_bound_of_all_rows(likelihood, monkeypatch):
    monkeypatch.setattr(stochastic, "FIRST_RATE", 0.0)
    monkeypatch.setattr(stochastic, "PARTS", (0.5, 0.5))
    model, X, observed, theta = problem(likelihood, n=40)
    rows = ArrayChunk(X, observed.y, observed.weight, observed.offset)
    Z = X[~np.isnan(X).any(axis=1)][:6]
    objective = SparseSiteObjective(model, [rows], Z, LocalWorkers(1), tolerance=1e-12)
    expected, _ = objective.value_and_gradient(theta)
    search = Stochastic(model, Minibatches([rows], 40, 40, seed=0), 60, 1)
    seen = []
    search.run(State.begin(theta, Z, Inducing.prior(6)), lambda step, value: seen.append(value))
    assert seen[-1] == pytest.approx(expected, abs=1e-6)


# Whole fits, with few rows and few steps.


@pytest.fixture(autouse=True)
def small(monkeypatch):
    monkeypatch.setattr(coarse, "FIRST_ROWS", 500)
    monkeypatch.setattr(stochastic, "MOST_SAMPLED", 500)
    monkeypatch.setattr(stochastic, "BATCH_ROWS", 256)
    monkeypatch.setattr(stochastic, "LEAST_STEPS", 150)


def logits(seed=0):
    X, y, _ = table(seed, ROWS)
    p = 1.0 / (1.0 + np.exp(-2.0 * y))
    return X, (np.random.default_rng(seed).random(ROWS) < p).astype(float)


def model_for(X, likelihood):
    return replace(model_of(X), likelihood=likelihood)


def fit(X, y, likelihood, engine=fit_stochastic, monitor=None, checkpoints=None):
    splitting, fitting = np.random.default_rng(0).spawn(2)
    ends = (1000, 1700)
    parts = [slice(a, b) for a, b in zip((0, *ends), (*ends, None), strict=True)]
    whole = Data.in_memory(ArrayChunk(X, y), splitting)
    data = replace(whole, chunks=[ArrayChunk(X[rows], y[rows]) for rows in parts])
    options = SparseOptions(n_inducing=40, workers=LocalWorkers(1))
    extra = {} if checkpoints is None else {"checkpoints": checkpoints}
    return engine(model_for(X, likelihood), data, options, fitting, monitor, **extra)


@pytest.mark.parametrize("likelihood", [Logit(), None])
def test_it_comes_close_to_the_sparse_engine(likelihood, monkeypatch):
    monkeypatch.setattr(stochastic, "LEAST_STEPS", 400)
    X, y = logits()
    if likelihood is None:
        X, y, _ = table(n=ROWS)
        X = np.nan_to_num(X)
    ours, theirs = fit(X, y, likelihood), fit(X, y, likelihood, fit_sparse)
    assert ours.result.status == "planned"
    assert ours.result.rows == ROWS
    assert ours.result.objective > theirs.result.objective - 3e-3 * ROWS
    f, g = (one.posterior.mean(one.model.encoded(one.theta, X[:500])) for one in (ours, theirs))
    assert np.corrcoef(f, g)[0, 1] > 0.995
    if likelihood is None:
        assert ours.posterior.noise == pytest.approx(theirs.posterior.noise, rel=0.05)


@pytest.mark.parametrize("engine", [fit_sparse, fit_stochastic])
def test_inducing_values_that_have_not_come_to_rest_are_no_success(engine, monkeypatch):
    X, y = logits()
    assert fit(X, y, Logit(), engine).result.status != "stuck"
    monkeypatch.setattr(sparse_sites, "MOST_STEPS", 1)
    assert fit(X, y, Logit(), engine).result.status == "stuck"


class Stopped(Exception):
    """As good as a signal."""


def stop_after(evaluations):
    def monitor(progress):
        if progress.evaluations >= evaluations:
            raise Stopped

    return monitor


def checkpoints_in(folder, every=0.0, mark=0):
    return Checkpoints(Path(folder), np.array([mark]), every)


@pytest.fixture
def stopped(tmp_path):
    """The folder of a fit that was stopped, the undisturbed fit, and the table."""
    X, y = logits()
    whole = fit(X, y, Logit())
    with pytest.raises(Stopped):
        fit(
            X,
            y,
            Logit(),
            monitor=stop_after(whole.result.evaluations - 60),
            checkpoints=checkpoints_in(tmp_path),
        )
    assert len(list(tmp_path.glob("*.npz"))) == 2
    return tmp_path, whole, X, y


def test_a_fit_that_was_stopped_goes_on_to_the_same_end(stopped):
    folder, whole, X, y = stopped
    again = fit(X, y, Logit(), checkpoints=checkpoints_in(folder))
    np.testing.assert_array_equal(again.theta, whole.theta)
    assert again.result.objective == whole.result.objective
    assert again.result.evaluations < whole.result.evaluations


def test_a_checkpoint_cut_short_is_refused_and_the_one_before_is_used(stopped):
    folder, whole, X, y = stopped
    newest = max(folder.glob("*.npz"))
    newest.write_bytes(newest.read_bytes()[:-100])
    with pytest.warns(
        TermwiseWarning, match=rf"{newest.name} is cut short.*the checkpoint before it is used"
    ):
        again = fit(X, y, Logit(), checkpoints=checkpoints_in(folder))
    np.testing.assert_array_equal(again.theta, whole.theta)
    assert [path.stem for path in sorted(folder.glob("*.npz"))] == ["000000149", "000000150"]


def test_a_disk_that_is_full_does_not_end_a_fit(tmp_path, monkeypatch):
    def full(*args, **arrays):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(np, "savez", full)
    X, y = logits()
    said = r"cannot be written \(No space left on device\); the fit goes on"
    with pytest.warns(TermwiseWarning, match=said):
        found = fit(X, y, Logit(), checkpoints=checkpoints_in(tmp_path, every=np.inf))
    assert found.result.status == "planned"


def test_a_step_that_cannot_be_made_is_taken_back(monkeypatch):
    X, y = logits()
    step, calls = Stochastic.after_step, []

    def failing(self, state, rows):
        calls.append(state.step)
        if len(calls) in (40, 41, 90):
            raise NumericalError("too far")
        return step(self, state, rows)

    monkeypatch.setattr(Stochastic, "after_step", failing)
    found = fit(X, y, Logit())
    assert calls == list(range(150))
    assert np.isfinite(found.result.objective)
    monkeypatch.setattr(Stochastic, "after_step", _fail)
    with pytest.raises(NumericalError, match="again"):
        fit(X, y, Logit())


def test_sums_that_are_no_numbers_cost_a_step(monkeypatch):
    X, y = logits()
    step, calls = stochastic.site_step, []

    def look(*args):
        calls.append(1)
        found = step(*args)
        spoiled = replace(found.sums, linear=np.nan * found.sums.linear)
        return replace(found, sums=spoiled) if len(calls) == 30 else found

    monkeypatch.setattr(stochastic, "site_step", look)
    found = fit(X, y, Logit())
    assert len(calls) == 150
    assert np.isfinite(found.result.objective)


def test_a_variance_below_zero_costs_a_step(monkeypatch):
    X, y = logits()
    calls = []

    def pull(view):
        calls.append(1)
        return SitePull(replace(view, root=1.5 * view.root) if len(calls) in (30, 31) else view)

    monkeypatch.setattr(stochastic, "SitePull", pull)
    seen = []
    found = fit(X, y, Logit(), monitor=seen.append)
    assert len(calls) == 150
    assert found.result.status == "planned"
    assert seen[-1].evaluations == len(seen)
    monkeypatch.setattr(stochastic, "SitePull", SitePull)
    assert fit(X, y, Logit(), monitor=seen.append).result.evaluations == found.result.evaluations + 2


def _fail(*_):
    raise NumericalError("again and again")


@pytest.mark.parametrize("content", [b"", b"nonsense", b"PK\x03\x04"])
def test_without_any_checkpoint_that_is_whole_there_is_an_error(stopped, content):
    folder, _, X, y = stopped
    for path in folder.glob("*.npz"):
        path.write_bytes(content)
    with pytest.raises(CheckpointError, match=r"cut short or damaged.*fit again from the beginning"):
        fit(X, y, Logit(), checkpoints=checkpoints_in(folder))


def test_a_checkpoint_of_another_fit_is_refused(stopped):
    folder, _, X, y = stopped
    with pytest.raises(CheckpointError, match="other data or with other options"):
        fit(X, y, Logit(), checkpoints=checkpoints_in(folder, mark=1))


def test_a_fit_that_was_stopped_before_any_checkpoint_begins_again(tmp_path):
    X, y = logits()
    found = fit(X, y, Logit(), checkpoints=checkpoints_in(tmp_path, every=np.inf))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["000000000.npz", "000000150.npz"]
    assert found.result.starts


def test_folders_of_checkpoints(tmp_path):
    with pytest.raises(OptionError, match=r"resume is .*no such folder"):
        old_folder(tmp_path / "none")
    folder = new_folder(tmp_path / "deep" / "new")
    with pytest.warns(TermwiseWarning, match="no checkpoint yet, so the fit begins at the beginning"):
        assert old_folder(folder) == folder
    (folder / "000000001.npz").touch()
    with pytest.raises(OptionError, match=r"holds checkpoints already; go on from them with resume="):
        new_folder(folder)
    (tmp_path / "file").touch()
    with pytest.raises(OptionError, match="cannot be written to"):
        new_folder(tmp_path / "file")
