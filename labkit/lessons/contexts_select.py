"""Chapter 11, `filterRelevantState`: which facts and artifacts a model is shown, in four broken ways and one sound one.

Each way gets a state, a step and a number of bytes. What is shown must fit as it is sent, and nothing may be left out that would still fit.
`compared` holds each way against four states, each of which breaks one of them.

Not handled here: a piece of a text (see `contexts_cut`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from labkit.agent.context import select_context, size
from labkit.agent.state import AgentState, Artifact, ContextSlice, Fact
from labkit.faults.chart_table import Mark, Table, judged, table

MOST = 2_000
STEP = "read the log"
Way = Callable[[AgentState, str, int], ContextSlice]


def _chosen(
    state: AgentState,
    step: str,
    most: int,
    *,
    artifact: Callable[[Artifact], int],
    fact: Callable[[Fact], int],
    stop: bool = False,
) -> ContextSlice:
    """This step's artifacts, then the newest facts, each measured by what is handed in."""
    chosen = ContextSlice(goal=state.goal, current_step=step)
    used = size(chosen)
    for one in state.artifacts:
        if one.step == step and used + artifact(one) <= most:
            chosen.artifacts.append(one)
            used += artifact(one)
    for item in reversed(state.known_facts):
        if used + fact(item) <= most:
            chosen.facts.insert(0, item)
            used += fact(item)
        elif stop:
            break
    return chosen


def with_comma(item: Artifact | Fact) -> int:
    return size(item) + 1


def stops_at_the_first(state: AgentState, step: str, most: int) -> ContextSlice:
    """The chapter's loop: `break` at the first fact that does not fit. Breaks on one long fact: it hides all older ones."""
    return _chosen(state, step, most, artifact=with_comma, fact=with_comma, stop=True)


def counts_values(state: AgentState, step: str, most: int) -> ContextSlice:
    """The chapter's size of a fact: that of its value. Breaks on many short facts: keys, names and quotes are sent too."""
    return _chosen(state, step, most, artifact=with_comma, fact=lambda fact: len(fact.value.encode()))


def counts_the_content(state: AgentState, step: str, most: int) -> ContextSlice:
    """The chapter's size of an artifact: that of its content, which is not sent. Breaks on any large one: it is never shown."""
    return _chosen(state, step, most, artifact=lambda artifact: artifact.bytes, fact=with_comma)


def counts_characters(state: AgentState, step: str, most: int) -> ContextSlice:
    """Characters for bytes. Breaks on all that is not English."""
    return _chosen(state, step, most, artifact=with_comma, fact=lambda fact: len(fact.model_dump_json()) + 1)


WAYS: tuple[Way, ...] = (stops_at_the_first, counts_values, counts_the_content, counts_characters, select_context)


def _state(facts: Iterable[Fact], artifacts: Iterable[Artifact] = ()) -> AgentState:
    return AgentState(goal="find out why shop is down", known_facts=list(facts), artifacts=list(artifacts))


def _facts(count: int, value: str = "45%", key: str = "disk of web-{}") -> list[Fact]:
    return [Fact(key=key.format(number), value=value, source="check_disk") for number in range(1, count + 1)]


STATES: dict[str, AgentState] = {
    "one long fact": _state([*_facts(8), Fact(key="stack trace", value="at shop.cart\n" * 200)]),
    "many short facts": _state(_facts(60)),
    "a log of this step": _state(
        _facts(3), [Artifact(artifact_id="a" * 32, summary="nginx error log", bytes=48_231, step=STEP)]
    ),
    "facts in Russian": _state(_facts(20, value="диск полон, места нет", key="диск web-{}")),
}


def why_wrong(way: Way, state: AgentState, most: int = MOST) -> str | None:
    """What is wrong with one slice."""
    chosen = way(state, STEP, most)
    if size(chosen) > most:
        return f"{size(chosen):,} bytes, {most:,} allowed"
    room = most - size(chosen)
    of_this_step = [one for one in state.artifacts if one.step == STEP and one not in chosen.artifacts]
    if any(with_comma(one) <= room for one in of_this_step):
        return "its artifact is not shown"
    missing = sum(with_comma(one) <= room for one in state.known_facts if one not in chosen.facts)
    return f"{missing} facts would still fit" if missing else None


def tried(way: Way, state: AgentState) -> Mark:
    """One way on one state."""
    why = why_wrong(way, state)
    return judged(why)


def compared() -> Table:
    """Every way on every state."""
    rows = [[way.__name__, *(tried(way, state) for state in STATES.values())] for way in WAYS]
    return table(["", *STATES], rows)


def shown(way: Way, state: str = "one long fact") -> str:
    """What a model is shown of this state, in a line."""
    chosen = way(STATES[state], STEP, MOST)
    keys = [fact.key for fact in chosen.facts]
    return f"{len(keys)} of {len(STATES[state].known_facts)} facts, {size(chosen):,} bytes: {f'{keys[0]} to {keys[-1]}' if keys else 'none'}"
