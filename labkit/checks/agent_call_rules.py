"""What must be true of tools: each call is made once, under a key of its own, with what the model wrote; and its result reaches the model.

Not handled here: whether the conversation around it is valid (see `agent_rules`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from labkit.checks.agent_talks import FAILING, Call, calls_in
from labkit.checks.agent_texts import CUT, REPLACED, as_empty, holds, why_lost
from labkit.checks.agent_view import View, said, same_call, same_json, text_of
from labkit.checks.exercise import Finding
from labkit.faults.outcome import cut

NO_KEY = "no key: the cloud cannot tell a second try from a new effect"
SHARED = "calls share a key: the second one is taken for the first"
UNSTABLE = "the key is another one after a crash: the effect happens twice"
REUSED = "the key is another one after a crash, that of another call: nothing happens"
ANOTHER_TRY = "another key for a second try: the effect happens twice"
FALSY_LOST = "arguments that are false, zero or empty are lost"
AS_TEXTS = "arguments that are no texts are made into texts"
OTHERS = "a tool gets other arguments than the model wrote"
NOT_WRITTEN = "the model's message is not in the journal when its tools run"
KEPT = "a call whose result is kept is made again"
LEFT_OUT = "a call is left out"
UNDER_WAY = "a call that was under way at the crash is taken for done"
MADE_UP = "a tool is run on arguments that are no object"


def keys(view: View) -> Finding | None:
    """Each call of a tool carries a key, and no other call the same."""
    seen: dict[object, list[object]] = {}
    for tool, arguments, key, given in view.runs:
        if not key or not isinstance(key, str):
            return Finding(f"{tool} was called with the key {key!r}", NO_KEY)
        if given is None:
            continue
        if key in seen and (seen[key] != [tool, arguments] or view.clean):
            return Finding(f"{seen[key][0]} and then {tool} were called with the one key {key!r}", SHARED)
        seen[key] = [tool, arguments]
    return None


def made(view: View) -> Finding | None:
    """Each good call is made, with the arguments that the model wrote, and no other."""
    if not view.requests and not view.went_on:  # who never asks is told so (see `agent_rules.answer`)
        return None
    found = next((one for run in view.runs if (one := _stray(view, run)) is not None), None)
    return found or _too_few_or_many(view)


def _stray(view: View, run: list[Any]) -> Finding | None:
    """Why a tool was not to be run like this, or None."""
    written = [call for call in view.talk.calls if call.tool == run[0]]
    if any(same_call(call, run) for call in written) or (
        run[0] == FAILING and written and isinstance(run[1], dict) and run[1]
    ):
        return None
    says = (
        f"the model wrote the arguments {_nearest(written, run[1]).arguments!r}, and {run[0]}"
        if written
        else f"nobody asked for it, and {run[0]}"
    )
    made_up = not isinstance(run[1], dict) or (written and not any(call.good for call in written))
    return Finding(f"{says} was called with {run[1]!r}", MADE_UP if made_up else _why_others(run[1], written))


def _why_others(arguments: Any, written: Sequence[Call]) -> str:
    """What became of the arguments that the model wrote."""
    for meant in (call.read for call in written if call.read.get("host") == arguments.get("host")):
        if same_json(arguments, {name: value for name, value in meant.items() if name in arguments}):
            falsy = not any(value for name, value in meant.items() if name not in arguments)
            return FALSY_LOST if falsy else OTHERS
        if any(arguments.get(name) == str(value) for name, value in meant.items() if not isinstance(value, str)):
            return AS_TEXTS
    return OTHERS


def _nearest(written: Sequence[Call], arguments: Any) -> Call:
    """Of the calls that the model wrote the one for the host that a tool was called with."""
    host = arguments.get("host") if isinstance(arguments, dict) else None
    return next((call for call in written if call.good and call.read.get("host") == host), written[0])


def _too_few_or_many(view: View) -> Finding | None:
    wanted = Counter((call.tool, call.arguments) for call in view.talk.calls if call.good)
    settled = view.settled()
    for call in view.talk.calls:
        times = sum(same_call(call, run) for run in view.runs)
        left = wanted[call.tool, call.arguments] - settled[call.tool, call.arguments]
        given = sum(same_call(call, run) and run[3] is not None for run in view.runs)
        if given > left:
            already = settled[call.tool, call.arguments]
            why = KEPT if already else "one call is made twice"
            return Finding(
                f"{call.tool} was called {given} times with {call.arguments}, and {left} was to be done", why
            )
        optional = call in view.talk.late
        if times < left and view.clean and not optional and not view.told["error"]:
            missing = f"the model called {call.tool} with {call.arguments}, and it ran {times} times, not {left}"
            return Finding(missing, view.talk.why if call.read == {} else LEFT_OUT)
    return None


def once(view: View) -> Finding | None:
    """Each effect is there once, whatever died on the way."""
    if not (view.told["over"] or view.requests or view.went_on):
        return None
    found, wanted = view.happened(), view.talk.effects
    for name, host in [*wanted, *found]:
        times, most = found[name, host], wanted[name, host]
        if times > most:
            return Finding(
                f"{name} happened {times} times on {host}, and was called for {most or 'no'} times",
                _why_more(view, name, host),
            )
        if times < most - view.talk.optional[name, host] and not (view.told["over"] or view.told["error"]):
            missing = f"{name} happened {times} times on {host}, and was called for {most}"
            return Finding(missing, _why_less(view, host))
    return None


def _why_more(view: View, name: str, host: str) -> str:
    used = [effect.key for effect in view.effects if (effect.name, effect.target) == (name, host)]
    if None in used:
        return NO_KEY
    if not view.told["over"] and any(run[3] is None for run in _runs_on(view, host)) and not view.went_on:
        return ANOTHER_TRY
    if view.clean:
        return "one call is made twice"
    known = view.told["over"] or (view.went_on and _knew_the_call(view, host))
    return UNSTABLE if known else NOT_WRITTEN


def _knew_the_call(view: View, host: str) -> bool:
    """Whether the call of this effect was in the journal that the last process found."""
    calls = [call for message in view.told["found"]["messages"] for call in message.get("tool_calls") or ()]
    return any(host in call["function"]["arguments"] for call in calls)


def _runs_on(view: View, host: str) -> list[list[Any]]:
    return [run for run in view.runs if isinstance(run[1], dict) and run[1].get("host") == host]


def _why_less(view: View, host: str) -> str:
    used = [run[2] for run in _runs_on(view, host)]
    if view.clean:
        return SHARED if used else LEFT_OUT
    if len(set(used)) < len(used):
        return SHARED
    # subtle: on the same host a key of the dead process may be that of a call which it has not settled, and which is made again
    others = {effect.key for effect in view.effects if effect.by != view.process and (effect.target != host or _settled_on(view, host))}
    return REUSED if others & set(used) else UNDER_WAY


def _settled_on(view: View, host: str) -> int:
    return sum(times for (_, arguments), times in view.settled().items() if host in arguments)


def answered(view: View) -> Finding | None:
    """A call that cannot be made is answered with a tool message of its own, and those beside it are made."""
    calls = list(calls_in(view.last_sent))
    answers = [message.get("tool_call_id") for message in view.last_sent if message.get("role") == "tool"]
    for call, (call_id, name) in zip(view.talk.calls, calls, strict=False):
        if call_id not in answers:
            silent = f"the call of {name} with the arguments {call.arguments!r} has no tool message"
            return Finding(silent, "a call that cannot be made gets no answer")
    if len(calls) < len(view.talk.calls):
        left = view.talk.calls[len(calls)]
        return Finding(
            f"after the call of {left.tool} with {left.arguments!r} the call {said(view.told)}", view.talk.why
        )
    return None


def heard(view: View) -> Finding | None:
    """What a tool gave is what the model is told of that call."""
    told = {str(m.get("tool_call_id")): text_of(m) for m in view.last_sent if m.get("role") == "tool"}
    left, full = list(view.runs), dict[str, tuple[Call, str, str]]()  # tool -> a call that gave something, what was told of it, and what it gave
    for call, (call_id, _) in zip(view.talk.calls, calls_in(view.last_sent), strict=False):
        run = next((run for run in left if same_call(call, run)), None)
        if run is None:
            continue
        left.remove(run)
        if call_id not in told or run[3] is None:
            continue
        lost = why_lost(told[call_id], run[3]) if not holds(told[call_id], run[3]) else ""
        if call.tool in full and not run[3] and told[call_id].strip() != as_empty(full[call.tool], call):
            lost = REPLACED
        if lost == CUT:
            return Finding(f"{call.tool} gave {len(run[3])} characters, and the model was told {len(told[call_id])}", lost)
        if lost:
            return Finding(f"{call.tool} gave {cut(repr(run[3]), 80)}, and the model was told {cut(repr(told[call_id]), 80)}", lost)
        if run[3]:
            full[call.tool] = (call, told[call_id], run[3])
    return None
