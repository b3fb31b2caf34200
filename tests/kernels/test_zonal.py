"""Polynomials of the angle and the spectra of kernels, against integrals that are done another way."""

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import eval_gegenbauer, gammaln

from termwise.kernels.sphere import coefficients, cosines, harmonics, of_power, polynomials
from termwise.kernels.spherical import SphericalKernel
from termwise.kernels.zonal import (
    KERNELS as BY_NAME,
)
from termwise.kernels.zonal import (
    ArcCosine0,
    ArcCosine1,
    ArcCosine2,
    SphereMatern32,
    SphereMatern52,
    SphereSE,
    Zonal,
)
from tests.oracle.zonal import PROFILES, kappa

DIMENSIONS = [2, 3, 4, 9, 31]
KERNELS = [
    ArcCosine0(),
    ArcCosine1(),
    ArcCosine2(),
    SphereSE(0.5),
    SphereSE(3.0),
    SphereMatern32(0.7),
    SphereMatern52(1.3),
]
T = np.linspace(-1.0, 1.0, 21)


def named(kernel: Zonal) -> str:
    return repr(kernel)


def gegenbauer(degree: int, t: np.ndarray, dimension: int) -> np.ndarray:
    if dimension == 2:
        return np.cos(degree * np.arccos(t))
    a = 0.5 * dimension - 1.0
    return eval_gegenbauer(degree, a, t) / eval_gegenbauer(degree, a, 1.0)


def expectation(function, dimension: int) -> float:
    """E f(T) over the cosine with a random direction, by adaptive quadrature in the angle."""
    log = gammaln(0.5 * dimension) - gammaln(0.5 * (dimension - 1)) - 0.5 * np.log(np.pi)

    def integrand(angle):
        return np.exp(log) * function(np.cos(angle)) * np.sin(angle) ** (dimension - 2)

    halves = [(0.0, 0.5 * np.pi), (0.5 * np.pi, np.pi)]
    return sum(quad(integrand, *half, epsabs=1e-14, epsrel=1e-10, limit=200)[0] for half in halves)


@pytest.mark.parametrize("dimension", DIMENSIONS)
def test_polynomials(dimension):
    P = polynomials(T, dimension, 30)
    for degree in range(31):
        np.testing.assert_allclose(P[degree], gegenbauer(degree, T, dimension), atol=1e-12)


def test_the_lowest_degrees_alone():
    assert polynomials(T, 5, 0).tolist() == [[1.0] * T.size]
    np.testing.assert_array_equal(polynomials(T, 5, 1)[1], T)


def test_how_many_harmonics_there_are():
    assert [harmonics(3, degree) for degree in range(5)] == [1, 3, 5, 7, 9]
    assert [harmonics(2, degree) for degree in range(5)] == [1, 2, 2, 2, 2]
    # All polynomials of degree l on the sphere: those of degree l and l - 1 in d coordinates, less one.
    for dimension in (4, 9):
        up_to = sum(harmonics(dimension, degree) for degree in range(4))
        rng = np.random.default_rng(0)
        X = rng.standard_normal((400, dimension))
        X /= np.linalg.norm(X, axis=1)[:, None]
        P = polynomials(X @ X.T, dimension, 3)
        ranks = [np.linalg.matrix_rank(one, tol=1e-8) for one in P]
        assert sum(ranks) == up_to


@pytest.mark.parametrize("dimension", DIMENSIONS)
@pytest.mark.parametrize("power", [0, 1, 2])
def test_coefficients_of_activations(dimension, power):
    found = of_power(power, dimension, 14)
    for degree, value in enumerate(found):
        numeric = expectation(
            lambda t, n=degree: (t > 0.0) * t**power * gegenbauer(n, t, dimension), dimension
        )
        assert value == pytest.approx(numeric, abs=1e-14, rel=1e-10)
    # Beyond the power every second vanishes, to the last bit.
    assert np.count_nonzero(found[power + 2 :: 2]) == 0
    assert np.all(found[power + 1 :: 2] != 0.0)
    t, _ = cosines(dimension)
    np.testing.assert_allclose(coefficients((t > 0.0) * t**power, dimension, 14), found, atol=1e-14)


@pytest.mark.parametrize("power", [0, 1, 2])
def test_few_degrees_are_the_first_of_many(power):
    whole = of_power(power, 6, 9)
    for degree in range(4):
        np.testing.assert_array_equal(of_power(power, 6, degree), whole[: degree + 1])


@pytest.mark.parametrize("dimension", DIMENSIONS)
@pytest.mark.parametrize("kernel", KERNELS, ids=named)
def test_eigenvalues(kernel, dimension):
    found = kernel.eigenvalues(dimension, 8)
    numeric = [
        expectation(lambda t, n=n: kappa(kernel, t) * gegenbauer(n, t, dimension), dimension)
        for n in range(9)
    ]
    np.testing.assert_allclose(found, numeric, atol=1e-14, rtol=1e-10)
    assert np.all(found >= 0.0)


@pytest.mark.parametrize(
    ("kernel", "dimension", "degree", "known"),
    [
        (SphereMatern32(0.7), 31, 8, 5.120926378239714e-10),
        (SphereMatern52(1.0), 31, 20, 2.5350072676927838e-18),
        (SphereMatern52(0.3), 9, 16, 3.3901369176724056e-08),
        (SphereMatern32(5.0), 3, 30, 2.374439355134596e-09),
        (SphereMatern52(0.2), 2, 40, 2.900314820676949e-05),
    ],
)
def test_small_eigenvalues_have_their_digits(kernel, dimension, degree, known):
    """Beside integrals with sixty digits."""
    assert kernel.eigenvalues(dimension, degree)[degree] == pytest.approx(known, rel=2e-14)


@pytest.mark.parametrize("dimension", [2, 3, 9])
@pytest.mark.parametrize("kernel", KERNELS, ids=named)
def test_the_series_converges_to_the_kernel(kernel, dimension):
    def left(degree: int) -> float:
        scaled = kernel.eigenvalues(dimension, degree) * [harmonics(dimension, n) for n in range(degree + 1)]
        return float(np.max(np.abs(scaled @ polynomials(T, dimension, degree) - kappa(kernel, T))))

    few, more, many = left(6), left(30), left(90)
    # A step in the angle at t = 1 takes its time; the smooth ones are there at once.
    assert many < {"arccos0": 0.02, "se": 1e-12}.get(kernel.name, 2e-3)
    assert many <= more + 1e-14 <= few + 2e-14


@pytest.mark.parametrize("kernel", [k for k in KERNELS if k.has_lengthscale], ids=named)
@pytest.mark.parametrize("dimension", [2, 9, 31])
def test_derivatives_for_the_lengthscale(kernel, dimension):
    step = 1e-5
    more, less = (
        type(kernel)(**{**vars(kernel), "lengthscale": kernel.lengthscale * f})
        for f in (np.exp(step), np.exp(-step))
    )
    numeric = (more.eigenvalues(dimension, 9) - less.eigenvalues(dimension, 9)) / (2.0 * step)
    np.testing.assert_allclose(
        kernel.eigenvalues_by_lengthscale(dimension, 9), numeric, rtol=1e-7, atol=1e-16
    )


def test_the_arc_cosine_kernel_is_a_network_of_one_layer():
    rng = np.random.default_rng(0)
    x, z = np.array([0.6, 0.8, 0.0]), np.array([0.0, 0.6, 0.8])
    w = rng.standard_normal((2_000_000, 3))
    for kernel, scale in ((ArcCosine0(), 2.0), (ArcCosine1(), 2.0), (ArcCosine2(), 2.0 / 3.0)):
        n = kernel.power
        a, b = w @ x, w @ z
        mean = scale * np.mean((a > 0) * (b > 0) * a**n * b**n)
        assert kappa(kernel, np.array([x @ z]))[0] == pytest.approx(mean, rel=0.01)


def test_without_lengthscale_nothing_changes_with_it():
    for kernel in (ArcCosine0, ArcCosine1, ArcCosine2):
        assert not kernel.has_lengthscale
        assert kernel.of(3.0) == kernel()
        assert not np.any(kernel().eigenvalues_by_lengthscale(3, 5))


def leaves(kind: type) -> set[type]:
    below = [leaf for child in kind.__subclasses__() for leaf in leaves(child)]
    return set(below) or {kind}


def test_every_kernel_has_a_name_and_a_line_of_the_loop():
    """Each is found by its name, is one at no angle, and no two are the same to the loops."""
    assert leaves(Zonal) == set(BY_NAME.values())
    assert BY_NAME.keys() == PROFILES.keys()
    assert len({kernel.loop for kernel in BY_NAME.values()}) == len(BY_NAME)
    angle = np.linspace(0.0, np.pi, 9)
    rows = np.column_stack([np.cos(angle), np.sin(angle), np.zeros(9)])
    for kind in BY_NAME.values():
        shape = kind.of(0.7)
        found = SphericalKernel(shape, 2, 1.0).matrix(rows, rows[:1])[:, 0]
        np.testing.assert_allclose(found, kappa(shape, np.cos(angle)), atol=1e-14)
        assert found[0] == pytest.approx(1.0, abs=1e-15)
