"""These tests train networks: they need the extra `deep`."""

from __future__ import annotations

from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True)
def _one_thread() -> Iterator[None]:
    """Tests run beside each other, and threads of PyTorch would wait for those of others."""
    from termwise.deep.training import threads

    with threads(1):
        yield
