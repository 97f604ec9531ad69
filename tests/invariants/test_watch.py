"""What a watched run shows of its domain: each event where it became durable, whoever lived to tell."""

import pytest

from labkit.faults.runner import Runner
from labkit.faults.schedule import Schedule
from labkit.faults.world import World
from labkit.invariants import SOUND, STORIES, run, runs, seen, systems
from labkit.invariants.events import KINDS, TraceEvent, from_text, to_text
from labkit.invariants.runs import ALL_STORIES, _read, recorded, to_lines
from labkit.task import TaskState

EVERY = [(system, story) for system in systems() for story in STORIES]


def told(trace, *kinds):
    """The events of these kinds, as one reads them."""
    return [" ".join(str(event).split()) for event in trace.events if event.kind in kinds]


@pytest.mark.sampled
@pytest.mark.slow
@pytest.mark.parametrize(("system", "story"), EVERY, ids=[f"{system.name}.{story.name}" for system, story in EVERY])
def test_the_record_is_what_runs_show(system, story):
    """A run made now is the one in the record."""
    made, kept = run(system, story), recorded(system.name, story.name)
    assert kept.events == made.events
    assert (kept.tasks, kept.token) == (made.tasks, made.token)
    assert list(kept.tasks) == list(made.tasks)


def test_a_run_is_the_same_again_with_its_crossings():
    """Two runs are equal to the byte, and have the crossings from which the events were read."""
    first, second = (run(SOUND, ALL_STORIES["crash"]) for _ in range(2))
    assert (first.to_jsonl(), first.events) == (second.to_jsonl(), second.events)
    assert {"cross", "note", "effect"} <= {line.kind for line in first.lines}


def test_a_worker_that_dies_on_the_way_back():
    """An effect whose worker died before it was told is there, under the claim of the dead one; the next one does not have it again."""
    trace = recorded("sound", "crash")
    assert [
        "claimed t-1 w1#1", "effect t-1 w1#1 charge key=t-1:charge", "claimed t-1 w2#2",
        "effect t-1 w2#2 send_mail key=t-1:send_mail", "written t-1 w2#2",
    ] == told(trace, "claimed", "effect", "written")  # fmt: skip
    assert {"t-1": TaskState.COMPLETED} == {id: task.state for id, task in trace.tasks.items()}


def test_end_is_written_then_told_then_the_next_is_claimed():
    """What one commit brings about is told in the order in which it is meant."""
    own = [event for event in recorded("sound", "restart").events if event.worker == "w1" and event.kind != "effect"]
    place = next(n for n, event in enumerate(own) if event.kind == "written")
    assert ["written", "progress", "claimed"] == [event.kind for event in own[place : place + 3]]


def test_zombie_is_refused_under_its_own_claim():
    """The one who was late is refused, and is told by its attempt from a namesake."""
    assert ["written t-1 w2#2", "refused t-1 w1#1"] == told(recorded("sound", "late"), "written", "refused")
    assert ["written t-1 w1#2", "refused t-1 w1#1"] == told(recorded("sound", "namesakes"), "written", "refused")


def test_zombie_that_writes_is_seen_by_who_claimed():
    """The row names its holder, and yet the writer is told: by the claim that its process made."""
    assert ["written t-1 w2#2", "written t-1 w1#1"] == told(recorded("no_fence", "late"), "written")


def test_cancels():
    """A running task is written under its worker's claim when it is cancelled, a pending one is not written at all."""
    assert ["written t-1 w1#1", "refused t-1 w1#1", "written t-2 w2#1"] == told(recorded("sound", "cancelled"), "written", "refused")
    withdrawn = recorded("sound", "withdrawn")
    assert ["progress t-1 error", "progress t-3 error"] == told(withdrawn, "progress")[:2]
    assert ["written t-2 w1#1"] == told(withdrawn, "written")


def test_calls_without_a_key():
    """An effect without a key has an empty one."""
    assert ["", "", ""] == [event.key for event in recorded("no_key", "crash").events if event.kind == "effect"]


def test_every_kind_of_event_is_there():
    """Every kind is seen in the sound system, and no other."""
    assert set(KINDS) == {event.kind for trace in runs(SOUND) for event in trace.events}


def test_a_watched_scenario_can_be_run_by_anybody():
    """A story is a scenario; its end, also as plain data, shows what the run shows."""
    with World("memory") as world:
        end, _ = Runner(ALL_STORIES["shaky"].scenario(SOUND), world).run(Schedule())
    assert recorded("sound", "shaky").events == seen(type(end).from_data(end.to_data())).events


def test_events_as_text():
    """An event goes to text and back."""
    event = TraceEvent("effect", "t-1", "w1", 2, "charge", "t-1:charge")
    assert event == from_text(event.kind, to_text(event))


def test_runs_are_nobody_elses():
    """Who changes the tasks of a run changes nobody else's, and a run can be hashed."""
    first = recorded("sound", "calm")
    object.__setattr__(first.tasks.pop("t-1"), "state", TaskState.FAILED)
    again = recorded("sound", "calm")
    assert (TaskState.COMPLETED, 3) == (again.tasks["t-1"].state, len(again.tasks))
    assert hash(first) == hash(again) != hash(recorded("sound", "crash"))


def test_the_record_can_be_written_again():
    """What is read from the record is what would be written into it."""
    kept = {("sound", story.name): _read(f"sound.{story.name}") for story in STORIES}
    assert kept[("sound", "crowd")].events[0].kind == "submitted"
    assert ['{"run": "sound.nothing", "token": "sound.nothing/memory:none", "events": [], "tasks": []}'] == to_lines(kept)[:1]


def test_a_run_shows_itself():
    """As text an event is a line; in a notebook it is the row of a table."""
    shown = recorded("no_fence", "late")._repr_mimebundle_()
    assert "written   t-1 w1#1" in shown["text/plain"].splitlines()
    assert shown["text/plain"].endswith("at the end t-1 is completed")
    assert shown["text/html"].count("<tr") == 1 + len(recorded("no_fence", "late").events) + 1
