"""Waiting for another agent's progress: two ways to subscribe, of which one sleeps through the news.

A subscription tells of changes after it began. So an agent that reads first, and then subscribes, is never told of what happens in between, and
waits for ever; one that subscribes first, and then reads, has it either in what it reads or in what it is told.

Not handled here: what a subscription costs the server (see `mcp_server.watch`).
"""

from __future__ import annotations

from labkit.agent.state import StatePatch
from labkit.agent.states import AgentStates
from labkit.errors import WaitTimeout
from labkit.faults import End, Process, Scenario
from labkit.faults.scenario import Body
from labkit.lessons.shared_state import AGENT, TASK, begin

PATIENCE = 5  # looks of the server without news, until the agent gives up


class Subscription:
    """What the server does for a subscriber: it remembers the version at the beginning, and tells when it is another."""

    def __init__(self, process: Process) -> None:
        self._process = process
        self._told = self._version()

    def wait(self) -> None:
        """Until there is news. `WaitTimeout` when none comes."""
        for _ in range(PATIENCE):
            if (now := self._version()) != self._told:
                self._told = now
                return
            self._process.clock.sleep(1.0)
        raise WaitTimeout("no news came, and the plan is not done")

    def _version(self) -> int | None:
        return AgentStates(self._process.engine).version(AGENT, TASK)


def is_done(process: Process) -> bool:
    return not AgentStates(process.engine).get(AGENT, TASK).state.plan


def reads_then_subscribes(process: Process) -> str:
    """Look, and if it is not done wait to be told. Breaks when it is done between the two."""
    if not is_done(process):
        Subscription(process).wait()
    return "goes on"


def subscribes_then_reads(process: Process) -> str:
    """The same two lines in the other order."""
    news = Subscription(process)
    if not is_done(process):
        news.wait()
    return "goes on"


def finishes(process: Process) -> None:
    """The other agent takes the last step off the plan."""
    AgentStates(process.engine).patch(AGENT, TASK, StatePatch(plan=[]))


def everybody_hears(end: End) -> str | None:
    """An invariant: nobody waits for what has happened."""
    deaf = [outcome.process for outcome in end.outcomes if outcome.how != "returned"]
    return f"{deaf[0]} waits for what has happened" if deaf else None


def waiting(way: Body) -> Scenario:
    """One agent finishes, the other waits for it."""
    return Scenario(f"waiting.{way.__name__}", [finishes, way], [everybody_hears], begin)
