"""Figures drawn from explanations: plain data in, nothing is predicted."""

from __future__ import annotations

from termwise.display.effects import EffectsDisplay
from termwise.display.shares import SharesDisplay

__all__ = ["EffectsDisplay", "SharesDisplay"]
