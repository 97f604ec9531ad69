"""A world whose ledger and clock are held by somebody else: its processes ask over a socket and can change neither by themselves.

The holder carries each effect out itself, with its own reading of keys and of what exists, and writes its own name for the caller. So a process that
rewrites everything it has in its own memory and files can add effects, as any call can, but take none back and alter none. The holder may also kill
the caller as soon as a certain effect has happened: nothing that runs in the process can act between the two.

Not handled here: the database, which is a file or a server that both open (what stands there is asked by the holder), and two processes at the same
time.
"""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

from labkit.cloud import CHANGES, Cloud, Effect, MemoryLedger
from labkit.errors import LabkitError
from labkit.faults.world import World

LATEST = 1e9  # seconds: nobody waits for longer than a life
MOST_ASKED = 1 << 20  # bytes of one question
TEXTS = ("name", "target", "answer", "time", "by")  # of an effect; its key may be anything that an answer gives
Said = dict[str, Any]


class Holder:
    """Answers the processes of a world, one after the other, at the socket `path`, in a thread of its own until `close`.

    `struck(said)` is called with what a process told last when the effect number `kill_at` (1 is the first) has happened, and must end that process.
    """

    def __init__(self, world: World, path: Path) -> None:
        self.world, self.path = world, path
        self.process = ""  # who is running
        self.kill_at: int | None = None
        self.struck: Callable[[Said], object] = lambda said: None
        self._effects = 0
        self._door = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._door.bind(str(path))
        self._door.listen()
        self._thread = threading.Thread(target=self._serve, daemon=True, name="labkit holder")
        self._thread.start()

    def expect(self, process: str, kill_at: int | None, struck: Callable[[Said], object]) -> None:
        """The next process to come: its name, and at which effect it dies."""
        self.process, self.kill_at, self.struck, self._effects = process, kill_at, struck, 0

    def _serve(self) -> None:
        with suppress(OSError):
            while True:
                caller, _ = self._door.accept()
                with caller, suppress(OSError, ValueError, KeyError, TypeError, RecursionError):
                    self._answer(caller)

    def _answer(self, caller: socket.socket) -> None:
        lines = caller.makefile("rb")
        while line := lines.readline(MOST_ASKED):
            answer = self._do(json.loads(line))
            if answer is None:
                return
            caller.sendall(json.dumps(answer).encode() + b"\n")

    def _do(self, asked: Said) -> Any:
        """The answer; None for a caller that is dead."""
        match asked:
            case {"ask": "all"}:
                clock = self.world.clock
                return {"clock": [clock.elapsed, clock.step], "effects": [asdict(one) for one in self.world.ledger.entries()]}
            case {"clock": [int() | float() as elapsed, int() | float() as step]} if 0 <= elapsed < LATEST and abs(step) < LATEST:
                self.world.clock.elapsed, self.world.clock.step = max(self.world.clock.elapsed, elapsed), step
                return {}
            case {"perform": dict(effect), "said": dict(said)} if all(isinstance(effect[name], str) for name in TEXTS):
                return self._perform(Effect(**effect), said)
        raise ValueError("nothing that a process asks")

    def _perform(self, effect: Effect, said: Said) -> Any:
        if effect.name in CHANGES:
            self._effects += 1
            with suppress(LabkitError):
                Cloud(self.world.ledger, self.world.clock, by=self.process).perform(effect.name, effect.target, effect.key)
        else:  # a scene keeps account of something of its own
            self.world.ledger.append(effect)
            return {}
        if self._effects == self.kill_at:
            self.struck(said)
            return None
        return {}

    def close(self) -> None:
        with suppress(OSError):
            self._door.shutdown(socket.SHUT_RDWR)
        self._door.close()
        self._thread.join()


class HeldLedger(MemoryLedger):
    """The ledger as a process of a held world sees it: what was there when it came, and what it did."""

    def __init__(self, path: str, tell: Callable[[], Said]) -> None:
        self._tell = tell
        self._line = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._line.connect(path)
        self._answers = self._line.makefile("rb")
        told = self._ask({"ask": "all"})
        self.elapsed, self.step = told["clock"]
        super().__init__([Effect(**one) for one in told["effects"]])

    def alone(self) -> AbstractContextManager[object]:
        return nullcontext()

    def entries(self) -> Sequence[Effect]:
        return super().entries()

    def append(self, effect: Effect) -> None:
        """Have the holder do it. Whoever is to die of it comes no further."""
        self._ask({"perform": asdict(effect), "said": self._tell()})
        super().append(effect)

    def move(self, elapsed: float, step: float) -> None:
        """Tell the holder what the time is now."""
        self._ask({"clock": [elapsed, step]})

    def _ask(self, asked: Said) -> Any:
        self._line.sendall(json.dumps(asked).encode() + b"\n")
        line = self._answers.readline()
        if not line:
            self.wait_for_the_end()
        return json.loads(line)

    def wait_for_the_end(self) -> None:
        """Do nothing more: the holder kills this process."""
        threading.Event().wait()
