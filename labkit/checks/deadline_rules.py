"""What must hold of `deadline`, read off the steps that ran, the seconds they were given, and how the call ended.

The facts of a case hold its plan and what a right answer makes of it: `given` seconds, `done` results.

Not handled here: the runs that show it (see `deadline`).
"""

from __future__ import annotations

import re
from typing import Any

from labkit.checks.common import raised
from labkit.checks.exercise import Finding, Seen
from labkit.plural import counted

NO_LIST = ", not a list"
NUMBER = r"-?[0-9.]+(e[+-][0-9]+)?|-?inf|nan"  # of seconds, as a step notes it
OTHER_RESULTS = "the results are not what the steps returned"
FROM_THE_START = "the time left is wrong from the start: another clock, another zone or a constant"


def _given(seen: Seen) -> list[str]:
    """What each step that ran was given, in the order in which they ran."""
    told = [note.fault for note in seen.end.notes if note.label.startswith("step ")]
    return [text.removeprefix("may take ").removesuffix(" s") for text in told]


def _names(seen: Seen) -> list[str]:
    return [note.label for note in seen.end.notes if note.label.startswith("step ")]


def ran_steps(seen: Seen, facts: dict[str, Any]) -> bool:
    return seen.kind == "end" and bool(_names(seen))


def step_failed(seen: Seen, facts: dict[str, Any]) -> bool:
    return bool(_injected(seen)) and "step 1" in _names(seen)


def all_in_time(seen: Seen, facts: dict[str, Any]) -> Finding | None:
    last, names = seen.end.last, _names(seen)
    wanted = [f"step {n}" for n in range(1, len(facts["seconds"]) + 1)]
    if names != wanted:
        said = f"{counted(len(wanted), 'step')} in time; those that ran: {', '.join(names) or 'none'}; and the call {last}"
        none = not names and raised(last, "DeadlineExceeded")
        return Finding(said, FROM_THE_START if none else _which(names, wanted))
    if last.how == "returned" and last.value == facts["done"]:
        return _no_list(seen, "returned")
    said = f"every step was in time, and the call {last}, not {facts['done']}"
    return Finding(said, OTHER_RESULTS)


def _no_list(seen: Seen, what: str) -> Finding | None:
    """Whether what was asked for as a list was something that only looks like one."""
    kind = next((note.fault for note in seen.end.notes if note.label == f"{what} as"), "")
    told = "the results were returned" if what == "returned" else "`completed` was told"
    who = "returns" if what == "returned" else "`completed` is"
    return Finding(f"{told} as a {kind}, not as a list", f"{who} a {kind}{NO_LIST}") if kind else None


def _which(names: list[str], wanted: list[str]) -> str:
    if not names:
        return "runs nothing"
    if sorted(set(names)) != names:
        return "runs steps twice or in another order"
    return "leaves steps out"


def seconds_left(seen: Seen, facts: dict[str, Any]) -> Finding | None:
    given, wanted = _given(seen), [f"{left}" for left in facts["given"]]
    n = next((n for n, (got, want) in enumerate(zip(given, wanted, strict=False)) if got != want), None)
    if n is None:
        return None
    said = f"step {n + 1} was given {given[n]}, and {wanted[n]} s remained"
    if not re.fullmatch(NUMBER, given[n]):
        return Finding(said, "a step is given no number of seconds")
    if n == 0:
        shared = f"{facts['left'] / len(facts['seconds']):g}" == given[0]
        return Finding(said, "shares the time among the steps" if shared else FROM_THE_START)
    whole = given[n] == given[0]
    return Finding(said, "every step gets the whole time" if whole else "a step is not given the seconds that remain")


def tested_before(seen: Seen, facts: dict[str, Any]) -> Finding | None:
    """No step begins when nothing remains."""
    names, allowed = _names(seen), len(facts["given"])
    if len(names) <= allowed:
        return None
    if facts["left"] == sum(facts["seconds"][:allowed]):
        said = f"nothing remained, and {names[allowed]} was run"
        return Finding(said, "takes no time left for time left: `<` where `<=` belongs")
    said = f"the deadline had passed, and {names[allowed]} was run"
    return Finding(said, "does not test the deadline before each step")


def exceeded(seen: Seen, facts: dict[str, Any]) -> Finding | None:
    """What the caller hears when the time is up."""
    last, done = seen.end.last, facts["done"]
    if last.how != "raised":
        return Finding(f"the deadline was exceeded, and the call {last}", _not_raised(seen, facts))
    if not raised(last, "DeadlineExceeded"):
        return Finding(f"the deadline was exceeded, and the call {last}", "raises something else than DeadlineExceeded")
    completed = last.error["data"].get("completed", [])
    if completed == done:
        return _no_list(seen, "completed")
    late = isinstance(completed, list) and len(completed) > len(done)
    why = "a result that came too late is in `completed`" if late else "`completed` is not what was done in time"
    return Finding(f"in time were {done}, and `completed` says {completed}", why)


def _not_raised(seen: Seen, facts: dict[str, Any]) -> str:
    if seen.end.last.value == facts["done"]:
        return "returns what it has as if all were done"
    if seen.like.startswith("late"):
        return "does not test the deadline after a step: a late last step counts"
    return "does not raise when the time is up"


def exactly(seen: Seen, facts: dict[str, Any]) -> Finding | None:
    last = seen.end.last
    if last.how == "returned" and last.value == facts["done"]:
        return None
    said = f"the last step ended exactly at the deadline, and the call {last}"
    late = raised(last, "DeadlineExceeded") and len(_names(seen)) == len(facts["seconds"])
    return Finding(said, "exactly at the deadline is in time: `>=` where `>` belongs" if late else OTHER_RESULTS)


def no_steps(seen: Seen, facts: dict[str, Any]) -> Finding | None:
    last = seen.end.last
    if last.how == "returned" and last.value == []:
        return None
    return Finding(f"there were no steps, and the call {last}", "no steps is no []")


def own_error(seen: Seen, facts: dict[str, Any]) -> Finding | None:
    """Step 2 raised an error of its own; in the case `late_error` it did so after the deadline."""
    last, names, wanted = seen.end.last, _names(seen), _injected(seen)
    if not wanted:
        return None
    if names.count("step 2") > 1:
        return Finding(f"step 2 raised {wanted} and was run again", "retries a step")
    if "step 3" in names:
        return Finding(f"step 2 raised {wanted}, and step 3 was run", "goes on after a step has failed")
    if seen.like == "late_error" and raised(last, "DeadlineExceeded"):
        return None
    if raised(last, wanted) and "injected" in last.error["message"]:
        if last.error["cause"] is not None:
            said = f"step 2 raised {wanted} without a cause, and it came out with the cause {last.error['cause']['type']}"
            return Finding(said, "a step's own error does not come through as it was")
        return _changed(seen)
    return Finding(f"step 2 raised {wanted}, and the call {last}", "a step's own error does not come through")


def _changed(seen: Seen) -> Finding | None:
    """Whether the deadline that a step exceeded for itself tells still what was done inside."""
    completed = seen.end.last.error["data"].get("completed")
    if seen.like != "own_deadline" or completed == ["inner"]:
        return None
    said = f"step 2 raised its own DeadlineExceeded with completed=['inner'], and it came out with {completed!r}"
    return Finding(said, "a step's own error does not come through as it was")


def every_kind(seen: Seen, facts: dict[str, Any]) -> Finding | None:
    for kind, same, how, went_on, _ in seen.end.last.value or ():
        if went_on:
            return Finding(f"step 2 raised {kind}, and step 3 was run", "goes on after a step has failed")
        if not same:
            return Finding(f"step 2 raised {kind}, and the call {how}", "a step's own error does not come through")
    return None


def same_step(seen: Seen, facts: dict[str, Any]) -> Finding | None:
    last, names = seen.end.last, _names(seen)
    wanted = ["step 1", "step 2", "step 1"]
    if names == wanted and last.how == "returned" and last.value == [f"{name} done" for name in wanted]:
        return None
    said = f"the list was {', '.join(wanted)}; run were {', '.join(names) or 'none'}, and the call {last}"
    if raised(last, "DeadlineExceeded"):
        return Finding(said, FROM_THE_START)
    if not names:
        return Finding(said, _which(names, wanted))
    by_step = names != wanted or last.value == ["step 1 done", "step 2 done"]
    return Finding(said, "takes a step that stands in the list twice for one" if by_step else OTHER_RESULTS)


def _injected(seen: Seen) -> str:
    """The error that step 2 raised, by its name."""
    if seen.like == "own_deadline":
        return "DeadlineExceeded"
    return next((call.fault[6:-1] for call in seen.end.calls if call.fault.startswith("error(")), "")


def stepped(seen: Seen, facts: dict[str, Any]) -> Finding | None:
    """The wall clock was stepped under way: nothing may differ from the run without."""
    found, last = all_in_time(seen, facts), seen.end.last
    if found:
        return _by_the_wall_clock(found, "stepped", measured=raised(last, "DeadlineExceeded") and bool(_names(seen)))
    given, amount = _given(seen), _stepped_by(seen)
    by_it = any(_number(got) == want - amount for got, want in zip(given, facts["given"], strict=False))
    return _by_the_wall_clock(seconds_left(seen, facts), "stepped", measured=by_it)


def stepped_late(seen: Seen, facts: dict[str, Any]) -> Finding | None:
    """The same where a step is late: the step back gives no time."""
    return _by_the_wall_clock(exceeded(seen, facts), "stepped back", measured=seen.end.last.how == "returned")


def _stepped_by(seen: Seen) -> float:
    return float(seen.end.token.partition("clock_step(")[2].partition(")")[0] or 0)


def _number(told: str) -> float | None:
    return float(told) if re.fullmatch(NUMBER, told) else None


def _by_the_wall_clock(found: Finding | None, how: str, *, measured: bool) -> Finding | None:
    """What is off while the wall clock is stepped; `measured` says that it is off by what the step makes of it."""
    if found is None or found.diagnosis.endswith(NO_LIST):
        return None
    why = "measures with the wall clock" if measured else found.diagnosis
    return Finding(f"the wall clock was {how} during the run: {found.message}", why)


def leaves_alone(seen: Seen, facts: dict[str, Any]) -> Finding | None:
    if any(note.label == "list of steps" and note.fault == "changed" for note in seen.end.notes):
        return Finding("the list of steps that was given is another one afterwards", "changes the caller's list")
    wanted = sum(facts["seconds"][: len(_names(seen))])
    if seen.end.seconds != wanted:
        said = f"the steps took {wanted} s, and the call {seen.end.seconds:g} s"
        return Finding(said, "waits although nobody asked it to")
    return None


def afresh(seen: Seen, facts: dict[str, Any]) -> Finding | None:
    one = {"value": ["step 1 done", "step 2 done"]}
    if seen.end.last.how == "returned" and seen.end.last.value == [one, one]:
        return None
    said = f"run twice in one process: the calls {seen.end.last}"
    alike = seen.end.last.how == "returned" and seen.end.last.value[0] == seen.end.last.value[1]
    return Finding(said, "does not return what the steps did, the first time as well" if alike else "keeps results or times from one run to the next")
