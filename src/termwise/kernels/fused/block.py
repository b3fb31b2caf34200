"""What the compiled loops do to one block of 64 pairs, plain enough for LLVM to make it vector instructions.

Two rules make it fast. A libm call in a loop is not vectorised, so exp is a polynomial. And a sum needs
leave to be reordered before it can be vectorised, but that leave would also undo the rounding trick inside
exp; so sums live in functions of their own (`dot`, `column_adjoint`).

What belongs together lies in one array, and arrays are passed whole with an index. A slice, or an array that
only one branch reads, would cost an atomic reference count for every block; and a loop over many arrays needs
so many tests that they do not overlap that LLVM gives up.
"""

from __future__ import annotations

from numba import njit, types
from numba.extending import intrinsic

BLOCK = 64
SE, MATERN12, MATERN32, MATERN52, TABLE = range(5)  # the codes of the column kernels
KINDS = {"se": SE, "matern12": MATERN12, "matern32": MATERN32, "matern52": MATERN52}
MISSING = 1e100  # scaled coordinate of a missing cell: so far away that its kernel value vanishes
COORDINATE, AMPLITUDE, UP, DOWN = range(4)  # what right[d, j] holds of a block of right-hand rows
VALUE, SLOPE = range(2)  # what own[d] holds of column d: z = w k - a a_z and w dk/dx

LOG2E, LN2_HI, LN2_LO = 1.4426950408889634, 6.93147180369123816490e-01, 1.90821492927058770002e-10
ROUND = 6755399441055744.0  # 1.5 * 2**52: adding it rounds to an integer held in the low bits
SQRT3, SQRT5 = 1.7320508075688772, 2.23606797749979
FAST = {"nnan", "ninf", "nsz", "arcp", "contract", "afn"}


@intrinsic
def bits(typing, x):
    """The bits of a float as an integer."""

    def code(context, builder, signature, args):
        return builder.bitcast(args[0], context.get_value_type(types.int64))

    return types.int64(types.float64), code


@intrinsic
def from_bits(typing, x):
    """The float that has these bits."""

    def code(context, builder, signature, args):
        return builder.bitcast(args[0], context.get_value_type(types.float64))

    return types.float64(types.int64), code


@njit(fastmath=True, forceinline=True)
def dot(x, y, r):
    """Inner product of a block with row r of y."""
    result = 0.0
    for b in range(BLOCK):
        result += x[b] * y[r, b]
    return result


@njit(fastmath=True, forceinline=True)
def column_adjoint(d, i, j, w, given, own, a_x, right, g_weight, g_X, g_ax, g_right):
    """Carry dz = given[0] + given[1] z back through one block of z = w k - a_x a_z.

    It goes to column d of row i and of block j.
    """
    ai = a_x[d, i]
    by_value, by_amplitude, by_row = 0.0, 0.0, 0.0
    for b in range(BLOCK):
        z = own[d, VALUE, b]
        dz = given[0, b] + given[1, b] * z
        moved = dz * own[d, SLOPE, b]
        by_value += dz * z
        by_amplitude += dz * right[d, j, AMPLITUDE, b]
        by_row += moved
        g_right[d, j, COORDINATE, b] -= moved
        g_right[d, j, AMPLITUDE, b] -= ai * dz
    g_weight[d] += (by_value + ai * by_amplitude) / w  # k = (z + a_x a_z) / w
    g_ax[d, i] -= by_amplitude
    g_X[d, i] += by_row


@njit(inline="always", fastmath=FAST)
def exponential(x):
    """exp(x) for x < 700: Cody-Waite reduction, a degree-12 polynomial, 2**k added to its exponent."""
    x = max(x, -700.0)
    shifted = x * LOG2E + ROUND
    k = shifted - ROUND
    r = x - k * LN2_HI
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
    p = p * r + 1.0
    return from_bits(bits(p) + (bits(shifted) << 52))


@njit(inline="always")
def rate_of(kind):
    """The rate r of a Matern kernel p(y) exp(-r y)."""
    return 1.0 if kind == MATERN12 else (SQRT3 if kind == MATERN32 else SQRT5)


@njit(inline="always", fastmath=FAST)
def value_block(kind, x, rising, falling, w, a, right, d, j, z):
    """z = w k - a a_z for the block right[d, j].

    A negative kind is that of a Matern kernel by factors (see `factors`), of x rising and falling. The
    polynomials of these kernels differ in their coefficients only: w + first y + second y^2.
    """
    rate = rate_of(abs(kind))
    first = w * rate if abs(kind) > MATERN12 else 0.0
    second = 5.0 / 3.0 * w if abs(kind) == MATERN52 else 0.0
    if kind < 0:
        for b in range(BLOCK):
            y = abs(x - right[d, j, COORDINATE, b])
            k = min(falling * right[d, j, UP, b], rising * right[d, j, DOWN, b])
            z[b] = k * (w + y * (first + y * second)) - a * right[d, j, AMPLITUDE, b]
    elif kind == SE:
        for b in range(BLOCK):
            y = x - right[d, j, COORDINATE, b]
            z[b] = w * exponential(-0.5 * y * y) - a * right[d, j, AMPLITUDE, b]
    else:
        for b in range(BLOCK):
            y = abs(x - right[d, j, COORDINATE, b])
            z[b] = exponential(-rate * y) * (w + y * (first + y * second)) - a * right[d, j, AMPLITUDE, b]


@njit(inline="always", fastmath=FAST)
def add_column(z, e, top):
    """e_r += z e_(r-1) for r = top .. 1, two orders at a time: half as many passes over the block."""
    for r in range(top, 1, -2):
        for b in range(BLOCK):
            below = e[r - 1, b]
            e[r, b] += z[b] * below
            e[r - 1, b] = below + z[b] * e[r - 2, b]
    if top % 2:
        for b in range(BLOCK):
            e[1, b] += z[b]


@njit(inline="always", fastmath=FAST)
def slope_block(kind, x, rising, falling, w, a, right, d, j, own):
    """own[d] = z as in `value_block`, and w dk/dx = w k' sign(x - z).

    At x = z the kernel of Matern 1/2 has a kink, whose slope is taken to be zero.
    """
    # k = exp(linear y + square y^2) (1 + first y + second y^2), y = |x - z|, for every kind
    rate, square, second, flat, steep = rate_of(abs(kind)), 0.0, 0.0, 3.0 * w, 0.0
    linear, first = -rate, rate if abs(kind) > MATERN12 else 0.0
    if kind == SE:
        linear, square, flat = 0.0, -0.5, w
    elif abs(kind) == MATERN52:
        second, flat, steep = 5.0 / 3.0, 5.0 / 3.0 * w, 5.0 / 3.0 * rate * w
    if kind < 0:
        for b in range(BLOCK):
            apart = right[d, j, COORDINATE, b] - x
            y = abs(apart)
            k = min(falling * right[d, j, UP, b], rising * right[d, j, DOWN, b])
            own[d, SLOPE, b] = apart * k * (flat + steep * y)
            k = k * (1.0 + y * (first + second * y))
            own[d, VALUE, b] = w * k - a * right[d, j, AMPLITUDE, b]
    else:
        for b in range(BLOCK):
            apart = right[d, j, COORDINATE, b] - x
            y = abs(apart)
            k = exponential(y * (linear + square * y))
            own[d, SLOPE, b] = apart * k * (flat + steep * y)
            k = k * (1.0 + y * (first + second * y))
            own[d, VALUE, b] = w * k - a * right[d, j, AMPLITUDE, b]
    if abs(kind) == MATERN12:
        for b in range(BLOCK):
            apart = right[d, j, COORDINATE, b] - x
            steep = own[d, VALUE, b] + a * right[d, j, AMPLITUDE, b]
            own[d, SLOPE, b] = steep if apart > 0.0 else (-steep if apart < 0.0 else 0.0)


@njit(inline="always", fastmath=FAST)
def extend(prefix, own, d, top):
    """The polynomials of the first d + 1 columns from those of the first d, up to the order top."""
    for r in range(1, top + 1):
        for b in range(BLOCK):
            prefix[d + 1, r, b] = prefix[d, r, b] + own[d, VALUE, b] * prefix[d, r - 1, b]


@njit(inline="always", fastmath=FAST)
def add_up(own, s, e, g, given):
    """The polynomials of all columns, up to the second, and the gradient for z: g (s_1 + s_2 (e_1 - z)).

    It is linear in z, so that no prefixes are needed; `given` has its two coefficients.
    """
    first = s[1] if s.shape[0] > 1 else 0.0
    second = s[2] if s.shape[0] > 2 else 0.0
    for b in range(BLOCK):
        given[0, b] = 0.0
        given[1, b] = 0.0
    for d in range(own.shape[0]):
        for b in range(BLOCK):
            given[1, b] += given[0, b] * own[d, VALUE, b]
            given[0, b] += own[d, VALUE, b]
    for r in range(1, s.shape[0]):
        for b in range(BLOCK):
            e[r, b] = given[r - 1, b]
    for b in range(BLOCK):
        given[0, b] = g[b] * (first + second * given[0, b])
        given[1, b] = -second * g[b]


@njit(inline="always", fastmath=FAST)
def retract(prefix, own, d, top, back, given):
    """given[0] = the gradient for z of column d, `back` those for the polynomials of the columns before it.

    The first pass multiplies by ones: a plain copy would be compiled to 64 scalar moves.
    """
    for b in range(BLOCK):
        given[0, b] = back[1, b] * prefix[d, 0, b]
    for r in range(2, top + 1):
        for b in range(BLOCK):
            given[0, b] += back[r, b] * prefix[d, r - 1, b]
        for b in range(BLOCK):
            back[r - 1, b] += own[d, VALUE, b] * back[r, b]
