"""What must hold of `backoff`, read off many draws.

Waits are judged by their distribution: the largest distance between that of the draws and the even one (after Kolmogorov and
Smirnov). Any way to draw passes, and the seeds are fixed, so that the verdict is the same every time.

Not handled here: the draws (see `backoff`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from math import isfinite, sqrt
from typing import Any

from labkit.checks.exercise import Finding, Seen

FARTHEST = 2.7  # even draws, n of them, are farther from even than this / sqrt(n) once in a million times
FEW = "the same few waits again and again: rounded, or rng seeded anew"
LOST = "the jitter is lost where retry_after is given"
ON_TOP = "the jitter comes on top of the whole wait"
SLACK = 1 + 1e-9  # rounding of floats


def top_of(attempt: int, base: float, cap: float) -> float:
    """Where the window ends."""
    return min(cap, base * 2.0 ** min(attempt, 1000))


def distance(sample: Sequence[float], low: float, high: float) -> float:
    """How far a sample is from even on [low, high], times the root of its size: near 1 for even, beyond `FARTHEST` not."""
    count, width = len(sample), high - low
    even = [(x - low) / width for x in sorted(sample)]
    return max(max(abs(e - n / count), abs(e - (n + 1) / count)) for n, e in enumerate(even)) * sqrt(count)


def _s(seconds: float) -> str:
    """Seconds to three digits, as one writes them."""
    return f"{seconds:.3g}" if seconds < 1000 else f"{seconds:.0f}"


def one_by_one(waits: Sequence[Any]) -> str:
    """Waits as one reads them out; what is no number is told by its kind."""
    return ", ".join(_s(wait) if isinstance(wait, int | float) else type(wait).__name__ for wait in waits) + " s"


def in_short(waits: Sequence[Any]) -> str:
    """Many waits: how many, and between which two they lie."""
    numbers = sorted(wait for wait in waits if isinstance(wait, int | float))
    return f"{len(numbers)} waits from {_s(numbers[0])} to {_s(numbers[-1])} s" if numbers else "no numbers"


def _crowded(waits: Sequence[float], low: float, high: float) -> str:
    """The quarter of [low, high] in which there are far too many, or too few."""
    part = (high - low) / 4
    found = [sum(low + n * part < wait <= low + (n + 1) * part for wait in waits) for n in range(4)]
    worst = max(range(4), key=lambda n: abs(found[n] - len(waits) / 4))
    between = f"{low + worst * part:.3g} and {low + (worst + 1) * part:.3g} s"
    return f"{found[worst]} of {len(waits)} between {between}, and of even ones some {round(len(waits) / 4)}"


def _unusable(seen: Seen, waits: Sequence[Any] | None) -> Finding | None:
    """Why there is nothing to judge: an error instead of a wait, or no number."""
    last = seen.end.last
    if last.how == "raised" and last.error["type"] == "OverflowError":
        return Finding(f"the call {last}", "the power is taken before the cap: it overflows")
    if last.how != "returned" or waits is None:
        return Finding(f"the call {last}", "fails where it should return a wait")
    odd = [w for w in waits if not isinstance(w, int | float) or isinstance(w, bool) or not isfinite(w)]
    if not odd:
        return None
    kind = odd[0].get("type") if isinstance(odd[0], dict) else None
    told, why = (f"a {kind}", f"returns a {kind}, no float") if kind else (repr(odd[0]), "returns no finite number")
    return Finding(f"a wait must be a finite number of seconds, and it was {told}", why)


def drew(seen: Seen, facts: dict[str, Any]) -> bool:
    return seen.end.last.how == "returned"


def full_jitter(seen: Seen, facts: dict[str, Any]) -> Finding | None:
    """Every window in the facts of the case: (attempt, base, cap)."""
    found = _unusable(seen, ())
    for window, waits in zip(facts["windows"], seen.end.last.value or (), strict=False):
        found = found or _unusable(seen, waits) or _uneven(waits, *window)
    return found


def _uneven(waits: Sequence[float], attempt: int, base: float, cap: float) -> Finding | None:
    """What is wrong with the draws of one window, or None."""
    high, low, top = max(waits), min(waits), top_of(attempt, base, cap)
    if low < 0:
        why = "a wait below zero"
    elif high == 0:
        why = "never waits"
    elif top <= low * SLACK and low < high < 10 * top:
        why = ON_TOP
    elif 1 < len(set(waits)) < len(waits) / 20:
        why = FEW
    elif high > cap * SLACK:
        why = "the cap is ignored"
    elif high > top * SLACK:
        why = "waits longer than base * 2**attempt"
    elif low == high == top:
        why = "no jitter: all who failed together come back together"
    elif low == high:
        why = "the same wait each time: the draw is not from rng"
    elif distance(waits, 0.0, top) < FARTHEST:
        return None
    else:
        why = _which_part(waits, low / top, high / top)
    uneven = f", {_crowded(waits, 0.0, top)}" if 0 <= low < high <= top * SLACK else ""
    drawn = f"waits from {_s(low)} to {_s(high)} s, not evenly from 0 to {top:g} s{uneven}"
    return Finding(f"attempt {attempt}, base {base:g}, cap {cap:g}: {drawn}", why)


def _which_part(waits: Sequence[float], low: float, high: float) -> str:
    """Which part of the window the draws leave out; `low` and `high` as parts of the window."""
    if low > 0.33:
        return "equal jitter: only a part of the wait is drawn"
    if low > 0.05:
        return "a part of the wait is fixed"
    if Counter(waits).most_common(1)[0][1] > len(waits) / 20:
        return "the draw is capped, not the window: many wait for exactly the cap"
    return "waits less than base * 2**attempt allows" if high < 0.9 else "the waits are not drawn evenly"


def keeps_floor(seen: Seen, facts: dict[str, Any]) -> Finding | None:
    """A floor may be the least wait, or be added to the wait. Either way what is drawn stays even."""
    found = _unusable(seen, ())
    for floor, top, waits in zip(facts["floors"], facts["tops"], seen.end.last.value or (), strict=False):
        found = found or _unusable(seen, waits) or _off_the_floor(waits, floor, top)
    return found


def _off_the_floor(waits: Sequence[float], floor: float, top: float) -> Finding | None:
    low, high = min(waits), max(waits)
    seen = f"of {len(waits)} waits the shortest was {_s(low)} s"
    if low * SLACK < floor:
        why = "comes back sooner than the other side asked for"
        if low >= top / SLACK:
            why = "the cap beats retry_after" if low <= top * SLACK else "retry_after has a cap of its own"
    elif floor < top <= low * SLACK and low < high:
        why = ON_TOP
    elif high > (floor + top) * SLACK:
        why, seen = "waits longer than the floor and the window together", f"of {len(waits)} waits the longest was {_s(high)} s"
    elif floor >= top or _even_above(waits, floor, top):
        return None
    else:
        why, seen = _lost_jitter(waits, floor, top)
    return Finding(f"retry_after={floor:g}, window 0 to {top:g} s: {seen}", why)


def _lost_jitter(waits: Sequence[float], floor: float, top: float) -> tuple[str, str]:
    """Why what is drawn above a floor is not even, and what shows it."""
    wait, times = Counter(waits).most_common(1)[0]
    if times > len(waits) / 2:
        return LOST, f"{times} of {len(waits)} waits were {_s(wait)} s"
    return "the waits above retry_after are not drawn evenly", f"waits from {_s(min(waits))} to {_s(max(waits))} s, {_crowded(waits, floor, top)}"


def _even_above(waits: Sequence[float], floor: float, top: float) -> bool:
    """Whether those above the floor are as many as they should be, and even up to `top`, or to `floor + top`."""
    above = [wait for wait in waits if wait > floor * SLACK]
    enough = len(above) > len(waits) * (0.85 - floor / top)
    return enough and any(distance(above, floor, end) < FARTHEST for end in (top, floor + top))


def same_seed(seen: Seen, facts: dict[str, Any]) -> Finding | None:
    found = _unusable(seen, ())
    if found:
        return found
    first, again, other = seen.end.last.value
    seeds = [note.label.rstrip(":") for note in seen.end.notes if note.label.startswith("seed ")]
    if first != again:
        n = next(n for n, both in enumerate(zip(first, again, strict=True)) if both[0] != both[1])
        one, two = (_s(first[n]), _s(again[n])) if _s(first[n]) != _s(again[n]) else (repr(first[n]), repr(again[n]))
        said = f"{seeds[0]} gave {one} s for attempt {n}, and again {seeds[0]}, in a new generator, {two} s"
        return Finding(said, "draws from a generator of its own, not from rng, or remembers an earlier call")
    if first == other:
        return Finding(f"{seeds[0]} and {seeds[2]} gave the same waits: {one_by_one(first)}", "rng is not used, or is seeded anew")
    return None


def spread(seen: Seen, facts: dict[str, Any]) -> Finding | None:
    waits = seen.end.last.value
    found = _unusable(seen, waits)
    if found:
        return found
    second, most = Counter(int(wait) for wait in waits).most_common(1)[0]
    if most <= len(waits) / 8:
        return None
    said = f"of {len(waits)} tasks that failed together {most} come back in second {second}"
    return Finding(said, "tasks that failed together come back together")


def answered(seen: Seen, facts: dict[str, Any]) -> bool:
    """Whether a cap of zero gave a number, or was refused."""
    told = seen.end.last.value or {}
    return "error" in told or isinstance(told.get("value"), int | float)


def no_time(seen: Seen, facts: dict[str, Any]) -> Finding | None:
    """An answer may refuse a cap of zero, but not wait."""
    value = (seen.end.last.value or {}).get("value")
    if not isinstance(value, int | float) or value <= 0:
        return None
    return Finding(f"with cap=0 the wait was {_s(value)} s", "a cap of zero is taken for no cap")


def negative(seen: Seen, facts: dict[str, Any]) -> Finding | None:
    for number, (attempt, ended) in enumerate(seen.end.last.value or []):
        if "ValueError" not in ended.get("error", {}).get("bases", []):
            above = " with a retry_after" if number > 1 else ""
            return Finding(f"attempt={attempt}{above} is no ValueError", "a negative attempt is not refused")
    return _unusable(seen, ())
