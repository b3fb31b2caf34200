"""Without PyTorch everything else works, and what needs it says what to install."""

from __future__ import annotations

import subprocess
import sys

import pytest

BLOCKED = """
import sys

class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] == "torch":
            raise ImportError("blocked")

sys.meta_path.insert(0, Blocked())
import numpy as np
import termwise as tw
from termwise import *

X = np.random.default_rng(0).standard_normal((30, 2))
y = X[:, 0] + X[:, 1]
for name in tw.__all__:
    getattr(tw, name)
assert np.all(np.isfinite(tw.OAKRegressor(max_order=1, n_restarts=1, flow=None).fit(X, y).predict(X)))
for use in (lambda: tw.DeepKernelRegressor().fit(X, y), lambda: tw.detect_interactions(X, y)):
    try:
        use()
    except tw.errors.MissingExtraError as error:
        assert isinstance(error, ImportError)
        assert "pip install 'termwise[deep]'" in str(error), error
    else:
        raise SystemExit("no error")
print("fine")
"""

NOT_IMPORTED = """
import sys
import termwise as tw

for name in tw.__all__:
    getattr(tw, name)
tw.DeepKernelRegressor()
print("torch" in sys.modules)
"""


@pytest.mark.parametrize(("script", "said"), [(BLOCKED, "fine"), (NOT_IMPORTED, "False")])
def test_pytorch_is_not_needed(script: str, said: str) -> None:
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.stdout.strip() == said, done.stderr
