"""The capstone: real kills leave nothing lost, doubled or over; without one guarantee exactly that falls which the lesson says; nobody outlives an evening."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from labkit.clock import SystemClock
from labkit.errors import LabkitError, SagaFailed, StaleLease, UsageError
from labkit.faults.nursery import CAN_FORK, Nursery
from labkit.faults.picture import text
from labkit.invariants import SOUND, STORIES, System, Trace, TraceEvent, recorded, run
from labkit.invariants.rules import RULES
from labkit.lessons import capstone, capstone_map
from labkit.lessons import capstone_evening as lesson
from labkit.lessons import capstone_left as grid
from labkit.lessons.capstone import HALF, NO_LOG, ORDERS, SEED
from labkit.lessons.capstone_map import Cell, Column
from labkit.saga import SagaLog, SagaStep
from labkit.task import Task, TaskState
from tests.queue.helpers import until

ROOT = Path(__file__).parents[2]
FALLS = {  # system -> what falls of it, and nothing else does
    "sound": set(),
    "no_lease": {"lost task", "missing end", HALF},
    "no_key": {"doubled effect", HALF},
    "no_log": {HALF},
    "no_fence": {"zombie write"},
    "no_reverse": {"wrong undo order"},
    "told_after": {"missing end"},
    "told_before": {"doubled end"},
}
BELOW = 'class="lk-below"'
linux = pytest.mark.skipif(not CAN_FORK, reason="processes are looked at as POSIX shows them")


def cells(shown):
    return [[str(cell) for cell in row] for row in shown.rows]


def lives(pid):
    """Whether a process is there, and more than an exit status that nobody has asked for yet."""
    try:
        os.kill(pid, 0)
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z" if Path("/proc").is_dir() else True
    except (ProcessLookupError, FileNotFoundError):
        return False


@pytest.fixture(scope="module")
def left():
    """The evening of the lesson: real processes, real kills, leases that really run out."""
    return lesson.play("sound", lease=1.0)


@pytest.fixture(scope="module")
def broken():
    """The evenings of the lesson without one guarantee."""
    return {name: lesson.play(name) for name in ("no_lease", "no_key", "no_log", "bare")}


def test_nothing_is_left_over_under_real_kills(left):
    """24 processes die in 24 places; every order ends once, no effect is doubled, what is there is what is owed."""
    assert (24, "none", {}) == (left.killed, left.difference, left.falls)
    assert {"✓ 30", "✓ 40", "✓ 10"} == {row[3] for row in cells(left.ledger())}
    made = [f"{effect.name} {effect.target}" for effect in left.effects]
    assert sorted(effect for order in ORDERS for effect in capstone.effects_of(order)) == sorted(made)
    assert "48 orders: 40 completed, 8 taken back. 24 processes killed. Difference: none" == str(left)


def test_what_could_have_fallen_was_put_to_the_test(left):
    """Deaths between effect and record, forward and in the undo, in shops, kiosks and payments; undos; orders that somebody else went on with."""
    kinds = {(cell.made, column.group) for column in left.columns() for cell in column.cells if cell.died}
    assert {(True, "shop"), (True, "kiosk"), (False, "kiosk"), (True, "payment")} == kinds
    assert 24 == sum(cell.died for column in left.columns() for cell in column.cells)
    assert 8 * 4 == sum(event.kind == "undone" for event in left.trace.events)
    handed_on = {effect.target for effect in left.effects if len({other.by for other in left.effects if other.target == effect.target}) > 1}
    assert len(handed_on) > 10


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 10])
def test_other_places_end_the_same_way(seed):
    """Whatever is drawn, also eight deaths in undos."""
    other = lesson.play("sound", seed, lease=1.0)
    assert (24, "none") == (other.killed, other.difference)


@pytest.mark.parametrize("system", ["no_lease", "no_key", "no_log"])
def test_without_one_guarantee_exactly_this_falls(broken, system):
    """By real kills alone."""
    assert FALLS[system] == broken[system].falls.keys()
    assert broken[system].killed


def test_what_falls_falls_where_somebody_died(broken):
    """The orders that a broken evening hurts are all among those in which a worker was killed; without a lease and without keys it is all of them."""
    hit = {f"t-{number}" for number, order in enumerate(ORDERS, 1) if set(capstone.effects_of(order)) & set(capstone.places())}
    for left in broken.values():
        assert {task for of in left.falls.values() for task in of} <= hit
    assert hit == broken["no_lease"].falls["lost task"].keys() == broken["no_key"].falls["doubled effect"].keys()


def test_without_the_log_those_are_hurt_who_died_undoing(broken):
    """Where a worker died on the way forward, the keys are enough."""
    undone = {effect.split()[1] for effect in capstone.places() if capstone.CHANGES[effect.split()[0]][1] < 0}
    of = {task.id: task.user_input.split()[1] for task in broken["no_log"].tasks}
    assert undone == {of[task] for task in broken["no_log"].falls[HALF]}
    assert {"completed"} == {task.state for task in broken["no_log"].tasks if of[task.id] in undone}


def test_the_bare_system_doubles_and_leaves_over(broken):
    """The symptom of the lesson, and the column that it is read from."""
    assert {"doubled effect", HALF} == broken["bare"].falls.keys()
    rows = cells(broken["bare"].of_order("shop-07"))
    assert ["process 1", "charge", "none", "✕ killed here"] == rows[2]
    assert ["process 2", "issue_certificate", "none", ""] == rows[3]
    assert not all(row[3].startswith("✓") for row in cells(broken["bare"].ledger()))


@pytest.mark.parametrize("system", FALLS)
def test_the_table_shows_what_falls(left, broken, system):
    """Red in the row of each system is what falls and nothing else; in an evening zombies are not looked for, and that is said."""
    shown = grid.taken_away(left, *broken.values())
    row = next(row for row in cells(shown) if row[0].endswith(f"({system})") or (system, row[0]) == ("sound", "nothing"))
    said = dict(zip(shown.headers[1:], row[1:], strict=True))
    assert FALLS[system] == {kind for kind, cell in said.items() if cell == "✕ falls"}
    by_kill = system in ("sound", "no_lease", "no_key", "no_log")
    assert ({"zombie write"} if by_kill else set()) == {kind for kind, cell in said.items() if cell == "? not seen"}


def test_each_system_has_a_sentence_and_a_token(broken):
    """The kind is the one that the fewest others break, and the token is of a run of that system."""
    lines = grid.shown_by(*broken.values()).splitlines()
    tokens, said = lines[::2], lines[1::2]
    kinds = {name: lesson.SYSTEMS[name].breaks for name in FALLS if name != "sound"}
    assert kinds == {token.partition(".")[0]: line.strip().partition(": ")[0] for token, line in zip(tokens, said, strict=True)}
    assert [f"{name}.evening/kill:{SEED}" for name in ("no_lease", "no_key", "no_log")] == tokens[:3]
    assert "    half a shop: kiosk-02 is completed, and there is no namespace" in said


def test_a_token_plays_its_evening_again(broken):
    """The same ledger, order by order, although other workers did it."""
    again = lesson.again(broken["no_key"].token)
    assert [column.cells for column in broken["no_key"].columns()] == [column.cells for column in again.columns()]
    assert (broken["no_key"].killed, broken["no_key"].falls) == (again.killed, again.falls)


@pytest.mark.parametrize("token", ["sound.evening/kill:by hand", "nobody.evening/kill:9", "no_fence.late/memory:none"])
def test_a_token_of_no_such_evening_is_refused(token):
    """With one clear line."""
    with pytest.raises(UsageError, match="no evening"):
        lesson.again(token)


def test_half_a_shop_is_quiet_on_the_sound_system():
    """In all stories in which an undo can succeed; and in those others it says what stays."""
    for story in STORIES:
        assert bool(capstone.half_a_shop(recorded("sound", story.name))) == (story in grid.STUCK), story.name
    assert len(grid.STUCK) == 3


def test_half_a_shop_catches_both_halves():
    """A shop that is completed and not there, and one that has failed and is."""

    def trace(state, *names):
        return Trace("x", (), {"t": Task("t", "deploy shop", state=state)}, tuple(TraceEvent("effect", "t", name=name) for name in names))

    made = [make for make, _ in capstone.STEPS.values()]
    assert capstone.half_a_shop(trace(TaskState.COMPLETED, *made)) is None
    assert "shop is completed, and there is no alert" == capstone.half_a_shop(trace(TaskState.COMPLETED, *made[:-1]))
    assert "shop has failed, and there is certificate" == capstone.half_a_shop(trace(TaskState.FAILED, made[0]))
    assert capstone.half_a_shop(trace(TaskState.FAILED, made[0], "revoke_certificate", "revoke_certificate")) is None
    assert "shop is running, and there is certificate" == capstone.half_a_shop(trace(TaskState.RUNNING, made[0]))


def test_the_rules_are_those_of_the_house():
    """One is added, and none is left out."""
    assert [*RULES, HALF] == list(capstone.ALL_RULES)


def test_the_simulator_shows_the_same_death():
    """The story at the kiosk, in virtual time: the sound system goes on undoing, the one without a log goes forward."""
    sound, broken = run(SOUND, capstone.DIES_UNDOING), run(NO_LOG, capstone.DIES_UNDOING)
    assert {} == capstone.falls(sound)
    assert {HALF: {"t-1": "kiosk-02 is completed, and there is no namespace"}} == capstone.falls(broken)
    assert 4 == sum(event.kind == "undone" for event in sound.events)


def test_the_lanes_of_both_pictures():
    """The refusal, the death, what the ledger answers, and at the bottom what falls."""
    said = text(capstone_map.lanes("no_log", "kiosk"))
    places = [said.index(words) for words in ("refused no room", "w1 crashed", "again", "broken: half a shop")]
    assert sorted(places) == places
    assert "broken: zombie write" in text(capstone_map.lanes("no_fence", "late"))
    assert "broken" not in text(capstone_map.lanes("sound", "kiosk"))


def test_a_refusal_alone_turns_a_saga_round(engine):
    """A lease that was lost and a database that is busy say nothing about a step: they go through, and the log does not hold them against it."""

    def lost(key):
        raise StaleLease("somebody else has it")

    log = SagaLog(engine, "s")
    with pytest.raises(StaleLease):
        capstone.steadily(SOUND.run_saga, [SagaStep("a", lambda key: None, lambda key: None), SagaStep("b", lost)], log)
    assert [("started", "a"), ("done", "a"), ("started", "b")] == SagaLog(engine, "s").entries()
    with pytest.raises(StaleLease):
        capstone.steadily(NO_LOG.run_saga, [SagaStep("b", lost)], log)


@pytest.fixture
def engine():
    from labkit.database import open_engine
    from labkit.tables import create_tables

    made = open_engine("sqlite:///file:capstone?mode=memory&cache=shared&uri=true")
    keeper = made.connect()
    create_tables(made)
    yield made
    keeper.close()
    made.dispose()


def test_a_saga_without_a_log_undoes_in_reverse():
    """As long as nobody dies it is as good as the library's."""
    seen = []

    def refuse(key):
        raise LabkitError("no")

    steps = [SagaStep(name, seen.append, seen.append) for name in "ab"]
    with pytest.raises(SagaFailed):
        capstone.without_log([*steps, SagaStep("c", refuse)], SagaLog(None, "s"))
    assert ["s:a:do", "s:b:do", "s:b:undo", "s:a:undo"] == seen


def test_a_kiosk_has_room_for_four(tmp_path):
    """The fifth thing is refused until one has gone; what was asked for before is answered, and a shop has room for all."""
    cloud = capstone.SmallPlan(capstone.ledger(tmp_path), SystemClock())
    for whom in ("kiosk-1", "shop-1"):
        for make, _ in list(capstone.STEPS.values())[:4]:
            getattr(cloud, make)(whom, key=f"{whom}:{make}")
    cloud.create_alert("shop-1", key="s")
    with pytest.raises(LabkitError, match="room for 4"):
        cloud.create_alert("kiosk-1", key="k")
    assert "namespace kiosk-1 ready" == cloud.create_namespace("kiosk-1", key="kiosk-1:create_namespace")
    cloud.delete_namespace("kiosk-1", key="d")
    assert "alert kiosk-1 ready" == cloud.create_alert("kiosk-1", key="k")


@pytest.mark.parametrize("seed", [1, SEED])
def test_places_are_drawn_from_the_work(seed):
    """The same ones for a seed, each a thing that an evening does, none twice."""
    drawn = capstone.places(seed)
    assert capstone.places(seed) == drawn
    assert len(set(drawn)) == len(drawn) == 24
    assert set(drawn) <= {effect for order in ORDERS for effect in capstone.effects_of(order)}
    assert capstone.places(seed + 1) != drawn


def test_what_a_guarantee_costs(left):
    """Counted in runs: the log a commit for each step and one more, a key and a fence none, and the end told with the state one less."""
    said = {row[0]: row[2] for row in cells(grid.costs(left))}
    assert {
        "a lease that ends": "4 a lease",
        "a key with each call": "0",
        "the saga's log": "6 a saga",
        "a fence before each write": "0",
        "undo in reverse": "0",
        "the end told with the state": "-1 a task",
    } == said


# the kill button, and who is left at work


@linux
def test_the_button_kills_a_real_process():
    """Its process is gone, another one is in its place, and in the end nothing is missing and nobody is at work."""
    evening = lesson.Evening(pace=0.2, lease=1.0).begin()
    until(lambda: len(evening.running) == 4)
    before = evening.running
    assert ["SIGKILL to w1: replaced", "SIGKILL to w2: replaced"] == [evening.kill_one(), evening.kill_one()]
    gone = set(before) - set(evening.running)
    assert 2 == len(gone)
    until(lambda: not any(map(lives, gone)))
    there = evening.running
    left = evening.end()
    assert (2, "none") == (left.killed, left.difference)
    until(lambda: not any(map(lives, there)))
    assert [] == evening.running
    assert not evening.folder.exists()
    assert "nobody is at work: the evening is over" == evening.kill_one()


@linux
def test_a_new_evening_ends_the_one_before():
    """Who runs the cell twice has four workers, not eight; the first one has no end to show."""
    first = lesson.Evening(pace=5.0).begin()
    until(lambda: len(first.running) == 4)
    pids = first.running
    second = lesson.Evening().begin()
    until(lambda: not any(map(lives, pids)))
    with pytest.raises(LabkitError, match="stopped in the middle"):
        first.end()
    assert "none" == second.end().difference


@linux
def test_an_evening_that_nobody_waits_for_ends_by_itself(monkeypatch):
    """When all is done the workers stay a while, and go home."""
    monkeypatch.setattr(lesson, "LINGER", 0.0)
    evening = lesson.Evening().begin()
    pids = evening.running
    until(lambda: evening._over)
    until(lambda: not any(map(lives, pids)))
    assert "none" == evening.end().difference


@linux
def test_an_evening_that_does_not_end_is_ended(monkeypatch):
    """It has a limit, and says so."""
    monkeypatch.setattr(lesson, "LIMIT", 0.0)
    evening = lesson.Evening(pace=30.0).begin()
    until(lambda: evening._over)
    monkeypatch.undo()
    with pytest.raises(LabkitError, match="it does not end"):
        evening.end()
    assert [] == evening.running


@linux
def test_a_worker_that_fails_is_no_worker_that_was_killed():
    """Nobody is replaced for ever: the evening ends, and shows the error."""
    evening = lesson.Evening()
    evening.system = System("nonsense")
    with pytest.raises(LabkitError, match="KeyError: 'nonsense'"):
        evening.begin().end()
    assert [] == evening.running


@linux
def test_nobody_outlives_the_parent(monkeypatch):
    """The warm parent is killed: its children leave, and the evening says what happened."""
    nursery = Nursery(["labkit.lessons.capstone"])
    monkeypatch.setattr(lesson, "NURSERY", nursery)
    evening = lesson.Evening(pace=0.2).begin()
    until(lambda: len(evening.running) == 4)
    pids = evening.running
    os.kill(nursery._parent.pid, signal.SIGKILL)
    until(lambda: not any(map(lives, pids)))
    with pytest.raises(LabkitError):
        evening.end()
    nursery.close()


KERNEL = """
import sys
from labkit.lessons.capstone_evening import Evening, NURSERY
evening = Evening(pace=0.2, lease=1.0).begin()
while len(evening.running) < 4:
    pass
print(evening.kill_one(), evening.folder, NURSERY._parent.pid, *evening.running, sep="|", flush=True)
{then}
"""


@linux
@pytest.mark.parametrize("then", ["sys.stdin.read()", "sys.exit()", "raise KeyboardInterrupt"], ids=["killed", "exit", "interrupted"])
def test_nobody_outlives_the_kernel(then):
    """However it ends in mid-run: the workers and their parent are gone soon after."""
    command = [sys.executable, "-c", KERNEL.format(then=then)]
    env = os.environ | {"PYTHONPATH": str(ROOT)}
    with subprocess.Popen(command, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as kernel:
        said, folder, *pids = kernel.stdout.readline().strip().split("|")
        if "stdin" in then:
            kernel.kill()
        kernel.wait(120)
    assert "SIGKILL to w1: replaced" == said
    assert len(pids) == 5
    until(lambda: not any(lives(int(pid)) for pid in pids))
    assert "stdin" in then or not Path(folder).exists()  # what a killed kernel leaves on the disk, the next evening removes


# the map and its page


def test_the_map_tells_all_by_signs():
    """What was made, taken back, made again, and where somebody died; the same in text, and all words are escaped."""
    column = Column("shop-1", "completed", (Cell("a<b", True, died=True), Cell("c", False), Cell("a<b", True, again=True)), "doubled effect: <twice>")
    other = Column("ann-1", "running", (), "", True)
    said = [line.strip() for line in capstone_map.printed([column, other]).splitlines()]
    assert ["1 shop  1 payment", "line 1  X", "line 2  -", "line 3  2", "end     c       ?", "falls   X       ."] == said[:6]
    page = capstone_map.drawn([column, other], "a.token", "48 orders & more")
    assert "doubled effect: &lt;twice&gt;" in page
    assert "a&lt;b: killed here" in page
    assert "48 orders &amp; more" in page
    assert 4 == page.partition(BELOW)[0].count('class="lk-eve-died"')  # two crosses of two lines: of a cell, and below an order that somebody had in hand
    assert capstone_map.drawn([], "", "")


def test_equal_evenings_give_equal_pages(broken):
    """Nothing of the machine is on it."""
    again = lesson.play("no_log")
    assert broken["no_log"]._repr_html_() == again._repr_html_()
    assert repr(broken["no_log"]) == repr(again)


def test_the_page_is_live_and_its_button_kills():
    """Pressing it is `kill_one`; when all is over it can be pressed no more."""
    pytest.importorskip("ipywidgets")
    evening = lesson.Evening(pace=0.2, lease=1.0).begin()
    shown = evening._repr_mimebundle_()
    assert "application/vnd.jupyter.widget-view+json" in shown
    assert "48 orders, 4 workers" in shown["text/plain"]
    until(lambda: "w1: deploy" in evening._panel.said.value)
    evening._panel.button.click()
    assert "SIGKILL to w1: replaced" == evening._panel.words.value
    until(lambda: "killed: 1" in evening._panel.said.value)
    assert evening.struck
    assert 'class="lk-eve-died"' in evening._panel.map.value.partition(BELOW)[0]
    assert not evening._panel.button.disabled
    evening.end()
    assert evening._panel.button.disabled
    assert "Difference: none" in evening._panel.said.value


def test_without_widgets_there_are_words(monkeypatch):
    """And `kill_one`."""
    monkeypatch.setitem(sys.modules, "ipywidgets", None)
    assert {"text/plain"} == lesson.Evening()._repr_mimebundle_().keys()
