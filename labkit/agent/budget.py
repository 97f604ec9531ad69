"""What a run has spent and what it may spend: it is warned when four fifths of something are gone, and stopped when all of it is.

Spent is what the journal says, over all processes that worked on the run, so neither a crash nor a restart gives a budget anew. Time is time at work: a
run that waits for a person overnight has spent nothing, but one that waits for its model has. An attempt that ends without a message, since the model did
not answer, has spent what it took. The stop comes between two turns, so every effect that was made is recorded. No wait for a model is longer than the
time that is left: the task goes back to the queue instead, or is stopped there.

Not handled here: what an attempt spent between its last message and its death, which nobody knows; the wait in the queue before another attempt; bytes of
artifacts, which bound what is shown instead of stopping the run (see `sent`); and the deadline of the task.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from labkit.agent.conversation import Message, turns
from labkit.agent.journal import Cost
from labkit.agent.state import Budget
from labkit.clock import Clock
from labkit.deadline import Deadline
from labkit.errors import BudgetExhausted

PRESSURE = 0.8
UNDER_PRESSURE = "budget_pressure"
EXHAUSTED = "budget_exhausted"


def used(messages: Sequence[Message], cost: Cost, budget: Budget) -> Mapping[str, float]:
    """The part of each budget that is spent, 1.0 for all of it."""
    spent = {
        "max_steps": (turns(messages), budget.max_steps),
        "max_wall_time_ms": (cost.millis, budget.max_wall_time_ms),
        "max_llm_tokens": (cost.tokens, budget.max_llm_tokens),
    }
    return {name: done / most if most else 1.0 for name, (done, most) in spent.items()}


def pressed(parts: Mapping[str, float]) -> bool:
    """Whether something is nearly used up."""
    return any(part >= PRESSURE for part in parts.values())


def stop_if_spent(parts: Mapping[str, float], budget: Budget) -> None:
    """Raise `BudgetExhausted` (`budget`) for the first one that is used up."""
    for name, part in parts.items():
        if part >= 1.0:
            raise BudgetExhausted(f"the run has used up {name}={getattr(budget, name)}", budget=name)


def time_left(budget: Budget, cost: Cost, clock: Clock, deadline: Deadline | None) -> Deadline:
    """When to wait no longer: the run's time or the task's is over, whichever comes first."""
    own = Deadline.after((budget.max_wall_time_ms - cost.millis) / 1000, clock)
    return own if deadline is None or own.remaining() < deadline.remaining() else deadline
