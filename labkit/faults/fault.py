"""The faults, and two tables: where each can sit, and what a caller sees of it.

A fault sits on one side of one crossing. `before` means that nothing has happened yet, `after` means that it has happened and the caller has not been
told. What the caller sees is fixed by the boundary and the kind of fault (`RAISES`): a *definite* error when nothing happened and that is known,
an *indefinite* one when the answer was lost and nobody can tell. Some faults are no errors but answers, of a model or of whoever stands before it; they
depend on what was asked for (`ANSWERS`).

Not handled here: carrying a fault out (see `gate`), and what those answers say (see `model_answers`).
"""

from __future__ import annotations

import builtins
import math
import re
import sqlite3
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

from labkit import errors

BOUNDARIES = ("sql", "clock", "http", "file", "cloud")
SIDES = ("before", "after")

# kind -> (sides on which it makes sense, number of seconds or bytes it takes)
KINDS: dict[str, tuple[tuple[str, ...], int]] = {
    "crash": (SIDES, 0),
    "interrupt": (SIDES, 0),  # KeyboardInterrupt: somebody pressed Ctrl-C
    "error": (("before",), 0),
    "timeout": (SIDES, 0),
    "late": (("before",), 1),
    "hang": (("before",), 0),
    "duplicate": (("before",), 0),
    "delay": (SIDES, 1),
    "pause": (SIDES, 1),
    "torn": (("before",), 1),
    "clock_step": (SIDES, 1),
    "rate_limited": (("before",), 1),
    "server_error": (("before",), 0),
    "malformed_arguments": (("before",), 0),
    "unknown_tool": (("before",), 0),
    "empty": (("before",), 0),
    "cut": (("after",), 0),
}

# kind -> the requests that can be answered so, as a gate labels them
REQUEST, CHAT = re.compile(r"[A-Z]+ /.*", re.DOTALL), re.compile(r"POST /(.*/)?chat/completions", re.DOTALL)
ANSWERS: dict[str, re.Pattern[str]] = {
    "rate_limited": REQUEST,
    "server_error": REQUEST,
    "malformed_arguments": CHAT,
    "unknown_tool": CHAT,
    "empty": CHAT,
    "cut": CHAT,
}
UNASKED = ("rate_limited", "server_error")  # answered at the door, so nothing happens behind it

# kind -> the boundaries at which it can happen; a kind that is not here can happen at each
ONLY_AT: dict[str, tuple[str, ...]] = {
    "error": ("sql", "http", "file", "cloud"),  # a sleep does not fail
    "timeout": ("sql", "http", "file", "cloud"),
    "late": ("http", "cloud"),  # only a request can still be on its way when its sender has given up
    "duplicate": ("http", "cloud"),
    "torn": ("file",),
    **dict.fromkeys(ANSWERS, ("http",)),
}

WHOLE = ("torn", "rate_limited")  # there are no half bytes, and Retry-After knows no half seconds
LONGEST = 1e9  # seconds, or bytes
TEXT = re.compile(r"([a-z_]+)(?:\(([A-Za-z0-9_.+-]+)\))?", re.ASCII)


class Crash(SystemExit):
    """The process is dead. Not an Exception: no `except Exception` may mistake it for a failure that the process lives to see.

    A SystemExit, because that ends an event loop at once instead of becoming the result of one of its tasks.
    """


@dataclass(frozen=True)
class Fault:
    """What goes wrong. `amount` is in seconds (bytes for `torn`); `raises` may name the exception of `error`."""

    kind: str
    amount: float | None = None
    raises: str = ""

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise errors.UsageError(f"no such fault: {self.kind!r} (known: {', '.join(KINDS)})")
        takes = KINDS[self.kind][1]
        if (self.amount is not None) != bool(takes):
            raise errors.UsageError(f"{self.kind} takes {f'a number, as in {self.kind}(30)' if takes else 'no number'}")
        if self.amount is not None and not _possible(self.kind, self.amount):
            raise errors.UsageError(f"{self.kind}({self.amount}) is not possible")
        if self.raises and (self.kind != "error" or named_exception(self.raises) is None):
            raise errors.UsageError(f"{self.kind}({self.raises}) is not a fault: error(Name) with a known exception is")

    def __str__(self) -> str:
        inside = self.raises or ("" if self.amount is None else repr(self.amount).removesuffix(".0"))
        return f"{self.kind}({inside})" if inside else self.kind

    @classmethod
    def parse(cls, text: str) -> Fault:
        """The inverse of `str`. Raises `UsageError` with the reason."""
        match = TEXT.fullmatch(text)
        if not match:
            raise errors.UsageError(f"{text[:60]!r} is not a fault, such as crash, timeout or late(30)")
        kind, inside = match.groups()
        if inside is None:
            return cls(kind)
        if kind == "error":
            return cls(kind, raises=inside)
        try:
            return cls(kind, amount=float(inside))
        except ValueError:
            raise errors.UsageError(f"{kind} takes a number, not {inside[:60]!r}") from None


def _possible(kind: str, amount: float) -> bool:
    """Time does not run backwards, only a wall clock does."""
    if abs(amount) > LONGEST or not math.isfinite(amount):  # subtle: a whole number can be too large to be asked whether it is finite
        return False
    return kind == "clock_step" or (amount >= 0 and (kind not in WHOLE or amount == int(amount)))


def fits(kind: str, boundary: str, side: str, *, whole: bool = False, request: str | None = None) -> bool:
    """Whether a fault of this kind can sit on this side of a crossing of this boundary.

    `whole`: the call is one that cannot be done in part. `request`: what is asked for, as in "POST /v1/chat/completions"; None leaves that open.
    """
    if whole and kind == "torn":
        return False
    if kind in ANSWERS and request is not None and not ANSWERS[kind].fullmatch(request):
        return False
    return side in KINDS[kind][0] and boundary in ONLY_AT.get(kind, BOUNDARIES)


@lru_cache(maxsize=256)
def named_exception(name: str) -> type[Exception] | None:
    """An exception of Python or of labkit by its name, for faults that raise one; it must be one that a message is enough for."""
    found = getattr(errors, name, None) or getattr(builtins, name, None)
    if not (isinstance(found, type) and issubclass(found, Exception)):
        return None
    try:
        found("a message")
    except TypeError:
        return None
    return found


def _http(name: str) -> Callable[[str], Exception]:
    def make(message: str) -> Exception:
        import httpx  # only where somebody speaks HTTP

        return getattr(httpx, name)(message)  # type: ignore[no-any-return]

    return make


def _psycopg(message: str) -> Exception:
    import psycopg  # only where there is a PostgreSQL

    return psycopg.OperationalError(message)


# (boundary, kind) -> the error that a caller sees; sql errors are the driver's, so that SQLAlchemy wraps them as it would real ones
RAISES: dict[tuple[str, str], Callable[[str], Exception]] = {
    ("cloud", "error"): errors.TransientError,
    ("cloud", "timeout"): errors.CallTimeout,
    ("http", "error"): _http("ConnectError"),
    ("http", "timeout"): _http("ReadTimeout"),
    ("file", "error"): OSError,
    ("file", "timeout"): OSError,
    ("sqlite", "error"): sqlite3.OperationalError,
    ("sqlite", "timeout"): sqlite3.OperationalError,
    ("postgres", "error"): _psycopg,
    ("postgres", "timeout"): _psycopg,
}


def exception_for(driver: str, fault: Fault, label: str, number: int) -> Exception:
    """The exception that this fault raises at this boundary; the message names the call, so that a cause can be recognised."""
    kind = "timeout" if fault.kind in ("timeout", "late") else "error"
    message = f"{'no answer' if kind == 'timeout' else 'refused'}: {label} (call {number}, injected)"
    named = named_exception(fault.raises) if fault.raises else None
    if named is not None:
        return named(message)
    make = RAISES.get((driver, kind))
    if make is None:
        raise errors.UsageError(f"{fault} cannot happen at the boundary {driver!r}")
    return make(message)
