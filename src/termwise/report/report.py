"""One page that shows a model, explains it and runs it: a file of its own that needs nothing else."""

from __future__ import annotations

import json
import os
import tempfile
import webbrowser
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np

from termwise.errors import OptionError
from termwise.explain.checks import Checks
from termwise.explain.concurvity import LEAST_SHARE, Concurvity
from termwise.explain.cumulative import CumulativeScore
from termwise.explain.explanation import Explanation, LocalExplanation
from termwise.files import replaced_file
from termwise.report.checks import Judged
from termwise.report.page import page
from termwise.table import Table

MOST_TERMS = 5000  # with more of them single rows are not taken apart
FRAME = "width:100%;height:48rem;border:0"


class Report:
    """A page about a model: its terms in words and figures, and the model itself to play with.

    `explanations` is that of the model, or of each label against the rest; `rows` what is to be said about
    single rows. `checks`, `scores` and `concurvity` are what `check`, `cumulative_score` and `concurvity` of
    the model say of rows that it had not seen.
    """

    def __init__(
        self,
        explanations: Explanation | Sequence[Explanation],
        *,
        title: str | None = None,
        rows: LocalExplanation | None = None,
        checks: Checks | None = None,
        scores: CumulativeScore | None = None,
        concurvity: Concurvity | None = None,
    ) -> None:
        several = [explanations] if isinstance(explanations, Explanation) else list(explanations)
        if any(explanation.runs is None for explanation in several):
            raise OptionError(
                "a report needs an explanation of a model that can run in a page, which one along "
                "directions or of networks cannot; make it by model.explain() of another, or draw this by "
                "explain().plot()"
            )
        self.explanations, self.title, self.rows = several, title, rows
        self.judged = Judged(checks, scores, concurvity)

    @classmethod
    def from_estimator(
        cls,
        model: Any,
        X: Any = None,
        y: Any = None,
        *,
        title: str | None = None,
        n_rows: int = 3,
        exposure: Any = None,
    ) -> Self:
        """The page of a fitted model; with rows X some are looked at, and with y the model is checked.

        exposure is that of the counts y, if they have one.
        """
        parts = getattr(model, "estimators_", [model])
        explanations = [part.explain(n_terms=0) for part in parts]
        if X is None:
            return cls(explanations, title=title)
        if len(parts) > 1:
            raise OptionError(
                f"each of the {len(parts)} labels has terms of its own, and a page of them has no room for "
                "rows and checks; leave the rows out, or in Python make a page of model.estimators_[k]"
            )
        told: dict[str, Any] = (
            {} if explanations[0].sobol.size > MOST_TERMS else {"rows": model.explain(first_rows(X, n_rows))}
        )
        if y is not None:
            more = {} if exposure is None else {"exposure": exposure}
            told |= {"checks": model.check(X, y, **more), "scores": model.cumulative_score(X, y, **more)}
            if len(y) > np.sum(
                explanations[0].sobol["share"] >= LEAST_SHARE
            ):  # fewer rows tell nothing of it
                told["concurvity"] = model.concurvity(X)
        return cls(explanations, title=title, **told)

    def html(self) -> str:
        """The page as text."""
        return page(self.explanations, self.title, self.rows, self.judged)

    def json(self) -> str:
        """What the page says, as JSON."""
        content: dict[str, Any] = {"models": [explanation.to_dict() for explanation in self.explanations]}
        for name, part in {"rows": self.rows, **vars(self.judged)}.items():
            if part is not None:
                content[name] = part.to_dict()
        return json.dumps(content, indent=2, allow_nan=False)

    def write_html(self, path: str | os.PathLike[str]) -> None:
        """Write the page; what stood there is replaced by the whole new file or not at all."""
        text = self.html().encode("utf-8")
        try:
            with replaced_file(path) as file:
                file.write(text)
        except OSError as error:
            raise OptionError(
                f"{os.fspath(path)!r} cannot be written: {error.strerror or error}; check the folder, its "
                "space and its permissions"
            ) from error

    def open(self) -> str:
        """Write the page to a temporary file and show it in the browser; returns the path."""
        path = Path(tempfile.mkdtemp(prefix="termwise-")) / "report.html"
        self.write_html(path)
        webbrowser.open(path.as_uri())
        return str(path)

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        """Show the page in a notebook, in a frame of its own so that neither styles the other."""
        from termwise.report.markup import element

        frame = element("iframe", "", srcdoc=self.html(), style=FRAME, title="report of a model")
        return {"text/html": str(frame), "text/plain": repr(self)}

    def __repr__(self) -> str:
        """What it is about."""
        return f"<Report of {self.explanations[0].counted}>"


def first_rows(X: Any, count: int) -> Any:
    """The first rows of a table of any kind."""
    if isinstance(X, Table):
        return X.rows(np.arange(min(count, X.n_rows)))
    if isinstance(X, dict):
        return {name: values[:count] for name, values in X.items()}
    return X[:count]
