"""One process of `agent`: for each talk a client, tools, a journal and an ear, handed to the answer; and what it did with them, as plain data.

What is told to `on_progress` goes out of the process without a crossing. A terminal update is kept in the world's ledger, so that whoever comes after a crash
finds it: that run is over, and the answer is not called again. A dead process reaches nothing of this.

Not handled here: judging (see `agent_rules`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from errno import EIO, ENOSPC
from functools import partial
from typing import Any

from labkit.agent.journal import ToolJournal
from labkit.checks.agent_journal import FileJournal, ShortJournal
from labkit.checks.agent_talks import FAILING, FILES, TOOLS, Call, Talk, Turn
from labkit.checks.agent_wire import Model, alive, client_for
from labkit.checks.common import called, try_exits
from labkit.checks.naps import naps_of
from labkit.cloud import Effect
from labkit.errors import TerminalError, TransientError
from labkit.faults.fault import Crash
from labkit.faults.outcome import describe_error, plain
from labkit.faults.process import Process
from labkit.progress.update import TERMINAL, ProgressUpdate
from labkit.task import Task

Tool = Callable[[Any, Any], Any]
_handed: list[object] = []  # while these live, nothing that a later process is handed lies where they lie: an address tells nothing
ENDED = "progress"  # the name of a terminal update in the ledger



class Events(list[list[Any]]):
    """What happened in one call of the answer, in order; and the errors that its tools raised."""

    def __init__(self) -> None:
        super().__init__()
        self.raised: list[Exception] = []


class Jammed(Exception):
    """An error of a tool's own."""


ERRORS: dict[str, Callable[[], Exception]] = {
    "nginx": lambda: RuntimeError("permission denied"),
    "cron": lambda: KeyError("cron"),
    "mail": lambda: TransientError("try again later"),
    "dns": lambda: TerminalError("there is no such service"),
    "disk": lambda: OSError(ENOSPC, "No space left on device"),
    "ntp": lambda: TypeError("a number is wanted"),
    "vpn": lambda: RuntimeError(),
    "cups": lambda: Jammed("paper jam", 3),
    "ssh": lambda: ConnectionRefusedError(),
    "smb": lambda: AssertionError(),
}
BREAKS: dict[str, Callable[[], Exception]] = {
    "web-1": lambda: ConnectionResetError("the connection was reset"),
    "web-2": lambda: OSError(EIO, "Input/output error"),
    "web-3": lambda: TimeoutError("no answer in time"),
    "web-4": lambda: TransientError("try again later"),
}  # host -> how the connection breaks after an alert was raised


def tools_for(process: Process, events: Events) -> dict[str, Tool]:
    """The tools of every talk. `events` gets ["run", tool, arguments, key, what it gave or None]."""
    cloud = process.cloud

    def rotate(host: str, key: Any) -> str:
        cloud.clean_logs(host, key=key)
        return ""  # it says nothing, and has happened all the same

    def alert(asked: Any, key: Any) -> str:
        told = cloud.create_alert(asked["host"], key=key)
        if sum(run[1:3] == ["alert", plain(asked)] for run in events) == 1:
            raise BREAKS[asked["host"]]()  # it has happened, and the first time nobody hears of it
        return told

    acts: dict[str, Callable[[Any, Any], str]] = {
        "check_disk": lambda asked, key: cloud.check_disk(asked["host"]),
        "clean_logs": lambda asked, key: cloud.clean_logs(asked["host"], key=key),
        "rotate_logs": lambda asked, key: rotate(asked["host"], key),
        "list_hosts": lambda asked, key: "web-1, web-2",
        "look": lambda asked, key: FILES[asked["file"]] if "file" in asked else f"{asked['host']}: 45% in use",
        "alert": alert,
        FAILING: lambda asked, key: _fail(asked["service"]),
    }
    return {name: _watched(name, acts[name], process, events) for name in TOOLS}


def _fail(service: str) -> str:
    raise ERRORS[service]()


def _watched(name: str, act: Callable[[Any, Any], str], process: Process, events: Events) -> Tool:
    @called(name)
    def tool(arguments: Any, key: Any) -> str:
        alive(process)
        run = ["run", name, plain(arguments), plain(key), None]
        events.append(run)
        if not isinstance(arguments, dict) or not ({"host"} <= arguments.keys() or name == "list_hosts"):
            raise ValueError("which host?")
        try:
            run[4] = given = act(arguments, key)
        except Exception as error:
            events.raised.append(error)
            raise
        return given

    return tool


def ear_for(talk: Talk, process: Process, events: Events) -> Callable[[Any], None]:
    """The `on_progress` of a talk. `events` gets ["update", status, task, tool]."""

    def on_progress(update: Any) -> None:
        alive(process)
        if not isinstance(update, ProgressUpdate):
            events.append(["update", "", type(update).__name__, ""])
            return
        process.note(update.status, update.tool)
        events.append(["update", update.status, update.task_id, update.tool])
        if update.status in TERMINAL:
            now, by = process.world.clock.now().isoformat(), process.gate.process
            process.world.ledger.append(Effect(ENDED, talk.task_id, None, update.status, now, by, changed=False))

    return on_progress


def over(talk: Talk, process: Process) -> bool:
    """Whether some process has told the end of this run."""
    return any((effect.name, effect.target) == (ENDED, talk.task_id) for effect in process.world.ledger.entries())


def play(
    talks: Sequence[Talk], run: Any, process: Process, *, in_database: bool = False, same_ids: bool = False, seam: bool = False
) -> list[dict[str, Any]]:
    """Call the answer for each talk that is not over, and tell what it did."""
    kind = ShortJournal if in_database else partial(FileJournal, seam=seam)
    return [_play(talk, run, process, kind(process, talk.task_id), in_database, same_ids) for talk in talks]


def _play(
    talk: Talk, run: Any, process: Process, journal: ShortJournal | FileJournal, gated: bool, same_ids: bool
) -> dict[str, Any]:
    if over(talk, process):
        return {"over": True, "journal": journal.kept()[0]}
    events, asked = Events(), list[list[Any]]()
    messages, results = journal.kept()
    tools = tools_for(process, events)
    given = dict(tools)
    client = client_for(process, Model(talk, process, asked, same_ids=same_ids), gated=gated)
    task = Task(talk.task_id, talk.user_input)
    _handed.append((tools, journal, task))
    with naps_of(process, passing=False):
        ended = _how(lambda: run(client, tools, journal, task, ear_for(talk, process, events)), events)
    process.note("run_agent", "raised" if ended["error"] else "returned")
    return {
        **ended,
        "over": False,
        "found": {"messages": messages, "results": results},
        "events": events,
        "asked": asked,
        "journal": journal.kept()[0],
        "kept": tools == given,
    }


def _how(call: Callable[[], Any], events: Events) -> dict[str, Any]:
    """How a call ended. What is no Exception goes through. An error that a tool raised is no slip of the answer, wherever it came out."""
    try:
        return {"value": plain(call()), "error": None}
    except Crash:
        raise
    except Exception as error:
        told = {**describe_error(error), "data": {}}
        if any(error is one for one in events.raised):
            told.pop("line", None)
        return {"value": None, "error": told}


def leave(run: Any, process: Process) -> list[list[Any]]:
    """Each exit, raised by a tool and by the wire: KeyboardInterrupt, SystemExit, a cancellation and others."""
    told: list[list[Any]] = []
    for place in ("tool", "wire"):
        number = iter(range(100))

        def call(leaves: Callable[..., Any], place: str = place, number: Any = number) -> Any:
            turns = (Turn(None, (Call("look", '{"host": "web-1"}'),)), Turn("done"))
            talk = Talk(f"exit-{place}-{next(number)}", turns)
            return _leave(talk, place, leaves, run, process)

        told += try_exits(call)
    return told


def _leave(talk: Talk, place: str, leaves: Callable[..., Any], run: Any, process: Process) -> Any:
    events = Events()
    tools = tools_for(process, events)
    if place == "tool":
        tools["look"] = leaves
    answer: Any = leaves if place == "wire" else Model(talk, process, [], same_ids=False)
    client = client_for(process, answer, gated=False)
    journal: ToolJournal = FileJournal(process, talk.task_id)
    value = run(client, tools, journal, Task(talk.task_id, talk.user_input), ear_for(talk, process, events))
    return plain(value)


def body_of(talks: Sequence[Talk], **how: Any) -> Callable[[Any, Process], Any]:
    """What one process does with an answer (see `common.body`)."""
    return partial(play, talks, **how)
