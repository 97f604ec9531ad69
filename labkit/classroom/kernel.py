"""One kernel of a rebuilt notebook, heard with patience and without trust.

Whatever the code in it does, "is it done?" is answered in bounded time: a kernel that died is noticed when it dies, one that floods is heard to
the end and kept up to a limit, one that does not stop is killed. What the kernel replies to a cell is kept beside what it shows. The kernel lives
in the box; this side does not, and takes nothing from there but messages of plain data, none larger than `LARGEST`.

Not handled here: what a cell's end means (see `guard`), and starting (see `kernels`).
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Sequence
from queue import Empty
from typing import Any

import zmq
from jupyter_client.blocking.client import BlockingKernelClient
from nbval.kernel import RunningKernel  # type: ignore[import-untyped]

from labkit.classroom.kernels import Kernels, NoKernel
from labkit.clock import SystemClock
from labkit.errors import LabkitError

LARGEST = 16 << 20  # bytes of one part of a message
MOST_KEPT = 200_000  # characters of one cell's outputs
MOST_MESSAGES = 2_000  # of one cell
SETTLE = 5.0  # seconds that a kernel has to say that it is idle, once it has replied or was interrupted
START = 30.0  # seconds until a kernel answers at all
AGAIN = 0.5  # seconds after which it is asked again: what it publishes before it knows of us is lost
RECONNECT = 10  # milliseconds
CLOCK = SystemClock()


class KernelDied(LabkitError):
    """The kernel ended."""


class KernelSilent(LabkitError):
    """The kernel did not say that it was done."""


class Kernel(RunningKernel):  # type: ignore[misc]
    """What nbval asks of a kernel."""

    def __init__(self, kernels: Kernels, preload: Sequence[str]) -> None:
        self._kernels = kernels
        address: Any
        self._number, address = kernels.start(preload)
        self.kc: Any = BlockingKernelClient(context=zmq.Context())
        self.kc.context.setsockopt(zmq.MAXMSGSIZE, LARGEST)
        self.kc.context.setsockopt(zmq.RECONNECT_IVL, RECONNECT)
        self.kc.load_connection_info(address)
        self.kc.start_channels(hb=False, stdin=False, control=False)
        self.reply: dict[str, Any] = {}  # to the cell that was run last
        self._asked = ""
        self._forget()
        try:
            self._greet()
        except KernelDied:
            raise NoKernel("the kernel ended while it started") from None

    def _greet(self) -> None:
        """Ask until it answers and we hear what it publishes."""
        give_up = CLOCK.monotonic() + START
        while CLOCK.monotonic() < give_up:
            self._forget()
            self._asked = self.kc.kernel_info()
            while not self.reply and CLOCK.monotonic() < give_up:
                self._listen(give_up)
            again = CLOCK.monotonic() + AGAIN
            while CLOCK.monotonic() < again:
                if self._heard:
                    return
                self._listen(again)
        self.stop()
        raise NoKernel("the kernel does not answer")

    def _forget(self) -> None:
        """Nothing was heard yet of the cell to come."""
        self._heard: deque[dict[str, Any]] = deque()
        self._kept = self._messages = 0
        self.reply, self._until, self.late = {}, 0.0, False

    def execute_cell_input(self, cell_input: str, allow_stdin: bool | None = None) -> str:
        self._forget()
        self._asked = super().execute_cell_input(cell_input, allow_stdin=allow_stdin)
        return self._asked

    def await_reply(self, msg_id: str, timeout: float | None = None) -> None:
        """Wait for the reply to a cell. Raises `Empty` when its time is over, `KernelDied` as soon as the kernel is dead."""
        give_up = CLOCK.monotonic() + (START if timeout is None else timeout)
        try:
            while not self.reply:
                if CLOCK.monotonic() >= give_up:
                    self.late = True
                    raise Empty
                self._listen(give_up)
        finally:
            self._until = CLOCK.monotonic() + SETTLE

    def get_message(self, stream: str, timeout: float | None = None) -> dict[str, Any]:
        """The next message of the cell. Raises `Empty` when the kernel has not said within its time that it is idle, however much it says."""
        while not self._heard:
            if CLOCK.monotonic() >= self._until:
                raise Empty
            self._listen(self._until)
        return self._heard.popleft()

    def await_idle(self, parent_id: str, timeout: float) -> None:
        """Wait until the kernel says that the cell is done. Raises `KernelSilent`."""
        try:
            super().await_idle(parent_id, timeout)
        except Empty:
            raise KernelSilent from None

    def _listen(self, until: float) -> None:
        """Take in what comes next, from the kernel or about it."""
        poller = zmq.Poller()
        shell, published = self.kc.shell_channel.socket, self.kc.iopub_channel.socket
        for one in (shell, published, *([self._kernels.descriptor] if self.is_alive() else [])):
            poller.register(one, zmq.POLLIN)
        left = max(0.0, until - CLOCK.monotonic())
        ready = {one for one, _ in poller.poll(math.ceil(left * 1000) if self.is_alive() else 0)}
        if published in ready:
            self._keep(self._message(published))
        if shell in ready:
            self._take_reply(self._message(shell))
        if self._kernels.descriptor in ready:
            self._kernels.hear()
        elif not ready and not self.is_alive():
            raise KernelDied

    def _message(self, socket: Any) -> dict[str, Any]:
        """One message, empty for one that cannot be understood."""
        try:
            parts = socket.recv_multipart(zmq.NOBLOCK)
            _, parts = self.kc.session.feed_identities(parts)
            message: dict[str, Any] = self.kc.session.deserialize(parts)
            known = all(isinstance(message.get(part), dict) for part in ("parent_header", "content", "header"))
            return message if known and message["parent_header"].get("msg_id") == self._asked else {}
        except (ValueError, TypeError, AttributeError, KeyError, RecursionError, zmq.ZMQError):
            return {}

    def _take_reply(self, message: dict[str, Any]) -> None:
        if message and not self.reply:
            self.reply = {"status": "none", **message["content"]}

    def _keep(self, message: dict[str, Any]) -> None:
        """Keep a message of the cell, and of what is too much only what says how the cell ended."""
        if not message:
            return
        self._messages += 1
        self._kept += len(str(message["content"]))
        idle = message["content"].get("execution_state") == "idle"
        full = self._kept > MOST_KEPT or self._messages > MOST_MESSAGES
        if not full or ((idle or message.get("msg_type") == "error") and len(self._heard) < 2 * MOST_MESSAGES):
            self._heard.append(message)

    def is_alive(self) -> bool:
        alive: bool = self._kernels.runs(self._number)
        return alive

    def interrupt(self) -> None:
        self._kernels.interrupt(self._number)

    def stop(self) -> None:
        """End it, if it has not ended. May be called again."""
        self._kernels.kill(self._number)
        if not self.kc.context.closed:
            self.kc.stop_channels()
            self.kc.context.destroy(linger=0)

    def __repr__(self) -> str:
        return f"<Kernel {self._number} {'running' if self.is_alive() else 'ended'}>"
