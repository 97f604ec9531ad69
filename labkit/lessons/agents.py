"""Chapter 21, the agent loop: ways to run it, each sound at first sight, and where each breaks when its process dies.

A way is a function of a `Desk`; `conversation` and others make scenarios of it. `durable` is made of the library's parts. Every other way is broken on
purpose, under what its docstring says: `BROKEN` holds each with the schedule that breaks it.

Not handled here: who watches the run, and how it ends for them (see `agents_ends`).
"""

from __future__ import annotations

from labkit.agent.conversation import Message, ToolCall, converse, open_calls
from labkit.errors import BudgetExhausted
from labkit.faults import Scenario
from labkit.lessons.agents_models import never_ends
from labkit.lessons.agents_world import BUDGET, TASK, Desk, Way, conversation, two_hosts, without_a_key

EFFECT_WITHOUT_RECORD = "p1@cloud1.after+crash"  # the schedule: the logs are clean, and nobody knows
IN_THE_SECOND_CALL = "p1@cloud2.after+crash"
HALF_AN_ARGUMENT = "p1@http1.before+malformed_arguments"
NO_SUCH_TOOL = "p1@http1.before+unknown_tool"


def in_memory(desk: Desk) -> str:
    """The chapter's loop: the conversation is a list. Breaks behind an effect: the next process begins again."""
    messages: list[Message] = [{"role": "user", "content": desk.goal}]
    for _ in range(BUDGET.max_steps):
        messages.append(desk.think(messages))
        asked = open_calls(messages)
        if not asked:
            return str(messages[-1]["content"])
        for call in asked:
            messages.append(answer_to(call, desk.run(call)))
    raise BudgetExhausted


def journalled(desk: Desk) -> str:
    """The same, each message written down. Breaks between a call and its answer: every later request is refused."""
    journal = desk.journal
    if not journal.messages():
        journal.append({"role": "user", "content": desk.goal})
    for _ in range(BUDGET.max_steps):
        journal.append(desk.think(journal.messages()))
        asked = open_calls(journal.messages())
        if not asked:
            return str(journal.messages()[-1]["content"])
        for call in asked:
            told = desk.run(call)
            # crash here: the call is written, and its answer is not
            journal.append(answer_to(call, told))
    raise BudgetExhausted


def answer_to(call: ToolCall, told: str) -> Message:
    """The tool message that a call waits for."""
    return {"role": "tool", "tool_call_id": call.id, "content": told}


def says_interrupted(desk: Desk) -> str:
    """Calls that a dead process left open are answered with an excuse. Breaks behind an effect: the model asks for it again."""
    left = {call.id for call in open_calls(desk.journal.messages())}

    def answer(call: ToolCall) -> str:
        return "error: interrupted" if call.id in left else desk.run(call)

    return converse(desk.journal, desk.goal, desk.think, answer)


def runs_again(desk: Desk) -> str:
    """Calls that were left open are made again. Breaks behind an effect: it happens again."""
    return converse(desk.journal, desk.goal, desk.think, desk.run)


def recorded(desk: Desk) -> str:
    """What a call gave is recorded, and a call with a record is not made again. Breaks between the effect and its record."""

    def answer(call: ToolCall) -> str:
        told = desk.journal.result(call.id)
        if told is None:
            told = desk.run(call)
            # crash here: the effect is there, and no record says so
            desk.journal.record(call.id, told)
        return told

    return converse(desk.journal, desk.goal, desk.think, answer)


def own_key(desk: Desk) -> str:
    """Each call has a key, with the name of its process in it. Breaks like no key at all."""
    return converse(desk.journal, desk.goal, desk.think, lambda call: desk.run(call, f"{desk.process.name}:{call.id}"))


def by_the_call(desk: Desk) -> str:
    """Record and key go by the id of the call, as the model gave it. Breaks where an endpoint gives one id twice."""

    def answer(call: ToolCall) -> str:
        told = desk.journal.result(call.id)
        if told is None:
            told = desk.run(call, f"{TASK}:{call.id}")
            desk.journal.record(call.id, told)
        return told

    return converse(desk.journal, desk.goal, desk.think, answer)


def durable(desk: Desk) -> str:
    """The library's parts: a journal, ids of our own, keys, records, and an answer to whatever the model wrote."""
    return converse(desk.journal, desk.goal, desk.think_cleaned, desk.answer)


DIES_AGAIN = ",".join(f"p{number}@http9.before+crash" for number in (1, 2))


def endless(way: Way) -> Scenario:
    """A model that never comes to an answer, and three attempts, those that died among them."""
    return conversation(way, never_ends, (), f"endless.{way.__name__}", counted=True)


BROKEN: dict[str, tuple[Scenario, str]] = {
    "the conversation in memory": (conversation(in_memory), EFFECT_WITHOUT_RECORD),
    "a call without its answer": (conversation(journalled), EFFECT_WITHOUT_RECORD),
    "an open call gets an excuse": (conversation(says_interrupted), EFFECT_WITHOUT_RECORD),
    "an open call is made again": (conversation(runs_again), EFFECT_WITHOUT_RECORD),
    "recorded afterwards, no key": (conversation(recorded), EFFECT_WITHOUT_RECORD),
    "a key of the process": (conversation(own_key), EFFECT_WITHOUT_RECORD),
    "the model's id as the key": (two_hosts(by_the_call), "none"),
    "arguments that are no JSON": (conversation(by_the_call), HALF_AN_ARGUMENT),
    "a tool that nobody has": (conversation(by_the_call), NO_SUCH_TOOL),
    "made again without a key": (without_a_key(recorded), EFFECT_WITHOUT_RECORD),
}
