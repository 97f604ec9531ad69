"""What must hold of `retry`, read off the calls that the cloud heard, when it heard them, and how the answer ended.

Time that passed between two calls counts, not how it was slept, as long as it passed on the clock that was given.

Not handled here: the runs that show it (see `retry`).
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from labkit.checks.common import raised
from labkit.checks.exercise import Finding, Seen
from labkit.faults.scenario import Call
from labkit.plural import counted


def _tries(seen: Seen) -> list[Call]:
    return [call for call in seen.end.calls if call.boundary == "cloud"]


def _terminal(call: Call) -> bool:
    return "TerminalError" in call.fault


def called(seen: Seen, facts: dict[str, Any]) -> bool:
    return seen.kind == "end" and bool(_tries(seen))


def waited(seen: Seen, facts: dict[str, Any]) -> bool:
    return seen.kind == "end" and len(_tries(seen)) > 1


def succeeded(seen: Seen, facts: dict[str, Any]) -> bool:
    return called(seen, facts) and not _tries(seen)[-1].fault


def asked_for_nothing(seen: Seen, facts: dict[str, Any]) -> bool:
    return seen.end.last.how == "returned" and any(calls for _, calls, _ in seen.end.last.value)


def reached_a_result(seen: Seen, facts: dict[str, Any]) -> bool:
    """Whether fn was called again after a failure, up to what it is asked about."""
    return any(calls >= wanted > 1 for _, wanted, calls, *_ in seen.end.last.value or ())


def exhausted(seen: Seen, facts: dict[str, Any]) -> bool:
    """Whether each call that was allowed was made, and failed with what is worth another try."""
    tries = _tries(seen)
    return len(tries) == facts["most"] and bool(tries[-1].fault) and not _terminal(tries[-1])


def met_terminal(seen: Seen, facts: dict[str, Any]) -> bool:
    return any(_terminal(call) or seen.like == "terminal_kind" for call in _tries(seen))


def count(seen: Seen, facts: dict[str, Any]) -> Finding | None:
    tries, most, last = _tries(seen), facts["most"], seen.end.last
    if not tries:
        return Finding(f"fn was never called, and the call {last}", "does nothing")
    if any(not call.fault for call in tries[:-1]):
        return Finding(f"fn succeeded and was called again ({len(tries)} calls)", "goes on after a success")
    if len(tries) > most:
        said = f"max_attempts is {most}, and fn was called {counted(len(tries), 'time')}"
        return Finding(said, "more attempts than allowed: counts retries, or has no end")
    if len(tries) == most or not tries[-1].fault:
        return None
    early = "gives up too early: an attempt too few, or a fixed number of them"
    said = f"max_attempts is {most}, call {len(tries)} failed, and the call {last}"
    return Finding(said, early if len(tries) > 1 else "never tries again")


def every_error(seen: Seen, facts: dict[str, Any]) -> Finding | None:
    fault = seen.end.token.partition("+")[2].partition(",")[0]
    if len(_tries(seen)) > 1:
        return None
    said = f"after {fault} fn was not called again, and the call {seen.end.last}"
    return Finding(said, "retries only some kinds of errors")


def every_kind(seen: Seen, facts: dict[str, Any]) -> Finding | None:
    """The first call raised an error of some kind, the second one would have worked."""
    for kind, calls, how, _ in seen.end.last.value or ():
        if (calls, how) != (2, "returned"):
            times = "once" if calls == 1 else f"{calls} times"
            said = f"fn raised {kind}, was called {times}, and the call {how}: another attempt would have worked"
            inside = " " in kind and (calls, how) == (1, "raised " + kind.split()[0])
            return Finding(said, "takes an error for terminal that only holds one" if inside else "retries only some kinds of errors")
    return None


def waits(seen: Seen, facts: dict[str, Any]) -> Finding | None:
    """How long it took from each failure to the next call, and what passed before the first and after the last."""
    tries, slow = _tries(seen), facts.get("slow", 0.0)
    if not tries:
        return None
    gaps = [round(after.time - before.time - slow, 6) for before, after in pairwise(tries)]
    early, wasted = round(tries[0].time - slow, 6), round(seen.end.seconds - tries[-1].time, 6)
    if early > 0:
        return Finding(f"{early:g} s passed before fn was called at all", "waits before the first attempt")
    if gaps != [2.0**n for n in range(len(gaps))]:
        found = ", ".join(f"{gap:g}" for gap in gaps)
        what = "the time that a call takes changes the wait after it" if slow else _wrong_waits(gaps, seen.end.sleeps)
        return Finding(f"the waits between the calls were {found} s, not 1, 2, 4, ... s", what)
    if wasted > 0:
        how = "failed" if tries[-1].fault else "succeeded"
        said = f"the last call {how}, and {wasted:g} s passed before anybody was told"
        return Finding(said, f"waits after the last call has {how}")
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


def result(seen: Seen, facts: dict[str, Any]) -> Finding | None:
    tries, last, ready = _tries(seen), seen.end.last, facts["ready"]
    if not tries or tries[-1].fault or (last.how == "returned" and last.value == ready):
        return None
    return Finding(f"call {len(tries)} returned {ready!r}, and the call {last}", "the result of a success is lost")


def falsy_is_result(seen: Seen, facts: dict[str, Any]) -> Finding | None:
    if seen.end.last.how != "returned":
        said = f"fn returned nothing but falsy results, and the call {seen.end.last}"
        return Finding(said, "takes a falsy result for a failure")
    for value, calls, same in seen.end.last.value:
        if calls != 1 or not same:
            if calls == 1:
                return Finding(f"fn returned {value}, and something else was returned", "a falsy result is lost, or another one comes out")
            return Finding(f"fn returned {value}, and it was called again ({calls} calls and waits)", "takes a falsy result for a failure")
    return None


def any_result(seen: Seen, facts: dict[str, Any]) -> Finding | None:
    """What was returned came back at once, whatever it is."""
    odd = "falsy result" if seen.like == "falsy_later" else "returned error"
    for value, wanted, calls, how, same, _ in seen.end.last.value or ():
        if calls != wanted or not same:
            after = " after a failure" if wanted > 1 else ""
            given = how if how != "returned" else "returned it" if same else "returned something else"
            said = f"fn returned {value}{after} at call {wanted}; it was called {counted(calls, 'time')}, and the call {given}"
            lost = (calls, how) == (wanted, "returned")
            if calls < wanted:
                return Finding(said, "gives up before a result comes")
            return Finding(said, f"a {odd} is lost, or another one comes out" if lost else f"takes a {odd} for a failure")
    return None


def all_failed(seen: Seen, facts: dict[str, Any]) -> Finding | None:
    """Every allowed call failed: what does the caller hear?"""
    tries, last = _tries(seen), seen.end.last
    if not exhausted(seen, facts):
        return None
    allowed = "the only call allowed" if len(tries) == 1 else f"each of the {len(tries)} calls allowed"
    said = f"{allowed} failed, and the call {last}"
    if last.how != "raised":
        return Finding(said, "returns as if nothing were wrong when every attempt failed")
    if not raised(last, "RetriesExhausted"):
        return Finding(said, "raises something else than RetriesExhausted")
    cause, attempts = last.error["cause"], last.error["data"].get("attempts")
    if attempts != len(tries):
        return Finding(f"{said}; its attempts is {attempts!r}", "RetriesExhausted tells a wrong number of attempts")
    if cause is None:
        return Finding(f"{said}, without a cause", "the last error is lost: no `raise ... from`")
    # the number of the call is in the message of an injected error: it tells the last one from those before
    number = max(n for n, call in enumerate(seen.end.calls, 1) if call is tries[-1])
    if f"(call {number}, injected)" not in cause["message"]:
        return Finding(f"{said}, from {cause['type']}: {cause['message']}", "the cause is not the last error")
    if any(note.label == "another cause" for note in seen.end.notes):
        said = f"{said}, from a {cause['type']} that says the same as the last error and is another one"
        return Finding(said, "the cause is not the last error, but one made of its text")
    return None


def terminal_as_it_is(seen: Seen, facts: dict[str, Any]) -> Finding | None:
    last, calls = seen.end.last, seen.end.calls
    kind = "NotAllowed" if seen.like == "terminal_kind" else "TerminalError"
    what = "NotAllowed, a kind of TerminalError" if kind == "NotAllowed" else kind
    met = next((n for n, call in enumerate(calls, 1) if _terminal(call) or kind == "NotAllowed"), None)
    if met is None:
        return None
    if len(calls) > met:
        again = any(call.boundary == "cloud" for call in calls[met:])
        why = "retries a terminal error" if again else "waits before it tells of a terminal error"
        return Finding(f"fn raised {what}, and {calls[met].label} came after it", why)
    same = [note.fault for note in seen.end.notes if note.label == "same error"]
    if last.how != "raised" or last.error["type"] != kind or last.error["cause"] or "False" in same:
        return Finding(f"fn raised {what}, and the call {last}", "a terminal error does not come out as it is")
    return None


def bad_number(seen: Seen, facts: dict[str, Any]) -> Finding | None:
    why = "max_attempts below 1 is not refused"
    if seen.end.calls:
        return Finding(f"max_attempts was below 1, and there was a call: {seen.end.calls[0].label}", why)
    for most, ended in seen.end.last.value or []:
        if "ValueError" not in ended.get("error", {}).get("bases", []):
            return Finding(f"max_attempts={most} is no ValueError", why)
    return None


def no_memory(seen: Seen, facts: dict[str, Any]) -> Finding | None:
    times = [call.time for call in _tries(seen)]
    if times == facts["times"] and seen.end.last.how == "returned":
        return None
    told = f"called at {', '.join(f'{t:g}' for t in times)} s" if times else "never called"
    first = len(facts["times"]) // 2
    fine = times[:first] == facts["times"][:first]
    why = "keeps a count or a wait from one use to the next" if fine else "counts or waits otherwise than asked, in the first use as well"
    return Finding(f"retried twice in one process, fn was {told}, and the call {seen.end.last}", why)
