"""Agent workflows that survive crashes, timeouts and second workers: the names that lessons and answers use.

`import labkit` loads nothing but this table: each name brings its module when it is first asked for.

Not handled here: anything else. Library code imports from the module that defines a name.
"""

from importlib import import_module
from typing import Any

__version__ = "0.1.0"

_ERRORS = [
    "LabkitError", "TransientError", "TerminalError", "CallTimeout", "UsageError", "RetriesExhausted", "DeadlineExceeded",
    "TaskNotFound", "StaleTask", "InvalidTransition", "UnstorableValue", "StoreBusy", "StoreCorrupt", "StaleLease", "QueueFull", "StoreFull",
    "CheckpointNotFound", "CheckpointExpired", "CheckpointCorrupt", "CheckpointNotResumable", "StaleCheckpoint", "StaleJournal", "BudgetTooSmall",
    "ValueTooLarge", "ArtifactNotFound", "StaleState", "StateNotFound", "BadArguments", "ModelUnavailable", "ModelRefused", "BudgetExhausted",
    "StaleSaga", "SagaFailed", "CompensationFailed", "PostgresUnavailable", "TaskCancelled", "WaitTimeout",
]

_HOME = {  # name -> module, in the order in which a reader meets them
    "Task": "task",
    "TaskState": "task",
    "StateStore": "store",
    "Clock": "clock",
    "SystemClock": "clock",
    "VirtualClock": "clock",
    "Cloud": "cloud",
    **dict.fromkeys(["TaskQueue", "Lease", "Job", "GiveBack", "Ask", "Worker", "WorkerPool"], "queue"),
    **dict.fromkeys(["ProgressUpdate", "ProgressLog"], "progress"),
    **dict.fromkeys(["Checkpoint", "CheckpointManager", "CheckpointStore"], "checkpoint"),
    **dict.fromkeys(["AgentState", "StatePatch", "Fact", "Artifact", "ContextSlice"], "agent.state"),
    "ArtifactStore": "agent.artifacts",
    "ToolJournal": "agent.journal",
    **dict.fromkeys(["AgentStates", "KeptState"], "agent.states"),
    **dict.fromkeys(["Saga", "SagaStep", "SagaLog", "run_saga", "saga_step"], "saga"),
    "write_transaction": "database",
    **dict.fromkeys(["Trace", "TraceEvent"], "invariants"),
    "Scenario": "faults",
    "sweep": "faults",
    "search": "faults",
    "kill": "faults",
    "check": "lab",
    "show": "lab",
    "hint": "lab",
    **dict.fromkeys(_ERRORS, "errors"),
}

__all__ = sorted(_HOME)


def __getattr__(name: str) -> Any:
    """Import the module that `name` lives in, once, and hand the name on."""
    if name not in _HOME:
        raise AttributeError(f"module 'labkit' has no attribute {name!r}")
    value = getattr(import_module(f"labkit.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
