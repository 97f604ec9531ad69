# right: one function tries and hands back what came of it, the other decides
from dataclasses import dataclass
from typing import Any

from labkit.errors import RetriesExhausted, TerminalError


@dataclass
class Came:
    value: Any = None
    error: Exception | None = None


def attempt(fn):
    try:
        return Came(value=fn())
    except Exception as error:
        return Came(error=error)


def execute_with_retry(fn, max_attempts, clock):
    if max_attempts < 1:
        raise ValueError("at least one attempt")
    made = 0
    while True:
        came = attempt(fn)
        made += 1
        match came.error:
            case None:
                return came.value
            case TerminalError():
                raise came.error
            case error if made >= max_attempts:
                raise RetriesExhausted(attempts=made) from error
        clock.sleep(seconds=1 << (made - 1))
