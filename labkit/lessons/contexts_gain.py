"""What the choice of context gains, step by step: all results so far, the whole state with names for results, and what `select_context` picks.

The tokens are those that the scripted model's `usage` would say of the one message that is sent in this step. Each step prints a result and tells
four facts. The content of this step's artifact goes along as an excerpt in the two lean ways.

Not handled here: what a conversation adds to that (see `contexts`).
"""

from __future__ import annotations

from collections.abc import Callable

from labkit.agent.context import select_context
from labkit.agent.script import completion, says
from labkit.agent.sent import SLICE_BYTES
from labkit.agent.state import AgentState, Artifact, Fact
from labkit.faults.chart_table import Mark, Table, bad, good, table
from labkit.lessons.contexts import PerStep, Run, per_step
from labkit.lessons.contexts_cut import as_sent

STEPS = 40
FACTS = 4  # that a step finds out
EXCERPT = 1_000
SIZES = (200, 2_000, 20_000)
Context = Callable[[AgentState, int, int], str]


def result_of(step: int, wide: int) -> str:
    """What the tool of a step prints."""
    return (f"web-{step} nginx: GET /cart 200, 31 ms\n" * (wide // 30 + 1))[:wide]


def state_after(steps: int, wide: int) -> AgentState:
    """The state when so many steps are done."""
    facts = [
        Fact(key=f"web-{step} {what}", value="45% of 20 GB", source="check_disk")
        for step in range(1, steps + 1)
        for what in ("disk", "inodes", "memory", "load")[:FACTS]
    ]
    artifacts = [
        Artifact(artifact_id=f"{step:032x}", type="log", summary="nginx error log", bytes=wide, step=f"step {step}")
        for step in range(1, steps + 1)
    ]
    return AgentState(goal="find out why shop is down", known_facts=facts, artifacts=artifacts)


def all_results(state: AgentState, step: int, wide: int) -> str:
    """Everything that tools have printed so far."""
    return "\n".join([state.goal, *(result_of(one, wide) for one in range(1, step + 1))])


def whole_state(state: AgentState, step: int, wide: int) -> str:
    """The state as it is, with the names of all results, and an excerpt of this one."""
    return f"{state.model_dump_json()}\n{as_sent(result_of(step, wide), EXCERPT)}"


def selected(state: AgentState, step: int, wide: int) -> str:
    """What fits and is needed most, and an excerpt of this result."""
    chosen = select_context(state, f"step {step}", SLICE_BYTES)
    return f"{chosen.model_dump_json()}\n{as_sent(result_of(step, wide), EXCERPT)}"


WAYS: tuple[Context, ...] = (all_results, whole_state, selected)


def tokens(way: Context, step: int, wide: int) -> int:
    """What the question of this step costs."""
    message = {"role": "user", "content": way(state_after(step, wide), step, wide)}
    return int(completion(says("go on"), [message], "scripted")["usage"]["prompt_tokens"])


def curve(wide: int = 2_000, steps: int = STEPS) -> PerStep:
    """Tokens of each question, the three ways under each other."""
    runs = tuple(
        Run(way.__name__.replace("_", " "), tuple(tokens(way, step, wide) for step in range(1, steps + 1)), "")
        for way in WAYS
    )
    return per_step(runs, f"How many tokens each question costs, when a step prints {wide:,} bytes")


def gains(steps: tuple[int, ...] = (1, 5, 10, 20, 40)) -> Table:
    """By how much the selection is cheaper than all results, for results of several sizes."""
    rows = [[f"{wide:,} bytes", *(_gain(step, wide) for step in steps)] for wide in SIZES]
    return table(["a step prints", *(f"step {step}" for step in steps)], rows)


def _gain(step: int, wide: int) -> Mark:
    times = tokens(all_results, step, wide) / tokens(selected, step, wide)
    return (good if times >= 1 else bad)(f"{times:.1f} times")
