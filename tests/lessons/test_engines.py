"""Choosing an engine: what a kill leaves on both, with and without keys; what new code does to old runs; and that nothing of DBOS gets into the kernel."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from labkit.errors import LabkitError, UsageError
from labkit.lessons import engines, engines_runs, engines_views
from labkit.lessons.engines import CROSSINGS, SIDES, STEP_FIRST, STEPS
from labkit.lessons.engines_runs import CHANGES_MADE, ENGINES, LOST, MANY, MOST, UNDOING, Run, Yard
from labkit.postgres import fresh_database
from tests.queue.helpers import until

ROOT = Path(__file__).parents[2]
CALLS = [do for do, _ in STEPS.values()]
ALL = "container, route, dns_record, alert"
ENDS = {"labkit": ("completed", "failed"), "DBOS": ("SUCCESS", "ERROR")}
pytestmark = [pytest.mark.postgres, pytest.mark.slow]


def cells(shown):
    return [[str(cell) for cell in row] for row in shown.rows]


def told(run):
    """The ledger: who did what."""
    return [(effect.by, effect.name) for effect in run.effects]


@pytest.fixture(scope="module")
def yard():
    pytest.importorskip("dbos")
    with Yard() as made:
        yield made


@pytest.fixture(scope="module")
def killed(yard):
    """keys -> engine -> crossing -> the run that was killed there."""
    return {keys: yard.everywhere(keys=keys) for keys in (False, True)}


@pytest.mark.parametrize("crossing", CROSSINGS)
@pytest.mark.parametrize("keys", [False, True], ids=["bare", "keys"])
@pytest.mark.parametrize("engine", ENGINES)
def test_the_ledger_of_each_kill(killed, engine, keys, crossing):
    """The same on both: the first process did all up to its death, the second the rest, and what nobody had recorded once more unless it has a key."""
    call, side = crossing.split(".")
    done = CALLS.index(call) + (side != "before")
    again = [("process 2", call)] if side == "after" and not keys else []
    run = killed[keys][engine][crossing]
    expected = [*(("process 1", name) for name in CALLS[:done]), *again, *(("process 2", name) for name in CALLS[done:])]
    assert (ENDS[engine][0], expected) == (run.end, told(run))
    assert [call] * len(again) == run.twice


@pytest.mark.parametrize("engine", ENGINES)
def test_what_is_recorded_is_not_asked_for_again(killed, engine):
    """With keys the ledger does not show it, so the calls of the second process do: a step whose record was lost is called again, no other one."""
    for crossing, run in killed[True][engine].items():
        call, side = crossing.split(".")
        assert [*CALLS[CALLS.index(call) + (side == "after-record") :]] == list(run.calls), crossing


def test_each_key_is_that_of_the_run_and_the_step(killed):
    """The same in each process, another one for each step; and without keys there is none."""
    for engine in ENGINES:
        run = killed[True][engine][LOST]
        assert [f"{run.name}:{step}:do" for step in STEPS] == [effect.key for effect in run.effects]
        assert {None} == {effect.key for effect in killed[False][engine][LOST].effects}


def test_the_strips_say_so(yard, killed):
    """Four of twelve, the same four; with keys none."""
    bare, keyed = engines_views.sweep(yard, keys=False), engines_views.sweep(yard, keys=True)
    assert [(engine, "4 of 12 broken") for engine in ENGINES] == [(row.label, row.sum) for row in bare.rows]
    assert ["all 12 hold", "all 12 hold"] == [row.sum for row in keyed.rows]
    assert SIDES == ("before", "after", "after-record")
    rows = cells(engines_views.ledgers(yard, keys=False))
    assert ["3", *["✕ process 2: configure_route again"] * 2] == rows[2]
    assert ["2", *["process 1: configure_route, killed"] * 2] == rows[1]
    assert 4 == len(cells(engines_views.ledgers(yard, keys=True)))


@pytest.mark.parametrize("engine", ENGINES)
def test_who_does_not_die_where_it_should_is_told(yard, engine):
    """A kill that never happened proves nothing."""
    with pytest.raises(LabkitError, match=engine):
        yard.run(engine, "send_mail.before")


CHANGED = {  # change -> how the run ends, its error, what is there, what the last process called
    "as it comes": ("PENDING", "", "container, route", ["issue_certificate", *CALLS]),  # for the kiosk
    "old code": ("SUCCESS", "", ALL, CALLS[2:]),
    "pinned": ("ERROR", "DBOSUnexpectedStepError", "container, route", []),
    "one name": ("SUCCESS", "", ALL, ["configure_route", *CALLS[2:]]),
    "patch": ("SUCCESS", "", ALL, CALLS[2:]),
    "renamed": ("ERROR", "DBOSUnexpectedStepError", "container, route", []),
    "labkit": ("completed", "", f"certificate, {ALL}", ["issue_certificate", *CALLS[2:]]),
    "labkit, renamed": ("completed", "", f"2 {ALL.replace('container', 'containers')}", [CALLS[0], *CALLS[2:]]),
}
HURT = {"as it comes", "pinned", "one name", "renamed", "labkit, renamed"}


@pytest.mark.parametrize("change", CHANGED)
def test_new_code_under_an_old_run(yard, change):
    """What the deployment that was under way came to."""
    ((made, run),) = yard.changes(change)
    assert CHANGED[change] == (run.end, run.error, run.there, list(run.calls))
    assert (change in HURT) == (not made.ends_well(run))
    shown = cells(engines_views.changed(yard, change))[0][-1]
    assert ("✕" if change in HURT else "✓") == shown[0]
    assert ("; no certificate" in shown) == (change == "one name")


def test_every_change_is_tested():
    """None that the lesson shows is left out."""
    assert [*CHANGED] == [*CHANGES_MADE]


def test_a_new_run_goes_the_way_of_the_patch(yard):
    """Only old runs go without the certificate."""
    run = yard.run("DBOS", second={"way": "patched"})
    assert ("SUCCESS", f"certificate, {ALL}") == (run.end, run.there)
    assert not run.wrong(STEP_FIRST)


def test_without_a_key_one_name_for_all_doubles_the_route(yard):
    """The records are shifted by one, so the last of them is asked for again."""
    run = yard.run("DBOS", engines_runs.UNDER_WAY, first={"way": "one_name"}, second={"way": "one_name_first"}, keys=False)
    assert ("SUCCESS", ["configure_route"], 0) == (run.end, run.twice, sum(effect.name == "issue_certificate" for effect in run.effects))


def test_what_stays_of_a_refused_deployment(yard):
    """DBOS takes nothing back unless it is written; then it goes on in the undo, as the saga does."""
    found = [(row[0], row[1], row[3]) for row in cells(engines_views.refused(yard))]
    assert [
        ("DBOS", "as it is", "✕ container, route"),
        ("DBOS", "undo by hand", "✓ nothing"),
        ("DBOS", "undo by hand, killed in it", "✓ nothing"),
        ("labkit", "as it is", "✓ nothing"),
        ("labkit", "killed in the undo", "✓ nothing"),
    ] == found
    for engine, way in (("DBOS", engines_views.UNDO), ("labkit", None)):
        run = yard.run(engine, UNDOING, first=way, second=way, far_side="FullZone")
        assert [("process 1", "delete_route"), ("process 2", "remove_container")] == told(run)[2:]


def test_which_errors_are_tried_again(yard):
    """As they are, none; allowed, DBOS all of them, until it is told which."""
    found = {(row[0], row[1]): (row[2][-1], row[3][-1]) for row in cells(engines_views.tried(yard))}
    bare = {(engine, "as it is"): ("1", "1") for engine in ENGINES}
    assert bare | {("labkit", "retries allowed"): ("2", "1"), ("DBOS", "retries allowed"): ("2", "3"), ("DBOS", "and told which"): ("2", "1")} == found


def test_a_secret_in_an_error_is_in_the_record(yard):
    """In both; DBOS has it in a pickle, which hides nothing."""
    assert ["saga_log.error"] == engines_views.found_in(yard, "labkit")
    assert "operation_outputs.error" in engines_views.found_in(yard, "DBOS")


def test_what_waits_has_a_bound_or_none(yard):
    """labkit says no at the bound, DBOS takes everything."""
    assert (MOST, MANY) == (engines_views.taken(yard, "labkit"), engines_views.taken(yard, "DBOS"))


def test_the_costs_are_counted(yard):
    """A row more and a commit less: the saga's append is one statement, and DBOS asks before it writes."""
    rows = {row[0]: (int(row[1]), int(row[2])) for row in cells(engines_views.costs(yard))}
    assert {"rows written, a step": (2, 1), "commits that write, a step": (1, 1), "commits, a step": (1, 2)}.items() <= rows.items()
    ours, theirs = rows["statements, a step"]
    assert ours == 1 < theirs
    assert 3 == rows["lines of code, all or nothing"][0] < rows["lines of code, all or nothing"][1]


def test_of_seven_duties_the_engine_has_one(yard):
    """As it comes; the verdicts are those of the runs."""
    rows = cells(engines_views.duties(yard))
    assert 7 == len(rows)
    assert ["go on after a kill"] == [row[0] for row in rows if row[1].startswith("✓")]
    assert 4 == sum(row[2].startswith("✓") for row in rows)


def test_a_process_of_dbos_talks_to_nobody_else(tmp_path):
    """No look-up of a name, and no connection that Python knows of: the driver alone talks to PostgreSQL, and is asked for it by its URL."""
    pytest.importorskip("dbos")
    play = (
        "import sys; heard = []\n"
        "sys.addaudithook(lambda event, given: heard.append((event, given)) if event in ('socket.connect', 'socket.getaddrinfo', 'urllib.Request') else None)\n"
        "from labkit.lessons.engines_ways import play_dbos\n"
        "play_dbos(lambda said: print(said['end']), url=sys.argv[1], name='alone', ledger=sys.argv[2], how={'by': 'p'})\n"
        "print(heard)\nimport os, socket; socket.getaddrinfo('127.0.0.1', 1); print(len(heard), flush=True); os._exit(0)"
    )
    with fresh_database() as database:
        command = [sys.executable, "-c", play, database.url, str(tmp_path / "ledger")]
        ran = subprocess.run(command, capture_output=True, text=True, timeout=120, env=os.environ | {"PYTHONPATH": str(ROOT)})
    assert ["SUCCESS", "[]", "1"] == ran.stdout.splitlines(), ran.stderr  # the last one: who asks is heard


def test_nothing_of_dbos_in_the_kernel():
    """What the notebook imports and lists loads none of it."""
    shown = "from labkit.lessons import engines_runs, engines_views as v; v.listing('saga', 'deploy.deploy'); import sys; print('dbos' in sys.modules)"
    ran = subprocess.run([sys.executable, "-c", shown], capture_output=True, text=True, timeout=120, env=os.environ | {"PYTHONPATH": str(ROOT)})
    assert "False\n" == ran.stdout, ran.stderr


def test_without_dbos_one_line_says_what_to_install(monkeypatch):
    """And no traceback."""
    monkeypatch.setattr(engines_runs, "find_spec", lambda name: None)
    with pytest.raises(UsageError, match=r"DBOS, which is not installed here; .*\[engine,postgres\]") as raised:
        engines_runs.begin()
    assert 1 == len(raised.value._render_traceback_())


def test_a_yard_leaves_nothing_behind():
    """A new one closes the one before; closed, its parent, its folder and its database are gone."""
    pytest.importorskip("dbos")
    first = engines_runs.begin()
    parent, folder = first._nursery._parent, first._folder
    second = engines_runs.begin()
    assert parent.poll() is not None
    assert not folder.exists()
    import psycopg

    with pytest.raises(psycopg.OperationalError, match="does not exist"):
        psycopg.connect(first.url.replace("+psycopg", ""))
    engines_runs._open.clear()
    second.close()
    second.close()


KERNEL = """
from labkit.lessons.engines_runs import Yard
yard = Yard()
print(yard._nursery._parent.pid, flush=True)
yard.everywhere(keys=True)
"""


def test_nobody_outlives_the_kernel():
    """Killed in the middle of its runs: the warm parent goes, and all children with it."""
    pytest.importorskip("dbos")
    psutil = pytest.importorskip("psutil")
    env = os.environ | {"PYTHONPATH": str(ROOT)}
    with subprocess.Popen([sys.executable, "-c", KERNEL], env=env, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as kernel:
        parent = psutil.Process(int(kernel.stdout.readline()))
        until(lambda: len(parent.children()) > 1)
        family = [parent, *parent.children()]
        kernel.kill()
    until(lambda: not any(one.is_running() and one.status() != psutil.STATUS_ZOMBIE for one in family))


def test_lines_of_code_count_no_texts():
    """A decorator counts, a docstring does not."""
    assert (3, 4) == (engines_views.lines("saga"), engines_views.lines("deploy.deploy"))
    assert engines_views.source("deploy.deploy").source.startswith('@DBOS.workflow(name="deploy")\ndef deploy(app: str)')


def test_a_run_is_wrong_when_its_end_and_the_world_differ():
    """A good end with something missing, and a bad one with something left."""
    assert Run("DBOS", "SUCCESS").wrong()
    assert not Run("DBOS", "ERROR").wrong()
    assert {"Cloud", "FullZone", "ShyZone"} == engines.FAR_SIDES.keys()
