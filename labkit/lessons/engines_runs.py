"""Deployments on both engines, in real processes that are really killed and started again, on one PostgreSQL; and what is left of each.

A yard has a database of its own and a warm parent that forks each process; nothing of DBOS is loaded here. A run is begun by a process that dies at its
crossing, and finished by a second one, which is started when the first one is gone. Each run is made once.

Not handled here: what the processes do (see `engines_ways`), and what is shown of it (see `engines_views`).
"""

from __future__ import annotations

import atexit
import shutil
import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import Any

from labkit.cloud import CHANGES, Effect, FileLedger, resources
from labkit.errors import LabkitError, UsageError
from labkit.faults.child import SIGKILL
from labkit.faults.folder import new_folder
from labkit.faults.nursery import Nursery
from labkit.lessons.engines import APP, CROSSINGS, STEP_FIRST, STEPS, Steps
from labkit.postgres import fresh_database

ENGINES = ("labkit", "DBOS")
SECONDS = 120.0  # in which a process must have ended
AT_ONCE = 5  # processes; each of DBOS holds six connections of the hundred that a server has
MANY, MOST = 100, 50  # deployments that are handed in, and how many may wait
OVER = ("completed", "SUCCESS")
UNDER_WAY = "create_dns_record.before"  # two of four steps are recorded
LOST = "configure_route.after"  # the effect is there, its record is not
UNDOING = "delete_route.after"
MISSING = "this lesson needs DBOS, which is not installed here; in the checkout: python -m pip install '.[engine,postgres]'"

What = dict[str, Any]
_open: list[Yard] = []


@dataclass(frozen=True)
class Run:
    """What is left of a deployment: how its last process said that it ended, the ledger, what that process called and sent."""

    engine: str
    end: str
    effects: tuple[Effect, ...] = ()
    calls: tuple[str, ...] = ()
    sent: tuple[str, ...] = ()
    name: str = ""
    error: str = ""  # the name of what the run ended with

    @property
    def twice(self) -> list[str]:
        """The effects that happened more than once."""
        return [call for call, count in Counter(effect.name for effect in self.effects).items() if count > 1]

    @property
    def there(self) -> str:
        """What exists of the application."""
        found = resources([effect for effect in self.effects if effect.target == APP])
        kinds = [CHANGES[do][0] for do, _ in STEP_FIRST.values()]
        counts = {kind: found[f"{kind} {APP}"] for kind in kinds}
        return ", ".join(kind if count == 1 else f"{count} {kind}s" for kind, count in counts.items() if count) or "nothing"

    def wrong(self, promised: Steps = STEPS) -> bool:
        """Whether not all is there after a good end, or anything after another one."""
        wanted = ", ".join(CHANGES[do][0] for do, _ in promised.values()) if self.end in OVER else "nothing"
        return self.there != wanted


@dataclass(frozen=True)
class Change:
    """What a team changed while a deployment was under way. With `back` the old code is started once more in the end."""

    engine: str
    what: str
    how: str
    first: What = field(default_factory=dict)
    second: What = field(default_factory=dict)
    back: bool = False
    promised: Steps = field(default_factory=lambda: STEPS)

    def ends_well(self, run: Run) -> bool:
        """Whether the run is over, and all is there that its code asks for."""
        return run.end in OVER and not run.wrong(self.promised)

    def left(self, run: Run) -> str:
        """What there is, and what is not there though the run says that all is well."""
        kinds = [CHANGES[do][0] for do, _ in self.promised.values()]
        missing = [kind for kind in kinds if run.end in OVER and kind not in run.there]
        return run.there + (f"; no {', '.join(missing)}" if missing else "")


FIRST, NAMED, PINNED = "a step comes first", "a step is renamed", "version pinned"
BY_SOURCE: What = {"pinned": False}
NEW: What = {"way": "certificate_first"}
WAITING: What = {"then": "kiosk", **NEW, **BY_SOURCE}
CHANGES_MADE = {
    "as it comes": Change("DBOS", FIRST, "as it comes", BY_SOURCE, WAITING, promised=STEP_FIRST),
    "old code": Change("DBOS", FIRST, "then the old code again", BY_SOURCE, WAITING, back=True),
    "pinned": Change("DBOS", FIRST, PINNED, {}, NEW, promised=STEP_FIRST),
    "one name": Change("DBOS", FIRST, f"{PINNED}, one step function", {"way": "one_name"}, {"way": "one_name_first"}, promised=STEP_FIRST),
    "patch": Change("DBOS", FIRST, f"{PINNED}, as a patch", {}, {"way": "patched"}),
    "renamed": Change("DBOS", NAMED, PINNED, {}, {"way": "renamed"}),
    "labkit": Change("labkit", FIRST, "as it comes", {}, {"steps": "STEP_FIRST"}, promised=STEP_FIRST),
    "labkit, renamed": Change("labkit", NAMED, "as it comes", {}, {"steps": "RENAMED"}),
}


class Yard:
    """Both engines on one database; see `begin`."""

    def __init__(self) -> None:
        self._stack, self._lock, self._runs = ExitStack(), threading.Lock(), dict[str, Run]()
        self.url = self._stack.enter_context(fresh_database()).url
        self._folder = new_folder()
        self._stack.callback(shutil.rmtree, self._folder, ignore_errors=True)
        self._nursery = Nursery(["labkit.lessons.engines_ways"])
        self._stack.callback(self._nursery.close)
        atexit.register(self.close)
        for engine in ENGINES:
            self.process(engine, "prepare")

    def close(self) -> None:
        """Nobody is left at work, and the database is gone."""
        atexit.unregister(self.close)
        self._stack.close()

    def __enter__(self) -> Yard:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return "PostgreSQL, with the tables of labkit and those of DBOS"

    def process(self, engine: str, what: str, *, dies: bool = False, **how: Any) -> What:
        """One process from its start to its end; what it reported. It must have been killed if it `dies`, and only then."""
        child = self._nursery.start(f"labkit.lessons.engines_ways:{what}_{engine.lower()}", url=self.url, **how)
        try:
            reports = list(child.reports(SECONDS, SECONDS))
        except TimeoutError:
            child.kill()
            child.wait()
            raise
        if (child.wait() == -SIGKILL) != dies or (not dies and "failed" in reports[-1]):
            raise LabkitError(f"{engine} {what} {how}: {reports}")
        return {} if dies else dict(reports[-1])

    def run(self, engine: str, crossing: str = "", *, first: What | None = None, second: What | None = None, back: bool = False, **hands: Any) -> Run:
        """A deployment whose first process dies at this crossing; a second one has time, and with `back` the code of the first one comes a third time."""
        known = str((engine, crossing, first, second, back, sorted(hands.items())))
        with self._lock:
            if known in self._runs:
                return self._runs[known]
            name = f"{engine.lower()}-{len(self._runs)}"
            self._runs[known] = Run(engine, "under way", name=name)
        lives = [(crossing, first)] if crossing else []
        lives += [("", second), *([("", first)] if back else [])]
        ledger, found = self._folder / name, What()
        for number, (dies, what) in enumerate(lives, 1):
            how = {"by": f"process {number}", "crossing": dies, **hands}
            found = self.process(engine, "play", dies=bool(dies), name=name, ledger=str(ledger), how=how, **(what or {}))
        made = Run(engine, found["end"], tuple(FileLedger(ledger).entries()), tuple(found["calls"]), tuple(found["sent"]), name, found.get("error", ""))
        with self._lock:
            self._runs[known] = made
        return made

    def together(self, *asked: What) -> list[Run]:
        """Several runs at a time, each as `run` takes it; in the order in which they are asked for."""
        with ThreadPoolExecutor(AT_ONCE) as pool:
            made = [pool.submit(self.run, **one) for one in asked]
        return [run.result() for run in made]

    def everywhere(self, *, keys: bool) -> dict[str, dict[str, Run]]:
        """Engine -> crossing -> the run that is killed there."""
        runs = iter(self.together(*({"engine": engine, "crossing": at, "keys": keys} for engine in ENGINES for at in CROSSINGS)))
        return {engine: {at: next(runs) for at in CROSSINGS} for engine in ENGINES}

    def changes(self, *ways: str) -> list[tuple[Change, Run]]:
        """Each of these changes, by default all, and how the deployment that was under way ended."""
        chosen = [CHANGES_MADE[way] for way in ways or CHANGES_MADE]
        asked = ({"engine": one.engine, "crossing": UNDER_WAY, "first": one.first, "second": one.second, "back": one.back} for one in chosen)
        return list(zip(chosen, self.together(*asked), strict=True))


def begin() -> Yard:
    """A yard, and the one before is closed. `UsageError`, which says what to install, where there is no DBOS."""
    if find_spec("dbos") is None:
        raise UsageError(MISSING)
    while _open:
        _open.pop().close()
    _open.append(Yard())
    return _open[0]
