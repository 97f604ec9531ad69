"""One thing that a task tells while it runs, in the form in which it is stored, streamed and shown.

A `completed` or an `error` is terminal: it ends the story. Failed and cancelled tasks both end with `error`. A task that asks a person
is told as `thinking` with the question as message and `PERSON` for a tool, a name that no tool has: whoever knows only the statuses reads on.

Not handled here: the order of updates, and that a task ends once. That is the log's part (see `progress.log`).
"""

from __future__ import annotations

from typing import Literal, get_args

from pydantic import AwareDatetime, BaseModel, ConfigDict

Status = Literal["thinking", "tool_call", "tool_result", "completed", "error"]
STATUSES: tuple[str, ...] = get_args(Status)
TERMINAL = frozenset({"completed", "error"})
PERSON = "a person"


class ProgressUpdate(BaseModel):
    """A step of a task. `total_step` 0 means that nobody knows how many there will be; `time` None, not stored yet."""

    model_config = ConfigDict(frozen=True)

    task_id: str
    step: int
    status: Status
    message: str = ""
    total_step: int = 0
    tool: str = ""
    time: AwareDatetime | None = None

    @property
    def terminal(self) -> bool:
        """Whether nothing comes after it."""
        return self.status in TERMINAL

    @property
    def waiting(self) -> bool:
        """Whether the task is parked from here on until a person answers what `message` asks."""
        return self.status == "thinking" and self.tool == PERSON

    def __repr__(self) -> str:
        of = f"/{self.total_step}" if self.total_step else ""
        return f"<ProgressUpdate {self.task_id} {self.step}{of} {self.status}>"

    __str__ = __repr__
