"""The delays of a million flights by activation features and orthogonal variables. Spherical section 3.6.3.

Errors and densities are of the third of the rows that is held out, in sd of the training rows.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, fields
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.airline import flights
from benchmarks.data import REPOSITORY, Split
from benchmarks.figures import Figure
from benchmarks.harness.ours import as_learned
from benchmarks.harness.scoring import scores
from benchmarks.timing import seconds
from termwise.estimators.spherical import SphericalGPRegressor
from termwise.inference.progress import Progress

ROWS, QUICK_ROWS = 1_000_000, 20_000
RESULTS = REPOSITORY / "benchmarks" / "results"
FEATURES = ("points", "softplus")
COUNTS: dict[str, dict[str, int]] = {
    "500": {"n_inducing": 500},
    "1000": {"n_inducing": 1000},
    "500+500": {"n_inducing": 500, "n_orthogonal": 500},
}
QUICK_COUNTS: dict[str, dict[str, int]] = {
    "50": {"n_inducing": 50},
    "100": {"n_inducing": 100},
    "50+50": {"n_inducing": 50, "n_orthogonal": 50},
}
MOMENTS = 40  # of a fit that are kept, at most
COLOURS = ("#d55e00", "#0072b2", "#009e73")


@dataclass(frozen=True)
class Moment:
    """How far a fit was after some seconds; scores are of the rows held out, where they were taken."""

    features: str
    count: str
    seconds: float
    evaluations: int
    bound: float  # of all rows, by those that the step has seen
    rmse: float | None = None
    nlpd: float | None = None


class Course:
    """What a fit tells of itself as it goes."""

    def __init__(self, features: str, count: str) -> None:
        self.features, self.count = features, count
        self._seen: list[Moment] = []

    def __call__(self, progress: Progress) -> None:
        """Keep the seconds and the bound.

        Scores on the way belong here: they need the posterior at this step, which a fit does not hand out.
        """
        known = progress.seconds, progress.evaluations, progress.objective
        self._seen.append(Moment(self.features, self.count, *known))

    def ended(self, time: float, rmse: float, nlpd: float) -> list[Moment]:
        """Some moments, about equally far apart, and the end with its scores."""
        apart = np.linspace(0, len(self._seen) - 1, min(MOMENTS, len(self._seen)))
        kept = [self._seen[place] for place in np.unique(apart.astype(int))]
        last = self._seen[-1]
        return [*kept, Moment(self.features, self.count, time, last.evaluations, last.bound, rmse, nlpd)]


def run(quick: bool = False) -> Iterator[Figure]:
    """All models on the same rows; quick with few of them and without writing results."""
    counts = QUICK_COUNTS if quick else COUNTS
    split = flights(QUICK_ROWS if quick else ROWS)
    yield Figure("training rows", split.y.size)
    yield Figure("test rows", split.y_test.size)
    moments: list[Moment] = []
    for features, (count, options) in product(FEATURES, counts.items()):
        found = course(split, features, count, options)
        moments += found
        end = found[-1]
        assert end.rmse is not None
        assert end.nlpd is not None
        yield Figure(f"{features} {count}: seconds of the fit", end.seconds, "s")
        yield Figure("  RMSE in sd of the training rows", end.rmse)
        yield Figure("  NLPD", end.nlpd)
        if not quick:
            write(moments, RESULTS)  # after each, as one may take long
    yield from mended(moments, tuple(counts), limited=not quick)
    if not quick:
        draw(moments, RESULTS)


def course(split: Split, features: str, count: str, options: dict[str, int]) -> list[Moment]:
    """One fit, and how well it predicts when it has ended."""
    seen = Course(features, count)
    model = SphericalGPRegressor(
        kernel="arccos1",
        features=features,
        n_degrees=6,
        **options,
        categorical=split.categorical,
        progress=seen,
        random_state=0,
    )
    time = seconds(lambda: model.fit(split.X, split.y))
    found = scores("regression", as_learned(model, split.X_test), split.y_test)
    rmse, density = found["rmse"], found["log_density"]
    assert rmse is not None
    assert density is not None
    return seen.ended(time, rmse, -density)


def mended(moments: Sequence[Moment], counts: Sequence[str], *, limited: bool) -> Iterator[Figure]:
    """What orthogonal variables do beside as many others, at the end."""
    ends = {(one.features, one.count): one for one in moments if one.nlpd is not None}
    few, many, both = counts
    for features in FEATURES:
        of = {count: ends[features, count] for count in counts}
        above = (of[both].nlpd or 0.0) - (of[many].nlpd or 0.0)
        limit = 0.0 if limited and features != "points" else None
        yield Figure(f"{features}: NLPD of {both} above that of {many}", above, "nat", at_most=limit)
        yield Figure(f"  seconds of {both} over those of {many}", of[both].seconds / of[many].seconds, "x")
        yield Figure(f"  over those of {few}", of[both].seconds / of[few].seconds, "x")


def write(moments: Sequence[Moment], folder: Path) -> None:
    """The numbers of the picture as a table."""
    with open(folder / "delays.csv", "w", encoding="utf-8", newline="") as file:
        table = csv.DictWriter(file, [field.name for field in fields(Moment)], lineterminator="\n")
        table.writeheader()
        table.writerows({name: _text(value) for name, value in asdict(one).items()} for one in moments)


def _text(value: Any) -> str:
    if value is None:
        return ""
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def draw(moments: Sequence[Moment], folder: Path) -> None:
    """Scores against seconds, points on the left and features on the right. Spherical figure 3.12."""
    from matplotlib.figure import Figure as Picture

    picture = Picture(figsize=(8.0, 5.6), layout="constrained")
    axes = picture.subplots(2, len(FEATURES), sharex=True, sharey="row")
    for column, features in zip(axes.T, FEATURES, strict=True):
        column[0].set_title("inducing points" if features == "points" else f"{features} features", loc="left")
        scored = [one for one in moments if one.features == features and one.nlpd is not None]
        for colour, count in zip(COLOURS, dict.fromkeys(one.count for one in scored), strict=False):
            of = [one for one in scored if one.count == count]
            for ax, score in zip(column, ("rmse", "nlpd"), strict=True):
                times, values = [one.seconds for one in of], [getattr(one, score) for one in of]
                ax.plot(times, values, "o-", color=colour, markersize=5, label=count)
        column[1].set_xlabel("seconds")
    axes[0, 0].set_ylabel("test RMSE")
    axes[1, 0].set_ylabel("test NLPD")
    axes[0, 0].legend(frameon=False, title="inducing variables")
    picture.savefig(folder / "delays.png", dpi=150)
