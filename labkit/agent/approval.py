"""A person's word before a risky tool runs: asked once, kept with the task, and still there when another process goes on.

What needs a word stands in the state's constraints, by risk level. The question names the call, so an answer can be of no other one. The task waits
without a worker meanwhile. A yes lets this one call run, also after a crash between the yes and the effect. Anything else is a no, and the
model is told what the person said. Of a tool that knows no keys each further run needs a word of its own. Two people who answer at once: the
first one counts, the other is told.

Not handled here: who that person is.
"""

from __future__ import annotations

from collections.abc import Callable

from labkit.agent.conversation import ToolCall
from labkit.agent.state import Constraints, RiskLevel
from labkit.agent.tools import Arguments, Tool
from labkit.queue import TaskQueue
from labkit.store.contract import storable_text
from labkit.task import Task

APPROVED = "approved"
REFUSED = "refused"
PERSON = "ask_person"  # the name of the tool by which a model asks
SHOWN = 1_000  # characters of the arguments in a question
Ask = Callable[[str], str]  # a question -> the answer; raises until there is one


def approve(queue: TaskQueue, task_id: str, to: str | None = None) -> Task:
    """Let the call that the task asks about run; with `to`, only if that is still what it asks.

    `TaskNotFound`; `InvalidTransition` when it waits for no answer (to this).
    """
    return queue.answer(task_id, APPROVED, to)


def refuse(queue: TaskQueue, task_id: str, reason: str = "", to: str | None = None) -> Task:
    """Do not let it run; the model hears the reason. Errors as for `approve`."""
    return queue.answer(task_id, f"{REFUSED}: {reason}" if reason else REFUSED, to)


def answer(queue: TaskQueue, task_id: str, text: str, to: str | None = None) -> Task:
    """Answer a question that the agent asked of its own. Errors as for `approve`."""
    return queue.answer(task_id, text, to)


def needs_word(constraints: Constraints, tool: Tool) -> bool:
    """Whether a person must agree before this tool runs."""
    return tool.risk in constraints.human_in_the_loop.required_for_risk_levels


def question_for(call: ToolCall, tool: Tool) -> str:
    """What a person is asked before the call runs."""
    return f"May {_shown(call)} run? ({tool.risk.replace('_', ' ')}, {call.id})"


def question_after(call: ToolCall, begun: int) -> str:
    """What a person is asked when a process died while the call ran, `begun` for that many times, and the tool knows no keys."""
    times = "" if begun == 1 else f" (begun {begun} times)"  # subtle: or the yes to one more run would be a yes to all of them
    return f"{_shown(call)} was under way when its process died{times}, and may have happened. Run it again? ({call.id})"


def refusal(ask: Ask, question: str, begun: int = 0) -> str | None:
    """None when a person said yes, else what the model is told."""
    said = ask(question)
    told = "not run again, though it may have happened before" if begun else "not run"
    return None if said.strip().lower() in (APPROVED, "yes") else f"{told}, a person said: {said}"


class Question(Arguments):
    """What a person shall be asked."""

    question: str


def person_tool(ask: Ask) -> Tool:
    """The tool by which a model asks a person; the task waits for the answer."""

    def run(given: dict[str, str], key: str) -> str:
        # subtle: with the call's name in it, or the same question asked later would be answered by the old answer
        return ask(f"{storable_text(given['question'])} ({key.rpartition(':')[2]})")

    return Tool(PERSON, "Ask a person, and wait for the answer.", run, Question, RiskLevel.READ_ONLY)


def _shown(call: ToolCall) -> str:
    given, more = call.arguments[:SHOWN], len(call.arguments) - SHOWN
    return storable_text(f"{call.name} {given}{f' [{more} characters more]' if more > 0 else ''}")
