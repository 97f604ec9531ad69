"""The outside world of the lessons: what it did is in a ledger, and no crash of ours takes it back.

Every call that changes something is written to an effect ledger with its idempotency key. A call repeated with the same key is
answered from the ledger and changes nothing. A call without a key, or under a new one, is a new effect: deploy twice and two containers
run, and both are on the bill. The ledger is the oracle of every check: effects are counted there, never in a program's own words.

Not handled here: losing an answer on the way. That is what the simulator attaches to `hook`.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass
from pathlib import Path
from threading import Lock
from typing import Protocol

from labkit.clock import Clock, SystemClock
from labkit.errors import TerminalError
from labkit.files import DiskFiles

LOCK_SECONDS = 30.0  # nobody holds a ledger for longer than one line takes
Act = Callable[[], str]
Hook = Callable[[str, "str | None", Act], str]  # (what is called, its key, the act) -> its answer


@dataclass(frozen=True)
class Effect:
    """One line of the ledger. `changed` is False when there was nothing to change (deleting what is not there)."""

    name: str
    target: str
    key: str | None
    answer: str
    time: str  # when it happened, ISO text in UTC
    by: str  # the process that called
    changed: bool = True

    def __str__(self) -> str:
        return f"{self.name} {self.target} key={self.key} by {self.by or '?'}"


class Ledger(Protocol):
    """Where effects are kept: they are only ever appended. Whoever looks and then appends does both inside `alone`."""

    def alone(self) -> AbstractContextManager[object]:
        """While this lasts nobody else is inside it, in any thread or process that uses the ledger."""

    def entries(self) -> Sequence[Effect]: ...

    def append(self, effect: Effect) -> None: ...


class MemoryLedger:
    """A ledger that lives as long as this object."""

    def __init__(self, entries: Sequence[Effect] = ()) -> None:
        self._entries = list(entries)
        self._lock = Lock()

    def alone(self) -> AbstractContextManager[object]:
        return self._lock

    def entries(self) -> Sequence[Effect]:
        return self._entries

    def append(self, effect: Effect) -> None:
        self._entries.append(effect)

    def replace(self, entries: Sequence[Effect]) -> None:
        """Start from other entries, for whoever sets the scene."""
        self._entries = list(entries)


class FileLedger:
    """A ledger in a file of its own, one line an effect: it survives the death of every process that wrote to it."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def alone(self) -> AbstractContextManager[object]:
        """A lock file beside the ledger, `path.lock`; it dies with its holder."""
        lock = self.path.with_name(self.path.name + ".lock")
        return DiskFiles().lock(lock, SystemClock(), LOCK_SECONDS)

    def entries(self) -> Sequence[Effect]:
        if not self.path.exists():
            return []
        lines = self.path.read_text(encoding="utf-8").split("\n")
        return [Effect(**json.loads(line)) for line in lines if line]

    def append(self, effect: Effect) -> None:
        line = json.dumps(asdict(effect)) + "\n"
        handle = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        try:
            os.write(handle, line.encode())  # one write: never half a line
        finally:
            os.close(handle)

    def replace(self, entries: Sequence[Effect]) -> None:
        self.path.write_text("".join(json.dumps(asdict(e)) + "\n" for e in entries), encoding="utf-8")


# what a call adds to (+1) or takes from (-1) the world: (kind of resource, change)
CHANGES: dict[str, tuple[str, int]] = {
    "create_dns_record": ("dns_record", 1),
    "delete_dns_record": ("dns_record", -1),
    "issue_certificate": ("certificate", 1),
    "revoke_certificate": ("certificate", -1),
    "create_namespace": ("namespace", 1),
    "delete_namespace": ("namespace", -1),
    "deploy_container": ("container", 1),
    "remove_container": ("container", -1),
    "configure_route": ("route", 1),
    "delete_route": ("route", -1),
    "create_alert": ("alert", 1),
    "delete_alert": ("alert", -1),
    "charge": ("payment", 1),
    "refund": ("payment", -1),
    "send_mail": ("mail", 1),
    "clean_logs": ("cleaning", 1),
}

# a resource that must not go while another one stands on it
HOLDS = {"delete_namespace": "container", "remove_container": "route"}


class Cloud:
    """Calls that change the outside world, each at most once under one key.

    `key=None` means that every call is a new effect. A key that was used for another call is a `TerminalError`, and so is taking away
    a namespace that holds a container or a container that a route points to. Deleting what is not there is a no-op.
    """

    def __init__(self, ledger: Ledger, clock: Clock, *, by: str = "", hook: Hook | None = None) -> None:
        self._ledger, self._clock, self._by = ledger, clock, by
        self._hook: Hook = hook or (lambda label, key, act: act())

    def create_dns_record(self, app: str, key: str | None = None) -> str:
        return self._call("create_dns_record", app, key)

    def delete_dns_record(self, app: str, key: str | None = None) -> str:
        return self._call("delete_dns_record", app, key)

    def issue_certificate(self, app: str, key: str | None = None) -> str:
        return self._call("issue_certificate", app, key)

    def revoke_certificate(self, app: str, key: str | None = None) -> str:
        return self._call("revoke_certificate", app, key)

    def create_namespace(self, app: str, key: str | None = None) -> str:
        return self._call("create_namespace", app, key)

    def delete_namespace(self, app: str, key: str | None = None) -> str:
        return self._call("delete_namespace", app, key)

    def deploy_container(self, app: str, key: str | None = None) -> str:
        return self._call("deploy_container", app, key)

    def remove_container(self, app: str, key: str | None = None) -> str:
        return self._call("remove_container", app, key)

    def configure_route(self, app: str, key: str | None = None) -> str:
        return self._call("configure_route", app, key)

    def delete_route(self, app: str, key: str | None = None) -> str:
        return self._call("delete_route", app, key)

    def create_alert(self, app: str, key: str | None = None) -> str:
        return self._call("create_alert", app, key)

    def delete_alert(self, app: str, key: str | None = None) -> str:
        return self._call("delete_alert", app, key)

    def charge(self, customer: str, key: str | None = None) -> str:
        return self._call("charge", customer, key)

    def refund(self, customer: str, key: str | None = None) -> str:
        return self._call("refund", customer, key)

    def send_mail(self, to: str, key: str | None = None) -> str:
        return self._call("send_mail", to, key)

    def clean_logs(self, host: str, key: str | None = None) -> str:
        return self._call("clean_logs", host, key)

    def check_disk(self, host: str) -> str:
        """Read how full the disk is; leaves no line in the ledger."""
        return self._hook(f"check_disk {host}", None, lambda: "45%" if self.count("clean_logs", host) else "95%, most of it in /var/log")

    def effects(self) -> Sequence[Effect]:
        """All lines of the ledger, oldest first."""
        return self._ledger.entries()

    def count(self, name: str, target: str | None = None) -> int:
        """How many effects of this name there were (those that changed something)."""
        return sum(e.name == name and e.changed and target in (None, e.target) for e in self.effects())

    def resources(self) -> Counter[str]:
        """What exists now: {"container shop": 1, ...}, computed from the ledger."""
        return resources(self.effects())

    def perform(self, name: str, target: str, key: str | None) -> str:
        """Carry a call out now, without the way through the network: what the far side does when a request arrives."""
        with self._ledger.alone():
            return self._perform(name, target, key)

    def _perform(self, name: str, target: str, key: str | None) -> str:
        for old in self.effects():
            if key is not None and old.key == key:
                if (old.name, old.target) != (name, target):
                    raise TerminalError(f"key {key!r} was used for {old.name} {old.target}, not for {name} {target}")
                return old.answer
        kind, change = CHANGES[name]
        there = self.resources()
        self._refuse_if_held(name, target, there)
        changed = change > 0 or there[f"{kind} {target}"] > 0
        answer = f"{kind} {target} {'ready' if change > 0 else 'gone'}"
        self._ledger.append(Effect(name, target, key, answer, self._clock.now().isoformat(), self._by, changed))
        return answer

    def _call(self, name: str, target: str, key: str | None) -> str:
        return self._hook(f"{name} {target}", key, lambda: self.perform(name, target, key))

    def _refuse_if_held(self, name: str, target: str, there: Counter[str]) -> None:
        held_by = HOLDS.get(name)
        if held_by and there[f"{held_by} {target}"] and there[f"{CHANGES[name][0]} {target}"] == 1:
            raise TerminalError(f"{name} {target} refused: a {held_by} still needs it")

    def __repr__(self) -> str:
        return f"<Cloud {len(self.effects())} effects, {sum(self.resources().values())} resources>"


def resources(effects: Sequence[Effect]) -> Counter[str]:
    """What exists after these effects, as {"kind target": how many}."""
    there: Counter[str] = Counter()
    for effect in effects:
        if effect.changed:
            kind, change = CHANGES[effect.name]
            there[f"{kind} {effect.target}"] += change
    return +there
