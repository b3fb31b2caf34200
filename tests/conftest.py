"""Fixtures that every folder of tests shares."""

import os
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """The folder of benchmark sets: TERMWISE_DATA, or shared/data beside the repository."""
    folder = Path(os.environ.get("TERMWISE_DATA", REPOSITORY.parent / "shared" / "data"))
    if folder.is_dir():
        return folder
    reason = f"no benchmark data at {folder}; set TERMWISE_DATA to the folder that holds the sets"
    if os.environ.get("CI"):
        pytest.fail(reason)
    pytest.skip(reason)
