"""A queue in virtual time on either database."""

from __future__ import annotations

import pytest
from sqlalchemy import Engine

from labkit.clock import VirtualClock
from labkit.queue import TaskQueue


@pytest.fixture
def queue(engine: Engine, clock: VirtualClock) -> TaskQueue:
    """A queue whose time is the virtual clock's: lease 60 s, three attempts."""
    return TaskQueue(engine, clock=clock, now=clock.now)
