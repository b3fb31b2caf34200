"""The parts of a predictive variance, beside those that eq. 3.12 makes of the rows."""

import numpy as np
import pytest

from benchmarks import snelson
from benchmarks.snelson import KINDS, LONG, MENDED, SHORT, fit, spectra, variance_parts

rng = np.random.default_rng(0)
X = {"x": rng.uniform(0.0, 6.0, 60)}
Y = np.sin(2.0 * X["x"]) + 0.2 * rng.standard_normal(60)
TRIED = ("matern52", "relu"), ("se", "softplus"), ("arccos1", "softplus")
NEW = {"x": np.linspace(-2.0, 8.0, 41)}


def by_rows(model):
    """K_ff - Q_ff, Q C_u Q, S Svv^-1 S and S Svv^-1 C_v Svv^-1 S at new rows, from matrices of all rows."""
    posterior, new, rows = model.posterior_, model._encode(NEW), model._encode(X)
    first = len(posterior.centres) - model.fit_result_.orthogonal
    Z, W = posterior.centres[:first], posterior.centres[first:]

    def K(A, B):  # what the fit has added to the diagonal is part of the model
        return posterior.kernel.matrix(A, B) + (A is B) * model.fit_result_.jitter * np.eye(len(A), len(B))

    def schur(A, B):
        return K(A, B) - K(A, Z) @ np.linalg.solve(K(Z, Z), K(Z, B))

    def told(across, along, own):
        half = np.linalg.solve(own, across.T).T
        C = own @ np.linalg.solve(own + along @ along.T / posterior.noise, own)
        return np.sum(half * across, axis=1), np.sum(half @ C * half, axis=1)

    most, left = told(K(new, Z), K(Z, rows), K(Z, Z))
    parts = [posterior.kernel.diagonal(new) - most, left]
    if len(W):
        parts += [*told(schur(new, W), schur(W, rows), schur(W, W))]
    return [model.target_scale_.scale**2 * part for part in parts]


@pytest.mark.parametrize(
    "kind", [("matern52", "relu"), ("se", "softplus"), ("arccos1", "softplus")], ids=" ".join
)
@pytest.mark.parametrize("setting", [SHORT, MENDED], ids=lambda setting: setting.name)
def test_parts_are_those_of_the_paper_and_add_up_to_the_variance(kind, setting, monkeypatch):
    monkeypatch.setattr(snelson, "INDUCING", 6)  # the more, the nearer they are to sums of each other
    found = fit(X, Y, *kind, setting)
    parts = variance_parts(found.model, NEW)
    most, told = float(np.max(parts.prior)), by_rows(found.model)
    tight = {"rtol": 0.0, "atol": 1e-5 * most}  # K_uu has a condition of up to 1e10
    np.testing.assert_allclose(parts.whole, found.sd(NEW) ** 2, rtol=0.0, atol=1e-8 * most)
    np.testing.assert_allclose(parts.beyond, told[0], **tight)
    np.testing.assert_allclose(parts.left[0], told[1], **tight)
    if setting.orthogonal:
        np.testing.assert_allclose(parts.known[1], told[2], **tight)
        np.testing.assert_allclose(parts.left[1], told[3], **tight)
    else:
        assert not np.any(parts.known[1])
        assert not np.any(parts.left[1])


def test_settings_are_named_as_in_the_paper():
    assert [setting.name for setting in (SHORT, LONG, MENDED)] == ["L = 8", "L = 16", "L = 8, K = 8"]


def test_activations_lack_degrees_that_stationary_kernels_have():
    """Spherical, figure 3.5: odd degrees from three on; the arc-cosine kernel has none there either."""
    odd = np.arange(3, 36, 2)
    for kernel, features in KINDS:
        roots, coefficients = spectra(kernel, features)
        assert not np.any(coefficients[odd])
        assert np.all(roots[odd] > 0.0) == (kernel != "arccos1")
