"""Covariances of inducing features, against inner products that are computed another way."""

import numpy as np
import pytest

from termwise.kernels.features import FEATURE, ROW, common_degrees, covariances
from termwise.kernels.softplus import SHARPNESS, of_softplus
from termwise.kernels.sphere import coefficients, cosines, harmonics, polynomials
from termwise.kernels.zonal import KERNELS as BY_NAME
from termwise.kernels.zonal import ArcCosine0, ArcCosine1, SphereMatern32, SphereMatern52, SphereSE
from tests.oracle.zonal import kappa

KERNELS = [ArcCosine1(), SphereSE(0.6), SphereMatern32(0.5), SphereMatern52(0.5)]
ACTIVATIONS = {
    "relu": lambda t: np.maximum(t, 0.0),
    "softplus": lambda t: np.logaddexp(0.0, SHARPNESS * t) / SHARPNESS,
}


def sphere_rule(dimension: int) -> tuple[np.ndarray, np.ndarray]:
    """Nodes and weights of the mean over the circle or the sphere, exact for polynomials of degree 31."""
    if dimension == 2:
        angle = 2.0 * np.pi * np.arange(120) / 120
        return np.stack([np.cos(angle), np.sin(angle)], axis=1), np.full(120, 1.0 / 120)
    z, weight = np.polynomial.legendre.leggauss(16)
    angle = 2.0 * np.pi * np.arange(32) / 32
    ring = np.sqrt(1.0 - z**2)[:, None]
    nodes = np.stack([ring * np.cos(angle), ring * np.sin(angle), np.repeat(z[:, None], 32, axis=1)], axis=-1)
    return nodes.reshape(-1, 3), np.repeat(weight / 2.0, 32) / 32


def some_directions(dimension: int, count: int = 4) -> np.ndarray:
    Z = np.random.default_rng(1).standard_normal((count, dimension))
    return Z / np.linalg.norm(Z, axis=1)[:, None]


@pytest.mark.parametrize("dimension", [2, 3])
@pytest.mark.parametrize("features", ["relu", "softplus"])
@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_the_inner_product_is_that_of_the_kernels_space(kernel, features, dimension):
    """<phi, phi'> = a'a' with phi = K^(1/2) a: by the eigenvectors of the kernel between nodes of a rule.

    Nothing of Gegenbauer polynomials is used, nor an eigenvalue by name.
    """
    nodes, weights = sphere_rule(dimension)
    found = covariances(kernel, features, dimension, 5)
    size = found.series.shape[-1]
    Z = some_directions(dimension)
    phi = np.einsum("l,lij->ij", found.series[ROW, FEATURE], polynomials(Z @ nodes.T, dimension, size - 1))
    root = np.sqrt(weights)
    values, vectors = np.linalg.eigh(root[:, None] * kappa(kernel, nodes @ nodes.T) * root)
    parts = (phi * root) @ vectors
    inside = values > 1e-9  # where the features have nothing, nor the kernel
    assert np.max(np.abs(parts[:, ~inside]), initial=0.0) < 1e-7
    expected = (parts[:, inside] / values[inside]) @ parts[:, inside].T
    inner = np.einsum("l,lij->ij", found.series[FEATURE, FEATURE], polynomials(Z @ Z.T, dimension, size - 1))
    # The rule is exact for the polynomials, and not for a kernel that is not smooth.
    np.testing.assert_allclose(inner, expected, rtol=2e-2)


@pytest.mark.parametrize("features", ["relu", "softplus"])
def test_features_become_the_activation_with_more_degrees(features):
    t = np.linspace(-1.0, 1.0, 41)
    errors = []
    for count in (3, 6, 20):
        series = covariances(SphereSE(0.4), features, 4, count).series[ROW, FEATURE]
        found, wanted = series @ polynomials(t, 4, series.size - 1), ACTIVATIONS[features](t)
        scaled = found * (found @ wanted) / (found @ found)  # features have variance one
        errors.append(np.max(np.abs(scaled - wanted)))
    assert errors[0] > errors[1] > errors[2]
    assert errors[2] < 0.02


@pytest.mark.parametrize("features", ["relu", "softplus"])
def test_degrees_are_told_by_parity_and_not_by_size(features):
    series = covariances(SphereMatern52(1.0), features, 30, 8).series[FEATURE, FEATURE]
    assert np.flatnonzero(series).tolist() == [0, 1, 2, 4, 6, 8, 10, 12]


def test_relu_and_the_arc_cosine_kernel_have_no_end():
    """The ratio of their coefficients is constant, so that where the sum is cut off is part of the model."""
    found = covariances(ArcCosine1(), "relu", 5, 12).series[FEATURE, FEATURE]
    counts = np.array([harmonics(5, degree) for degree in range(found.size)])
    ratios = (found / counts)[found > 0.0]
    assert np.sum(found) == pytest.approx(1.0)
    np.testing.assert_allclose(ratios, ratios[0], rtol=1e-12)


def test_degrees_that_a_kernel_lacks_are_left_out():
    series = covariances(ArcCosine0(), "relu", 5, 4).series
    assert np.flatnonzero(series[FEATURE, FEATURE]).tolist() == [0, 1]
    assert np.all(np.isfinite(series))


@pytest.mark.parametrize("dimension", [2, 3, 6])
def test_harmonics_of_different_degrees_have_nothing_in_common(dimension):
    kernel = SphereMatern52(0.8)
    found = covariances(kernel, "harmonics", dimension, 4)
    assert found.degrees == (0, 1, 2, 3)
    eigenvalues = kernel.eigenvalues(dimension, 3)
    for tag, degree in enumerate(found.degrees, start=1):
        assert np.flatnonzero(found.series[tag]).size == 2  # with rows, and with its own kind
        norm = 1.0 / (eigenvalues[degree] * harmonics(dimension, degree))  # of P_n, by which it is divided
        assert found.series[tag, tag, degree] == pytest.approx(1.0)
        assert found.series[ROW, tag, degree] == pytest.approx(1.0 / np.sqrt(norm))


def test_all_harmonics_of_a_degree_are_that_part_of_the_kernel():
    """k_u(x)' Kuu^-1 k_u(x') is the sum over degrees of e_l N_l P_l: the Mercer series itself."""
    rng, dimension, kernel = np.random.default_rng(0), 4, ArcCosine1()
    found = covariances(kernel, "harmonics", dimension, 3)
    X = some_directions(dimension, 6)
    total = np.zeros((6, 6))
    for tag, degree in enumerate(found.degrees, start=1):
        V = rng.standard_normal((harmonics(dimension, degree), dimension))
        V /= np.linalg.norm(V, axis=1)[:, None]
        cross = found.series[ROW, tag, degree] * polynomials(X @ V.T, dimension, degree)[degree]
        inner = found.series[tag, tag, degree] * polynomials(V @ V.T, dimension, degree)[degree]
        total += cross @ np.linalg.solve(inner, cross.T)
    e = kernel.eigenvalues(dimension, max(found.degrees))
    N = np.array([harmonics(dimension, n) for n in range(e.size)])
    expected = np.einsum("l,lij->ij", e * N, polynomials(X @ X.T, dimension, e.size - 1))
    np.testing.assert_allclose(total, expected, atol=1e-10)


@pytest.mark.parametrize("features", ["relu", "softplus", "harmonics"])
@pytest.mark.parametrize("kind", [SphereSE, SphereMatern52])
def test_slopes_for_the_lengthscale(kind, features):
    step = 1e-5
    more, less = (covariances(kind(0.7 * np.exp(s)), features, 5, 5).series for s in (step, -step))
    found = covariances(kind(0.7), features, 5, 5).slopes
    np.testing.assert_allclose(found, (more - less) / (2.0 * step), rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("dimension", [40, 170, 400, 2000])
@pytest.mark.parametrize("kernel", [SphereSE(1.0), SphereSE(8.0), SphereMatern52(1.0), SphereMatern32(8.0)])
def test_many_dimensions(kernel, dimension):
    """Bessel functions and powers are out of range there, their products are not."""
    found = covariances(kernel, "relu", dimension, 6)
    assert found.degrees == (0, 1, 2, 4, 6, 8)
    assert np.all(np.isfinite(found.slopes))
    eigenvalues = kernel.eigenvalues(dimension, 3)
    # All but the first are small; by Mercer's sum the kernel of vectors at a right angle has but even ones.
    assert np.all(np.diff(eigenvalues) < 0.0)
    assert eigenvalues[0] == pytest.approx(float(kappa(kernel, np.zeros(1))[0]), rel=2.0 / np.sqrt(dimension))


def test_points_have_no_series():
    assert not np.any(covariances(ArcCosine1(), "points", 5, 6).series)


@pytest.mark.parametrize("dimension", [2, 3, 30])
@pytest.mark.parametrize(
    ("kernel", "features", "expected"),
    [
        ("arccos0", "relu", (0, 1)),
        ("arccos0", "softplus", (0, 1)),
        ("arccos0", "harmonics", (0, 1, 3, 5, 7)),
        ("arccos1", "relu", (0, 1, 2, 4, 6)),
        ("arccos1", "softplus", (0, 1, 2, 4, 6)),
        ("arccos1", "harmonics", (0, 1, 2, 4, 6)),
        ("arccos2", "relu", (0, 1, 2)),
        ("arccos2", "softplus", (0, 1, 2)),
        ("arccos2", "harmonics", (0, 1, 2, 3, 5)),
        ("se", "softplus", (0, 1, 2, 4, 6)),
        ("matern32", "relu", (0, 1, 2, 4, 6)),
        ("matern52", "harmonics", (0, 1, 2, 3, 4)),
        ("arccos2", "points", (0, 1, 2, 3, 4)),
    ],
)
def test_which_degrees_go_together(kernel, features, expected, dimension):
    """Activations are even but for a line, and arc-cosine kernels of even order odd but for a parabola."""
    assert common_degrees(BY_NAME[kernel].of(1.0), features, dimension, 5) == expected


def test_degrees_that_are_out_of_range_are_none():
    """Eigenvalues of a smooth kernel vanish in floating point, and harmonics become too many to count."""
    found = common_degrees(SphereSE(10.0), "harmonics", 3, 100)
    assert found == tuple(range(len(found)))
    assert 40 < len(found) < 100
    assert np.all(np.isfinite(covariances(SphereSE(10.0), "harmonics", 3, 100).series))
    assert len(common_degrees(ArcCosine1(), "harmonics", 3000, 300)) < 300


@pytest.mark.parametrize("dimension", [2, 3, 4, 9, 50, 400])
def test_softplus_is_its_sum_of_polynomials(dimension):
    t, _ = cosines(dimension)
    wanted = coefficients(ACTIVATIONS["softplus"](t), dimension, 14)
    wanted[3::2] = 0.0  # all but t / 2 is even
    np.testing.assert_allclose(of_softplus(dimension, 14), wanted, rtol=1e-8, atol=1e-15)


@pytest.mark.parametrize(
    ("dimension", "degree", "value"),
    [
        # E f(T) P_l(T) by quadrature with sixty digits
        (2, 28, -1.8111e-13),
        (2, 36, -9.3757e-17),
        (2, 60, -1.6586e-26),
        (5, 36, -6.7629e-19),
        (9, 28, -2.1826e-17),
    ],
)
def test_softplus_has_its_small_coefficients_too(dimension, degree, value):
    assert of_softplus(dimension, degree)[degree] == pytest.approx(value, rel=1e-4)
