"""The exercise `retry`: call again what failed, a bounded number of times, with waits that double.

What must hold is read off the calls that the cloud heard and when it heard them, and off how the answer ended. Time passed between
two calls counts, not how it was slept, as long as it passed on the clock that was given.

Not handled here: jitter and what the other side asks for (see `backoff`), and the effect that is done twice (see `idempotency`).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import pairwise
from typing import Any

from labkit.checks.common import body, crash_rule, ends, exits_rule, outcome_of, raised, try_exits
from labkit.checks.exercise import Case, Exercise, Finding, Property, Seen, WrongTurn
from labkit.errors import TerminalError, TransientError
from labkit.faults.process import Process
from labkit.faults.scenario import Call

NAME = "execute_with_retry"
READY = "container shop ready"
FALSY: tuple[Any, ...] = (None, False, 0, "", [])
COUNTED = ("four_attempts", "a_single_attempt", "two_attempts_only", "twelve_attempts")
KINDS = ("ValueError", "KeyError", "OSError", "ZeroDivisionError", "AssertionError", "TimeoutError", "RetriesExhausted")


class NotAllowed(TerminalError):
    """A special case of an error that will never work."""


def _errors(*names: str, first: int = 1) -> str:
    """A schedule: the first calls of the cloud fail with these errors ("" is the cloud's own, a `TransientError`)."""
    faults = [f"p1@cloud{n}.before+error" + (f"({name})" if name else "") for n, name in enumerate(names, first)]
    return ",".join(faults)


def _call(most: int, seconds: float = 0.0) -> Callable[[Any, Process], Any]:
    """Call the answer with a function that takes `seconds` and asks the cloud; remember whether its own error came out."""

    def play(retry: Any, process: Process) -> Any:
        made: list[Exception] = []

        def deploy() -> str:
            process.world.clock.sleep(seconds)
            try:
                return process.cloud.deploy_container("shop", key="t1")
            except Exception as error:
                made.append(error)
                raise

        try:
            return retry(deploy, most, process.clock)
        except TerminalError as error:
            process.note("same error", str(bool(made) and error is made[-1]))
            raise

    return play


def _twice(retry: Any, process: Process) -> Any:
    return [_call(3)(retry, process), _call(3)(retry, process)]


def _too_few(retry: Any, process: Process) -> Any:
    return [[most, outcome_of(partial(_call(most), retry, process))] for most in (0, -1, -4)]


def _falsy(retry: Any, process: Process) -> Any:
    """[what was returned, how often it was asked for, whether it came back] for each result that looks like nothing."""

    def one(value: Any) -> list[Any]:
        before = process.gate.count

        def ask() -> Any:
            process.cloud.check_disk("shop")
            return value

        got = retry(ask, 3, process.clock)
        return [repr(value), process.gate.count - before, got is value]

    return [one(value) for value in FALSY]


def _not_allowed(retry: Any, process: Process) -> Any:
    def refuse() -> None:
        process.cloud.check_disk("shop")
        raise NotAllowed("no such image")

    return retry(refuse, 3, process.clock)


def _third_time(retry: Any, process: Process) -> Any:
    """The first two calls lose their answer; here the crashes strike."""
    left = [TransientError("no answer"), TransientError("no answer")]

    def deploy() -> str:
        answer = process.cloud.deploy_container("shop", key="t1")
        if left:
            raise left.pop()
        return answer

    return retry(deploy, 4, process.clock)


def _leave(retry: Any, process: Process) -> Any:
    def with_call(leave: Callable[[], Any]) -> Any:
        def ask() -> Any:
            process.cloud.check_disk("shop")
            return leave()

        return retry(ask, 3, process.clock)

    return try_exits(with_call)


def _tries(seen: Seen) -> list[Call]:
    return [call for call in seen.end.calls if call.boundary == "cloud"]


def _terminal(call: Call) -> bool:
    return "TerminalError" in call.fault


def _count(seen: Seen, facts: dict[str, Any]) -> Finding | None:
    tries, most, last = _tries(seen), facts["most"], seen.end.last
    if not tries:
        return Finding(f"fn was never called, and the call {last}", "does nothing")
    if any(not call.fault for call in tries[:-1]):
        return Finding(f"fn succeeded and was called again ({len(tries)} calls)", "goes on after a success")
    if len(tries) > most:
        return Finding(f"max_attempts is {most}, and fn was called {len(tries)} times", "more attempts than allowed: counts retries, or has no end")
    if len(tries) == most or not tries[-1].fault:
        return None
    what = "never tries again" if len(tries) == 1 else "gives up too early: counts retries, not attempts, or stops at a fixed number"
    return Finding(f"max_attempts is {most}, call {len(tries)} failed, and the call {last}", what)


def _every_error(seen: Seen, facts: dict[str, Any]) -> Finding | None:
    fault = seen.end.token.partition("+")[2].partition(",")[0]
    if len(_tries(seen)) > 1:
        return None
    return Finding(f"after {fault} fn was not called again, and the call {seen.end.last}", "retries only some kinds of errors")


def _waits(seen: Seen, facts: dict[str, Any]) -> Finding | None:
    """How long it took from each failure to the next call, and what passed before the first and after the last."""
    tries, slow = _tries(seen), facts.get("slow", 0.0)
    if not tries:
        return None
    gaps = [after.time - before.time - slow for before, after in pairwise(tries)]
    if tries[0].time > slow:
        return Finding(f"{tries[0].time - slow:g} s passed before fn was called at all", "waits before the first attempt")
    if gaps != [2.0**n for n in range(len(gaps))]:
        found = ", ".join(f"{gap:g}" for gap in gaps)
        what = "the time that a call takes changes the wait after it" if slow else _wrong_waits(gaps, seen.end.sleeps)
        return Finding(f"the waits between the calls were {found} s, not 1, 2, 4, ... s", what)
    wasted = seen.end.seconds - tries[-1].time
    if wasted > 0:
        what = "failed" if tries[-1].fault else "succeeded"
        return Finding(f"the last call {what}, and {wasted:g} s passed before anybody was told", f"waits after the call that {what}")
    return None


def _wrong_waits(gaps: list[float], sleeps: tuple[float, ...]) -> str:
    if not any(gaps):
        return "the first wait is none" if sleeps else "does not wait on the clock that it was given"
    if gaps[0] == 0:
        return "the first wait is none"
    if gaps == [2.0 ** (n + 1) for n in range(len(gaps))]:
        return "the waits begin at 2 s"
    if all(gap == gaps[0] for gap in gaps):
        return "the waits do not double" if len(gaps) > 1 else "the first wait is not 1 s"
    if max(gaps) == gaps[-1] == gaps[-2]:
        return "the waits stop doubling: a cap that nobody asked for"
    return "the waits do not double"


def _result(seen: Seen, facts: dict[str, Any]) -> Finding | None:
    tries, last = _tries(seen), seen.end.last
    if not tries or tries[-1].fault or (last.how == "returned" and last.value == READY):
        return None
    return Finding(f"call {len(tries)} returned {READY!r}, and the call {last}", "the result of a success is lost")


def _falsy_is_result(seen: Seen, facts: dict[str, Any]) -> Finding | None:
    if seen.end.last.how != "returned":
        return Finding(f"fn returned nothing but falsy results, and the call {seen.end.last}", "takes a falsy result for a failure")
    for value, calls, same in seen.end.last.value:
        if calls != 1 or not same:
            how = "something else was returned" if calls == 1 else f"it was called again ({calls} calls and waits)"
            return Finding(f"fn returned {value}, and {how}", "takes a falsy result for a failure")
    return None


def _all_failed(seen: Seen, facts: dict[str, Any]) -> Finding | None:
    """Every allowed call failed: what does the caller hear?"""
    tries, last = _tries(seen), seen.end.last
    if len(tries) != facts["most"] or not tries[-1].fault or _terminal(tries[-1]):
        return None
    said = f"each of the {len(tries)} calls allowed failed, and the call {last}"
    if last.how != "raised":
        return Finding(said, "returns as if nothing were wrong when every attempt failed")
    if not raised(last, "RetriesExhausted"):
        return Finding(said, "raises something else than RetriesExhausted")
    if last.error["data"].get("attempts") != len(tries):
        return Finding(f"{said}; its attempts is {last.error['data'].get('attempts')!r}", "RetriesExhausted tells a wrong number of attempts")
    cause = last.error["cause"]
    if cause is None:
        return Finding(f"{said}, without a cause", "the last error is lost: no `raise ... from`")
    # the number of the call is in the message of an injected error: it tells the last one from those before
    if f"(call {len(_until_last_try(seen))}, injected)" not in cause["message"]:
        return Finding(f"{said}, from {cause['type']}: {cause['message']}", "the cause is not the last error")
    return None


def _until_last_try(seen: Seen) -> tuple[Call, ...]:
    calls = seen.end.calls
    return calls[: max(n for n, call in enumerate(calls, 1) if call.boundary == "cloud")]


def _terminal_as_it_is(seen: Seen, facts: dict[str, Any]) -> Finding | None:
    last, calls = seen.end.last, seen.end.calls
    kind = "NotAllowed" if seen.case == "terminal_kind" else "TerminalError"
    met = next((n for n, call in enumerate(calls, 1) if _terminal(call) or kind == "NotAllowed"), None)
    if met is None:
        return None
    if len(calls) > met:
        return Finding(f"fn raised {kind}, and {calls[met].label} came after it", "retries a terminal error")
    same = [note.fault for note in seen.end.notes if note.label == "same error"]
    if last.how != "raised" or last.error["type"] != kind or last.error["cause"] or "False" in same:
        return Finding(f"fn raised {kind}, and the call {last}", "a terminal error does not come out as it is")
    return None


def _bad_number(seen: Seen, facts: dict[str, Any]) -> Finding | None:
    if seen.end.calls:
        return Finding(f"max_attempts was below 1, and there was a call: {seen.end.calls[0].label}", "max_attempts below 1 is not refused")
    odd = [most for most, ended in seen.end.last.value or [] if "ValueError" not in ended.get("error", {}).get("bases", [])]
    return Finding(f"max_attempts={odd[0]} is no ValueError", "max_attempts below 1 is not refused") if odd else None


def _no_memory(seen: Seen, facts: dict[str, Any]) -> Finding | None:
    times = [call.time for call in _tries(seen)]
    if times == facts["times"] and seen.end.last.how == "returned":
        return None
    told = f"called at {', '.join(f'{t:g}' for t in times)} s, and the call {seen.end.last}"
    return Finding(f"retried twice in one process, fn was {told}", "keeps a count or a wait from one use to the next")


def _case(name: str, most: int, *schedules: str, seconds: float = 0.0) -> Case:
    return Case(name, body(NAME, _call(most, seconds)), schedules=schedules, facts={"most": most, "slow": seconds})


EXERCISE = Exercise(
    id="retry",
    title="Try again, but not for ever",
    chapter=11,
    origin="C",
    minutes=15,
    difficulty=1,
    points=8,
    signatures={NAME: ("fn", "max_attempts", "clock")},
    cases=(
        _case("four_attempts", 4, "none", *(_errors(*[""] * n) for n in (1, 4, 2, 3))),
        _case("a_single_attempt", 1, "none", _errors("")),
        _case("two_attempts_only", 2, _errors(""), _errors("", "")),
        _case("twelve_attempts", 12, _errors(*[""] * 11), _errors(*[""] * 12)),
        _case("slow_calls", 4, _errors("", ""), _errors(*[""] * 4), seconds=5.0),
        _case("kinds", 3, *map(_errors, KINDS), "p1@cloud1.before+timeout", "p1@cloud1.after+timeout", _errors("OSError", "", "KeyError")),
        _case("terminal", 3, *(_errors(*[""] * n, "TerminalError") for n in range(3))),
        Case("terminal_kind", body(NAME, _not_allowed)),
        Case("falsy", body(NAME, _falsy)),
        Case("below_one", body(NAME, _too_few)),
        Case("twice", body(NAME, _twice), schedules=(f"{_errors('', '')},{_errors('', '', first=4)}",), facts={"times": [0, 1, 3, 3, 4, 6]}),
        Case("third_time", body(NAME, _third_time), engine="sweep"),
        Case("exits", body(NAME, _leave)),
    ),
    properties=(
        Property("counts attempts", "at most max_attempts calls, none after a success", _count, COUNTED),
        Property("doubles the waits", "1, 2, 4, 8, ... s pass between attempts, and no time before or after", _waits, (*COUNTED, "slow_calls", "terminal")),
        Property("hands the result back", "the first success is returned", _result, COUNTED),
        Property("a falsy result is a result", "None, False, 0 and empty things are returned at once", _falsy_is_result, ("falsy",)),
        Property("says that all failed", "RetriesExhausted with attempts, from the last error", _all_failed, (*COUNTED, "kinds")),
        Property("retries every error", "every Exception but TerminalError is tried again", _every_error, ("kinds",)),
        Property("terminal at once", "a TerminalError comes out as it is, without another call", _terminal_as_it_is, ("terminal", "terminal_kind")),
        Property("refuses less than one", "max_attempts below 1 is a ValueError, and fn is not called", _bad_number, ("below_one",)),
        Property("starts afresh", "each use counts and waits from the beginning", _no_memory, ("twice",)),
        crash_rule("third_time"),
        exits_rule("exits"),
        ends(),
    ),
    hints=(
        "With three attempts, how many waits are there? Write down when each call happens if all of them fail, and what the caller should hear at the end.",
        "Loop over the attempts. A success leaves the loop with `return`. A failure is one of three: terminal (raise it), the last one allowed "
        "(RetriesExhausted), or one to wait for: `clock.sleep(2 ** attempt)` with attempt counted from 0. Catch `Exception`, nothing wider.",
        "`if max_attempts < 1: raise ValueError`, then `for attempt in range(max_attempts)` with `try: return fn()`, `except TerminalError: raise` and "
        "`except Exception as error:`. In the last one: on the last attempt `raise RetriesExhausted(attempts=max_attempts) from error`, "
        "on any other `clock.sleep(2 ** attempt)`.",
    ),
    wrong_turns=(
        WrongTurn("retry everything", "a 404 stays a 404: asking five times costs half a minute and hides the real mistake behind RetriesExhausted."),
        WrongTurn("one more sleep", "waiting after the last attempt helps nobody; with five attempts the caller hears of the failure 16 s late."),
        WrongTurn("catch everything", "`except BaseException` retries Ctrl-C and a dying process: the program can no longer be stopped."),
        WrongTurn("lose the cause", "'failed after 3 retries' without `from error` leaves whoever is on call with nothing to look up."),
    ),
    real_systems="tenacity and stamina wrap a call in attempts, waits and a test which errors are worth it.\n"
    "urllib3's Retry counts connects, reads and statuses apart and honours Retry-After.\n"
    "Temporal retries activities for you and takes a list of error types that are never retried.",
)
