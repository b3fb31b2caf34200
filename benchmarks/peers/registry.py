"""The peers by their name in a table, and how each is made."""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from functools import cache
from importlib import metadata
from pathlib import Path

from benchmarks.harness.model import Model

REGRESSION, CLASSIFICATION = "regression", "classification"
BOTH = (REGRESSION, CLASSIFICATION)
HERE = Path(__file__).parent


class NotInstalledError(ImportError):
    """A peer's library is not installed."""


@dataclass(frozen=True)
class Peer:
    """A model of another library, with that library's defaults.

    `place` is of the form "module:function"; the function takes the task and the seed. `package` is the
    distribution whose version is told. A peer with an `environment` runs in one of its own, as what it needs
    does not go together with what we need.
    """

    name: str
    place: str
    package: str
    tasks: tuple[str, ...] = BOTH
    most_rows: int | None = None  # of training, where time or memory grows too fast for more
    environment: str = ""
    most_splits: int | None = None  # of a table, where one fit takes many minutes

    def model(self, task: str, seed: int = 0) -> Model:
        """A new model of a task; imports the library."""
        if task not in self.tasks:
            raise ValueError(f"{self.name} has no {task}; it has {' and '.join(self.tasks)}")
        module, _, function = self.place.partition(":")
        try:
            return getattr(importlib.import_module(module), function)(task, seed)
        except ModuleNotFoundError as error:
            raise _not_installed(self.name, str(error.name).partition(".")[0]) from error

    @property
    def version(self) -> str:
        """The version of the library that is installed, or that its environment will have."""
        if self.environment:
            return _pin(self.environment, self.package)
        try:
            return metadata.version(self.package)
        except metadata.PackageNotFoundError as error:
            raise _not_installed(self.name, self.package) from error


def requirements(environment: str) -> Path:
    """The file of what an environment has."""
    return HERE / f"{environment}-requirements.txt"


def _not_installed(peer: str, missing: str) -> NotInstalledError:
    return NotInstalledError(
        f"{peer} needs {missing!r}, which is not installed; install it with: pip install termwise[bench]"
    )


@cache
def _pin(environment: str, package: str) -> str:
    lines = requirements(environment).read_text(encoding="utf-8").splitlines()
    return dict(line.split("==") for line in lines if "==" in line)[package]


FEW, ONE = 3, 1  # splits of a slow peer, and of one that takes up to half an hour for a fit


def _sklearn(
    name: str, function: str, *, most_rows: int | None = None, most_splits: int | None = None
) -> Peer:
    place = f"benchmarks.peers.sklearn_models:{function}"
    return Peer(name, place, "scikit-learn", most_rows=most_rows, most_splits=most_splits)


PEERS = {
    peer.name: peer
    for peer in (
        _sklearn("Linear", "linear"),
        Peer("SVGP", "benchmarks.peers.gpflow_models:svgp", "gpflow", environment="gpflow", most_splits=ONE),
        _sklearn("SVM", "svm", most_rows=100_000, most_splits=FEW),
        _sklearn("KNN", "knn"),
        _sklearn("GBM", "gbm"),
        _sklearn("AdaBoost", "adaboost"),
        _sklearn("MLP", "mlp", most_splits=FEW),
        _sklearn("GP", "gp", most_rows=2000, most_splits=FEW),
        Peer("XGBoost", "benchmarks.peers.xgboost_models:xgboost", "xgboost"),
        Peer("LightGBM", "benchmarks.peers.lightgbm_models:lightgbm", "lightgbm"),
        Peer("EBM", "benchmarks.peers.ebm_models:ebm", "interpret-core", most_splits=ONE),
        Peer("EBM 1 bag", "benchmarks.peers.ebm_models:ebm_of_one_bag", "interpret-core", most_splits=ONE),
        Peer(
            "pyGAM",
            "benchmarks.peers.pygam_models:gam",
            "pygam",
            most_rows=200_000,
            environment="pygam",
            most_splits=FEW,
        ),
        Peer(
            "BoTorch OAK",
            "benchmarks.peers.botorch_models:oak",
            "botorch",
            tasks=(REGRESSION,),
            most_rows=300,  # of 456 and thirteen columns a fit had not ended after ten minutes
            most_splits=FEW,
        ),
    )
}
