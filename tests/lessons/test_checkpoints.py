"""The listings of the lesson on checkpoints still break as it says, the sound ones do not, and its chart is what crashes really cost."""

from types import SimpleNamespace

import pytest

from labkit.checkpoint import CheckpointStore
from labkit.checkpoint.manager import STRATEGIES
from labkit.clock import VirtualClock
from labkit.cloud import Cloud, MemoryLedger
from labkit.errors import CheckpointCorrupt
from labkit.faults import Scenario, Schedule, open_world, run_once, sweep
from labkit.faults.runner import Runner
from labkit.lessons import checkpoints as lesson
from labkit.lessons import checkpoints_broken as broken
from labkit.lessons import checkpoints_bytes as sizes
from labkit.lessons import checkpoints_cost as cost
from labkit.lessons import checkpoints_damage as damage
from labkit.lessons import checkpoints_validity as validity
from labkit.lessons.checkpoints_errors import ERRORS, errors
from labkit.lessons.states import one_crash

BREAKS = {
    "the end is not saved": "running for ever",
    "the newest by time": "2 steps done again after 1 crash",
    "damaged is missing": "3 steps done again after 1 crash",
    "old, and believed": "clean_logs happened 2 times",
    "age before state": "2 containers, not 1",
    "the count holds nothing back": "3 are left, not 2",
    "rotation forgets a tool": "3 steps done again after 1 crash",
    "all outputs in each": "step 43 worked, and its checkpoint is refused: ValueTooLarge",
}
RUN_SECONDS = lesson.STEPS * lesson.STEP_SECONDS
WRITE_AT_LAST = '{"done": 3, "state": "running"}'


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: error.name)
def test_each_error_breaks_and_its_cure_holds(error):
    """As one writes it first it breaks for the lesson's reason; the sound way holds under the same faults, which struck both."""
    first, sound = run_once(error.first, error.schedule), run_once(error.sound, error.schedule)
    assert (BREAKS[error.name], None) == (first.broken, sound.broken)
    for trace in (first, sound):
        assert error.schedule.count("+") == sum(bool(line.fault) for line in trace.lines)


def test_the_last_table_holds_every_error():
    """Its rows are these errors, red beside green."""
    assert [(name, "broken", why, "holds") for name, why in BREAKS.items()] == [
        (name, first.verdict, first.text, sound.verdict) for name, first, sound in errors().rows
    ]


@pytest.mark.parametrize(("when", "writes", "worst"), [
    ("every_step", 41, 1), ("every_iteration", 11, 4), ("on_state_change", 2, 20), ("at_the_end", 1, 40),
])  # fmt: skip
def test_more_writes_lose_less(when, writes, worst):
    """Writes of the run, and the steps that its worst crash point loses."""
    found = cost.cost(when)
    assert (writes, worst) == (found.writes, found.worst)
    assert worst / 2 < found.mean < worst


@pytest.mark.parametrize("when", STRATEGIES)
def test_lost_work_is_what_crashes_cost(when):
    """The chart reads it in one trace; a run that is really crashed there takes longer by just as much."""
    calm = [line for line in run_once(lesson.rolling_out(when)).lines if line.kind == "cross"]
    read = cost.lost_work(when)
    assert len(calm) == len(read)
    for place in range(5, len(calm), 23):
        crash = f"p1@{calm[place].number}.{calm[place].side}+crash"
        ended = run_once(lesson.rolling_out(when), crash).lines[-1].time
        assert read[place][1] * lesson.STEP_SECONDS == ended - RUN_SECONDS


@pytest.mark.parametrize("when", [*STRATEGIES, "at_the_end"])
def test_what_is_counted_is_what_a_database_holds(sqlite, when):
    """Writes and bytes are those of the real store when nothing goes."""
    clock = VirtualClock()
    store = CheckpointStore(sqlite, now=clock.now)
    keeps_all = SimpleNamespace(append=store.append, load=lambda task_id: store.load(task_id)[-1:], delete=None)
    process = SimpleNamespace(clock=clock, cloud=Cloud(MemoryLedger(), clock))
    lesson.roll_out(process, lesson.keeper_of(process, when, store=keeps_all))
    with sqlite.connect() as connection:
        stored = connection.exec_driver_sql("SELECT count(*), sum(length(data)) FROM checkpoints").one()
    assert tuple(stored) == cost.written(when)


def test_extremes():
    """A save for each word waits for minutes, one at the end loses the eight minutes."""
    (_, writes, _, waits, lost), (_, _, _, one, all_) = cost.extremes().rows
    assert ("4001", "broken", "15 s") == (writes, waits.verdict, lost)
    assert ("0.1 s", "broken", "8 min") == (one, all_.verdict, all_.text)


def test_a_save_for_each_word_loses_what_one_a_step_loses(monkeypatch):
    """The table runs the reboot with one save a step; with a few words a step both can be run, and cost the same."""
    monkeypatch.setattr(lesson, "TOKENS", 3)
    tokens, steps = (run_once(lesson.rolling_out(when, steps=4), "p1@cloud3.after+crash") for when in ("every_token", "every_step"))
    assert 5 * lesson.STEP_SECONDS == tokens.lines[-1].time == steps.lines[-1].time
    assert len(tokens.lines) > 2 * len(steps.lines)


def test_the_chart_has_a_tooth_for_each_save():
    """Bars rise by a step and fall with a save; what stands beside them is the cost."""
    chart = cost.teeth()
    assert [(1.0,) * 40, (1.0, 2.0, 3.0, 4.0) * 10, tuple(map(float, range(1, 21))) * 2] == [bars for _, bars in chart.series]
    assert "41 writes, 11 kB; loses up to 1, on average 0.8 steps" in repr(chart)
    assert "dies in step 4: 4 steps lost" in chart._repr_html_()


@pytest.mark.parametrize("when", [*STRATEGIES, "at_the_end"])
def test_the_run_holds_under_every_strategy(when):
    """Crashed anywhere, any number of times, no server gets a second container."""
    report = sweep(lesson.rolling_out(when, steps=4))
    assert ("holds", True) == (report.verdict, report.closure.closed)


def test_the_run_without_keys_is_found_out():
    """The twin: what the sweep would see."""
    keyless = Scenario("keyless", lambda process: process.cloud.deploy_container("web-1"), [lesson.each_server_once])
    assert "container web-1 twice" == sweep(keyless).broken[0].why


@pytest.mark.parametrize("size", range(len(WRITE_AT_LAST)))
def test_a_write_torn_anywhere(size):
    """However far it got: one reader starts over, the other says so and leaves the bytes."""
    torn = f"p1@file3.before+torn({size})"
    assert BREAKS["damaged is missing"] == run_once(broken.torn(broken.damaged_is_missing), torn).broken
    with open_world("memory") as world:
        end = Runner(broken.torn(broken.damaged_is_damaged), world).replay(Schedule.parse(torn))[0]
    assert ("CheckpointCorrupt", WRITE_AT_LAST[:size]) == (end.last.error["type"], end.files[broken.FILE])


def test_only_the_checksum_sees_a_changed_sign():
    """A parser sees every cut and hardly a changed letter; no changed digit, and no exchanged row."""
    rows = {kind: (int(ways), int(parser.text), int(checksum.text)) for kind, ways, parser, checksum in damage.noticed().rows}
    assert all(checksum == ways > 0 for ways, _, checksum in rows.values())
    assert (rows["cut short"][0], 0, 0) == tuple(rows[kind][1] for kind in ("cut short", "a digit is another", "it is another task's"))
    assert 0 < rows["a letter is another"][1] < rows["a letter is another"][0] / 2


def test_a_changed_digit_is_corrupt_and_the_older_ones_are_there():
    """The newest is damaged, which is an error; nothing of the others is lost."""
    store, manager = damage.one_digit_changed()
    assert [True, True, False] == [found.intact for found in store.load(lesson.TASK)]
    with pytest.raises(CheckpointCorrupt):
        manager.validate_and_resume(lesson.TASK)


def test_what_age_first_says_wrongly():
    """After a weekend only what runs is rightly expired; the library is right about all."""
    rows = {state: (first.verdict, sound.verdict) for state, _, first, sound in validity.answers().rows}
    wrong = ("broken", "holds")
    assert {"completed": wrong, "cancelled": wrong, "pending": wrong, "running": ("holds", "holds")} == rows


@pytest.mark.parametrize(("says", "broken_points"), [(broken.names_its_own, 11), (broken.names_all, 0)])
def test_one_checkpoint_must_name_all_tools(says, broken_points):
    """One crash at each place: what names only its own tool forgets the others."""
    found = one_crash(broken.remembers(says))
    assert (34, broken_points) == (len(found), sum(verdict == "broken" for _, verdict, _ in found))


def test_pruning_with_the_save_holds_anywhere():
    """A crash between save and pruning does not exist: they are one commit."""
    report = sweep(broken.rotation(broken.saved_and_pruned))
    assert ("holds", True) == (report.verdict, report.closure.closed)


def test_bytes_grow_with_the_square():
    """Twice the steps: four times the bytes where each checkpoint holds all outputs, twice where each is kept once."""
    square, linear = ([sizes.bytes_written(keep, steps) for steps in (10, 20)] for keep in (sizes.in_each, sizes.as_artifacts))
    assert square[1] > 3.5 * square[0]
    assert linear[1] < 2.1 * linear[0]
