"""The conversations of `agent`, as data: what the model says in each turn, and what becomes of a run in which it says that.

A turn is a final answer, a few calls, or a failure of the endpoint. What the model says hangs on how often it has spoken in the conversation that it
is sent, and on nothing else.

Not handled here: the endpoint (see `agent_wire`), the tools (see `agent_play`), and what must hold (see `agent_rules`).
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

MOST_TURNS = 10
EFFECTS = {"clean_logs": "clean_logs", "rotate_logs": "clean_logs", "alert": "create_alert"}  # tool -> its effect in the ledger
FAILING = "restart"
FAILURES = ("nginx", "cron", "mail", "dns", "disk", "ntp", "vpn", "cups", "ssh", "smb")  # services; each fails in a way of its own
BROKEN_OFF = ("web-1", "web-2", "web-3", "web-4")  # hosts of which an alert is raised, and the connection breaks
TOOLS = ("check_disk", "clean_logs", "rotate_logs", "list_hosts", "look", "alert", FAILING)


@dataclass(frozen=True)
class Call:
    """A call as the model writes it. `good` says that its tool is there, can read its arguments, and gives a result."""

    tool: str
    arguments: str
    good: bool = True

    @property
    def read(self) -> Any:
        return json.loads(self.arguments)

    @property
    def effect(self) -> tuple[str, str] | None:
        """What a good call leaves in the ledger, as (name, target)."""
        return (EFFECTS[self.tool], self.read["host"]) if self.good and self.tool in EFFECTS else None


def on(tool: str, host: str, **more: Any) -> Call:
    """A good call of this tool for a host."""
    return Call(tool, json.dumps({"host": host, **more}))


def bad(tool: str, arguments: str) -> Call:
    """A call that can only be answered with an error."""
    return Call(tool, arguments, good=False)


@dataclass(frozen=True)
class Turn:
    """What the model says at one point. `fails` is what the endpoint does instead: a status, refused or timeout; `once` only the first time."""

    text: str | None = None
    calls: tuple[Call, ...] = ()
    fails: str = ""
    once: bool = False


@dataclass(frozen=True)
class Talk:
    """One run. `ends` is completes, fails or either; an error that it should not end with says `why`. The last turn is said again for ever.

    The calls of the tenth turn and of those after it need not be made.
    """

    name: str
    turns: tuple[Turn, ...]
    ends: str = "completes"
    why: str = "fails on its own"
    user_input: str = "Make room on web-1"

    @property
    def task_id(self) -> str:
        return f"task-{self.name}"

    @property
    def answer(self) -> str | None:
        return self.turns[-1].text

    @property
    def calls(self) -> list[Call]:
        """All calls that the model asks for, in order."""
        return [call for turn in self.turns for call in turn.calls]

    @property
    def late(self) -> list[Call]:
        """The calls that need not be made."""
        return [call for turn in self.turns[MOST_TURNS - 1 :] for call in turn.calls]

    @property
    def optional(self) -> Counter[tuple[str, str]]:
        """The effects that may be there or not."""
        return Counter(call.effect for call in self.late if call.effect)

    @property
    def effects(self) -> Counter[tuple[str, str]]:
        """The effects of all its calls."""
        return Counter(call.effect for call in self.calls if call.effect)


def _talks(name: str, *calls: Call, why: str) -> Talk:
    """These calls in one message, with a good one after them."""
    return Talk(name, (Turn(None, (*calls, on("look", "web-1"))), Turn("done")), why=why)


NO_OBJECT = "malformed arguments end the run"
NO_TOOL = "an unknown tool ends the run"
TOOL_FAILS = "a tool's own exception ends the run"
MODEL_FAILS = "fails after an error in passing"

ODD = (
    on("look", "web-2", depth=0, force=False, note="", since=None, tags=[], options={}),
    on("look", "web-3", above=0.5, below=1.0, much=12_345_678_901_234_567_890, twice=True, note=" as it is "),
)  # whose arguments do not survive being looked at as true or false, or as texts
FILES = {
    "motd": ' Grüße \u2713,\n\t"web-1" is at 45\u202f% \n',
    "lock": "",
    "count": "0",
    "state": "null",
    "log": "all is well; " * 1600,
}  # what is in the files that a model can read
DISK = Talk(
    "disk",
    (
        Turn(None, (on("check_disk", "web-1"),)),
        Turn("I make room", (on("clean_logs", "web-1"),)),
        Turn(None, (on("check_disk", "web-1"),)),
        Turn("45% in use, all is well"),
    ),
    user_input='Räume "web-1" auf,\nplease',
)
SWEPT = Talk("swept", (Turn(None, (on("rotate_logs", "web-1"),)), Turn("rotated")))
LATER = Talk(
    "later",
    (
        Turn(None, (on("clean_logs", "web-1"), on("clean_logs", "web-2"))),
        Turn("Three more", (on("clean_logs", "web-3"), on("clean_logs", "web-4"), on("clean_logs", "web-5"))),
        Turn("cleaned"),
    ),
)
BATCH = Talk(
    "batch",
    (
        Turn("All three", (on("clean_logs", "web-1"), on("clean_logs", "web-2"), on("clean_logs", "web-1"))),
        Turn("cleaned"),
    ),
)
BAD = (
    _talks("empty", bad("clean_logs", ""), why=NO_OBJECT),
    _talks("null", bad("clean_logs", "null"), why=NO_OBJECT),
    _talks("list", *(bad("clean_logs", text) for text in ("[1]", "[]", '[["host", "web-1"]]')), why=NO_OBJECT),
    _talks("cut", *(bad("clean_logs", text) for text in ('{"host": "we', '{"host": "web-1"} {"host": "web-2"}')), why=NO_OBJECT),
    _talks("number", bad("clean_logs", "7"), why=NO_OBJECT),
    _talks("text", bad("clean_logs", '"web-1"'), why=NO_OBJECT),
    _talks("unknown", bad("drop_tables", '{"host": "web-1"}'), why=NO_TOOL),
    _talks(
        "raises",
        *(bad(FAILING, json.dumps({"host": "web-1", "service": one})) for one in FAILURES),
        why=TOOL_FAILS,
    ),
)
LATE = _talks("fails-late", *(on("alert", host) for host in BROKEN_OFF), why=TOOL_FAILS)
FALSY = (
    Talk(
        "no-arguments",
        (Turn(None, (Call("list_hosts", "{}"),)), Turn("two hosts")),
        why="an empty object is taken for malformed",
    ),
    Talk("no-answer", (Turn(""),), why="an empty answer is taken for none"),
    Talk(
        "many",
        (
            Turn(None, tuple(on("look", f"web-{n}") for n in range(1, 2 * MOST_TURNS + 1))),
            Turn(None, (on("look", "web-0"),)),
            Turn("done"),
        ),
        why="calls are counted, not messages",
    ),
    Talk("no-text", (Turn("", (on("look", "web-1", days=[1, 2], note="grün"), *ODD)), Turn(" done: 98\u202f%, grün \u2713\n"))),
    Talk("read", (Turn(None, tuple(on("look", "web-1", file=file) for file in FILES)), Turn("read"))),
)
TENTH = Talk(
    "tenth",
    (*(Turn(None, (on("look", f"web-{n}"),)) for n in range(1, MOST_TURNS)), Turn("at last")),
    why="gives up before the tenth message",
)
ENDLESS = Talk(
    "endless",
    (
        *(
            Turn(None, (on("clean_logs" if n in (3, MOST_TURNS) else "look", f"web-{n}"),))
            for n in range(1, MOST_TURNS + 3)
        ),
        Turn("I could have gone on for ever"),  # nobody should hear it
    ),
    ends="fails",
)
NO_MODEL = (
    *(Talk(f"fails-{kind}", (Turn(fails=kind),), ends="fails") for kind in ("500", "400", "refused", "timeout")),
    Talk("fails-later", (Turn(None, (on("look", "web-1"),)), Turn(fails="500")), ends="fails"),
    Talk("fails-once", (Turn("done", fails="500", once=True),), ends="either", why=MODEL_FAILS),
)


def calls_in(messages: list[dict[str, Any]]) -> Iterator[tuple[str, str]]:
    """(id, name) of each call in a conversation, in order."""
    for message in messages:
        for call in message.get("tool_calls") or ():
            yield str(call.get("id")), str((call.get("function") or {}).get("name"))
