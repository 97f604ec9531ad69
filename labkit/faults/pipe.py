"""Reading a pipe with patience: by `select` where that works on pipes, by a thread elsewhere.

Not handled here: what the bytes mean (see `nursery`).
"""

from __future__ import annotations

import os
import queue
import select
import threading
from typing import IO


class SelectedPipe:
    """The read end of a pipe, on a system that can wait for it."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor: int | None = descriptor

    def read(self, patience: float) -> bytes | None:
        """What is there, b"" at the end, None when nothing came in `patience` real seconds."""
        if self._descriptor is None:
            return b""
        if not select.select([self._descriptor], [], [], patience)[0]:
            return None
        return os.read(self._descriptor, 1 << 16)

    def close(self) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None


class ThreadedPipe:
    """The same with a thread that waits."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._parts: queue.SimpleQueue[bytes] = queue.SimpleQueue()
        self._stream = stream
        self._thread = threading.Thread(target=self._copy, daemon=True, name="labkit pipe")
        self._thread.start()

    def _copy(self) -> None:
        while part := os.read(self._stream.fileno(), 1 << 16):
            self._parts.put(part)
        self._parts.put(b"")

    def read(self, patience: float) -> bytes | None:
        """What is there, b"" at the end, None when nothing came in `patience` real seconds."""
        try:
            return self._parts.get(timeout=patience)
        except queue.Empty:
            return None

    def close(self) -> None:
        """Called when the writer has ended, so that the thread has too."""
        self._thread.join()
        self._stream.close()
