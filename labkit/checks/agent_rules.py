"""What must be true of a conversation: what the model is sent, which answer comes out, and when it ends without one.

Not handled here: the tools and their results (see `agent_call_rules`), and what is told meanwhile (see `agent_end_rules`).
"""

from __future__ import annotations

import json
from typing import Any

from labkit.agent.history import ROLES
from labkit.checks.agent_fields import faults_kept, faults_of
from labkit.checks.agent_talks import MOST_TURNS, TOOLS, Call, calls_in
from labkit.checks.agent_view import View, said, same_json, text_of
from labkit.checks.exercise import Finding

DANGLING = "a tool call without its answer: every later request is refused"
BESIDE = "after a crash the open calls beside one that is answered are not found"
LATER_CALLS = "after a crash the open calls of a later message are not found"
TWICE = "a tool call is answered twice"
NOBODY_ASKED = "a tool message answers a call that the last assistant message does not have"
NO_TEXT = "a message whose content is no text"
NO_CALLS = "an empty list of tool calls: the chat API refuses it"
UNKNOWN = "a field that the chat API does not know"
MANGLED = "a message that the chat API does not take"
OVER_AGAIN = "begins the conversation anew after a crash"
ELEVENTH = "asks the model more than ten times"
WHY = {
    "has a tool call": MANGLED,
    "second time": TWICE,
    "last assistant message": NOBODY_ASKED,
    "no answer": DANGLING,
    "before an answer": DANGLING,
    "no text": NO_TEXT,
    "empty list": NO_CALLS,
    "unknown field": UNKNOWN,
}  # words in a fault of a history -> what they say about the answer
TURNED = "an error of the client is turned into a result"
ARGUMENTS_CHANGED = "the model is sent back other arguments than it wrote"
LOST = "the answer is in the journal, and is lost after a crash"
STRIPPED = "the last word is stripped: spaces and line ends are part of it"
COUNTS_ANEW = "the ten messages are counted anew after a crash"


def history(view: View) -> Finding | None:
    """Whatever the model is sent, and what the journal holds at the end, is a history that the chat API takes."""
    for messages in view.requests:
        faults = faults_of(messages)
        if faults:
            why = _why(faults[0])
            return Finding(f"the model was sent a history that it refuses: {faults[0]}", _why_open(view) if why == DANGLING else why)
    kept = [
        message for message in view.told["journal"] if message.get("role") in ROLES
    ]  # whatever else somebody keeps there
    faults = faults_kept(kept) if kept and not view.told["error"] else []
    return (
        Finding(f"the journal ends as a history that the model refuses: {faults[0]}", _why(faults[0]))
        if faults
        else None
    )


def _why_open(view: View) -> str:
    """Why a call is left without its answer: by what a process that went on had found."""
    found = view.told["found"]["messages"]
    later = sum(bool(message.get("tool_calls")) for message in found) > 1
    if found and found[-1].get("role") == "tool":
        return f"{BESIDE}, or those of a later message are not" if later else BESIDE  # this run does not say which
    return LATER_CALLS if later else DANGLING


def _why(fault: str) -> str:
    """What a fault of a history says about the answer."""
    return next((why for words, why in WHY.items() if words in fault), MANGLED)


def task(view: View) -> Finding | None:
    """The model is sent what the user wants, once, in every request."""
    for messages in view.requests:
        times = sum(view.talk.user_input in text_of(message) for message in messages)
        asked = sum(message.get("role") == "user" for message in messages)
        if not times:
            return Finding(
                f"the model was sent {len(messages)} messages, and {view.talk.user_input!r} is in none",
                "the task does not reach the model",
            )
        if asked > 1 and times > 1:
            return Finding(
                f"the model was sent the task {times} times", OVER_AGAIN if view.went_on else "the task is told twice"
            )
    return None


def schemas(view: View) -> Finding | None:
    """The model is told of the tools, by their names, in every request."""
    for _, names in view.told["asked"]:
        missing = [name for name in TOOLS if name not in names]
        if missing:
            told = f"a request tells the model of {len(names)} tools, and {missing[0]!r} is not among them"
            return Finding(told, "the model is not told of the tools")
    return None


def whole(view: View) -> Finding | None:
    """What the model has said is sent back to it as it said it: text beside calls, and all its calls."""
    spoken = [message for message in view.last_sent if message.get("role") == "assistant"]
    for turn, message in zip(view.talk.turns, spoken, strict=False):
        wanted, sent = [call.tool for call in turn.calls], [name for _, name in calls_in([message])]
        if sent != wanted:
            said_back = f"the model had called {', '.join(wanted) or 'nothing'}, and was sent back {', '.join(sent) or 'no call'}"
            return Finding(said_back, "a call is taken out of what the model said")
        changed = next((pair for pair in zip(turn.calls, message.get("tool_calls") or (), strict=True) if not _as_written(*pair)), None)
        if changed:
            call, kept = changed[0], changed[1]["function"]["arguments"]
            return Finding(f"the model had called {call.tool} with {call.arguments!r}, and was sent back {kept!r}", ARGUMENTS_CHANGED)
        if turn.text and turn.text not in text_of(message):
            lost = f"the model had said {turn.text!r} beside its calls, and was sent back {text_of(message)!r}"
            return Finding(lost, "the text beside a tool call is lost")
    return None


def _as_written(call: Call, kept: dict[str, Any]) -> bool:
    """Whether a good call is sent back with its arguments; what cannot be read may be made readable."""
    try:
        return not call.good or same_json(json.loads(kept["function"]["arguments"]), call.read)
    except (TypeError, ValueError):
        return False


def goes_on(view: View) -> Finding | None:
    """Whoever comes after a crash sends all that was said before it."""
    found = sum(message.get("role") == "assistant" for message in view.told["found"]["messages"])
    for messages in view.requests:
        if view.went_on and messages and messages[-1].get("role") == "assistant" and not messages[-1].get("tool_calls"):
            return Finding(
                f"the model had said {text_of(messages[-1])!r}, and was asked again",
                "asks again though the answer is in the journal",
            )
        sent = sum(message.get("role") == "assistant" for message in messages)
        if sent < found and not faults_of(messages):  # what is not taken anyway says something else
            return Finding(
                f"the journal held {found} messages of the model, and it was sent {sent} of them", OVER_AGAIN
            )
    return None


def answer(view: View) -> Finding | None:
    """The model's last word is what comes out."""
    talk, told = view.talk, view.told
    if talk.ends == "fails" or (talk.ends == "either" and told["error"]):
        return None
    if not view.requests and not view.went_on and not told["error"]:
        return Finding(
            f"the model was never asked, and the call {said(told)}",
            "does nothing" if told["value"] is None else "the model is never asked",
        )
    if told["error"]:
        why = _why_stuck(view) if view.went_on else talk.why
        return Finding(f"the model would have said {talk.answer!r}, and the call {said(told)}", why)
    if told["value"] == talk.answer:
        return None
    if talk.ends == "either":
        return Finding(f"the model could not be reached, and the call {said(told)}", TURNED)
    if isinstance(told["value"], str) and talk.answer and told["value"] == talk.answer.strip():
        return Finding(f"the model's last word was {talk.answer!r}, and the call {said(told)}", STRIPPED)
    early = any(turn.text == told["value"] for turn in talk.turns[:-1])
    why = (
        "the text beside a tool call is taken for the answer"
        if early and told["value"]
        else "the model's last word is not what is returned"
    )
    return Finding(
        f"the model's last word was {talk.answer!r}, and the call {said(told)}", talk.why if talk.answer == "" else why
    )


def _why_stuck(view: View) -> str:
    """Why a process that found a conversation came to no answer."""
    last = view.told["found"]["messages"][-1]
    return LOST if last.get("role") == "assistant" and not last.get("tool_calls") else "cannot go on after a crash"


def ten(view: View) -> Finding | None:
    """The model is asked ten times at most, whoever asks."""
    most = max((sum(m.get("role") == "assistant" for m in messages) for messages in view.requests), default=-1) + 1
    if most > MOST_TURNS or len(view.requests) > MOST_TURNS:
        return Finding(
            f"the model had spoken {most - 1} times and was asked again",
            COUNTS_ANEW if view.went_on else ELEVENTH,
        )
    if view.talk.ends == "fails" and not view.told["error"]:
        return Finding(
            f"the model never came to an answer, and the call {said(view.told)}",
            "ten messages without an answer are no error",
        )
    return None


def no_model(view: View) -> Finding | None:
    """When the model cannot be reached, an exception comes out."""
    if view.talk.ends != "fails" or view.told["error"]:
        return None
    return Finding(f"the model could not be reached, and the call {said(view.told)}", TURNED)
