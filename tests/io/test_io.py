"""A saved model comes back bit for bit, and what cannot be written leaves nothing behind."""

from __future__ import annotations

import os
from collections.abc import Callable
from copy import copy
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

import termwise as tw
from termwise.errors import ModelFileError, OptionError
from termwise.io.restore import COLUMN_KERNELS
from termwise.kernels.column import ColumnKernel
from tests.io.models import MODELS, assert_same, same_bits


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("pruned", [False, True], ids=["whole", "pruned"])
def test_a_loaded_model_is_the_same_bit_for_bit(
    name: str, pruned: bool, fitted: Callable[[str], Any], tmp_path: Path
) -> None:
    model = fitted(name).prune(0.05) if pruned else fitted(name)
    tw.save(model, tmp_path / "m")
    loaded = tw.load(tmp_path / "m")
    assert type(loaded) is type(model)
    assert_same(model, loaded)
    assert loaded.get_params() == model.get_params()
    assert (loaded.encoder_, loaded.columns_) == (model.encoder_, model.columns_)
    assert (loaded.fit_result_, loaded.objective_) == (model.fit_result_, model.objective_)
    assert loaded.posterior_.kernel == model.posterior_.kernel
    assert loaded.posterior_.terms == model.posterior_.terms
    assert loaded.constant_ == model.constant_
    assert [term.name for term in loaded.terms_] == [term.name for term in model.terms_]
    for column in ("share", "low", "high"):
        assert same_bits(loaded.sobol_[column], model.sobol_[column])
    assert loaded.n_features_in_ == model.n_features_in_
    assert loaded.feature_names_in_.tolist() == model.feature_names_in_.tolist()
    assert os.listdir(tmp_path) == ["m"]


def test_a_model_without_names_and_a_refit(tmp_path: Path) -> None:
    X = np.random.default_rng(0).normal(size=(20, 2))
    model = tw.OAKRegressor(max_order=1, n_restarts=1).fit(X, X[:, 0])
    tw.save(model, tmp_path / "m")
    loaded = tw.load(tmp_path / "m")
    assert not hasattr(loaded, "feature_names_in_")
    assert same_bits(loaded.predict(X), model.predict(X))
    tw.save(loaded, tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == (tmp_path / "m").read_bytes()
    assert same_bits(loaded.fit(X, X[:, 0]).predict(X), model.predict(X))


def test_the_memory_order_of_arrays_is_kept(fitted: Callable[[str], Any], tmp_path: Path) -> None:
    model = copy(fitted("oak"))
    model.posterior_ = replace(model.posterior_, root=np.asfortranarray(model.posterior_.root))
    tw.save(model, tmp_path / "m")
    loaded = tw.load(tmp_path / "m")
    assert loaded.posterior_.root.flags.f_contiguous
    assert_same(model, loaded)


def test_options_that_are_not_data_come_back_as_defaults(tmp_path: Path) -> None:
    X = np.random.default_rng(0).normal(size=(15, 2))
    seen: list[Any] = []
    options: dict[str, Any] = {"n_restarts": np.int64(1), "categorical": (), "max_order": 1}
    random_state = np.random.RandomState(3)
    model = tw.OAKRegressor(progress=seen.append, random_state=random_state, **options).fit(X, X[:, 0])
    assert seen
    tw.save(model, tmp_path / "m")
    params = tw.load(tmp_path / "m").get_params()
    assert (params["progress"], params["random_state"]) == (False, None)
    assert (params["n_restarts"], params["categorical"], params["max_order"]) == (1, [], 1)


def test_what_cannot_be_saved(tmp_path: Path) -> None:
    class Own(tw.OAKRegressor):
        pass

    with pytest.raises(NotFittedError):
        tw.save(tw.OAKRegressor(), tmp_path / "m")
    for other in (Own(), "model", None):
        with pytest.raises(OptionError, match="pass a fitted OAKRegressor or AdditiveGPRegressor"):
            tw.save(other, tmp_path / "m")
    assert os.listdir(tmp_path) == []


def test_an_infinite_level_cannot_be_saved(tmp_path: Path) -> None:
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"x": pd.Categorical([np.inf, 1.0, 2.0, 1.0, 2.0]), "z": np.arange(5.0)})
    model = tw.OAKRegressor(max_order=1, n_restarts=1).fit(frame, np.arange(5.0) ** 2)
    with pytest.raises(ModelFileError, match="infinite level"):
        tw.save(model, tmp_path / "m")
    assert os.listdir(tmp_path) == []


def leaves(kind: Any) -> set[Any]:
    below = [leaf for child in kind.__subclasses__() for leaf in leaves(child)]
    return set(below) or {kind}


def test_every_kernel_can_be_loaded() -> None:
    kernels = {kernel for kernel in leaves(ColumnKernel) if kernel.__module__.startswith("termwise.")}
    assert kernels == set(COLUMN_KERNELS.values())


# Writing.


def test_a_path_that_cannot_be_written(fitted: Callable[[str], Any], tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    for path in (tmp_path / "nowhere" / "m", tmp_path / "folder"):
        with pytest.raises(ModelFileError, match=r"cannot be written: .*check the folder") as caught:
            tw.save(fitted("oak"), path)
        assert "\n" not in str(caught.value)
    assert sorted(os.listdir(tmp_path)) == ["folder"]


def test_a_failure_leaves_the_old_file_and_nothing_else(
    fitted: Callable[[str], Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "m"
    path.write_bytes(b"old")

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    def interrupted(_: int) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(ModelFileError, match="No space left on device"):
        tw.save(fitted("oak"), path)
    monkeypatch.setattr(os, "fsync", interrupted)
    with pytest.raises(KeyboardInterrupt):
        tw.save(fitted("oak"), path)
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["m"]


def test_a_link_and_the_mode_of_the_file_are_kept(fitted: Callable[[str], Any], tmp_path: Path) -> None:
    (tmp_path / "real").write_bytes(b"old")
    (tmp_path / "real").chmod(0o640)
    (tmp_path / "link").symlink_to(tmp_path / "real")
    tw.save(fitted("oak"), tmp_path / "link")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").stat().st_mode & 0o777 == 0o640
    assert_same(fitted("oak"), tw.load(tmp_path / "real"))
