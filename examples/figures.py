"""The picture of README.md: the leading effects of the diabetes table. Run: python examples/figures.py"""

from __future__ import annotations

from pathlib import Path

from demo import table
from sklearn.datasets import load_diabetes

import termwise as tw

IMAGES = Path(__file__).resolve().parents[1] / "docs" / "images"


def main() -> None:
    """Fit all patients of the demo and draw the four terms with the largest shares in one row."""
    X, y = load_diabetes(return_X_y=True, scaled=False)
    model = tw.OAKRegressor().fit(table(X), y)
    figure = model.explain(n_terms=4).plot(
        target="progression", n_columns=4, panel_width=3.1, panel_height=2.8
    )
    IMAGES.mkdir(parents=True, exist_ok=True)
    figure.savefig(IMAGES / "diabetes.png", dpi=120)


if __name__ == "__main__":
    main()
