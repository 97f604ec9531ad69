"""The stories of `sse`, as data: what the log holds, what a client asks, and what happens while it listens.

Positions in the log have gaps, as those of a task have in a log that holds many. Each story is there to show one kind of mistake.

Not handled here: playing them (see `sse_play`), and judging (see `sse_rules`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from labkit.progress.update import ProgressUpdate

TASK, PATH = "t-42", "/api/progress"
Entry = tuple[int, ProgressUpdate]
Step = tuple[Any, ...]  # ("add", how many), ("rest",), ("wait", seconds), ("pause",), ("leave",), ("cancel",)
REST, PAUSE, LEAVE, CANCEL = ("rest",), ("pause",), ("leave",), ("cancel",)


def add(number: int = 1) -> Step:
    return ("add", number)


def wait(seconds: float) -> Step:
    return ("wait", seconds)


@dataclass(frozen=True)
class Story:
    """`entries` come into the log one after the other, the first `there` before the client asks. `wants` is the status that must come back.

    `after` is where the client goes on by rights, None where it may also be told nothing. `wrong` is the likely mistake.
    """

    says: str
    entries: Sequence[Entry]
    steps: Sequence[Step] = (REST,)
    there: int = 0
    query: str = f"task_id={TASK}"
    last: str | None = None  # the header Last-Event-ID
    after: int | None = 0
    wants: int = 200
    wrong: str = ""
    fails: bool = False  # the log breaks once all that is in it was read
    task_id: str = TASK

    def wanted(self) -> list[Entry]:
        """The events that the client must be sent, of those that are in the log in the end."""
        number = self.there + sum(step[1] for step in self.steps if step[0] == "add")
        return [entry for entry in self.entries[:number] if entry[0] > (self.after or 0)]


def update(step: int, status: str = "thinking", message: str = "", **more: Any) -> ProgressUpdate:
    return ProgressUpdate(task_id=TASK, step=step, status=status, message=message, total_step=4, **more)  # type: ignore[arg-type]


NOW = datetime(2026, 1, 9, 17, 0, 3, 250_000, UTC)
RUN: Sequence[Entry] = (
    (1, update(1, message="look at the disk")),
    (4, update(2, "tool_call", "check the disk", tool="check_disk", time=NOW)),
    (5, update(2, "tool_result", "97 % in use", tool="check_disk")),
    (12, update(4, "completed", "cleaned")),
)
FAILED: Sequence[Entry] = (*RUN[:2], (7, update(2, "error", "no such disk")))
SHORT: Sequence[Entry] = ((1, update(1, "completed", "nothing to do")),)

LONG: Sequence[Entry] = (*((7 + number, update(4, message="still at it")) for number in range(300)), (900, update(4, "completed")))
NO_ID, UNKNOWN = "does not ask for a task_id", "does not ask whether the task exists"
CHANGED = "changes the task_id before it asks for it"
REQUESTS = (
    Story("no task_id", RUN, there=4, query="", wants=400, wrong=NO_ID),
    Story("an empty task_id", RUN, there=4, query="task_id=", wants=400, wrong=NO_ID),
    Story("a task_id under another name", RUN, there=4, query=f"id={TASK}", wants=400, wrong=NO_ID),
    Story("an unknown task", RUN, there=4, query="task_id=t-43", wants=404, wrong=UNKNOWN),
    Story("an unknown task whose name has a capital", RUN, there=4, query="task_id=T-42", wants=404, wrong=CHANGED),
    Story("an unknown task whose name has a space before it", RUN, there=4, query="task_id=%20t-42", wants=404, wrong=CHANGED),
    Story("an unknown task whose name begins alike", RUN, there=4, query="task_id=t-4", wants=404, wrong=UNKNOWN),
)
ODD_ID = "a b/c&d=ü"
KNOWN = (
    Story("a task that has ended", RUN, there=4),
    Story("a task_id among other fields", RUN, there=4, query=f"x=1&task_id={TASK}&y="),
    Story("a task_id in escapes", RUN, there=4, query="task_id=a%20b%2Fc%26d%3D%C3%BC", task_id=ODD_ID, wrong="does not read the query as a query"),
)
LIVE = (
    Story("updates that come one by one", RUN, (REST, add(), REST, add(), REST, add(), REST, add(), REST)),
    Story("two updates at once", RUN, (REST, add(2), REST, add(2), REST)),
    Story("a late subscriber of a task that runs", RUN, (REST, add(), REST, add(), REST), there=2),
)
ENDS = (
    Story("a task that completes", RUN, (REST, add(4), REST)),
    Story("a task that fails", FAILED, (REST, add(3), REST)),
    Story("a task that had failed", FAILED, there=3),
    Story("a task that says nothing but its end", SHORT, (REST, add(), REST)),
    Story("a task that says the same 300 times", LONG, (REST, add(1), REST), there=300),
)


def _from(last: str, after: int, says: str = "", wrong: str = "") -> Story:
    return Story(says or f"Last-Event-ID {last}", RUN, there=4, last=last, after=after, wrong=wrong)


RESUMES = (
    _from("4", 4),
    _from("1", 1),
    _from("5", 5),
    _from("10", 10),
    _from("0", 0),
    Story("Last-Event-ID 4 while the task runs", RUN, (REST, add(), REST, add(), REST), there=2, last="4", after=4),
    Story("Last-Event-ID 1 while the task runs", RUN, (REST, add(2), REST), there=2, last="1", after=1),
)
SEEN_ALL = (
    Story("Last-Event-ID is the terminal update's", RUN, there=4, last="12", after=12, wrong="an end that was seen already is waited for"),
    Story("Last-Event-ID is behind the terminal update", RUN, there=4, last="15", after=15, wrong="an end that was seen already is waited for"),
)
GARBAGE = "a Last-Event-ID that is no number is not treated as 0"
FRACTION = "reads a Last-Event-ID with a point or an exponent as a position"
GARBAGES = (
    *(_from(text, 0, f"Last-Event-ID {text!r}", GARBAGE) for text in ("", "abc", "4x", "x4", "null", "undefined", "0x4", "4,9", "t-42", "4-9")),
    _from("\xb2", 0, "Last-Event-ID '\xb2'", "takes what isdigit() holds for what int() reads"),
    _from("nan", 0, "Last-Event-ID 'nan'", GARBAGE),
    _from("inf", 0, "Last-Event-ID 'inf'", GARBAGE),
    *(_from(text, 0, f"Last-Event-ID {text!r}", FRACTION) for text in ("4.5", "1e1")),
    _from("-5", 0, wrong="a negative Last-Event-ID is not treated as 0"),
    _from("-12", 0, wrong="a negative Last-Event-ID is not treated as 0"),
    Story("a huge Last-Event-ID", RUN, there=4, last="9" * 30, after=None, wrong="a huge Last-Event-ID breaks the stream"),
    Story("a Last-Event-ID of 5,000 digits", RUN, there=4, last="9" * 5_000, after=None, wrong="a huge Last-Event-ID breaks the stream"),
)
TEXTS = {
    "two lines": "first\nsecond",
    "lines that end like Windows'": "first\r\nsecond\r\n",
    "a carriage return alone": "50 %\r60 %",
    "U+2028 and U+2029": "first\u2028second\u2029third",
    "U+0085, form feed and vertical tab": "first\x85second\x0cthird\x0bfourth\x1c",
    "a NUL": "a\0b",
    "an event in an event": "x\n\nid: 99\ndata: {}\n\n",
    "other letters": "выкачено \U0001f680 ü",
    "quotes and backslashes": 'say "no" \\ \\n \'x\'',
    "spaces around it": "  padded  ",
    "nothing": "",
    "a colon first": ": no comment",
    "a byte order mark": "\ufeffx",
    "20,000 characters": "0123456789" * 2_000,
    "markup": "<b>&amp;</b>",
    "braces and percents": "{0} %s %% {message}",
}
ODD = tuple(
    Story(f"a message with {says}", ((8, update(1, message=text)), (9, update(2, "completed"))), there=2) for says, text in TEXTS.items()
)
SILENCE = (
    Story("two minutes of silence, twice", RUN, (REST, add(), wait(120), add(2), wait(120), add(), REST)),
    Story("two minutes of silence before the first update", RUN, (wait(120), add(4), REST)),
)
ONE, TWO = RUN[:1], RUN[:2]
LEAVES = (
    Story("the client leaves while nothing has come", RUN, (REST, LEAVE)),
    Story("the client leaves after the first update", RUN, (REST, add(), REST, LEAVE)),
    Story("the client leaves after three updates", RUN, (REST, LEAVE), there=3),
    Story("the client is gone before it is answered", RUN, (LEAVE,), there=2),
    Story("the client reads nothing and leaves", RUN, (PAUSE, REST, LEAVE), there=3),
    Story("the client reads one update, then nothing, and leaves", RUN, (REST, PAUSE, add(2), REST, LEAVE), there=1),
    Story("the client leaves as an update comes", RUN, (REST, add(), LEAVE), there=1),
    Story("the client leaves as the terminal update comes", RUN, (REST, add(), LEAVE), there=3),
    Story("the client leaves after a minute of silence", RUN, (wait(65), LEAVE), there=1),
    Story("the client reads nothing of the terminal update and leaves", RUN, (REST, PAUSE, add(), REST, LEAVE), there=3),
)
CANCELS = (
    Story("the server cancels a silent stream", RUN, (REST, CANCEL), there=1),
    Story("the server cancels a stream before its first update", RUN, (REST, CANCEL)),
    Story("the server cancels a stream in the middle of a send", RUN, (PAUSE, REST, CANCEL), there=2),
)
BREAKS = (Story("the log breaks after two updates", RUN, (REST,), there=2, fails=True),)
AT_ONCE = (
    Story("one of two clients at once", RUN, (REST, add(), REST, add(), REST), there=2),
    Story("the other of two clients at once, with Last-Event-ID 4", RUN, (REST, add(), REST, add(), REST), there=2, last="4", after=4),
)
NOT_YET = Story("a task that is created later", RUN, there=4, wants=404, wrong=UNKNOWN, task_id="t-41")
SEVERAL = (NOT_YET, KNOWN[0], RESUMES[1], LIVE[0], REQUESTS[0], GARBAGES[1], REQUESTS[3], ENDS[1], LEAVES[1], KNOWN[0])
