"""Effects as drawings of a page: vectors with the colours of the page, readable in light and in dark."""

from __future__ import annotations

import base64
import struct
import zlib
from typing import Any

import numpy as np

from termwise.display.parts import has_levels, most_frequent
from termwise.explain.effects import Effect
from termwise.measures.base import Array
from termwise.report.markup import Markup, element, joined
from termwise.report.words import description, number
from termwise.table import level_text

WIDTH, HEIGHT = 360.0, 240.0
LEFT, RIGHT, TOP, BOTTOM = 52.0, 12.0, 10.0, 40.0
BINS = 30
FOOT = 22.0  # the histogram stands below the curves
SIDE = 26.0  # and what is missing beside them
MOST_LEVELS, MOST_LINES, LONGEST = 12, 6, 14
BLUE, RED = (0, 90, 160), (200, 70, 20)  # of a surface below and above zero


class Frame:
    """The place of a drawing: from values to points, and the axes around it."""

    def __init__(
        self, x: tuple[float, float], y: tuple[float, float], foot: float = 0.0, side: float = 0.0
    ) -> None:
        self.x, self.y = _wider(x), _wider(y)
        self.bottom, self.right = HEIGHT - BOTTOM - foot, WIDTH - RIGHT - side

    def px(self, x: Any) -> Any:
        """Across."""
        return LEFT + (np.asarray(x) - self.x[0]) / (self.x[1] - self.x[0]) * (self.right - LEFT)

    def py(self, y: Any) -> Any:
        """Down."""
        return self.bottom - (np.asarray(y) - self.y[0]) / (self.y[1] - self.y[0]) * (self.bottom - TOP)

    def path(self, x: Array, y: Array) -> str:
        """A line through points."""
        return "M" + "L".join(f"{a:.1f},{b:.1f}" for a, b in zip(self.px(x), self.py(y), strict=True))

    def y_axis(self) -> Markup:
        """Ticks at the left, and a line at zero."""
        parts = [_label(LEFT - 6, float(self.py(t)) + 4, number(t), "end") for t in ticks(*self.y)]
        if self.y[0] < 0.0 < self.y[1]:
            at = float(self.py(0.0))
            parts.append(element("line", x1=LEFT, x2=WIDTH - RIGHT, y1=at, y2=at, class_="zero"))
        return joined(parts)

    def x_axis(self) -> Markup:
        """Ticks at the foot."""
        foot = HEIGHT - BOTTOM + 14
        return joined([_label(float(self.px(t)), foot, number(t), "middle") for t in ticks(*self.x, most=5)])


def drawing(effect: Effect, limit: float) -> Markup:
    """The effect as one <svg>, with its sentence for who cannot see it; colours are full at `limit`."""
    levels = tuple(has_levels(axis) for axis in effect.axes)
    if levels == (False,):
        inside = _curve(effect)
    elif levels == (True,):
        inside = _points(effect)
    elif len(levels) == 2 and levels[0] != levels[1]:
        inside = _lines(effect, levels.index(True))
    elif len(levels) == 2:
        inside = _surface(effect, limit, levels[0])
    else:
        return element("p", description(effect))
    return element(
        "svg",
        inside,
        role="img",
        aria_label=description(effect),
        viewBox=f"0 0 {WIDTH:.0f} {HEIGHT:.0f}",
        class_="effect",
    )


def ticks(low: float, high: float, most: int = 6) -> list[float]:
    """Round numbers between low and high."""
    span = high - low
    if not (np.isfinite(span) and span > 0.0):
        return [low]
    power = 10.0 ** np.floor(np.log10(span / most))
    step = next(m * power for m in (1.0, 2.0, 5.0, 10.0, 20.0) if span / (m * power) <= most)
    first = int(np.ceil(low / step - 1e-9))
    last = int(np.floor(high / step + 1e-9))
    return [i * step for i in range(first, last + 1)]


def _curve(effect: Effect) -> Markup:
    x = effect.axes[0]
    side = SIDE if _lacks(effect) else 0.0
    frame = Frame((float(x[0]), float(x[-1])), _reach(effect), FOOT, side)
    band = frame.path(np.concatenate([x, x[::-1]]), np.concatenate([effect.low, effect.high[::-1]])) + "Z"
    return joined(
        element("path", d=band, class_="band"),
        frame.y_axis(),
        frame.x_axis(),
        element("path", d=frame.path(x, effect.mean), class_="curve"),
        _histogram(frame, effect.rows[0]),
        _missing(frame, effect) if _lacks(effect) else None,
        _name(effect.features[0]),
    )


def _lacks(effect: Effect) -> bool:
    return effect.n_missing > 0 and effect.missing_mean is not None


def _missing(frame: Frame, effect: Effect) -> Markup:
    """What the term is where the cell is missing, at the right."""
    low, mean, high = effect.missing_low, effect.missing_mean, effect.missing_high
    assert low is not None and mean is not None and high is not None, "a term of one feature says it"  # noqa: PT018
    x = WIDTH - RIGHT - 6.0
    return joined(
        _whisker(frame, x, (low, mean, high), "whisker other"),
        _label(x, HEIGHT - 6, f"missing ({effect.n_missing})", "end"),
    )


def _whisker(frame: Frame, x: float, band: tuple[float, float, float], kind: str) -> Markup:
    low, mean, high = (float(frame.py(value)) for value in band)
    return joined(
        element("line", x1=x, x2=x, y1=low, y2=high, class_=kind),
        element("circle", cx=x, cy=mean, r=4.0, class_=f"point {kind}"),
    )


def _points(effect: Effect) -> Markup:
    """A point for each level, and one for what is missing or was never seen."""
    shown = most_frequent(effect.axes[0], effect.rows[0], MOST_LEVELS)
    other = effect.missing_mean is not None
    frame = Frame((-0.6, len(shown) + other - 0.4), _reach(effect))
    parts: list[Markup] = []
    for place, i in enumerate(shown):
        x = float(frame.px(place))
        parts.append(_whisker(frame, x, (effect.low[i], effect.mean[i], effect.high[i]), "whisker"))
        text = _short(effect.axes[0][i], len(shown) + other)
        parts.append(_label(x, HEIGHT - BOTTOM + 14, text, "middle"))
    if effect.missing_low is not None and effect.missing_high is not None and effect.missing_mean is not None:
        x, band = float(frame.px(len(shown))), (effect.missing_low, effect.missing_mean, effect.missing_high)
        parts.append(_whisker(frame, x, band, "whisker other"))
        text = f"missing ({effect.n_missing})" if effect.n_missing else "(other)"
        parts.append(_label(x, HEIGHT - BOTTOM + 14, text, "middle"))
    more = len(effect.axes[0]) - len(shown)
    name = effect.features[0] + (f" (and {more} more levels)" if more else "")
    return joined(frame.y_axis(), parts, _name(name))


def _lines(effect: Effect, level: int) -> Markup:
    x = effect.axes[1 - level]
    low, mean, high = (np.moveaxis(part, level, 0) for part in (effect.low, effect.mean, effect.high))
    shown = most_frequent(effect.axes[level], effect.rows[level], MOST_LINES)
    frame = Frame((float(x[0]), float(x[-1])), _reach(effect), FOOT)
    parts: list[Markup] = []
    for place, i in enumerate(shown):
        band = frame.path(np.concatenate([x, x[::-1]]), np.concatenate([low[i], high[i][::-1]])) + "Z"
        parts.append(element("path", d=band, class_=f"band of{place}"))
        parts.append(element("path", d=frame.path(x, mean[i]), class_=f"curve of{place}"))
        here = (LEFT + 8 + 100 * (place % 3), TOP + 10 + 13 * (place // 3))
        parts.append(
            element("rect", x=here[0], y=here[1] - 8, width=9.0, height=9.0, class_=f"key of{place}")
        )
        parts.append(_label(here[0] + 13, here[1], _short(effect.axes[level][i], 4), "start"))
    name = effect.features[1 - level]
    return joined(
        frame.y_axis(), frame.x_axis(), parts, _histogram(frame, effect.rows[1 - level]), _name(name)
    )


def is_surface(effect: Effect) -> bool:
    """Whether the effect is drawn as colours."""
    return len(effect.axes) > 1 and len({has_levels(axis) for axis in effect.axes[:2]}) == 1


def _surface(effect: Effect, limit: float, levels: bool) -> Markup:
    """Colours: the stronger the farther from zero, and pale where not even the sign is known."""
    known = np.clip(np.abs(effect.mean) / np.maximum(0.5 * (effect.high - effect.low), 1e-300), 0.0, 1.0)
    strength = np.sqrt(np.abs(effect.mean) / limit) * known
    pixels = np.zeros((*effect.mean.T.shape, 4), dtype=np.uint8)
    pixels[..., :3] = np.where((effect.mean.T > 0.0)[..., None], RED, BLUE)
    pixels[..., 3] = np.round(255 * strength.T)
    first, second = effect.axes
    frame = Frame(_ends(first), _ends(second))
    image = element(
        "image",
        x=LEFT,
        y=TOP,
        width=WIDTH - LEFT - RIGHT,
        height=frame.bottom - TOP,
        preserveAspectRatio="none",
        class_="blocks" if levels else None,
        href=_png(pixels[::-1]),
    )
    if levels:
        marks = joined(_level_marks(frame, first, down=False), _level_marks(frame, second, down=True))
    else:
        left = [_label(LEFT - 6, float(frame.py(t)) + 4, number(t), "end") for t in ticks(*frame.y)]
        marks = joined(frame.x_axis(), left)
    first_name, second_name = effect.features
    middle = (TOP + frame.bottom) / 2
    up = element(
        "text",
        second_name,
        transform=f"translate(10,{middle:.0f}) rotate(-90)",
        text_anchor="middle",
        class_="name",
    )
    return joined(image, marks, up, _name(first_name))


def _level_marks(frame: Frame, axis: np.ndarray, *, down: bool) -> Markup:
    step = -(-len(axis) // MOST_LEVELS)
    parts = []
    for i in range(0, len(axis), step):
        text = _short(axis[i], 6 if down else len(axis))
        if down:
            parts.append(_label(LEFT - 6, float(frame.py(i)) + 4, text, "end"))
        else:
            parts.append(_label(float(frame.px(i)), HEIGHT - BOTTOM + 14, text, "middle"))
    return joined(parts)


def _histogram(frame: Frame, values: np.ndarray) -> Markup:
    known = values[~np.isnan(values)]
    counts, edges = np.histogram(known, bins=BINS, range=frame.x)
    tall = counts / max(int(np.max(counts)), 1) * (FOOT - 4)
    left = frame.px(edges[:-1])
    width = float(left[1] - left[0])
    base = HEIGHT - BOTTOM
    bars = "".join(
        f"M{a:.1f},{base:.1f}v{-h:.1f}h{width:.1f}v{h:.1f}Z"
        for a, h in zip(left, tall, strict=True)
        if h > 0.0
    )
    return element("path", d=bars or "M0,0", class_="rows")


def _reach(effect: Effect) -> tuple[float, float]:
    low, high = min(float(np.min(effect.low)), 0.0), max(float(np.max(effect.high)), 0.0)
    of_levels = has_levels(effect.axes[0])
    if (of_levels or _lacks(effect)) and effect.missing_low is not None and effect.missing_high is not None:
        low, high = min(low, effect.missing_low), max(high, effect.missing_high)
    return low, high


def _ends(axis: np.ndarray) -> tuple[float, float]:
    if has_levels(axis):
        return -0.5, len(axis) - 0.5
    return float(axis[0]), float(axis[-1])


def _wider(ends: tuple[float, float]) -> tuple[float, float]:
    low, high = ends
    return (low, high) if high > low else (low - 0.5, high + 0.5)


def _short(level: Any, count: int) -> str:
    room = max(int(46 / max(count, 1)), 4) if count > 3 else LONGEST
    text = level_text(level)
    return text if len(text) <= room else text[: room - 1] + "…"


def _label(x: float, y: float, text: str, anchor: str) -> Markup:
    return element("text", text, x=round(x, 1), y=round(y, 1), text_anchor=anchor)


def _name(text: str) -> Markup:
    return element(
        "text", text, x=(LEFT + WIDTH - RIGHT) / 2, y=HEIGHT - 6, text_anchor="middle", class_="name"
    )


def _png(pixels: np.ndarray) -> str:
    """Pixels (height, width, 4) as the address of a PNG that holds itself."""
    height, width, _ = pixels.shape
    raw = b"".join(b"\0" + row.tobytes() for row in pixels)
    header = struct.pack(">IIBBBBB", width, height, 8, 6, 0, 0, 0)
    chunks = _chunk(b"IHDR", header) + _chunk(b"IDAT", zlib.compress(raw, 9)) + _chunk(b"IEND", b"")
    return "data:image/png;base64," + base64.b64encode(b"\x89PNG\r\n\x1a\n" + chunks).decode("ascii")


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
