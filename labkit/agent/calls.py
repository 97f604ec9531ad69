"""One tool call answered, once: the same text after any crash, and an effect that happens once.

What a call gave is recorded before the model is told, so a call with a record is not made again. One without may have been under way when its process
died: it is made again under the same key, or, if the tool knows no keys, a person is asked first. Whatever goes wrong inside a tool, and whatever the
model wrote as its name or arguments, becomes a short text for the model; the calls beside it are answered all the same. A long result
goes to the artifact store, and the model is shown an excerpt.

Not handled here: what else happens between two calls (see `loop`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

from labkit.agent.approval import Ask, needs_word, question_after, question_for, refusal
from labkit.agent.arguments import parse_arguments
from labkit.agent.artifacts import ArtifactStore, StoredArtifact
from labkit.agent.conversation import ToolCall
from labkit.agent.journal import ToolJournal
from labkit.agent.state import Constraints
from labkit.agent.tools import Tool
from labkit.clock import Clock
from labkit.deadline import Deadline
from labkit.errors import BadArguments, StaleLease
from labkit.queue.job import Ask as Parked
from labkit.queue.job import GiveBack
from labkit.retry import RetryPolicy, is_transient
from labkit.saga.step import outcome_unknown
from labkit.store.contract import error_text, storable_text

LONGEST_RESULT = 2_000  # bytes of a result that the model is shown
LONGEST_ERROR = 300  # characters
SUMMARY = 120  # characters of a result's first line


End = Literal["ran", "failed", "refused"]


@dataclass(frozen=True)
class Said:
    """What a call gave: the text for the model, how it ended, and where the whole of a long result lies."""

    text: str
    end: End
    artifact: StoredArtifact | None = None


@dataclass(frozen=True)
class Calls:
    """Answers the calls of one run. `learn` is told of each result before it is recorded, and again if a crash came between."""

    tools: Mapping[str, Tool]
    journal: ToolJournal
    artifacts: ArtifactStore
    constraints: Constraints
    ask: Ask
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
        self.journal.record(call.id, said.text)
        return said.text

    def _made(self, call: ToolCall) -> Said:
        """Make the call, if it may be made."""
        tool = self.tools.get(call.name)
        if tool is None:
            return _wrong(f"there is no tool {call.name!r}, only {', '.join(self.tools) or 'none at all'}")
        try:
            given = parse_arguments(call.arguments, tool.arguments)
        except BadArguments as error:
            return _wrong(str(error))
        told = self._refusal(call, tool)
        if told is not None:
            return Said(told, "refused")
        if not tool.repeatable:
            self.journal.begin(call.id)
        try:
            return Said(self._run(tool, given, f"{self.journal.task_id}:{call.id}"), "ran")
        except (Parked, GiveBack, StaleLease):
            raise  # not the tool's failure: the run itself stops here
        except Exception as error:
            lost = "; it may have happened all the same" if outcome_unknown(error) else ""
            return _wrong(f"{type(error).__name__}: {error_text(error)[:LONGEST_ERROR]}{lost}")

    def _refusal(self, call: ToolCall, tool: Tool) -> str | None:
        """What the model is told if the call must not be made; None if it may."""
        if not tool.repeatable and self.journal.begun(call.id):
            return refusal(self.ask, question_after(call))  # a person had agreed to it before it began
        return refusal(self.ask, question_for(call, tool)) if needs_word(self.constraints, tool) else None

    def _run(self, tool: Tool, given: dict[str, object], key: str) -> str:
        def again(error: Exception) -> bool:
            return is_transient(error) and (tool.repeatable or not outcome_unknown(error))

        policy = RetryPolicy(self.policy.max_attempts, self.policy.base, self.policy.cap, self.policy.rng, again)
        told = policy.run(lambda: tool(dict(given), key), self.clock, self.deadline)
        return told if isinstance(told, str) else str(told)

    def _shortened(self, call: ToolCall, said: Said) -> Said:
        text = storable_text(said.text)
        if len(text.encode()) <= LONGEST_RESULT:
            return Said(text, said.end)
        kept = self.artifacts.put(text, type=call.name, summary=first_line(text))
        return Said(self.artifacts.excerpt(kept.artifact_id, max_bytes=LONGEST_RESULT), said.end, kept)


def first_line(text: str) -> str:
    """The beginning of a text, for a summary."""
    line = text.strip().partition("\n")[0]
    return line if len(line) <= SUMMARY else f"{line[:SUMMARY]} ..."


def _wrong(what: str) -> Said:
    return Said(f"error: {what}", "failed")
