"""One deployment, whoever sees it through: its steps, hands that do them and die where they are told to, and what goes over the wire for it.

The hands are the same for each engine, and know nothing of it. A crossing is `<call>.<side>`, such as `configure_route.after`, where its process dies by
SIGKILL: `before` the effect; `after` it, when it stands in the ledger and nobody has recorded it; `after-record`, which is seen at the database's
driver. So both engines die at the same moments, and neither is asked for it.

Not handled here: the engines (see `engines_ways`), and who starts their processes again (see `engines_runs`).
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from threading import get_ident
from typing import Any

from labkit.clock import SystemClock
from labkit.cloud import Act, Cloud, FileLedger
from labkit.errors import TerminalError, TransientError
from labkit.faults.child import SIGKILL

APP = "shop"
SECRET = "hunter2"
Steps = dict[str, tuple[str, str]]
Make = Callable[[str, str, str], str]  # (call, app, key) -> the cloud's answer
STEPS: Steps = {  # name -> what makes it, and what takes it back
    "container": ("deploy_container", "remove_container"),
    "route": ("configure_route", "delete_route"),
    "dns_record": ("create_dns_record", "delete_dns_record"),
    "alert": ("create_alert", "delete_alert"),
}
STEP_FIRST: Steps = {"certificate": ("issue_certificate", "revoke_certificate"), **STEPS}  # another team's change
RENAMED: Steps = {"web": STEPS["container"], **{name: calls for name, calls in STEPS.items() if name != "container"}}
SIDES = ("before", "after", "after-record")
CROSSINGS = tuple(f"{do}.{side}" for do, _ in STEPS.values() for side in SIDES)
FORTY: Steps = {f"step {n:02}": ("clean_logs", "") for n in range(1, 41)}
BEGIN, END = 10, 30  # the steps of forty between which is counted: nothing begins there, and nothing ends
COUNTED = END - BEGIN


class FullZone(Cloud):
    """A far side on which no DNS record can be made, and which says so with all that it knows."""

    def perform(self, name: str, target: str, key: str | None) -> str:
        if name == "create_dns_record":
            raise TerminalError(f"{name} {target} refused: the zone of token {SECRET} is full")
        return super().perform(name, target, key)


class ShyZone(Cloud):
    """A far side that has no time for a DNS record when it is asked first."""

    asked = 0

    def perform(self, name: str, target: str, key: str | None) -> str:
        self.asked += name == "create_dns_record"
        if name == "create_dns_record" and self.asked == 1:
            raise TransientError(f"{name} {target}: too many requests")
        return super().perform(name, target, key)


FAR_SIDES: dict[str, type[Cloud]] = {far.__name__: far for far in (Cloud, FullZone, ShyZone)}


class Wire:
    """What a process sends to PostgreSQL, seen at the driver, thread by thread. `dies` is a thread that ends with its next committed write."""

    def __init__(self) -> None:
        import psycopg

        self.sent: list[tuple[int, str]] = []
        self.dies: int | None = None
        self._wrote: set[int] = set()
        execute, commit = psycopg.Cursor.execute, psycopg.Connection.commit

        def executed(cursor: Any, query: Any, *rest: Any, **named: Any) -> Any:
            found = execute(cursor, query, *rest, **named)
            word = str(query).split(maxsplit=1)[0].strip(";") if str(query).strip() else ""
            self._note(word.upper() or "PING", cursor.connection.autocommit)
            return found

        def committed(connection: Any) -> None:
            commit(connection)
            self._note("COMMIT", True)

        # subtle: for the rest of this process, which is a child that does one job
        psycopg.Cursor.execute = executed  # type: ignore[method-assign,assignment]
        psycopg.Connection.commit = committed  # type: ignore[method-assign,assignment]

    def note(self, what: str) -> None:
        """Something else that this thread has done."""
        self.sent.append((get_ident(), what))

    def _note(self, word: str, committed: bool) -> None:
        self.note(word)
        if word == "INSERT":
            self._wrote.add(get_ident())
        if committed and get_ident() in self._wrote:
            self._wrote.discard(get_ident())
            if word != "COMMIT":
                self.note("COMMIT")
            if self.dies == get_ident():
                os.kill(os.getpid(), SIGKILL)  # crash here: the record is there, and nothing has come after it

    def between(self, begin: str, end: str) -> list[str]:
        """What the thread that noted both has sent between them."""
        thread = next(ident for ident, what in self.sent if what == begin)
        words = [what for ident, what in self.sent if ident == thread]
        return [word for word in words[words.index(begin) : words.index(end)] if not word.startswith("call")]


class Hands:
    """The cloud in the hands of one process, which dies at its crossing. Without `keys` each call is a new effect."""

    def __init__(self, ledger: str, *, by: str, crossing: str = "", keys: bool = True, far_side: str = "Cloud", count: bool = False) -> None:
        self.keys, self._crossing, self.calls = keys, crossing, list[str]()
        self.wire = Wire() if count or crossing.endswith("after-record") else None
        self._cloud = FAR_SIDES[far_side](FileLedger(Path(ledger)), SystemClock(), by=by, hook=self._call)

    def act(self, call: str, app: str, key: str) -> str:
        """What a step does."""
        answer: str = getattr(self._cloud, call)(app, key=key if self.keys else None)
        return answer

    def sent(self) -> list[str]:
        """What went over the wire for the steps in the middle of forty, where somebody counts."""
        return self.wire.between(f"call {BEGIN}", f"call {END}") if self.wire and len(self.calls) == len(FORTY) else []

    def _call(self, label: str, key: str | None, act: Act) -> str:
        call = label.split()[0]
        self.calls.append(call)
        self._pass(f"{call}.before")
        if self.wire is not None:
            self.wire.note(f"call {len(self.calls)}")
        answer = act()
        self._pass(f"{call}.after")
        if self.wire is not None and self._crossing == f"{call}.after-record":
            self.wire.dies = get_ident()
        return answer

    def _pass(self, crossing: str) -> None:
        if crossing == self._crossing:
            os.kill(os.getpid(), SIGKILL)
