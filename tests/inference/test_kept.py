"""What is kept between the sums and the way back changes no bit, and takes no more memory than allowed."""

import pickle
from dataclasses import replace

import numpy as np
import pytest

from termwise.encode.rows import ArrayChunk
from termwise.inference import blocks
from termwise.inference import kept as kept_module
from termwise.inference.blocks import adjoint, statistics
from termwise.inference.kept import Kept
from tests.inference.test_blocks import assert_bitwise, problem, pull_of


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    monkeypatch.setattr(blocks, "BLOCK_ROWS", 7)


def keeping(push, kept, theta=None):
    at = push.setting.theta if theta is None else theta
    return replace(push, setting=replace(push.setting, theta=at, kept=kept))


@pytest.mark.parametrize("room", [2**28, 5000, 1])
@pytest.mark.parametrize("late", [True, False])
def test_it_changes_no_bit(room, late, monkeypatch):
    monkeypatch.setattr(kept_module, "KEPT_BYTES", room)
    push, X, y, _ = problem()
    chunk, kept = ArrayChunk(X, y), Kept()
    sums, reached = statistics(chunk, push), adjoint(chunk, pull_of(push, late=late))
    for _ in range(2):
        kept.begin(late=late)
        assert_bitwise(statistics(chunk, keeping(push, kept), threads=2), sums)
        assert_bitwise(adjoint(chunk, pull_of(keeping(push, kept), late=late), threads=2), reached)


def test_sums_without_a_way_back_leave_nothing_for_the_next():
    """As when a step fails between the two."""
    push, X, y, _ = problem()
    chunk, kept = ArrayChunk(X, y), Kept()
    kept.begin(late=True)
    statistics(chunk, keeping(push, kept, push.setting.theta + 0.1))
    kept.begin(late=True)
    kept._room, kept._free = 0, []  # so that nothing new is kept
    statistics(chunk, keeping(push, kept))
    assert_bitwise(adjoint(chunk, pull_of(keeping(push, kept))), adjoint(chunk, pull_of(push)))


def held(kept):
    return sum(memory.nbytes for memory in [*kept._used, *kept._free])


def test_memory_is_bounded_and_used_again(monkeypatch):
    monkeypatch.setattr(kept_module, "KEPT_BYTES", 20_000)
    push, X, y, _ = problem()
    chunks, kept = [ArrayChunk(X[:3], y[:3]), ArrayChunk(X, y), ArrayChunk(X[3:], y[3:])], Kept()
    seen = []
    for _ in range(4):
        kept.begin(late=True)
        for chunk in chunks:
            statistics(chunk, keeping(push, kept), threads=3)
        assert len(kept._layouts) > 0
        for chunk in chunks:
            adjoint(chunk, pull_of(keeping(push, kept)), threads=3)
        assert not kept._layouts
        seen.append(held(kept))
    assert 0 < max(seen) <= 20_000
    assert seen[-1] == seen[-2]


def test_it_stays_in_its_process():
    push, X, y, _ = problem()
    setting = keeping(push, Kept()).setting
    statistics(ArrayChunk(X, y), replace(push, setting=setting))
    assert pickle.loads(pickle.dumps(setting)).kept is None


def test_the_way_back_must_want_what_was_kept():
    push, X, y, _ = problem()
    kept = Kept()
    kept.begin(late=False)
    statistics(ArrayChunk(X, y), keeping(push, kept))
    with pytest.raises(AssertionError, match="other tangents"):
        adjoint(ArrayChunk(X, y), pull_of(keeping(push, kept), late=True))


def test_the_chunk_of_what_is_kept_stays_alive():
    """Or another chunk might get its identity, and its rows."""
    push, X, y, _ = problem()
    kept = Kept()
    kept.begin(late=True)
    statistics(ArrayChunk(X, y), keeping(push, kept))
    again = [ArrayChunk(np.flip(X, axis=0), y) for _ in range(20)]
    assert all(id(chunk) not in {key[0] for key in kept._layouts} for chunk in again)
