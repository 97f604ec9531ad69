"""A person's word before a risky tool runs: asked once, kept with the task, and still there when another process goes on.

What needs a word stands in the state's constraints, by risk level. The question names the call, with the
arguments that its tool would get, so an answer can be of no other one. The task waits
without a worker meanwhile. A yes (or ok, approve, approved) lets this one call run, also after a crash between the yes and the effect. A no (or refuse,
refused), with or without a reason behind it, does not, and the model is told what the person said. Capitals, spaces and a full stop at the end make no
difference. What is neither is refused where it is given, and the question stays open; the queue itself knows no agents, so what came past this module is asked
again. Of a tool that knows no keys each further run needs a word of its own. Two people who answer at once: the first one counts, the other is told.

Not handled here: who that person is.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable

from labkit.agent.conversation import ToolCall
from labkit.agent.state import Constraints, RiskLevel
from labkit.agent.tools import Arguments, Tool
from labkit.errors import UsageError
from labkit.queue import TaskQueue
from labkit.store.contract import storable_text
from labkit.task import Task

APPROVED = "approved"
REFUSED = "refused"
MODEL_ASKS = " [the model asks]"  # stands behind a question of its own that is worded like one of ours
NOT_RUN = "not run"  # begins what the model is told of a call that was refused
ASK_PERSON = "ask_person"  # the name of the tool by which a model asks
LONGEST_QUOTED = 1_000  # characters of the arguments in a question; twice that with all that says what is left out
LONGEST_FIELD = 40  # characters of a field that are shown in any case
AskPerson = Callable[[str], str]  # a question -> the answer; raises until there is one
_YES = re.compile(r"(yes|ok|approved?)\s*[.!]*", re.IGNORECASE)
_NO = re.compile(r"(no|refused?)\s*([.!,:;].*)?", re.IGNORECASE | re.DOTALL)
# subtle: what a model asks of its own never looks like one of these, since it ends in the name of its call alone, or says who asks (MODEL_ASKS)
_YES_OR_NO = re.compile(
    r".*( run\? \((read only|write local|external action), [^()]*\)|may have happened\. Run it again\? \([^()]*\))", re.DOTALL
)


def approve(queue: TaskQueue, task_id: str, to: str | None = None) -> Task:
    """Let the call that the task asks about run; with `to`, only if that is still what it asks.

    `TaskNotFound`; `InvalidTransition` when it waits for no answer (to this).
    """
    return queue.answer(task_id, APPROVED, to)


def refuse(queue: TaskQueue, task_id: str, reason: str = "", to: str | None = None) -> Task:
    """Do not let it run; the model hears the reason. Errors as for `approve`."""
    return queue.answer(task_id, f"{REFUSED}: {reason}" if reason else REFUSED, to)


def answer(queue: TaskQueue, task_id: str, text: str, to: str | None = None) -> Task:
    """Answer whatever the task asks. Errors as for `approve`; `UsageError` for what is neither yes nor no where one of them is asked for."""
    asked = queue.question(task_id).text if to is None else to
    if undecided(asked, text):
        raise UsageError(
            f"{text!r:.60} is neither yes nor no, and nothing was changed: say yes (ok, approve) or no (refuse), with a reason as in 'no: not today'"
        )
    # subtle: to what was read, or a yes to this would let run what the task asks by now
    return queue.answer(task_id, text, asked)


def undecided(question: str | None, said: str) -> bool:
    """Whether this is no answer to a question that wants a yes or a no."""
    if not question or not isinstance(said, str) or not _YES_OR_NO.fullmatch(question):
        return False
    return not (_is_yes(said) or _NO.fullmatch(said.strip()))


def asked_about(question: str, call_id: str) -> bool:
    """Whether this question is about this call: each ends in its name."""
    return question.endswith((f"({call_id})", f", {call_id})"))


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


def refusal(ask: AskPerson, question: str, begun: int = 0) -> str | None:
    """None when a person said yes, else what the model is told."""
    said = ask(question)
    told = f"{NOT_RUN} again, though it may have happened before" if begun else NOT_RUN
    return None if _is_yes(said) else f"{told}, a person said: {said}"


class Question(Arguments):
    """What a person shall be asked."""

    question: str


def person_tool(ask: AskPerson) -> Tool:
    """The tool by which a model asks a person; the task waits for the answer."""

    def run(given: dict[str, str], key: str) -> str:
        # subtle: with the call's name in it, or the same question asked later would be answered by the old answer
        asked, end = storable_text(given["question"]), f" ({key.rpartition(':')[2]})"
        return ask(f"{asked}{MODEL_ASKS if _YES_OR_NO.fullmatch(asked + end) else ''}{end}")

    return Tool(ASK_PERSON, "Ask a person, and wait for the answer.", run, Question, RiskLevel.READ_ONLY)


def _is_yes(said: str) -> bool:
    return _YES.fullmatch(said.strip()) is not None


def _shown(call: ToolCall) -> str:
    """The call as it is made, and not as the model wrote it: blanks between two fields hide nothing, and nothing of it reaches a terminal as a command."""
    try:
        given = json.loads(call.arguments)
    except (ValueError, RecursionError):  # arguments that no tool gets
        given = call.arguments
    whole = _as_json(given)
    if isinstance(given, dict) and len(whole) > LONGEST_QUOTED:
        room = max(LONGEST_FIELD, LONGEST_QUOTED // len(given))
        fields = [_cut(f"{_as_json(name)}: {_as_json(value)}", room) for name, value in given.items()]
        return f"{call.name} {_cut('{' + ', '.join(fields) + '}', 2 * LONGEST_QUOTED)}"
    return f"{call.name} {_cut(whole, LONGEST_QUOTED)}"


def _as_json(given: object) -> str:
    """As JSON in which whatever cannot be seen is escaped."""
    return "".join(one if one.isprintable() else json.dumps(one)[1:-1] for one in json.dumps(given, ensure_ascii=False))


def _cut(text: str, longest: int) -> str:
    more = len(text) - longest
    return text if more <= 0 else f"{text[:longest]} [{more} characters more]"
