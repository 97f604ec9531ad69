"""The journal of an agent run: its conversation, and what each tool call gave, durable before the next word goes out.

Messages keep their order, and a tool's result is kept under the id of its call before the model is told of it. So after a crash the run goes on from
its last message, and a call whose result is there is not made again. A message is written after all that this instance has read: when two
processes go on with one run, the first to write goes on and the other gets `StaleJournal`. The first result of a call is the one that stays. A crash
leaves a message or a result whole, or not at all.

Each message says what it cost, so what a run has spent survives its processes too; what was spent on a message that never came is added to the last one.

Not handled here: a crash between a tool's effect and its result. The call is made again then, so the tool gets a key that stays the same; of one that
knows no keys it is written down beforehand each time that it begins, and of two that begin at once one is told that it is not the one (see `calls`).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Engine, select, text
from sqlalchemy.exc import IntegrityError

from labkit.agent.conversation import Message
from labkit.commit import one_commit
from labkit.database import reading, shown
from labkit.errors import StaleJournal, UnstorableValue
from labkit.statement import for_both
from labkit.store.contract import plain_key
from labkit.tables import messages, tool_results

_APPEND = for_both(
    "INSERT INTO messages (task_id, seq, message, tokens, millis) VALUES (:id, :seq, :message, :tokens, :millis) RETURNING seq"
)
# the row of a call that has begun holds no result yet; the first result stays, and is what everybody is given
_RECORD = for_both(
    "INSERT INTO tool_results AS kept (task_id, call_id, result) VALUES (:id, :call, :result) "
    "ON CONFLICT (task_id, call_id) DO UPDATE SET result = coalesce(kept.result, excluded.result) RETURNING result"
)
_BEGIN = for_both(
    "INSERT INTO tool_results (task_id, call_id, result) VALUES (:id, :call, NULL) "
    "ON CONFLICT (task_id, call_id) DO NOTHING RETURNING call_id"
)
# subtle: only where nobody has gone on since, or the holder of the lease would pay for one who has lost it
_SPEND = for_both(
    "UPDATE messages SET tokens = tokens + :tokens, millis = millis + :millis WHERE task_id = :id AND seq = :seq "
    "AND NOT EXISTS (SELECT 1 FROM messages AS later WHERE later.task_id = :id AND later.seq > :seq) RETURNING seq"
)
_COST = text("SELECT sum(tokens), sum(millis) FROM messages WHERE task_id = :id")


@dataclass(frozen=True)
class Cost:
    """What something took: tokens of the model, and milliseconds of a process at work."""

    tokens: int = 0
    millis: int = 0


NOTHING = Cost()


class ToolJournal:
    """The journal of the run `task_id`. `UnstorableValue` for what no store can hold, `StoreBusy`, `StoreFull`."""

    def __init__(self, engine: Engine, task_id: str) -> None:
        self._engine, self.task_id = engine, plain_key("task_id", task_id)
        self._known: list[str] | None = None

    def messages(self) -> list[Message]:
        """The conversation, oldest first; each call gives messages of its own. A new instance reads them anew."""
        return [json.loads(text) for text in self._read()]

    def append(self, message: Mapping[str, Any], cost: Cost = NOTHING) -> None:
        """Append a message and what it cost. `StaleJournal` when another process has appended since this instance read."""
        text = _as_json("message", dict(message))
        known, self._known = self._read(), None  # subtle: whatever stops us here, the next call reads anew
        values = {"id": self.task_id, "seq": len(known) + 1, "message": text, **vars(cost)}
        try:
            with one_commit(self._engine) as execute:
                execute(_APPEND[self._engine.dialect.name], values)
        except IntegrityError as error:
            raise StaleJournal(f"another process has written message {len(known) + 1} of task {self.task_id}") from error
        self._known = [*known, text]

    def spend(self, cost: Cost) -> None:
        """Add what was spent without a message to the last one; nothing where another process has gone on, or has not begun."""
        if cost != NOTHING and (known := self._read()):
            with one_commit(self._engine) as execute:
                execute(_SPEND[self._engine.dialect.name], {"id": self.task_id, "seq": len(known), **vars(cost)})

    def cost(self) -> Cost:
        """What the run has cost so far, in all processes that worked on it."""
        with reading(self._engine) as connection:
            tokens, millis = connection.execute(_COST, {"id": self.task_id}).one()
        return Cost(int(tokens or 0), int(millis or 0))

    def result(self, call_id: str) -> str | None:
        """What the call gave; None when no result was kept, which is not the same as an empty one."""
        row = self._row_of(call_id)
        return None if row is None or row[0] is None else str(json.loads(row[0]))

    def begin_call(self, call_id: str, before: int = 0) -> bool:
        """Write down that the call is about to be made, after `before` times; False when somebody else has just done so."""
        return bool(self._put(_BEGIN, _time(call_id, before), None))

    def begun(self, call_id: str) -> int:
        """How often the call was begun; 1 also for one that has a result."""
        times = 0
        while self._row_of(_time(call_id, times)) is not None:
            times += 1
        return times

    def record(self, call_id: str, text: str) -> None:
        """Keep what the call gave. A second result of one call changes nothing."""
        self.settle(call_id, text)

    def settle(self, call_id: str, text: str) -> str:
        """`record`, and what is kept of the call then: its first result."""
        if not isinstance(text, str):
            raise UnstorableValue(f"result must be text, not {type(text).__name__}", path="result")
        ((kept,),) = self._put(_RECORD, call_id, _as_json("result", text))
        return str(json.loads(kept))

    def _put(self, statement: Mapping[str, str], call_id: str, result: str | None) -> Any:
        values = {"id": self.task_id, "call": plain_key("call_id", call_id), "result": result}
        with one_commit(self._engine) as execute:
            return execute(statement[self._engine.dialect.name], values)

    def _row_of(self, call_id: str) -> Any:
        table = tool_results.c
        query = select(table.result).where(table.task_id == self.task_id, table.call_id == plain_key("call_id", call_id))
        with reading(self._engine) as connection:
            return connection.execute(query).first()

    def _read(self) -> list[str]:
        if self._known is None:
            query = select(messages.c.message).where(messages.c.task_id == self.task_id).order_by(messages.c.seq)
            with reading(self._engine) as connection:
                self._known = list(connection.execute(query).scalars())
        return self._known

    def __repr__(self) -> str:
        return f"<ToolJournal {self.task_id} {shown(self._engine)}>"


def _time(call_id: str, before: int) -> str:
    """The row that stands for one time that a call was begun; the first one gets the result."""
    return f"{call_id}#{before + 1}" if before else call_id


def _as_json(path: str, value: Any) -> str:
    try:
        # subtle: escaped, so that NUL and lone surrogates, which a model or a tool may well say, are text that every database holds
        text = json.dumps(value, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise UnstorableValue(f"{path} cannot be JSON: {error}", path=path) from error
    if json.loads(text) != value:  # a key that is no text, a tuple
        raise UnstorableValue(f"{path} would come back from JSON as something else", path=path)
    return text
