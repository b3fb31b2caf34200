"""What every figure is: computed before, drawn when asked, by either of two libraries."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, Self

from termwise.display.style import png


class Display(ABC):
    """Abstract: plain data that draws itself. `plot` writes `figure_` and `axes_`, and predicts nothing."""

    figure_: Any
    axes_: list[Any]

    @abstractmethod
    def plot(self, **options: Any) -> Self:
        """Draw with matplotlib."""

    @abstractmethod
    def plotly(self, **style: Any) -> Any:
        """The same as a `plotly.graph_objects.Figure`, in which numbers can be pointed at."""

    def _repr_png_(self) -> bytes:
        """Show the figure in a notebook."""
        return png(getattr(self, "figure_", None) or self.plot().figure_)
