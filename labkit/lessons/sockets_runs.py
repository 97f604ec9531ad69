"""Tables of the lesson's socket: who hears a cancel, what a command does twice and after the end, one whole conversation, and every error.

Each cell is a message over a socket, sent now.

Not handled here: the ways (see `sockets`), and the house (see `sockets_house`).
"""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from typing import Any

from labkit.faults.chart_table import Mark, Table, bad, good, table
from labkit.lessons.sockets import BROKEN, DIED, ELSEWHERE, ENDED, REFUSED, TWICE, adds, counts_up, library, overwrites
from labkit.lessons.sockets_house import COMMANDS, STEPS, Came, Line, Way, tried
from labkit.plural import counted
from labkit.queue import TaskQueue
from labkit.server.app import make_app
from labkit.server.tasks import seen
from labkit.task import TaskState

HERE = "its worker is in the server"
TROUBLES: dict[str, dict[str, Any]] = {
    HERE: {"here": True}, ELSEWHERE: {}, DIED: {"here": True, "dies": True}, ENDED: {"ended": True}, TWICE: {"times": 2}, REFUSED: {"refused": True},
}  # fmt: skip


def wrong(came: Came, command: dict[str, Any], trouble: str) -> str | None:
    """What is wrong with what came of it, or None."""
    house, stored = came.house, came.house.queue.get(came.house.task_id)
    if None in came.replies:
        return "nobody hears it"
    if command["action"] == "amend" and (there := len(house.queue.amendments(stored.id))) > 1:
        return f"{there} amendments"
    if command["action"] == "priority" and stored.priority > 1:
        return f"the priority is {stored.priority}"
    if command["action"] == "cancel" and came.ok and house.done == STEPS:
        return "told ok, and it had completed" if trouble == ENDED else f"told ok, and all {STEPS} steps were done"
    return None


def sent(way: Way | None, command: dict[str, Any], trouble: str) -> Mark:
    """A command in a trouble: what is wrong, or how it went."""
    came = tried(way, command, **TROUBLES[trouble])
    found = wrong(came, command, trouble)
    return bad(found) if found else good(came.house.end() if came.ok else f"refused: {_why(came)}")


def _why(came: Came) -> str:
    said = came.replies[-1]
    return str(said["error"]).replace(f"task {came.house.task_id} ", "it ") if said else "nobody hears it"


def cancels(*ways: Way | None) -> Table:
    """Cancel, behind the second of four steps: where the worker is, and what comes of it."""
    rows = [
        [trouble, *(sent(way, COMMANDS["cancel"], trouble) for way in ways)]
        for trouble in (HERE, ELSEWHERE, DIED, ENDED)
    ]
    return table(
        ["Cancel after 2 of 4", *(way.__name__.replace("_", " ") if way else "the library" for way in ways)], rows
    )


def again() -> Table:
    """Each command twice, as it is sent again when a reply was lost, by a first try and by the library; and after the end."""
    rows: list[list[str | Mark]] = []
    for name, first in (("cancel", overwrites), ("priority", counts_up), ("amend", adds)):
        late = tried(library, COMMANDS[name], ended=True)
        unchanged = not late.ok and late.house.queue.get(late.house.task_id).state == TaskState.COMPLETED
        after = good("refused, nothing changed") if unchanged else bad(late.house.end())
        rows.append([name, *(_twice(way, name) for way in (first, library)), after])
    return table(["", "twice, as one writes it first", "twice", "after the end"], rows)


def _twice(way: Way | None, name: str) -> Mark:
    came = tried(way, COMMANDS[name], times=2)
    house, stored = came.house, came.house.queue.get(came.house.task_id)
    is_now = {
        "cancel": house.end(),
        "priority": f"the priority is {stored.priority}",
        "amend": counted(len(house.queue.amendments(stored.id)), "amendment"),
    }[name]
    return good(is_now) if came.ok and wrong(came, COMMANDS[name], TWICE) is None else bad(is_now)


@dataclass
class Talk:
    """What was said over one socket, and the replies, line by line."""

    queue: TaskQueue
    task_id: str

    def __post_init__(self) -> None:
        self._line, self.lines = Line(make_app(self.queue), self.task_id), list[str]()

    def say(self, action: str, **more: Any) -> None:
        reply = self._line.say(action=action, **more) or {"ok": False, "error": "hung up"}
        self.lines.append(f"> {' '.join([action, *map(str, more.values())])}")
        self.lines.append(f"< {_shortly(reply['task']) if reply['ok'] else 'no: ' + reply['error']}")

    def sees(self) -> None:
        """What a page that looks finds."""
        self.lines.append(f"= {_shortly(seen(self.queue, self.task_id))}")

    def close(self) -> None:
        self._line.close()

    def __repr__(self) -> str:
        return "\n".join(self.lines)

    def _repr_html_(self) -> str:
        return f'<pre style="margin:0;background:none;color:inherit">{escape(repr(self))}</pre>'


def _shortly(task: dict[str, Any]) -> str:
    asks = f", asks: {task['question']}" if task["question"] else ""
    return f"{task['state']}, priority {task['priority']}{asks}"


def errors() -> list[list[str | Mark]]:
    """Every error of this part: a row for the table of the lesson."""
    return [
        [name, sent(way, command, trouble), _sound(command, trouble)]
        for name, (way, trouble, command, _) in BROKEN.items()
    ]


def _sound(command: dict[str, Any], trouble: str) -> Mark:
    found = sent(library, command, trouble)
    return good() if found.verdict == "holds" else found
