"""One measured figure beside its limit, and how a list of them is printed and kept."""

from __future__ import annotations

import os
import platform
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, version
from typing import Any

PACKAGES = ("numpy", "scipy", "numba", "scikit-learn", "botorch", "torch", "lightgbm", "interpret-core")


@dataclass(frozen=True)
class Figure:
    """A number with its unit; `at_most` or `at_least` is the limit, if it has one."""

    name: str
    value: float
    unit: str = ""
    at_most: float | None = None
    at_least: float | None = None

    @property
    def met(self) -> bool | None:
        """Whether the limit is met; None without a limit."""
        # bool, as a comparison of NumPy's numbers is never the False that `summary` counts
        if self.at_most is not None:
            return bool(self.value <= self.at_most)
        return bool(self.value >= self.at_least) if self.at_least is not None else None

    def line(self) -> str:
        """The figure as a line of text."""
        text = f"  {self.name:<52}{_short(self.value):>10} {self.unit:<3}"
        if self.met is None:
            return text.rstrip()
        bound = f"<= {_short(self.at_most)}" if self.at_most is not None else f">= {_short(self.at_least)}"
        return f"{text}  {bound:<10} {'met' if self.met else 'MISSED'}"

    def plain(self) -> dict[str, Any]:
        """The figure for JSON."""
        return {
            **asdict(self),
            "value": float(self.value),
            "met": None if self.met is None else bool(self.met),
        }


def summary(figures: Sequence[Figure]) -> str:
    """How many limits are met, and which are not."""
    missed = [figure.name for figure in figures if figure.met is False]
    count = sum(figure.met is not None for figure in figures)
    return f"{count - len(missed)} of {count} limits met" + "".join(f"\n  missed: {name}" for name in missed)


def machine() -> dict[str, Any]:
    """What the figures were measured on."""
    return {
        "system": platform.platform(),
        "processor": _processor(),
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "packages": {name: found for name in PACKAGES if (found := _version(name))},
    }


def _processor() -> str:
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            names = [line.partition(":")[2].strip() for line in file if line.startswith("model name")]
        return names[0]
    except (OSError, IndexError):
        return platform.processor()


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _short(value: float | None) -> str:
    assert value is not None
    return f"{value:.0f}" if abs(value) >= 1000 else f"{value:.4g}"
