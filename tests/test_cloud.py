"""The cloud: at most one effect under one key, whoever calls at the same time."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from threading import Thread

import pytest

from labkit.clock import VirtualClock
from labkit.cloud import Cloud, FileLedger, Ledger, MemoryLedger
from labkit.errors import TerminalError

ONE_BREATH = 0.2  # real seconds in which the other caller would get through, if nothing held it back


class MeetingClock(VirtualClock):
    """Asked for the time in the middle of a call, it lets another caller in and gives it a while to get through."""

    def __init__(self, other: Callable[[], object]) -> None:
        super().__init__()
        self.other = Thread(target=other)

    def now(self) -> datetime:
        self.other.start()
        self.other.join(ONE_BREATH)
        return super().now()


@pytest.fixture(params=["memory", "file"])
def ledger(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[], Ledger]:
    """What gives each caller the ledger: a file is opened by each, as other processes do."""
    memory = MemoryLedger()
    return lambda: memory if request.param == "memory" else FileLedger(tmp_path / "ledger.jsonl")


def test_two_at_once_under_one_key_are_one_effect(ledger: Callable[[], Ledger]) -> None:
    """Whoever comes while the first is at it waits, and is answered from the ledger."""
    answers: list[str] = []
    clock = MeetingClock(lambda: answers.append(Cloud(ledger(), VirtualClock()).charge("ann", key="k")))
    answers.append(Cloud(ledger(), clock).charge("ann", key="k"))
    clock.other.join()
    assert 1 == Cloud(ledger(), VirtualClock()).count("charge")
    assert ["payment ann ready"] * 2 == answers


def test_a_refusal_lets_the_next_one_in(ledger: Callable[[], Ledger]) -> None:
    """A call that is refused holds nobody back."""
    cloud = Cloud(ledger(), VirtualClock())
    cloud.charge("ann", key="k")
    with pytest.raises(TerminalError):
        cloud.refund("ann", key="k")
    assert "payment ann gone" == cloud.refund("ann", key="other")


def test_odd_line_ends_in_a_ledger(tmp_path: Path) -> None:
    """A target that an editor would break over two lines is one line of the ledger."""
    ledger = FileLedger(tmp_path / "ledger.jsonl")
    Cloud(ledger, VirtualClock()).charge("ann\u2028bo\x85\n", key="k")
    assert ["ann\u2028bo\x85\n"] == [effect.target for effect in ledger.entries()]
