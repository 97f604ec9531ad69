"""The journals that an answer to `agent` is given: tool journals with few places to die in.

One keeps each word by a statement that commits by itself, so that a sweep has one crossing where the library's own has three, and just as many states to leave
behind. The other keeps the conversation in a file of the world and crosses nothing, or only where the model has spoken: for cases in which it
matters little when the process dies.

Not handled here: two processes with one run (the library's journal fences them).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from labkit.agent.journal import ToolJournal
from labkit.checks.agent_wire import alive
from labkit.checks.saga_log import at_once
from labkit.errors import UnstorableValue
from labkit.faults.process import Process

Message = dict[str, Any]
MESSAGES = "SELECT message FROM messages WHERE task_id = :id ORDER BY seq"
APPEND = "INSERT INTO messages (task_id, seq, message) VALUES (:id, :seq, :message)"
RESULT = "SELECT result FROM tool_results WHERE task_id = :id AND call_id = :call"
RECORD = "INSERT INTO tool_results (task_id, call_id, result) VALUES (:id, :call, :result) ON CONFLICT (task_id, call_id) DO NOTHING"


class ShortJournal(ToolJournal):
    """A journal in the database: a statement and a commit are one crossing."""

    def __init__(self, process: Process, task_id: str) -> None:
        super().__init__(process.engine, task_id)
        self._process = process
        self._said: list[str] | None = None

    def messages(self) -> list[Message]:
        return [json.loads(text) for text in self._texts()]

    def append(self, message: Mapping[str, Any], *cost: Any) -> None:
        text = _as_json("message", dict(message))
        known, self._said = self._texts(), None
        at_once(self._engine, APPEND, {"id": self.task_id, "seq": len(known) + 1, "message": text})
        self._said = [*known, text]

    def result(self, call_id: str) -> str | None:
        rows = at_once(self._engine, RESULT, {"id": self.task_id, "call": call_id})
        return None if not rows else str(json.loads(rows[0][0]))

    def record(self, call_id: str, text: str) -> None:
        at_once(self._engine, RECORD, {"id": self.task_id, "call": call_id, "result": json.dumps(_text(text))})

    def kept(self) -> tuple[list[Message], list[str]]:
        """The messages and the ids of the calls with a result, read past the gate."""
        rows = self._process.world.rows()
        said = sorted(
            (row for row in rows.get("messages", ()) if row["task_id"] == self.task_id), key=lambda row: row["seq"]
        )
        results = [row["call_id"] for row in rows.get("tool_results", ()) if row["task_id"] == self.task_id]
        return [json.loads(row["message"]) for row in said], results

    def _texts(self) -> list[str]:
        if self._said is None:
            self._said = [row[0] for row in at_once(self._engine, MESSAGES, {"id": self.task_id})]
        return self._said


class FileJournal(ToolJournal):
    """A journal in a file of the world, written at once and as a whole. With a `seam` a process can die where it writes what the model has said."""

    def __init__(self, process: Process, task_id: str, *, seam: bool = False) -> None:
        self.task_id, self._process, self._seam = task_id, process, seam
        self._path = process.world.files_folder / f"journal_{task_id}.json"

    def messages(self) -> list[Message]:
        said: list[Message] = self._load()["messages"]
        return said

    def append(self, message: Mapping[str, Any], *cost: Any) -> None:
        kept = self._load()
        kept["messages"].append(json.loads(_as_json("message", dict(message))))
        if self._seam and message.get("role") == "assistant":
            self._process.gate.cross("file", "append what the model said", lambda: self._keep(kept))
        else:
            self._keep(kept)

    def result(self, call_id: str) -> str | None:
        found: str | None = self._load()["results"].get(call_id)
        return found

    def record(self, call_id: str, text: str) -> None:
        kept = self._load()
        kept["results"].setdefault(call_id, _text(text))
        self._keep(kept)

    def kept(self) -> tuple[list[Message], list[str]]:
        """The messages and the ids of the calls with a result."""
        kept = self._load()
        return kept["messages"], list(kept["results"])

    def _load(self) -> dict[str, Any]:
        alive(self._process)
        found: dict[str, Any] = (
            json.loads(self._path.read_text()) if self._path.exists() else {"messages": [], "results": {}}
        )
        return found

    def _keep(self, kept: dict[str, Any]) -> None:
        alive(self._process)
        text = json.dumps(kept)
        self._path.write_text(text)

    def __repr__(self) -> str:
        return f"<ToolJournal {self.task_id}>"


def _text(text: Any) -> str:
    if not isinstance(text, str):
        raise UnstorableValue(f"result must be text, not {type(text).__name__}", path="result")
    return text


def _as_json(path: str, value: Any) -> str:
    try:
        return json.dumps(value, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise UnstorableValue(f"{path} cannot be JSON: {error}", path=path) from error
