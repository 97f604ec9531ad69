"""A shared state: one row that several patch, where nothing is lost, nothing is half there, and damage is seen."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import Engine, text

import labkit.agent.states
from labkit.agent.state import AgentState, Artifact, Fact, StatePatch
from labkit.agent.states import FOR_FLAGS, LARGEST_STATE, AgentStates, KeptState
from labkit.errors import StaleState, StateNotFound, StoreBusy, StoreCorrupt, UnstorableValue, UsageError, ValueTooLarge
from labkit.faults import End, Scenario, interleave, sweep
from labkit.faults.process import Process

POSTGRES = pytest.param("postgres", marks=pytest.mark.postgres)
ON_POSTGRES = pytest.param("postgres", True, marks=pytest.mark.postgres)
GOAL = AgentState(goal="deploy shop", plan=["build", "route"])
ANY_TEXT = st.text(st.characters(exclude_categories=[]), max_size=20)


def fact(key: str, value: str = "yes") -> StatePatch:
    return StatePatch(facts=[Fact(key=key, value=value)])


def keys(kept: KeptState) -> set[str]:
    return {one.key for one in kept.state.known_facts}


@pytest.fixture
def states(engine: Engine) -> AgentStates:
    """Either database, with one state."""
    made = AgentStates(engine)
    made.begin("a", "t1", GOAL)
    return made


def test_begin_keeps_the_first(states: AgentStates) -> None:
    """A restarted process that begins again is given what is there, whatever it brought."""
    states.patch("a", "t1", fact("built"))
    assert states.begin("a", "t1", AgentState(goal="something else")) == states.get("a", "t1")
    assert (2, "deploy shop") == (states.get("a", "t1").version, states.get("a", "t1").state.goal)


def test_the_first_state_is_made_where_there_is_none(states: AgentStates) -> None:
    """A function that makes it is not called where there is one; two that begin at once have one state in the end."""
    assert states.get("a", "t1") == states.begin("a", "t1", lambda: pytest.fail("there is one"))

    def slowly() -> AgentState:
        states.begin("a", "t2", GOAL)
        return AgentState(goal="mine")

    assert (1, GOAL) == (states.begin("a", "t2", slowly).version, states.get("a", "t2").state)


def test_a_full_state_can_be_flagged(states: AgentStates) -> None:
    """It takes no fact, question, artifact or new step any more, but flags, answers and steps that are done; and of flags not without end."""
    states.patch("a", "t1", StatePatch(open_questions=["May it?"]))
    written = len(json.dumps(states.get("a", "t1").state.model_dump(mode="json")))
    states.patch("a", "t1", fact("x" * (LARGEST_STATE - written - 40), ""))
    free = LARGEST_STATE - len(json.dumps(states.get("a", "t1").state.model_dump(mode="json")))
    assert 0 <= free < 20
    full = states.get("a", "t1")
    news = [fact("more"), StatePatch(open_questions=["x" * 30]), StatePatch(plan=["build", "route", "x" * 30]), StatePatch(plan=["x" * 60])]
    for patch in [*news, StatePatch(artifacts=[Artifact(artifact_id="a1")]), StatePatch(risk_flags=["x" * (FOR_FLAGS + 20)])]:
        with pytest.raises(ValueTooLarge):
            states.patch("a", "t1", patch)
    assert full == states.get("a", "t1")
    after = states.patch("a", "t1", StatePatch(plan=["route"], answered=["May it?"], risk_flags=["x" * 1_000])).state
    assert (["route"], [], 1) == (after.plan, after.open_questions, len(after.risk_flags))


def test_a_patch_is_the_next_version(states: AgentStates, engine: Engine) -> None:
    """What is returned is what another process reads, and the version says how often it was changed."""
    one = states.patch("a", "t1", fact("built"), expected=1)
    two = states.patch("a", "t1", StatePatch(plan=["route"]), expected=one.version)
    assert two == AgentStates(engine).get("a", "t1")
    assert (3, ["route"], {"built"}, 3) == (two.version, two.state.plan, keys(two), states.version("a", "t1"))


def test_a_stale_patch_is_told_the_newest_version(states: AgentStates) -> None:
    """Two have read version 1; the second to write has changed nothing, and gets in once it has read."""
    states.patch("a", "t1", fact("A"), expected=1)
    with pytest.raises(StaleState) as told:
        states.patch("a", "t1", fact("B"), expected=1)
    assert (2, {"A"}) == (told.value.version, keys(states.get("a", "t1")))
    assert {"A", "B"} == keys(states.patch("a", "t1", fact("B"), expected=told.value.version))


def test_a_patch_without_news_writes_nothing(states: AgentStates) -> None:
    """It came before a crash already: the version stays; but an expected version is still compared."""
    states.patch("a", "t1", fact("A"))
    assert 2 == states.patch("a", "t1", fact("A"), expected=2).version == states.patch("a", "t1", StatePatch()).version
    with pytest.raises(StaleState):
        states.patch("a", "t1", fact("A"), expected=1)


def test_a_change_between_read_and_write(states: AgentStates, monkeypatch: pytest.MonkeyPatch) -> None:
    """With an expected version it is refused, without one it is applied again; after a hundred in a row it gives up."""
    others, apply = iter(range(200)), labkit.agent.states.apply_patch

    def slowly(state: AgentState, patch: StatePatch) -> AgentState:
        if patch == fact("mine"):
            states.patch("a", "t1", fact(f"other {next(others)}"))
        return apply(state, patch)

    monkeypatch.setattr(labkit.agent.states, "apply_patch", slowly)
    with pytest.raises(StaleState) as told:
        states.patch("a", "t1", fact("mine"), expected=1)
    assert (2, {"other 0"}) == (told.value.version, keys(states.get("a", "t1")))
    monkeypatch.setattr(labkit.agent.states, "TRIES", 5)
    with pytest.raises(StoreBusy):
        states.patch("a", "t1", fact("mine"))
    assert 7 == states.version("a", "t1")
    assert "mine" not in keys(states.get("a", "t1"))


def test_what_is_not_there(states: AgentStates) -> None:
    """No state is an error, not an empty one; another agent's and another task's are others."""
    for ids in (("b", "t1"), ("a", "t2")):
        with pytest.raises(StateNotFound):
            states.get(*ids)
        with pytest.raises(StateNotFound):
            states.patch(*ids, fact("x"))
        assert states.version(*ids) is None


def test_list(states: AgentStates) -> None:
    """By agent, then task, in code points."""
    for ids in (("b", "t0"), ("a", "ä"), ("Z", "t"), ("a", "b")):
        states.begin(*ids, GOAL)
    assert [("Z", "t"), ("a", "b"), ("a", "t1"), ("a", "ä"), ("b", "t0")] == states.list()
    assert ([("b", "t0")], []) == (states.list("b"), states.list("nobody"))


@pytest.mark.parametrize(
    "damage",
    [
        "'{'",
        "''",
        "'null'",
        "'[]'",
        "'{}'",
        """'{"schema_version": 1}'""",
        """'{"schema_version": 1, "goal": 3}'""",
        """'{"schema_version": 1, "goal": "x", "unknown": 1}'""",
    ],
)
def test_a_damaged_state(states: AgentStates, engine: Engine, damage: str) -> None:
    """It is said to be damaged to whoever reads, begins or patches, and stays as it is."""
    with engine.begin() as connection:
        connection.execute(text(f"UPDATE agent_states SET state = {damage}".replace(":", r"\:")))
    for use in (states.get, lambda *ids: states.begin(*ids, GOAL), lambda *ids: states.patch(*ids, fact("x"))):
        with pytest.raises(StoreCorrupt, match="task t1 of agent a is damaged"):
            use("a", "t1")
    assert 1 == states.version("a", "t1")


@pytest.mark.parametrize("damage", ["state = X'ff'", "version = 'x'", "version = 0"])
def test_what_only_sqlite_lets_in(sqlite: Engine, damage: str) -> None:
    """Bytes that are no text and a version that is no number are damage too."""
    AgentStates(sqlite).begin("a", "t1", GOAL)
    with sqlite.begin() as connection:
        connection.execute(text(f"UPDATE agent_states SET {damage}"))
    with pytest.raises(StoreCorrupt):
        AgentStates(sqlite).get("a", "t1")


def test_a_state_of_a_later_labkit(states: AgentStates, engine: Engine) -> None:
    """It is refused with what to do, and not read with half of it missing."""
    with engine.begin() as connection:
        later = json.dumps({"schema_version": 2, "goal": "x", "moods": []})
        connection.execute(text("UPDATE agent_states SET state = :later"), {"later": later})
    for use in (states.get, lambda *ids: states.patch(*ids, fact("x"))):
        with pytest.raises(UsageError, match="schema version 2, and this labkit knows 1: update it"):
            use("a", "t1")


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=10)
@given(goal=ANY_TEXT, key=ANY_TEXT, value=ANY_TEXT)
def test_whatever_a_model_says_comes_back(engine: Engine, goal: str, key: str, value: str) -> None:
    """NUL, half of a surrogate pair and all: the same, and none of it changes what stands beside it."""
    states, task_id = AgentStates(engine), f"t{len(AgentStates(engine).list('odd'))}"
    begun = states.begin("odd", task_id, AgentState(goal=goal))
    after = states.patch("odd", task_id, fact(key, value), expected=begun.version)
    assert (goal, [Fact(key=key, value=value)]) == (after.state.goal, after.state.known_facts)
    assert after == states.get("odd", task_id)


@pytest.mark.parametrize(
    ("ids", "state", "kind"),
    [
        (("", "t"), GOAL, UnstorableValue),
        (("a", ""), GOAL, UnstorableValue),
        (("a\x00", "t"), GOAL, UnstorableValue),
        (("a", "t" * 1001), GOAL, UnstorableValue),
        (("a", 3), GOAL, UnstorableValue),
        (("b", "t"), GOAL.model_dump(), UnstorableValue),
        (("b", "t"), AgentState.model_construct(goal=3), UnstorableValue),
        (("b", "t"), AgentState(goal="x" * 2**20), ValueTooLarge),
    ],
)
def test_what_cannot_be_kept(states: AgentStates, ids: Any, state: Any, kind: type[Exception]) -> None:
    """It is refused before anything is written."""
    with pytest.raises(kind):
        states.begin(*ids, state)
    assert [("a", "t1")] == states.list()


def test_a_patch_that_cannot_be_kept(states: AgentStates) -> None:
    """Too large, or expecting what is no number: the state is as it was."""
    with pytest.raises(ValueTooLarge):
        states.patch("a", "t1", fact("x", "x" * 2**20))
    with pytest.raises(UnstorableValue):
        states.patch("a", "t1", fact("x"), expected="1")  # type: ignore[arg-type]
    assert KeptState("a", "t1", 1, GOAL) == states.get("a", "t1")


def patchers(expected: bool) -> Scenario:
    """Two agents note what each found; with `expected` whoever is stale reads and applies again by itself."""

    def setup(process: Process) -> None:
        AgentStates(process.engine).begin("a", "t1", GOAL)

    def agent(name: str) -> Any:
        def body(process: Process) -> int:
            states, refused = AgentStates(process.engine), 0
            while True:
                seen = states.get("a", "t1").version if expected else None
                try:
                    states.patch("a", "t1", fact(name), expected=seen)
                    return refused
                except StaleState:
                    refused += 1

        return body

    def nothing_is_lost(end: End) -> str | None:
        row = end.rows["agent_states"][0]
        found = {one["key"] for one in json.loads(row["state"])["known_facts"]}
        return None if (3, {"A", "B"}) == (row["version"], found) else f"version {row['version']}: {sorted(found)}"

    def goal(end: End) -> bool:
        return sum(outcome.value for outcome in end.outcomes if outcome.how == "returned") > 0

    return Scenario("patchers", [agent("A"), agent("B")], [nothing_is_lost], setup, goal=goal if expected else None)


@pytest.mark.parametrize(("database", "expected"), [("sqlite", False), ("sqlite", True), ON_POSTGRES])
def test_two_patchers_in_every_order(database: str, expected: bool) -> None:
    """Both facts and three versions in the end; with an expected version somebody was told to read again."""
    report = interleave(patchers(expected), database)
    assert "holds" == report.verdict, report


def overwriting(end: str = "overwriting") -> Scenario:
    """The same with a whole state written over what is there: what the store has no way for."""

    def agent(name: str) -> Any:
        def body(process: Process) -> None:
            seen = AgentStates(process.engine).get("a", "t1").state
            mine = labkit.agent.states.apply_patch(seen, fact(name)).model_dump_json()
            with process.engine.begin() as connection:
                connection.execute(text("UPDATE agent_states SET state = :mine, version = version + 1"), {"mine": mine})

        return body

    return replace(patchers(False), name=end, run=[agent("A"), agent("B")])


def test_the_orders_see_a_lost_fact() -> None:
    """Writing the whole state over loses a fact in some order: it is the version that saves it."""
    assert "broken" == interleave(overwriting(), "sqlite").verdict


def noting() -> Scenario:
    """Begin and patch twice; a restarted process does the same again."""

    def body(process: Process) -> int:
        states = AgentStates(process.engine)
        states.begin("a", "t1", GOAL)
        states.patch("a", "t1", fact("one"))
        return states.patch("a", "t1", StatePatch(plan=["route"])).version

    def old_or_new(end: End) -> str | None:
        rows = [(row["version"], json.loads(row["state"])) for row in end.rows["agent_states"]]
        seen = [(version, len(state["known_facts"]), len(state["plan"])) for version, state in rows]
        return None if seen in ([], [(1, 0, 2)], [(2, 1, 2)], [(3, 1, 1)]) else f"{seen}"

    def done(end: End) -> str | None:
        return None if end.last.how != "returned" or 3 == end.last.value else f"{end.last}"

    return Scenario("noting", body, [old_or_new, done], goal=lambda end: end.last.how == "returned")


@pytest.mark.parametrize("database", ["memory", POSTGRES])
def test_every_crash(database: str) -> None:
    """Crashed anywhere, any number of times: the state is a whole old or new one, and each patch counts once."""
    report = sweep(noting(), database)
    assert "holds" == report.verdict, report
    assert report.closure is not None
    assert report.closure.closed
