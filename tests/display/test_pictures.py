"""The script of the pictures says what it cannot draw."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]


def run(*arguments: str) -> subprocess.CompletedProcess:
    paths = os.pathsep.join([str(REPOSITORY), *sys.path])
    environment = {
        **os.environ,
        "PYTHONPATH": paths,
        "TERMWISE_DATA": str(REPOSITORY / "no" / "such" / "folder"),
    }
    command = [sys.executable, str(REPOSITORY / "examples" / "figures.py"), *arguments]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


def test_a_picture_without_its_table_is_left_as_it_is():
    picture = REPOSITORY / "docs" / "images" / "orders.png"
    before = picture.read_bytes()
    found = run("orders")
    assert found.returncode == 0, found.stderr
    assert "orders: left as it is, for something is missing: no benchmark data at" in found.stdout
    assert "set TERMWISE_DATA" in found.stdout
    assert picture.read_bytes() == before


def test_a_picture_that_is_not_there_is_named():
    found = run("mona-lisa")
    assert found.returncode == 2
    assert "no picture mona-lisa; there are diabetes, " in found.stderr
