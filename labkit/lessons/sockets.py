"""Chapter 21, control of a running task: ways to obey what a page says over its socket, each sound at first sight.

A way gets the message and returns what the page is told. `library` is the server's own. Every other one is broken on purpose, under what its docstring says:
`BROKEN` holds each with the trouble that breaks it, and what is wrong then.

Not handled here: the house in which they are tried (see `sockets_house`), and questions that outlive their worker (see `approvals`).
"""

from __future__ import annotations

from typing import Any

from sqlalchemy import update

from labkit.database import writing
from labkit.lessons.sockets_house import COMMANDS, House, Way
from labkit.tables import tasks
from labkit.task import TaskState


def flag(house: House, said: dict[str, Any]) -> dict[str, Any]:
    """Sets a flag in memory, and the worker looks at it between two steps. Breaks where the worker is another process: there nobody sets it."""
    house.server_memory.add(said["action"])
    return {"ok": True}


def overwrites(house: House, said: dict[str, Any]) -> dict[str, Any]:
    """Writes the state into the row. Breaks when it comes after the end: all was done, and the task says that it was cancelled."""
    with writing(house.queue.engine) as connection:
        connection.execute(update(tasks).where(tasks.c.id == house.task_id).values(state=TaskState.CANCELLED.value))
    return {"ok": True}


def counts_up(house: House, said: dict[str, Any]) -> dict[str, Any]:
    """A click is one more than what stands there. Breaks when it arrives twice: one click counts two."""
    queue = house.queue
    queue.set_priority(house.task_id, queue.get(house.task_id).priority + 1)
    return {"ok": True}


def adds(house: House, said: dict[str, Any]) -> dict[str, Any]:
    """Adds what it hears. Breaks when it arrives twice: the agent is told to do it, and then to do it again."""
    house.queue.amend(house.task_id, said["text"])
    return {"ok": True}


def hangs_up(house: House, said: dict[str, Any]) -> dict[str, Any]:
    """Lets an error go through. Breaks on the first refusal: the socket is gone, and with it what is said next."""
    getattr(house.queue, said["action"])(house.task_id)
    return {"ok": True}


library: Way | None = None  # the server's own application

CANCEL, UP, MORE = COMMANDS["cancel"], COMMANDS["priority"], COMMANDS["amend"]
ELSEWHERE, DIED, ENDED = "its worker is another process", "its worker died, and another has it", "it has ended"
TWICE, REFUSED = "it arrives twice", "something else was refused before"
BROKEN: dict[str, tuple[Way, str, dict[str, Any], str]] = {  # error -> way, trouble, command, what is wrong
    "a flag in memory": (flag, ELSEWHERE, CANCEL, "told ok, and all 4 steps were done"),
    "a cancel that looks at nothing": (overwrites, ENDED, CANCEL, "told ok, and it had completed"),
    "one more each time": (counts_up, TWICE, UP, "the priority is 2"),
    "an amendment without a number": (adds, TWICE, MORE, "2 amendments"),
    "an error ends the socket": (hangs_up, REFUSED, CANCEL, "nobody hears it"),
}
