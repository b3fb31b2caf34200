"""The peers keep one contract, whatever their library wants."""

import importlib
import importlib.util

import numpy as np
import pytest

from benchmarks.harness.noise import residual_std
from benchmarks.peers.registry import CLASSIFICATION, PEERS, REGRESSION, NotInstalledError, Peer, requirements

ROWS, TEST_ROWS = 60, 20
HERE = [peer for peer in PEERS.values() if not peer.environment]
ALWAYS = {"Linear", "SVM", "KNN", "GBM", "AdaBoost", "MLP", "GP"}
WITH_STD = {"GP", "SVGP", "pyGAM", "BoTorch OAK"}


def table(rng, rows, cities):
    """Numbers and text with missing cells, labels that are numbers, and a column that says nothing."""
    size = rng.normal(size=rows)
    size[::9] = np.nan
    city = rng.choice(np.array(cities, dtype=object), rows)
    city[::7], city[1] = None, np.nan
    code = rng.integers(0, 3, rows).astype(float)
    return {"size": size, "city": city, "code": code, "same": np.ones(rows)}


def target(X):
    return np.nan_to_num(X["size"]) + (X["city"] == "Oslo") + (X["code"] == 1.0)


@pytest.fixture(scope="module")
def problem():
    """Columns of training, their targets by task, and columns of test."""
    rng = np.random.default_rng(0)
    X, X_test = table(rng, ROWS, ["Oslo", "Rome"]), table(rng, TEST_ROWS, ["Oslo", "Rome", "Lima"])
    f = target(X)
    f = (f - f.mean()) / f.std()
    y = f + 0.5 * rng.normal(size=ROWS)
    # Labels without noise would keep some peers boosting for long.
    labels = f + rng.normal(size=ROWS) > 0.0
    return X, {REGRESSION: (y - y.mean()) / y.std(), CLASSIFICATION: labels.astype(int)}, X_test


def made(peer, task):
    try:
        return peer.model(task, seed=0)
    except NotInstalledError as error:
        if peer.name in ALWAYS:
            raise
        pytest.skip(str(error))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("peer", "task"),
    [pytest.param(peer, task, id=f"{peer.name}-{task}") for peer in HERE for task in peer.tasks],
)
def test_every_peer_learns_and_predicts(peer, task, problem):
    X, targets, X_test = problem
    y = targets[task]
    model = made(peer, task)
    model.fit(X, y, ["code"])
    learned, found = model.predict(X), model.predict(X_test)
    assert found.mean.shape == (TEST_ROWS,)
    assert np.isfinite(found.mean).all()
    assert peer.version
    if task == CLASSIFICATION:
        assert found.std is None
        assert ((found.mean >= 0.0) & (found.mean <= 1.0)).all()
        assert np.mean((learned.mean > 0.5) == (y == 1)) > 0.7
        return
    assert np.sqrt(np.mean((learned.mean - y) ** 2)) < 0.8
    assert (found.std is not None) == (peer.name in WITH_STD)
    if found.std is not None:
        assert found.std.shape == (TEST_ROWS,)
        assert (found.std > 0.0).all()


@pytest.mark.parametrize("peer", PEERS.values(), ids=PEERS)
def test_every_place_is_a_file_and_every_environment_has_pins(peer):
    module, _, function = peer.place.partition(":")
    found = importlib.util.find_spec(module)
    assert found is not None
    with open(found.origin, encoding="utf-8") as file:
        assert f"def {function}(task: str, seed: int)" in file.read()
    if peer.environment:
        assert f"{peer.package}=={peer.version}" in requirements(peer.environment).read_text()


def test_the_names_are_those_of_the_tables():
    assert list(PEERS) == [
        *("Linear", "SVGP", "SVM", "KNN", "GBM", "AdaBoost", "MLP"),
        *("GP", "XGBoost", "LightGBM", "EBM", "EBM 1 bag", "pyGAM", "BoTorch OAK"),
    ]


def test_a_library_that_is_missing_is_named(monkeypatch):
    def missing(name):
        raise ModuleNotFoundError("no", name="lightgbm.sklearn")

    monkeypatch.setattr(importlib, "import_module", missing)
    with pytest.raises(
        NotInstalledError, match=r"^LightGBM needs 'lightgbm'.*pip install termwise\[bench\]$"
    ):
        PEERS["LightGBM"].model(REGRESSION)


def test_a_package_that_is_missing_has_no_version():
    with pytest.raises(NotInstalledError, match="no-such-package"):
        _ = Peer("None", "none:none", "no-such-package").version


def test_a_task_that_a_peer_lacks_is_refused():
    with pytest.raises(ValueError, match="BoTorch OAK has no classification; it has regression"):
        PEERS["BoTorch OAK"].model(CLASSIFICATION)


def test_rare_labels_do_not_stop_the_machine_of_support_vectors(problem):
    X, _, X_test = problem
    y = np.zeros(ROWS, dtype=int)
    y[:3] = 1
    model = PEERS["SVM"].model(CLASSIFICATION)
    model.fit(X, y, ["code"])
    assert np.isfinite(model.predict(X_test).mean).all()


@pytest.mark.parametrize(
    ("rows", "slow", "fits"),
    [(50, False, 5), (2000, False, 5), (2001, False, 1), (300, True, 5), (301, True, 1)],
)
def test_residual_std_is_of_rows_left_out(rows, slow, fits):
    rng = np.random.default_rng(1)
    x = rng.normal(size=rows)
    y = x + 0.5 * rng.normal(size=rows)
    models = []

    def factory():
        models.append(PEERS["Linear"].model(REGRESSION))
        return models[-1]

    std = residual_std(factory, {"x": x}, y, [], seed=0, slow=slow)
    assert len(models) == fits
    assert std == pytest.approx(0.5, rel=0.25)
    assert std == residual_std(factory, {"x": x}, y, [], seed=0, slow=slow)


def test_residual_std_is_of_the_quicker_form_of_a_model_that_has_one():
    rng = np.random.default_rng(1)
    X, y = {"x": rng.normal(size=50)}, rng.normal(size=50)
    slow, quick = PEERS["Linear"].model(REGRESSION), PEERS["Linear"].model(REGRESSION)
    slow.quicker = lambda: quick
    assert residual_std(lambda: slow, X, y, [], seed=0) > 0.0
    assert hasattr(quick, "_estimator")
    assert not hasattr(slow, "_estimator")


def test_residual_std_is_not_fooled_by_rows_learned_by_heart():
    rng = np.random.default_rng(2)
    X, y = {"x": rng.normal(size=200)}, rng.normal(size=200)
    assert residual_std(lambda: PEERS["GBM"].model(REGRESSION), X, y, [], seed=0) > 1.0
