"""Fitted models, and a file of one."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import termwise as tw
from tests.io.models import MODELS, TABLE, TARGET


@pytest.fixture(scope="module")
def fitted() -> Callable[[str], Any]:
    """The fitted models by name, each fitted once."""
    cache: dict[str, Any] = {}

    def model(name: str) -> Any:
        if name not in cache:
            cache[name] = MODELS[name]().fit(TABLE, TARGET)
        return cache[name]

    return model


@pytest.fixture(scope="module")
def saved(fitted: Callable[[str], Any], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model file."""
    path = tmp_path_factory.mktemp("models") / "model.termwise"
    tw.save(fitted("oak"), path)
    return path
