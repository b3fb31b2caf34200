"""Loops over one block of 64 pairs, each simple enough for LLVM to turn into vector instructions.

Two rules make them fast. A libm call in a loop is not vectorised, so exp is a polynomial. And a
sum needs leave to be reordered before it can be vectorised, but that leave would also undo the
rounding trick inside exp; so sums live in functions of their own (`dot`, `column_adjoint`). Arrays
are passed whole with an index: a slice would cost an atomic reference count for every block.
"""

from __future__ import annotations

from numba import njit

BLOCK = 64
SE, MATERN12, MATERN32, MATERN52, TABLE = range(5)  # the codes of the column kernels
KINDS = {"se": SE, "matern12": MATERN12, "matern32": MATERN32, "matern52": MATERN52}
MISSING = 1e100  # scaled coordinate of a missing cell: so far away that its kernel value vanishes

LOG2E, LN2_HI, LN2_LO = 1.4426950408889634, 6.93147180369123816490e-01, 1.90821492927058770002e-10
ROUND = 6755399441055744.0  # 1.5 * 2**52: adding it rounds to an integer held in the low bits
SQRT3, SQRT5 = 1.7320508075688772, 2.23606797749979
FAST = {"nnan", "ninf", "nsz", "arcp", "contract", "afn"}


@njit(fastmath=True)
def dot(x, y, r):
    """Inner product of a block with row r of y."""
    result = 0.0
    for b in range(BLOCK):
        result += x[b] * y[r, b]
    return result


@njit(fastmath=True)
def column_adjoint(d, i, j, dz, k, slope, weight, a_x, a_z, g_weight, g_X, g_ax, g_Z, g_az):
    """Carry dz back through one block of z = weight k - a_x a_z to column d of row i and block j"""
    w, ai = weight[d], a_x[d, i]
    by_weight, by_amplitude, by_row = 0.0, 0.0, 0.0
    for b in range(BLOCK):
        moved = w * dz[b] * slope[d, b]
        by_weight += dz[b] * k[d, b]
        by_amplitude += dz[b] * a_z[d, j, b]
        by_row += moved
        g_Z[d, j, b] -= moved
        g_az[d, j, b] -= ai * dz[b]
    g_weight[d] += by_weight
    g_ax[d, i] -= by_amplitude
    g_X[d, i] += by_row


@njit(inline="always", fastmath=FAST)
def exp_block(x, out, d, shifted, shifted_bits, power, power_bits):
    """out[d] = exp(x) for x <= 0: Cody-Waite reduction, a degree-12 polynomial, 2**k from its bits."""
    for b in range(BLOCK):
        shifted[b] = max(x[b], -700.0) * LOG2E + ROUND
    for b in range(BLOCK):
        k = shifted[b] - ROUND
        r = max(x[b], -700.0) - k * LN2_HI
        r = r - k * LN2_LO
        p = 1.0 / 479001600.0
        p = p * r + 1.0 / 39916800.0
        p = p * r + 1.0 / 3628800.0
        p = p * r + 1.0 / 362880.0
        p = p * r + 1.0 / 40320.0
        p = p * r + 1.0 / 5040.0
        p = p * r + 1.0 / 720.0
        p = p * r + 1.0 / 120.0
        p = p * r + 1.0 / 24.0
        p = p * r + 1.0 / 6.0
        p = p * r + 0.5
        p = p * r + 1.0
        out[d, b] = p * r + 1.0
    for b in range(BLOCK):
        power_bits[b] = (shifted_bits[b] + 1023) << 52
    for b in range(BLOCK):
        out[d, b] *= power[b]


@njit(inline="always", fastmath=FAST)
def exponent_block(kind, x, Z, d, j, q):
    """q = the argument of exp in the kernel between the coordinate x and the block Z[d, j]."""
    if kind == SE:
        for b in range(BLOCK):
            q[b] = -0.5 * (x - Z[d, j, b]) * (x - Z[d, j, b])
    else:
        rate = 1.0 if kind == MATERN12 else (SQRT3 if kind == MATERN32 else SQRT5)
        for b in range(BLOCK):
            q[b] = -rate * abs(x - Z[d, j, b])


@njit(inline="always", fastmath=FAST)
def polynomial_block(kind, q, k, d):
    """Multiply exp(q) by the polynomial of a Matern kernel: k[d] = p(-q) exp(q)."""
    if kind == MATERN32:
        for b in range(BLOCK):
            k[d, b] *= 1.0 - q[b]
    elif kind == MATERN52:
        for b in range(BLOCK):
            k[d, b] *= 1.0 - q[b] + q[b] * q[b] / 3.0


@njit(inline="always", fastmath=FAST)
def slope_block(kind, x, Z, d, j, q, k, slope):
    """slope[d] = dk/dx given the exponent q; k[d] holds exp(q) on entry and the kernel value on return."""
    if kind == SE:
        for b in range(BLOCK):
            slope[d, b] = (Z[d, j, b] - x) * k[d, b]
    elif kind == MATERN12:
        for b in range(BLOCK):
            y = Z[d, j, b]
            slope[d, b] = -k[d, b] if x > y else (k[d, b] if x < y else 0.0)
    elif kind == MATERN32:
        for b in range(BLOCK):
            slope[d, b] = 3.0 * (Z[d, j, b] - x) * k[d, b]
            k[d, b] *= 1.0 - q[b]
    else:
        for b in range(BLOCK):
            slope[d, b] = (5.0 / 3.0) * (Z[d, j, b] - x) * (1.0 - q[b]) * k[d, b]
            k[d, b] *= 1.0 - q[b] + q[b] * q[b] / 3.0
