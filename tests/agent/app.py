"""An agent for the tests that start real processes: a scripted model, a database named by DATABASE_URL and a ledger of effects named by LEDGER."""

from __future__ import annotations

import os
from pathlib import Path

from labkit.agent.cloud_tools import disk_tools
from labkit.agent.loop import Agent
from labkit.agent.model import open_client
from labkit.agent.script import Message, calls, results, says
from labkit.clock import SystemClock
from labkit.cloud import Cloud, FileLedger
from labkit.database import open_engine


def cleans(messages: list[Message]) -> Message:
    """Cleans once, says so."""
    return says("web-1 is clean") if results(messages) else calls(("clean_logs", {"host": "web-1"}))


clock = SystemClock()
tools = disk_tools(Cloud(FileLedger(Path(os.environ["LEDGER"])), clock))
agent = Agent("ops", open_engine(os.environ["DATABASE_URL"]), open_client(cleans, environ={}), tools, clock)
