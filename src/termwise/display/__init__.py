"""Figures drawn from explanations: plain data in, nothing is predicted.

Each has `plot`, for matplotlib, and `plotly`, which returns an interactive figure.
"""

from __future__ import annotations

from termwise.display.cumulative import CumulativeDisplay
from termwise.display.effects import EffectDisplay, EffectsDisplay
from termwise.display.shares import OrdersDisplay, SharesDisplay
from termwise.display.waterfall import WaterfallDisplay

__all__ = [
    "CumulativeDisplay",
    "EffectDisplay",
    "EffectsDisplay",
    "OrdersDisplay",
    "SharesDisplay",
    "WaterfallDisplay",
]
