"""What the exercise `retry` is run in: one run for each pattern of failures that matters, and a sweep over one of them.

The function that is retried asks the cloud, and a schedule says which of its calls fail with which error. The sweep is of crashes and
interrupts, over a run that works at the third attempt.

Not handled here: what must hold (see `retry_rules`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from labkit.checks.common import body, called, of_its_own, outcome_of, try_exits
from labkit.checks.exercise import Case
from labkit.errors import RetriesExhausted, TerminalError, TransientError
from labkit.faults.process import Process

NAME = "execute_with_retry"
FALSY: tuple[Any, ...] = (None, False, 0, "", [])
COUNTED = ("four_attempts", "a_single_attempt", "two_attempts_only", "ten_attempts", "thirteen_attempts")
RETURNED = (ValueError("a result"), TransientError("a result"), TerminalError("a result"))
KINDS = ("ValueError", "KeyError", "OSError", "ZeroDivisionError", "AssertionError", "TimeoutError", "RetriesExhausted")


def _from_terminal() -> Exception:
    """An error that a terminal one led to; it is none itself."""
    try:
        raise ValueError("some") from TerminalError("behind it")
    except ValueError as error:
        return error


RAISED: dict[str, Exception] = {  # errors of programs as well as of networks
    "RuntimeError": RuntimeError("some"),
    "TypeError": TypeError("some"),
    "AttributeError": AttributeError("some"),
    "NameError": NameError("some"),
    "StopIteration": StopIteration(),
    "KeyError": KeyError("some"),
    "ArithmeticError": ArithmeticError("some"),
    "MemoryError": MemoryError("some"),
    "ExceptionGroup": ExceptionGroup("some", [ValueError("one"), OSError("two")]),
    "ValueError from a TerminalError": _from_terminal(),
    "ExceptionGroup that holds a TerminalError": ExceptionGroup("some", [TerminalError("one"), OSError("two")]),
}


class NotAllowed(TerminalError):
    """A special case of an error that will never work."""


def failing(*names: str, first: int = 1) -> str:
    """A schedule: the first calls of the cloud fail with these errors ("" is the cloud's own, a `TransientError`)."""
    faults = [f"p1@cloud{n}.before+error" + (f"({name})" if name else "") for n, name in enumerate(names, first)]
    return ",".join(faults)


def _call(most: int, seconds: float = 0.0, app: str = "shop") -> Callable[[Any, Process], Any]:
    """Call the answer with a function that takes `seconds` and deploys the application; remember whether its own error came out."""

    def play(retry: Any, process: Process) -> Any:
        made: list[Exception] = []
        said: list[str] = []

        @called("fn")
        def deploy() -> str:
            process.world.clock.sleep(seconds)
            try:
                return process.cloud.deploy_container(app, key="t1")
            except Exception as error:
                made.append(error)
                said.append(str(error))
                raise

        try:
            return retry(deploy, most, process.clock)
        except TerminalError as error:
            process.note("same error", str(bool(made) and error is made[-1] and str(error) == said[-1]))
            raise
        except RetriesExhausted as error:
            if not made or error.__cause__ is not made[-1]:
                process.note("another cause")
            raise

    return play


def _twice(retry: Any, process: Process) -> Any:
    return [_call(3)(retry, process), _call(3)(retry, process)]


def _same_function(retry: Any, process: Process) -> Any:
    @called("fn")
    def deploy() -> str:
        return process.cloud.deploy_container("shop", key="t1")

    return [retry(deploy, 3, process.clock), retry(deploy, 3, process.clock)]


def too_few(counts: Sequence[int]) -> Callable[[Any, Process], Any]:
    """[max_attempts, what became of the call] where nothing may be tried at all."""

    def play(retry: Any, process: Process) -> Any:
        return [[most, outcome_of(partial(_call(most), retry, process))] for most in counts]

    return play


def _falsy(retry: Any, process: Process) -> Any:
    """[what was returned, how often it was asked for, whether it came back] for each result that looks like nothing."""

    def one(value: Any) -> list[Any]:
        before = process.gate.count

        @called("fn")
        def ask() -> Any:
            process.cloud.check_disk("shop")
            return value

        got = retry(ask, 3, process.clock)
        return [repr(value), process.gate.count - before, got is value]

    return [one(value) for value in FALSY]


def _asked(retry: Any, process: Process, ends: list[Any], most: int = 3) -> list[Any]:
    """Retry a function whose calls end like this: an error that is raised, or (value,). [calls, what came of it, its value, an error of the answer's own]"""
    calls: list[Any] = []

    @called("fn")
    def ask() -> Any:
        process.cloud.check_disk("shop")
        calls.append(ends[min(len(calls), len(ends) - 1)])
        if isinstance(calls[-1], Exception):
            raise calls[-1]
        return calls[-1][0]

    try:
        got = retry(ask, most, process.clock)
    except Exception as error:
        handed = [end if isinstance(end, Exception) else end[0] for end in ends]
        return [len(calls), f"raised {type(error).__name__}", None, of_its_own(error, *handed)]
    return [len(calls), "returned", got, None]


def later(values: Sequence[Any], *before: Exception, most: int = 3) -> Callable[[Any, Process], Any]:
    """[result, calls it should take, calls it took, how it ended, whether the result came back, an error of the answer's own] for each result."""

    def play(retry: Any, process: Process) -> Any:
        def one(value: Any) -> list[Any]:
            took, how, got, own = _asked(retry, process, [*before, (value,)], most)
            return [repr(value), len(before) + 1, took, how, got is value, own]

        return [one(value) for value in values]

    return play


def kinds(errors: Mapping[str, Exception]) -> Callable[[Any, Process], Any]:
    """[kind of error, calls, how it ended, an error of the answer's own] where the first call raises it and the second one works."""

    def play(retry: Any, process: Process) -> Any:
        def one(kind: str, raised: Exception) -> list[Any]:
            took, how, _, own = _asked(retry, process, [raised, ("fine",)])
            return [kind, took, how, own]

        return [one(*error) for error in errors.items()]

    return play


def _not_allowed(retry: Any, process: Process) -> Any:
    @called("fn")
    def refuse() -> None:
        process.cloud.check_disk("shop")
        raise NotAllowed("no such image")

    return retry(refuse, 3, process.clock)


def _third_time(retry: Any, process: Process) -> Any:
    """The first two calls lose their answer; here the crashes strike."""
    left = [TransientError("no answer"), TransientError("no answer")]

    @called("fn")
    def deploy() -> str:
        answer = process.cloud.deploy_container("shop", key="t1")
        if left:
            raise left.pop()
        return answer

    return retry(deploy, 4, process.clock)


class _LeavingClock:
    """A clock out of whose sleep nothing but an exit comes."""

    def __init__(self, process: Process, leave: Callable[..., Any]) -> None:
        self.now, self.monotonic, self._leave = process.clock.now, process.clock.monotonic, leave

    def sleep(self, seconds: float) -> None:
        self._leave()

    async def asleep(self, seconds: float) -> None:
        self.sleep(seconds)


def _leave(retry: Any, process: Process) -> Any:
    """An exit out of the first call, out of the last one allowed, and out of the wait between two."""

    def after(failures: int, leave: Callable[..., Any]) -> Any:
        left = [TransientError("no answer")] * failures

        @called("fn")
        def ask() -> Any:
            process.cloud.check_disk("shop")
            if left:
                raise left.pop()
            return leave()

        return retry(ask, 3, process.clock)

    def while_waiting(leave: Callable[..., Any]) -> Any:
        @called("fn")
        def ask() -> Any:
            raise TransientError("no answer")

        return retry(ask, 3, _LeavingClock(process, leave))

    return [*try_exits(partial(after, 0)), *try_exits(partial(after, 2)), *try_exits(while_waiting)]


def case(name: str, most: int, *schedules: str, seconds: float = 0.0, app: str = "shop") -> Case:
    facts = {"most": most, "slow": seconds, "ready": f"container {app} ready"}
    return Case(name, body(NAME, _call(most, seconds, app)), schedules=schedules, facts=facts)


CASES = (
    case("four_attempts", 4, "none", *(failing(*[""] * n) for n in (1, 4, 2, 3))),
    case("a_single_attempt", 1, "none", failing("")),
    case("two_attempts_only", 2, failing(""), failing("", "")),
    case("ten_attempts", 10, failing(*[""] * 9), failing(*[""] * 10)),
    case("thirteen_attempts", 13, failing(*[""] * 12), failing(*[""] * 13)),
    case("calls_that_take_a_while", 4, failing("", ""), failing(*[""] * 4), seconds=5.0),
    case(
        "kinds",
        3,
        *map(failing, KINDS),
        "p1@cloud1.before+timeout",
        "p1@cloud1.after+timeout",
        failing("OSError", "", "KeyError"),
    ),
    case("terminal", 3, *(failing(*[""] * n, "TerminalError") for n in range(3))),
    case("terminal_alone", 1, failing("TerminalError")),
    Case("terminal_kind", body(NAME, _not_allowed)),
    Case("more_kinds", body(NAME, kinds(RAISED))),
    Case("falsy", body(NAME, _falsy)),
    Case("falsy_later", body(NAME, later(FALSY, TransientError("no answer")))),
    Case("returned_errors", body(NAME, later(RETURNED))),
    Case("below_one", body(NAME, too_few((0, -1, -4)))),
    Case(
        "twice",
        body(NAME, _twice),
        schedules=(f"{failing('', '')},{failing('', '', first=4)}",),
        facts={"times": [0, 1, 3, 3, 4, 6]},
    ),
    Case(
        "same_function",
        body(NAME, _same_function),
        schedules=(f"{failing('', '')},{failing('', '', first=4)}",),
        facts={"times": [0, 1, 3, 3, 4, 6]},
    ),
    Case("third_time", body(NAME, _third_time), engine="sweep"),
    Case("exits", body(NAME, _leave)),
)
