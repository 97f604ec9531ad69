"""One tool call answered, once: the same text after any crash, and an effect that happens once.

What a call gave is recorded before the model is told, so a call with a record is not made again. One without may have been under way when its process
died: it is made again under the same key, or, if the tool knows no keys, a person is asked first, each time. Whatever goes wrong inside a tool, and
whatever the model wrote as its name or arguments, becomes a short text for the model and for nobody else; the calls beside it are answered all the same.
A long result goes to the artifact store, and the model is shown an excerpt. Of two processes that make a call at once the first record is what both tell.

Not handled here: what else happens between two calls (see `loop`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import deepcopy
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Literal

from labkit.agent.approval import ASK_PERSON, NOT_RUN, AskPerson, needs_word, question_after, question_for, refusal
from labkit.agent.arguments import parse_arguments
from labkit.agent.artifacts import LARGEST_CONTENT, ArtifactStore, StoredArtifact
from labkit.agent.conversation import ToolCall
from labkit.agent.journal import ToolJournal
from labkit.agent.part import first_line
from labkit.agent.state import Constraints
from labkit.agent.tools import Tool
from labkit.clock import Clock
from labkit.deadline import Deadline
from labkit.errors import BadArguments
from labkit.retry import RetryPolicy, seconds_asked
from labkit.saga.step import outcome_unknown
from labkit.store.contract import error_text, storable_text

LONGEST_RESULT = 2_000  # bytes of a result that the model is shown
LONGEST_ASKED = 300.0  # seconds that a tool may ask a worker to wait; the model is told of one that asks for more
LONGEST_ERROR = 300  # characters
FAILED = "error: "  # begins what the model is told of a call that failed
End = Literal["ran", "failed", "refused"]


@dataclass(frozen=True)
class Said:
    """What a call gave: the text for the model, how it ended, and where the whole of a long result lies."""

    text: str = field(repr=False)
    end: End
    artifact: StoredArtifact | None = None


@dataclass(frozen=True)
class Calls:
    """Answers the calls of one run. `learn` is told of each result before it is recorded, and again if a crash came between, or another record was first."""

    tools: Mapping[str, Tool]
    journal: ToolJournal
    artifacts: ArtifactStore
    constraints: Constraints
    ask: AskPerson
    learn: Callable[[ToolCall, Said], None]
    clock: Clock
    policy: RetryPolicy
    deadline: Deadline | None = None

    def kept(self, call: ToolCall) -> str | None:
        """What is recorded of this call; None if it has still to be made."""
        return self.journal.result(call.id)

    def make(self, call: ToolCall) -> str:
        """Make the call, record what it gave, and say what the model is told of it."""
        said = self._shortened(call, self._made(call))
        self.learn(call, said)
        # crash here: the effect is there and no record says so
        told = self.journal.settle(call.id, said.text)
        if told != said.text:  # somebody else's record was first, and is what both have learned
            self.learn(call, Said(told, _ended(told)))
        return told

    def _made(self, call: ToolCall) -> Said:
        """Make the call, if it may be made. What this raises is not the tool's failure: the run itself stops here."""
        tool = self.tools.get(call.name)
        if tool is None:
            return _wrong(f"there is no tool {call.name!r}, only {', '.join(self.tools) or 'none at all'}")
        try:
            given = parse_arguments(call.arguments, tool.arguments)
        except BadArguments as error:
            return _wrong(str(error))
        if call.name == ASK_PERSON:
            return Said(tool(given, self._key(call)), "ran")
        told = self._may_begin(call, tool)
        if told is not None:
            return Said(told, "refused")
        try:
            return Said(_text_of(self._run(tool, given, self._key(call))), "ran")
        except _Failed as failed:
            return _wrong(failed.told)

    def _key(self, call: ToolCall) -> str:
        return f"{self.journal.task_id}:{call.id}"

    def _may_begin(self, call: ToolCall, tool: Tool) -> str | None:
        """None if the call may be made, after a person was asked where one must be, and of an unkeyed one it is written down that it begins.

        Else what the model is told.
        """
        begun = 0 if tool.repeatable else self.journal.begun(call.id)
        told = None
        if begun:
            told = refusal(self.ask, question_after(call, begun), begun)
        elif needs_word(self.constraints, tool):
            told = refusal(self.ask, question_for(call, tool))
        if told is not None or tool.repeatable or self.journal.begin_call(call.id, begun):
            return told
        return self._may_begin(call, tool)  # subtle: somebody began it since we looked, so a person is asked

    def _run(self, tool: Tool, given: dict[str, object], key: str) -> object:
        def once() -> object:
            try:
                return tool(deepcopy(given), key)  # subtle: what one attempt does to its arguments is not what the next one gets
            except Exception as error:
                failed = _Failed(error, self.clock.now())
            raise failed

        def again(failed: Exception) -> bool:
            if not isinstance(failed, _Failed) or failed.retry_after > LONGEST_ASKED:
                return False
            return self.policy.retry_on(failed.error) and (tool.repeatable or not failed.lost)

        return replace(self.policy, retry_on=again).run(once, self.clock, self.deadline)

    def _shortened(self, call: ToolCall, said: Said) -> Said:
        text = storable_text(said.text)
        if (length := len(text.encode())) <= LONGEST_RESULT:
            return Said(text, said.end)
        if length > LARGEST_CONTENT:
            return Said(f"it {said.end}, and what it gave is too large to be kept: {length} bytes", said.end)
        kept = self.artifacts.put(text, type=call.name, summary=first_line(text))
        return Said(self.artifacts.excerpt(kept.artifact_id, max_bytes=LONGEST_RESULT), said.end, kept)


class _Failed(Exception):
    """A tool raised `error`. subtle: what it says is for the model alone, so it stays out of the log line of a retry."""

    def __init__(self, error: Exception, now: datetime) -> None:
        super().__init__(type(error).__name__)
        self.error = error
        try:
            self.lost, self.retry_after = may_have_happened(error), seconds_asked(getattr(error, "retry_after", None), now)
        except Exception:  # one that cannot be asked about itself
            self.lost, self.retry_after = True, 0.0

    @property
    def told(self) -> str:
        lost = "; it may have happened all the same" if self.lost else ""
        return f"{type(self.error).__name__}: {error_text(self.error)[:LONGEST_ERROR]}{lost}"


def may_have_happened(error: Exception) -> bool:
    """Whether a tool that raised this may have had its effect: no answer in time, or a connection that broke on the way."""
    broke = isinstance(error, ConnectionError) and not isinstance(error, ConnectionRefusedError)
    return outcome_unknown(error) or broke


def _text_of(given: object) -> str:
    try:
        return str(given)
    except Exception as error:  # a result that cannot be asked what it is
        return f"it ran, and what it gave cannot be read ({type(error).__name__})"


def _wrong(what: str) -> Said:
    return Said(f"{FAILED}{what}", "failed")


def _ended(told: str) -> End:
    """How a call ended that somebody else has recorded, as far as its text says."""
    return "failed" if told.startswith(FAILED) else "refused" if told.startswith(NOT_RUN) else "ran"
