"""The prior variance of each order of interaction, beside what a paper prints of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import fmean

from benchmarks.harness.cells import Cell
from benchmarks.harness.grid import GAP
from benchmarks.harness.ours import ALL_ORDERS
from benchmarks.published import Printed


def by_order(cells: Sequence[Cell]) -> dict[str, list[float]]:
    """The mean over splits of each order's per cent, by set."""
    found: dict[str, list[list[float]]] = {}
    for cell in cells:
        if cell.model == ALL_ORDERS and cell.orders:
            found.setdefault(cell.dataset, []).append([float(text) for text in cell.orders.split()])
    return {name: [fmean(order) for order in zip(*splits, strict=True)] for name, splits in found.items()}


def order_lines(cells: Sequence[Cell], paper: Mapping[str, Mapping[str, Printed]]) -> list[str]:
    """Ours and the paper's in Markdown, two lines a set; none if no orders were measured."""
    ours = by_order(cells)
    if not ours:
        return []
    most = max(map(len, (*ours.values(), *(paper[name] for name in ours if name in paper))))
    lines = ["| set | " + " | ".join(str(order + 1) for order in range(most)) + " |"]
    lines += ["| :-- |" + " --: |" * most]
    for name, shares in ours.items():
        lines += [_line(name, [f"{share:.1f}" for share in shares], most)]
        if name in paper:
            printed = [f"{one.mean:.1f}" if one.mean is not None else GAP for one in paper[name].values()]
            lines += [_line(f"{name} (paper)", printed, most)]
    return lines


def _line(name: str, texts: Sequence[str], most: int) -> str:
    return f"| {name} | " + " | ".join([*texts, *[""] * (most - len(texts))]) + " |"
