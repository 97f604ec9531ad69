"""How many bytes are written when each snapshot holds all results so far.

`in_each` keeps the outputs of all steps in every checkpoint: the bytes grow with the square of the steps, until one step works
and its checkpoint is refused. `as_artifacts` keeps each output once, and in the checkpoint its id.

Not handled here: which results a model is shown (a lesson of its own).
"""

from __future__ import annotations

from collections.abc import Callable

from labkit.agent.artifacts import ArtifactStore
from labkit.clock import VirtualClock
from labkit.database import open_engine
from labkit.faults import End, Process, Scenario
from labkit.faults.chart_table import Table, bad, good, table
from labkit.lessons.checkpoints import TASK, keeper_of
from labkit.lessons.checkpoints_cost import Meter, size
from labkit.lessons.story import APP
from labkit.tables import create_tables
from labkit.task import Task, TaskState

LINES, MANY = 800, 50  # lines of a log; steps of a long run
RUNNING = Task(TASK, f"roll out {APP}", TaskState.RUNNING)
Keep = Callable[[ArtifactStore, str], str]


def log_of(step: int) -> str:
    """What a tool prints: 24 kB."""
    return f"web-{step:02} pulled a layer of shop\n" * LINES


def in_each(artifacts: ArtifactStore, output: str) -> str:
    """The whole output, in this checkpoint and in all that follow. Breaks in a long run."""
    return output


def as_artifacts(artifacts: ArtifactStore, output: str) -> str:
    """The output goes into the artifact store, and its id into the checkpoint."""
    return artifacts.put(output, type="log", summary=f"{LINES} layers").artifact_id


def long_run(keep: Keep) -> Scenario:
    """Fifty steps with an output each. Breaks when a step works and its checkpoint is refused."""

    def body(process: Process) -> int:
        artifacts, keeper, outputs = ArtifactStore(process.engine), keeper_of(process, "every_step"), dict[str, str]()
        for step in range(1, MANY + 1):
            outputs[f"step {step}"] = keep(artifacts, log_of(step))
            keeper.maybe_save(RUNNING, "every_step", extra={"outputs": outputs})
            process.note("saved", str(step))
        return len(outputs)

    return Scenario(f"long_run.{keep.__name__}", body, [every_step_is_saved])


def every_step_is_saved(end: End) -> str | None:
    """An invariant: no step is done and then not saved."""
    error = end.last.error["type"] if end.last.how == "raised" else None
    return f"step {len(end.notes) + 1} worked, and its checkpoint is refused: {error}" if error else None


def growth(steps: tuple[int, ...] = (10, 20, 40)) -> Table:
    """Bytes written in a run of so many steps, by the two ways; in red where they grow faster than the outputs."""
    rows: list[list[object]] = []
    for count in steps:
        outputs = sum(len(log_of(step)) for step in range(count))
        mine = [bytes_written(keep, count) for keep in (in_each, as_artifacts)]
        marked = [(bad if total > 2 * outputs else good)(size(total)) for total in mine]
        rows.append([count, size(outputs), *marked])
    return table(["steps", "their outputs", "all outputs in each checkpoint", "each output once"], rows)


def bytes_written(keep: Keep, steps: int) -> int:
    """What a run writes, artifacts and checkpoints together."""
    clock, engine = VirtualClock(), open_engine("sqlite://")
    create_tables(engine)
    meter, outputs, kept = Meter(clock), dict[str, str](), 0
    for step in range(steps):
        outputs[f"step {step}"] = keep(ArtifactStore(engine), log_of(step))
        kept += len(log_of(step)) if keep is as_artifacts else 0
        meter.append(TASK, {"outputs": outputs})
    engine.dispose()
    return kept + meter.bytes
