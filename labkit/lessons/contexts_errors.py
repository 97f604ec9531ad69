"""The errors of the lesson on artifacts and context, as one writes it first and as it should be, run now.

`named_first` is the one that needs a crash: a state that names an artifact before there is one. The others break on their own.

Not handled here: what the others do (see `contexts`, `contexts_cut` and `contexts_select`).
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable

from labkit.agent.artifacts import ArtifactStore
from labkit.agent.context import select_context
from labkit.agent.state import Artifact, Budget, StatePatch
from labkit.faults import End, Process, Scenario, sweep
from labkit.faults.chart_table import Table, judged, table
from labkit.lessons import contexts_cut as cuts
from labkit.lessons import contexts_select as selects
from labkit.lessons.agent_state import AGENT, TASK, begin, left, states_of
from labkit.lessons.contexts import CAUSE, excerpt_and_slice, excerpt_only, runs, whole_log

LOG = "web-1 nginx: no space left on device\n" * 3


def name_of(content: str) -> str:
    """The name that the artifact store will give it."""
    return hashlib.sha256(content.encode()).hexdigest()[:32]


def named_first(process: Process) -> None:
    """The state, then the content. Breaks on a crash between the two: the step is done, and its result was never kept."""
    states = states_of(process)
    if states.get(AGENT, TASK).state.artifacts:
        return
    named = Artifact(artifact_id=name_of(LOG), summary="nginx error log", bytes=len(LOG))
    states.patch(AGENT, TASK, StatePatch(artifacts=[named]))
    ArtifactStore(process.engine).put(LOG, type="log", summary="nginx error log")


def kept_first(process: Process) -> None:
    """The content, then the state. A crash between the two leaves content that nobody names yet."""
    states = states_of(process)
    if states.get(AGENT, TASK).state.artifacts:
        return
    kept = ArtifactStore(process.engine).put(LOG, type="log", summary="nginx error log")
    named = Artifact(artifact_id=kept.artifact_id, summary=kept.summary, bytes=kept.bytes)
    states.patch(AGENT, TASK, StatePatch(artifacts=[named]))


def named(way: Callable[[Process], None]) -> Scenario:
    """A step whose result is an artifact; when the state names one, the step is done."""
    return Scenario(f"named.{way.__name__}", way, [each_name_has_content], setup=begin)


def each_name_has_content(end: End) -> str | None:
    """An invariant: what the state names is there, and once."""
    there = [row["artifact_id"] for row in end.rows.get("artifacts", ())]
    missing = [one.summary for one in left(end).artifacts if there.count(one.artifact_id) != 1]
    return f"named, and not there: {missing[0]}" if missing else None


def _crashed(way: Callable[[Process], None]) -> str | None:
    """What the first crash that hurts does, of all places to die."""
    broken = sweep(named(way)).broken
    return broken[0].why if broken else None


def _cost(opening: Callable[..., str]) -> str | None:
    (run,) = (one for one in runs() if one.name == opening.__name__.replace("_", " "))
    over = run.over(Budget().max_llm_tokens)
    if over:
        return f"over the budget of tokens in step {over}"
    return None if CAUSE.strip() in run.answer else f"the model says: {run.answer}"


def _cut(cut: cuts.Cut) -> str | None:
    """The first trouble of a way to cut, of all numbers of bytes."""
    found = [cuts.wrong(cut, cuts.ODD, most) for most in range(1, cuts.sent(cuts.ODD) + 1)]
    kinds = [kind for kind in cuts.TROUBLES if any(kind in one for one in found)]
    return " or ".join(kinds) or None


def _select(way: selects.Way) -> str | None:
    return next((why for state in selects.STATES.values() if (why := selects.why_wrong(way, state))), None)


ERRORS: dict[str, tuple[Callable[..., str | None], Callable[..., object], Callable[..., object]]] = {
    "the log in every question": (_cost, whole_log, excerpt_and_slice),
    "an excerpt, and no way on": (_cost, excerpt_only, excerpt_and_slice),
    "cut by characters": (_cut, cuts.by_characters, cuts.as_sent),
    "cut in the middle of a sign": (_cut, cuts.by_bytes, cuts.as_sent),
    "half a sign replaced": (_cut, cuts.by_bytes_replaced, cuts.as_sent),
    "escapes not counted": (_cut, cuts.by_whole_signs, cuts.as_sent),
    "the JSON is cut": (_cut, cuts.by_the_json, cuts.as_sent),
    "stops at the first": (_select, selects.stops_at_the_first, select_context),
    "counts only values": (_select, selects.counts_values, select_context),
    "counts what is not sent": (_select, selects.counts_the_content, select_context),
    "counts characters": (_select, selects.counts_characters, select_context),
    "named before it is there": (_crashed, named_first, kept_first),
}


def errors() -> Table:
    """Every error, as one writes it first and as it should be."""
    rows = [[name, judged(judge(first)), judged(judge(sound))] for name, (judge, first, sound) in ERRORS.items()]
    return table(["", "as one writes it first", "as it should be"], rows)
