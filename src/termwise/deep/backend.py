"""PyTorch, if it is there (extra `deep`): the only module that asks for it."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from termwise.errors import MissingExtraError


def require_torch(owner: str) -> Any:
    """The module, or an error that says what to install."""
    try:
        return import_module("torch")
    except ImportError:
        raise MissingExtraError(
            f"{owner} trains networks with PyTorch, which is not installed; pip install 'termwise[deep]'"
        ) from None
