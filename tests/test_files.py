"""The file port on the real disk."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from labkit.clock import SystemClock, VirtualClock
from labkit.errors import StoreBusy
from labkit.files import DiskFiles

FILES = DiskFiles()


def test_read_and_write(tmp_path: Path) -> None:
    """Bytes come back as they went, a write truncates, and what is not there is None."""
    path = tmp_path / "file"
    assert FILES.read(path) is None
    assert not FILES.exists(path)
    for data in (b"a\r\nb\x00\x1a" * 300_000, b"", b"short"):
        FILES.write(path, data)
        FILES.fsync(path)
        assert data == FILES.read(path)
    assert FILES.exists(path)


def test_replace_and_remove(tmp_path: Path) -> None:
    """Replace takes the place of the old file; removing what is not there is fine."""
    old, new = tmp_path / "old", tmp_path / "new"
    FILES.write(old, b"old")
    FILES.write(new, b"new")
    FILES.replace(new, old)
    FILES.fsync(tmp_path)
    assert (b"new", False) == (FILES.read(old), FILES.exists(new))
    FILES.remove(old)
    FILES.remove(old)
    assert not FILES.exists(old)


def test_other_errors_are_told(tmp_path: Path) -> None:
    """Only a missing file is None."""
    with pytest.raises(OSError):
        FILES.read(tmp_path)


def test_short_writes_are_finished(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A system that takes a few bytes at a time gets all of them."""
    write = os.write
    monkeypatch.setattr(os, "write", lambda descriptor, data: write(descriptor, data[:3]))
    FILES.write(tmp_path / "file", b"0123456789")
    assert b"0123456789" == FILES.read(tmp_path / "file")


def test_lock_keeps_others_out(tmp_path: Path, clock: VirtualClock) -> None:
    """The lock waits on the clock until its timeout, then StoreBusy; afterwards it is free, also after an error."""
    path = tmp_path / "lock"
    with FILES.lock(path, clock, 0):
        with pytest.raises(StoreBusy), FILES.lock(path, clock, 2):
            pytest.fail("two holders")
        assert clock.monotonic() == 2.0
    with pytest.raises(KeyboardInterrupt), FILES.lock(path, clock, 0):
        raise KeyboardInterrupt
    with FILES.lock(path, clock, 0):
        pass


def test_lock_waits_for_its_holder(tmp_path: Path) -> None:
    """Who waits gets the lock when the holder lets go."""
    path, got = tmp_path / "lock", []

    def waiter() -> None:
        with FILES.lock(path, SystemClock(), 30):
            got.append("waiter")

    with FILES.lock(path, SystemClock(), 0):
        thread = threading.Thread(target=waiter)
        thread.start()
        got.append("holder")
    thread.join()
    assert ["holder", "waiter"] == got


def test_no_long_pause_of_a_waiter(tmp_path: Path) -> None:
    """Who has waited for seconds still sees within a twentieth of one that the lock is free, and does not spin."""
    path, free_at, sleeps = tmp_path / "lock", 3.0, []
    held = FILES.lock(path, SystemClock(), 0)

    class Watch(VirtualClock):
        def sleep(self, seconds: float) -> None:
            sleeps.append(seconds)
            if self.elapsed < free_at <= self.elapsed + seconds:
                held.__exit__(None, None, None)
            super().sleep(seconds)

    clock = Watch()
    held.__enter__()
    with FILES.lock(path, clock, 5):
        assert free_at <= clock.elapsed <= free_at + 0.05
    assert len(sleeps) < 70


def test_lock_dies_with_its_holder(tmp_path: Path, clock: VirtualClock) -> None:
    """A killed process leaves no lock behind."""
    path = tmp_path / "lock"
    program = (
        "import sys; from pathlib import Path; from labkit.clock import SystemClock; from labkit.files import DiskFiles\n"
        f"with DiskFiles().lock(Path({str(path)!r}), SystemClock(), 0): print('held', flush=True); sys.stdin.read()"
    )
    child = subprocess.Popen([sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert child.stdout is not None
    assert b"held" == child.stdout.readline().strip()
    with pytest.raises(StoreBusy), FILES.lock(path, clock, 0):
        pass
    child.kill()
    child.wait()
    with FILES.lock(path, clock, 0):
        pass
    child.communicate()
