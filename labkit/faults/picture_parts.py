"""The signs of the picture: a call with its two gates, a fault, a death, an effect that drops into the ledger.

Each sign has a shape of its own, so that it is read without colour.

Not handled here: where they stand (see `picture_layout`).
"""

from __future__ import annotations

from labkit.faults.paint import BASE_STYLE, DEEP_RED, DEEP_TEAL, element, rule, words
from labkit.faults.picture_layout import GATE, PILL
from labkit.faults.picture_story import Call, Effect

HALF = PILL / 2
ICONS = {  # drawn in a square of 12 by 12 around (0, 0)
    "sql": "M-5-3.4a5 2.1 0 0 1 10 0a5 2.1 0 0 1-10 0V3.4a5 2.1 0 0 0 10 0V-3.4M-5 0a5 2.1 0 0 0 10 0",
    "clock": "M-5.3 0a5.3 5.3 0 0 1 10.6 0a5.3 5.3 0 0 1-10.6 0M0-3.2V0L2.4 1.5",
    "http": "M-5.5-2.6H5M2.4-5.2L5-2.6L2.4 0M5.5 2.8H-5M-2.4 .2L-5 2.8L-2.4 5.4",
    "file": "M-4.2-5.5H1.2L4.2-2.5V5.5H-4.2ZM1.2-5.5V-2.5H4.2",
    "cloud": "M-3.4 3.8a2.7 2.7 0 0 1-.3-5.4a3.9 3.9 0 0 1 7.4-.3a2.9 2.9 0 0 1 .2 5.7Z",
}
TRANSACTION = "M-7.5-8H-10.5V8H-7.5M7.5-8H10.5V8H7.5"  # brackets around an icon
CROSS = "M-6-6L6 6M-6 6L6-6"
ASIDE = 3.0  # a fault stands a little outside of its gate

STYLE = BASE_STYLE + "".join(
    [
        *(rule(f".lk .lk-b-{name}", f"stroke@{name};fill@{name}") for name in ICONS),
        rule(".lk .lk-b-", "stroke:currentColor;fill:currentColor"),
        rule(".lk .lk-line", "fill:none;stroke-width:1.5;stroke-linecap:round;stroke-linejoin:round"),
        rule(".lk .lk-gate", "stroke-width:3;stroke-linecap:round"),
        rule(".lk .lk-body", "fill-opacity:.14;stroke:none"),
        rule(".lk .lk-hollow", "fill:none;stroke-width:1;stroke-dasharray:3 3;stroke-opacity:.8"),
        rule(".lk .lk-life", "stroke:currentColor;stroke-width:2;stroke-opacity:.5"),
        rule(".lk .lk-fold", "stroke:currentColor;stroke-width:2;stroke-opacity:.5;stroke-dasharray:1 6"),
        rule(".lk .lk-band", "fill:currentColor;fill-opacity:.035"),
        rule(".lk .lk-hit", "fill@red;fill-opacity:.09"),
        rule(".lk .lk-time", "stroke:currentColor;stroke-opacity:.16;stroke-dasharray:2 4"),
        rule(".lk .lk-dot", "fill:currentColor"),
        rule(".lk .lk-dead", "fill:none;stroke@red;stroke-width:4;stroke-linecap:round"),
        rule(".lk .lk-warn", f"fill:{DEEP_RED}"),
        rule(".lk .lk-on", "fill:#fff;font-weight:700;font-size:10px"),
        rule(".lk .lk-drop", "fill:none;stroke@cloud;stroke-width:2.5"),
        rule(".lk .lk-dash", "stroke-width:1.5;stroke-dasharray:4 3"),
        rule(".lk .lk-done", f"fill:{DEEP_TEAL}"),
        rule(".lk .lk-tip", "fill@cloud"),
        rule(".lk .lk-ring", "fill:none;stroke@cloud;stroke-width:1.5"),
        rule(".lk .lk-twice", "fill:none;stroke@red;stroke-width:1.5"),
        rule(".lk .lk-name", "font-size:13px;font-weight:600"),
        rule(".lk .lk-strong", "font-weight:600"),
        rule(".lk .lk-fault", "font-size:12px;font-weight:700;fill@red"),
        rule(".lk .lk-lost", "font-weight:600;fill@red"),
        rule(".lk .lk-detail", "fill@red"),
        rule(".lk .lk-soft,.lk .lk-key,.lk .lk-small", "fill-opacity:.72"),
        rule(".lk .lk-key,.lk .lk-small", "font-size:10px"),
        rule(".lk .lk-legend", "display:flex;flex-wrap:wrap;gap:2px 16px;font-size:11px;opacity:.85;margin-top:4px"),
        rule(".lk .lk-legend svg", "vertical-align:-3px;margin-right:4px"),
        rule(".lk .lk-remark", "font-weight:600;margin:2px 0"),
        rule(".lk .lk-part", "fill-opacity:.3;stroke:none"),
        rule(".lk .lk-due", "stroke@red;stroke-dasharray:6 4;stroke-width:1.5"),
        rule(".lk .lk-duename", "font-size:10px;font-weight:600;fill@red"),
        rule(".lk .lk-banner", "border-left:4px solid;border-color@red;padding:4px 10px;margin-top:6px"),
        rule(".lk .lk-banner b", "color@red"),
    ]
)


def path(data: str, cls: str, x: float = 0, y: float = 0) -> str:
    """A path moved to (x, y)."""
    place = f"translate({round(x, 1):g} {round(y, 1):g})" if x or y else ""
    return element("path", d=data, cls=cls, transform=place)


def line(x1: float, y1: float, x2: float, y2: float, cls: str) -> str:
    return element("line", x1=float(x1), y1=float(y1), x2=float(x2), y2=float(y2), cls=cls)


def box(x: float, y: float, wide: float, high: float, cls: str, radius: float = 6) -> str:
    return element("rect", x=float(x), y=float(y), width=float(wide), height=float(high), rx=float(radius), cls=cls)


def dot(x: float, y: float, radius: float, cls: str) -> str:
    return element("circle", cx=float(x), cy=float(y), r=float(radius), cls=cls)


def icon(boundary: str, x: float, y: float) -> str:
    """The sign of a boundary."""
    known = boundary if boundary in ICONS else ""
    return path(ICONS.get(boundary, "M-2 0a2 2 0 0 1 4 0a2 2 0 0 1-4 0"), f"lk-b-{known} lk-line", x, y)


def call(done: Call, x1: float, x2: float, y: float) -> str:
    """A call from gate to gate: a full body if it happened, a gate for each side that was passed."""
    colour = f"lk-b-{done.boundary if done.boundary in ICONS else ''}"
    parts = [box(x1, y - HALF, x2 - x1, PILL, f"{colour} {'lk-body' if done.happened else 'lk-hollow'}", 3)]
    parts += [box(x1, y - HALF, (x2 - x1) / 2, PILL, f"{colour} lk-part", 3)] if done.torn else []
    parts += [line(x1, y - HALF, x1, y + HALF, f"{colour} lk-gate")] if done.before else []
    parts += [line(x2, y - HALF, x2, y + HALF, f"{colour} lk-gate")] if done.after else []
    middle = x1 + GATE
    parts += [transaction(middle, y)] if done.last else [icon(done.boundary, middle, y)]
    return "".join([*parts, words(middle, y - HALF - 5, done.numbers, "lk-small", "middle")])


def transaction(x: float, y: float) -> str:
    """The sign of a whole transaction: the database in brackets."""
    return icon("sql", x, y) + path(TRANSACTION, "lk-b-sql lk-line", x, y)


def fault(x: float, y: float) -> str:
    """A fault that does not kill: a red diamond with a mark in it."""
    return path("M0-9L9 0L0 9L-9 0Z", "lk-warn", x, y) + words(x, y + 3.8, "!", "lk-on", "middle")


def death(x: float, y: float) -> str:
    """The cross at which a lane ends."""
    return path(CROSS, "lk-dead", x, y)


def drop(effect: Effect, x: float, y1: float, y2: float) -> str:
    """An effect on its way from a lane to the ledger, and its mark there with the count in it."""
    dashed = " lk-dash" if effect.again else ""
    tip = y2 - 14
    parts = [line(x, y1, x, tip - 6, f"lk-drop{dashed}"), path("M-4.5-7H4.5L0 0Z", "lk-tip", x, tip)]
    mark = "lk-ring" if effect.again else "lk-done" if effect.count == 1 else "lk-warn"
    parts.append(dot(x, y2, 9, mark) + (dot(x, y2, 12, "lk-twice") if mark == "lk-warn" else ""))
    parts.append(words(x, y2 + 3.6, str(effect.count), "lk-small" if effect.again else "lk-on", "middle"))
    return "".join(parts)


def end(label: str, x: float, y: float) -> str:
    """How a process ended, other than by a crash: a full stop, or a warning."""
    return path("M-5-5H5V5H-5Z", "lk-dot", x, y) if label == "returned" else fault(x, y)
