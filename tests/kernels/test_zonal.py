"""Polynomials of the angle and the spectra of kernels, against integrals that are done another way."""

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import eval_gegenbauer, gammaln

from termwise.errors import OptionError
from termwise.kernels.sphere import coefficients, cosines, harmonics, of_power, polynomials, slopes
from termwise.kernels.zonal import ArcCosine, SphereMatern, SphereSE, Zonal

DIMENSIONS = [2, 3, 4, 9, 31]
KERNELS = [
    ArcCosine(0),
    ArcCosine(1),
    ArcCosine(2),
    SphereSE(0.5),
    SphereSE(3.0),
    SphereMatern(0.7, 1.5),
    SphereMatern(1.3, 2.5),
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
def test_polynomials_and_slopes(dimension):
    P = polynomials(T, dimension, 30)
    for degree in range(31):
        np.testing.assert_allclose(P[degree], gegenbauer(degree, T, dimension), atol=1e-12)
    step = 1e-6
    inner = T[1:-1]
    numeric = polynomials(inner + step, dimension, 8) - polynomials(inner - step, dimension, 8)
    found = slopes(polynomials(inner, dimension, 8), inner, dimension)
    np.testing.assert_allclose(found, numeric / (2.0 * step), rtol=1e-6, atol=1e-7)


def test_the_lowest_degrees_alone():
    assert polynomials(T, 5, 0).tolist() == [[1.0] * T.size]
    assert slopes(polynomials(T, 5, 0), T, 5).tolist() == [[0.0] * T.size]
    np.testing.assert_array_equal(polynomials(T, 5, 1)[1], T)
    np.testing.assert_array_equal(slopes(polynomials(T, 5, 1), T, 5)[1], np.ones(T.size))


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
        expectation(lambda t, n=n: kernel.value(t) * gegenbauer(n, t, dimension), dimension) for n in range(9)
    ]
    np.testing.assert_allclose(found, numeric, atol=1e-14, rtol=1e-10)
    assert np.all(found >= 0.0)


@pytest.mark.parametrize(
    ("kernel", "dimension", "degree", "known"),
    [
        (SphereMatern(0.7, 1.5), 31, 8, 5.120926378239714e-10),
        (SphereMatern(1.0, 2.5), 31, 20, 2.5350072676927838e-18),
        (SphereMatern(0.3, 2.5), 9, 16, 3.3901369176724056e-08),
        (SphereMatern(5.0, 1.5), 3, 30, 2.374439355134596e-09),
        (SphereMatern(0.2, 2.5), 2, 40, 2.900314820676949e-05),
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
        return float(np.max(np.abs(scaled @ polynomials(T, dimension, degree) - kernel.value(T))))

    few, more, many = left(6), left(30), left(90)
    # A step in the angle at t = 1 takes its time; the smooth ones are there at once.
    assert many < {"arccos": 0.02, "se": 1e-12}.get(kernel.name, 2e-3)
    assert many <= more + 1e-14 <= few + 2e-14


@pytest.mark.parametrize("kernel", KERNELS, ids=named)
def test_values_and_slopes(kernel):
    assert kernel.value(np.array([1.0])) == pytest.approx(1.0, abs=1e-15)
    step, inner = 1e-6, T[1:-1]
    numeric = (kernel.value(inner + step) - kernel.value(inner - step)) / (2.0 * step)
    np.testing.assert_allclose(kernel.slope(inner), numeric, rtol=1e-7, atol=1e-9)
    if kernel != ArcCosine(0):
        assert np.all(np.isfinite(kernel.slope(np.array([-1.0, 1.0, 1.0 + 1e-15]))))
    assert np.all(np.isfinite(kernel.value(np.array([-1.0 - 1e-15, 1.0 + 1e-15]))))


@pytest.mark.parametrize("kernel", [k for k in KERNELS if k.has_lengthscale], ids=named)
@pytest.mark.parametrize("dimension", [2, 9, 31])
def test_derivatives_for_the_lengthscale(kernel, dimension):
    step = 1e-5
    more, less = (
        type(kernel)(**{**vars(kernel), "lengthscale": kernel.lengthscale * f})
        for f in (np.exp(step), np.exp(-step))
    )
    numeric = (more.value(T) - less.value(T)) / (2.0 * step)
    np.testing.assert_allclose(kernel.by_lengthscale(T), numeric, rtol=1e-7, atol=1e-9)
    numeric = (more.eigenvalues(dimension, 9) - less.eigenvalues(dimension, 9)) / (2.0 * step)
    np.testing.assert_allclose(
        kernel.eigenvalues_by_lengthscale(dimension, 9), numeric, rtol=1e-7, atol=1e-16
    )


def test_the_arc_cosine_kernel_is_a_network_of_one_layer():
    rng = np.random.default_rng(0)
    x, z = np.array([0.6, 0.8, 0.0]), np.array([0.0, 0.6, 0.8])
    w = rng.standard_normal((2_000_000, 3))
    for order, scale in ((0, 2.0), (1, 2.0), (2, 2.0 / 3.0)):
        a, b = w @ x, w @ z
        mean = scale * np.mean((a > 0) * (b > 0) * a**order * b**order)
        assert ArcCosine(order).value(np.array([x @ z]))[0] == pytest.approx(mean, rel=0.01)
        assert ArcCosine(order).power == order


def test_without_lengthscale_nothing_changes_with_it():
    assert not ArcCosine().has_lengthscale
    assert not np.any(ArcCosine().by_lengthscale(T))
    assert not np.any(ArcCosine().eigenvalues_by_lengthscale(3, 5))


def test_an_order_that_there_is_not():
    with pytest.raises(OptionError, match="order of the arc-cosine kernel is 3; use 0, 1 or 2"):
        ArcCosine(3)


def test_names():
    names = [kernel.name for kernel in (ArcCosine(), SphereSE(), SphereMatern(1.0, 1.5), SphereMatern())]
    assert names == ["arccos", "se", "matern32", "matern52"]
