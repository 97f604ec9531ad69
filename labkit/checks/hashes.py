"""`hash` and `id` in an answer are others in each process, as Python's own are: a key made with one is forgotten by a restart.

The processes of a check may share one interpreter, and so one seed for hashes and the same places in memory. Without this such a key would look steady here
and nowhere else. Nor does an identity depend on where the machine has put the interpreter: who checks the same answer twice reads the same.

Not handled here: the order of a set, `__hash__` called by name, and the address in a `repr`; they stay those of the interpreter.
"""

from __future__ import annotations

from collections.abc import Callable

ODD = 0x1E3779B97F4A7C15  # any large odd number: times the number of the process it spreads over all bits
MOST = (1 << 61) - 1
FIRST_PLACE = 0x7F1D00000000


def hash_in(process: int) -> Callable[[object], int]:
    """Python's `hash` as the process with this number sees it; number 0 sees the interpreter's own."""

    def salted(value: object, /) -> int:
        return hash(value) ^ (process * ODD & MOST) if _of_text(value) else hash(value)

    return salted


def _of_text(value: object) -> bool:
    """Whether Python seeds the hash of this value: that of a text, or of what holds one."""
    return isinstance(value, (str, bytes)) or (isinstance(value, (tuple, frozenset)) and any(map(_of_text, value)))


def id_in(process: int) -> Callable[[object], int]:
    """Python's `id` as the process with this number sees it: the places in memory by the order in which they were asked for."""
    places: dict[int, int] = {}  # of an object in memory -> its number
    return lambda value, /: FIRST_PLACE + 16 * places.setdefault(id(value), len(places)) ^ (process * ODD & MOST)
