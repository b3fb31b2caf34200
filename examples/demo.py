"""Which measurements foretell the course of diabetes, and how? Fit, read, check and draw a model.

442 patients: ten measurements at the start, and how far the disease had progressed a year later. The table
ships with scikit-learn. Run: python examples/demo.py
"""

from __future__ import annotations

import numpy as np
from sklearn.datasets import load_diabetes
from sklearn.linear_model import LinearRegression
from sklearn.metrics import r2_score

import termwise as tw
from termwise.errors import OptionError

NAMES = ("age", "sex", "body mass index", "blood pressure", "total cholesterol", "LDL cholesterol",
         "HDL cholesterol", "cholesterol / HDL", "triglycerides (log)", "blood sugar")  # fmt: skip
PICTURE, PAGE = "demo.png", "report.html"
SHOWN = 8


def main() -> None:
    """Fit the table, print what the model says, and draw it."""
    X, y = load_diabetes(return_X_y=True, scaled=False)
    rows = np.random.default_rng(0).permutation(len(y))
    train, test = rows[110:], rows[:110]
    print(f"Learning from {len(train)} patients ..", flush=True)
    model = tw.OAKRegressor().fit(table(X[train]), y[train])
    print_terms(model)
    print_checks(model, X, y, train, test)
    draw(model)
    first = {name: values[:3] for name, values in table(X[test]).items()}
    model.explain().report(PAGE, title="What foretells the course of diabetes", rows=model.explain(first))
    print(f"The model itself, to read and to try, is in {PAGE}: open it in any browser.")


def table(X: np.ndarray) -> dict[str, np.ndarray]:
    """Named columns; a pandas or polars frame would do as well."""
    return dict(zip(NAMES, X.T, strict=True))


def print_terms(model: tw.OAKRegressor) -> None:
    """The prediction is a sum of terms; how much of the differences between patients each explains."""
    print(f"done in {model.fit_result_.seconds:.1f} s.\n")
    print("What drives the prediction (share of the explained differences, and its 90 % interval):\n")
    for row in model.sobol_[:SHOWN]:
        bar = "█" * round(50 * row["share"])
        print(f"  {row['term']:<22}{row['share']:5.0%}  ({row['low']:3.0%} to {row['high']:3.0%})  {bar}")
    rest = model.sobol_["share"][SHOWN:]
    print(f"  {f'{rest.size} other terms':<22}{rest.sum():5.0%}\n")
    single, *joint = model.order_shares_
    print(
        f"Effects of one measurement explain {single:.0%}; of two or more acting together {sum(joint):.0%}.\n"
    )


def print_checks(
    model: tw.OAKRegressor, X: np.ndarray, y: np.ndarray, train: np.ndarray, test: np.ndarray
) -> None:
    """How well the model does for patients that it has not seen, and whether it knows how sure it is."""
    mean, std = model.predict(table(X[test]), return_std=True)
    linear = LinearRegression().fit(X[train], y[train]).predict(X[test])
    print(f"For {len(test)} patients it has not seen:\n")
    print("                      explained   typical error")
    for name, guess in [
        ("this model", mean),
        ("straight lines", linear),
        ("the mean for all", y[train].mean()),
    ]:
        guesses = np.broadcast_to(guess, mean.shape)
        error = np.sqrt(np.mean((y[test] - guesses) ** 2))
        print(f"  {name:<20}{round(r2_score(y[test], guesses), 2) + 0.0:8.0%}{error:14.0f}")
    inside = np.mean(np.abs(y[test] - mean) < 2.0 * std)
    print(f"\nIt expects to be within {2.0 * std.mean():.0f} for 95 % of them, and was for {inside:.0%}.\n")


def draw(model: tw.OAKRegressor) -> None:
    """Write the leading curves to a picture, if matplotlib is there."""
    try:
        figure = model.explain(n_terms=6).plot(target="progression")
    except OptionError as error:
        print(f"No picture: {error}")
        return
    figure.suptitle("What foretells the course of diabetes (mean and 95 % band of each effect)")
    figure.savefig(PICTURE, dpi=110)
    print(f"The curves are in {PICTURE}.")


if __name__ == "__main__":
    main()
