"""The pictures of README.md and docs/figures.md, from models fitted here. Run: make figures

The diabetes table ships with scikit-learn. The others are looked for as benchmarks do, in the folder
TERMWISE_DATA; a picture whose table is not there is left as it is, and that is said. Names of pictures may be
given: python examples/figures.py churn toy
"""

from __future__ import annotations

import io
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
from demo import table
from directions import directions, projections
from matplotlib.figure import Figure
from PIL import Image
from sklearn.datasets import load_diabetes
from sklearn.metrics import roc_auc_score
from snelson import spectra, variances, waves

import termwise as tw
from benchmarks.data import NoDataError, Split, load, read
from termwise.display import CumulativeDisplay, EffectsDisplay, OrdersDisplay, WaterfallDisplay
from termwise.explain.cumulative import CumulativeScore

IMAGES = Path(__file__).resolve().parents[1] / "docs" / "images"
DPI = 90
TRUTH = {"color": "#d55e00", "linestyle": "--", "linewidth": 1.3}
SETS = ("autompg", "concrete", "housing", "pumadyn8nh")  # the tables of numbers of OAK figures 4 and 5
FLIGHTS = 50_000


def diabetes() -> Figure:
    """The four leading terms of all patients of the demo."""
    return EffectsDisplay.from_estimator(patients(), n_terms=4).plot(
        target="progression", n_columns=4, panel_width=3.1, panel_height=2.8
    ).figure_  # fmt: skip


def waterfall() -> Figure:
    """What made the prediction of one patient."""
    X, _ = load_diabetes(return_X_y=True, scaled=False)
    return WaterfallDisplay.from_estimator(patients(), table(X), row=0).plot(target="progression").figure_


def toy() -> Figure:
    """The terms of a function of two variables, unconstrained (above) and orthogonal. OAK figure 2."""
    rng = np.random.default_rng(0)
    x1, x2 = rng.uniform(-1.0, 1.0, (2, 200))
    y = x1**2 - 2.0 * x2 + np.cos(3.0 * x1) * np.sin(5.0 * x2) + rng.normal(0.0, 0.1, 200)
    mean_cosine = np.sin(3.0) / 3.0
    truth = {"x1": lambda x: x**2 - 1.0 / 3.0, "x2": lambda x: -2.0 * x + mean_cosine * np.sin(5.0 * x)}
    options = {"kernel": "se", "max_order": 2}
    models = {
        "additive": tw.AdditiveGPRegressor(**options),
        "OAK": tw.OAKRegressor(measure="uniform", flow=None, **options),
    }
    figure = Figure(figsize=(11.0, 5.6), layout="constrained")
    axes = figure.subplots(2, 3)
    for row, (name, model) in zip(axes, models.items(), strict=True):
        explanation = model.fit({"x1": x1, "x2": x2}, y).explain(n_terms=3)
        effects = sorted(explanation.effects, key=lambda effect: (effect.term.order, effect.term.name))
        EffectsDisplay(replace(explanation, effects=tuple(effects))).plot(axes=row, target="y")
        for ax, effect in zip(row, effects, strict=True):
            ax.set_title(f"{name}: {ax.get_title(loc='left')}", fontsize="medium", loc="left")
            if effect.term.order == 1:
                ax.plot(effect.axes[0], truth[effect.term.name](effect.axes[0]), label="truth", **TRUTH)
                ax.set_ylim(-2.6, 2.4)
                ax.legend(frameon=False, fontsize="small")
    return figure


def pumadyn() -> Figure:
    """The three leading terms of the robot arm. OAK figure 1."""
    return EffectsDisplay.from_estimator(fitted("pumadyn8nh")[0], n_terms=3).plot(
        target="acceleration", panel_width=3.9
    ).figure_  # fmt: skip


def orders() -> Figure:
    """Shares by the number of features, and how many terms have one per cent. OAK figure 4."""
    figure = Figure(figsize=(12.0, 2.9), layout="constrained")
    for ax, name in zip(figure.subplots(1, len(SETS)), SETS, strict=True):
        model, _ = fitted(name)
        OrdersDisplay.from_estimator(model).plot(ax=ax)
        ax.set_ylim(0.0, 112.0)
        if name != SETS[0]:
            ax.set_ylabel("")
        count, all_terms = np.sum(model.sobol_["share"] >= 0.01), len(model.sobol_)
        ax.set_title(f"{name}: {count} of {all_terms:,} terms\nhave 1 % or more", fontsize="medium")
    return figure


def cumulative() -> Figure:
    """The test score with one term more at a time. OAK figures 5 and 6."""
    figure = Figure(figsize=(12.5, 7.6), layout="constrained")
    for ax, name in zip(figure.subplots(2, 3).ravel(), (*SETS, "churn"), strict=False):
        if name == "churn":
            display = CumulativeDisplay.from_estimator(*customers(), n_terms=8)
            display.score = areas_under_the_curve(display.score)
        else:
            model, split = fitted(name)
            display = CumulativeDisplay.from_estimator(model, split.X_test, split.y_test, n_terms=8)
        display.plot(ax=ax).axes_[0].set_title(name, fontsize="medium")
        ax.get_legend().remove()
    left = figure.axes[5]  # the room that is left is for what all have in common
    handles = [*figure.axes[0].lines, *figure.axes[6].lines]
    left.legend(handles, ["test score", "score of all terms", "sum of shares"], loc="center", frameon=False)
    left.set_axis_off()
    return figure


def areas_under_the_curve(score: CumulativeScore) -> CumulativeScore:
    """The scores of the customers as the paper has them."""
    model, X, y = customers()
    whole = float(roc_auc_score(y, model.predict_proba(X)[:, 1]))
    return replace(score, score="auc", scores=score.also["auc"], whole=whole)


def airline() -> Figure:
    """The ten leading terms of the delays of flights, in the place of SUSY. OAK figure 7."""
    whole = read("airline2008")
    rows = np.random.default_rng(0).permutation(whole.y.size)[:FLIGHTS]
    X = {name: column[rows] for name, column in whole.X.items()}
    model = tw.OAKRegressor(max_order=2, n_inducing=256, categorical=whole.categorical)
    model.fit(X, whole.y[rows])
    return EffectsDisplay.from_estimator(model, n_terms=10).plot(
        target="delay, min", n_columns=5, panel_width=3.3, panel_height=2.6
    ).figure_  # fmt: skip


def churn() -> Figure:
    """The five leading terms of which customers leave. OAK figure 8."""
    return EffectsDisplay.from_estimator(customers()[0], n_terms=5).plot(target="leaving").figure_


def page() -> bytes:
    """The page of the diabetes table, as a browser shows it."""
    from playwright.sync_api import sync_playwright

    path = shutil.which("chromium")
    if path is None:
        raise FileNotFoundError("there is no chromium to take a picture of a page")
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as running:
        file = Path(folder) / "page.html"
        patients().explain().report(file, title="What foretells the course of diabetes")
        browser = running.chromium.launch(executable_path=path, args=["--no-sandbox", "--disable-gpu"])
        shown = browser.new_page(viewport={"width": 1000, "height": 900})
        shown.goto(file.as_uri())
        shown.wait_for_selector("html[data-ready=true]")
        picture: bytes = shown.screenshot()
        browser.close()
    return picture


@cache
def patients() -> tw.OAKRegressor:
    """A model of the diabetes table."""
    X, y = load_diabetes(return_X_y=True, scaled=False)
    return tw.OAKRegressor().fit(table(X), y)


@cache
def fitted(name: str) -> tuple[tw.OAKRegressor, Split]:
    """A model of the first of the five folds of a table."""
    split = load(name, 0, masks=f"{name}_oak5")
    return tw.OAKRegressor(categorical=split.categorical).fit(split.X, split.y), split


@cache
def customers() -> tuple[tw.OAKClassifier, dict[str, np.ndarray], np.ndarray]:
    """A model of four fifths of the customers, and the others."""
    whole = read("churn")
    rows = np.random.default_rng(0).permutation(whole.y.size)
    test, train = rows[: rows.size // 5], rows[rows.size // 5 :]
    X, X_test = ({name: x[part] for name, x in whole.X.items()} for part in (train, test))
    model = tw.OAKClassifier(max_order=2, categorical=whole.categorical)
    return model.fit(X, whole.y[train].astype(int)), X_test, whole.y[test]


PICTURES: dict[str, Callable[[], Figure | bytes]] = {
    draw.__name__: draw
    for draw in (
        diabetes,
        page,
        waterfall,
        toy,
        pumadyn,
        orders,
        cumulative,
        churn,
        airline,
        directions,
        projections,
        waves,
        variances,
        spectra,
    )
}


def write(picture: Figure | bytes, path: Path) -> int:
    """Write a picture with 256 colours, which is a third of the bytes; returns how many they are."""
    buffer = io.BytesIO(picture if isinstance(picture, bytes) else b"")
    if isinstance(picture, Figure):
        picture.savefig(buffer, format="png", dpi=DPI)
    Image.open(buffer).convert("RGB").quantize(256).save(path, optimize=True)
    return path.stat().st_size


def main(wanted: Sequence[str]) -> int:
    """Draw the pictures that are named, or all."""
    unknown = [name for name in wanted if name not in PICTURES]
    if unknown:
        print(f"no picture {', '.join(unknown)}; there are {', '.join(PICTURES)}", file=sys.stderr)
        return 2
    IMAGES.mkdir(parents=True, exist_ok=True)
    for name in wanted or PICTURES:
        start = time.perf_counter()
        try:
            picture = PICTURES[name]()
        except (NoDataError, FileNotFoundError, ImportError) as error:
            print(f"{name}: left as it is, for something is missing: {error}")
            continue
        size = write(picture, IMAGES / f"{name}.png")
        print(f"{name}: {size / 1024:.0f} KB in {time.perf_counter() - start:.0f} s", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
