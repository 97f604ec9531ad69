"""The host: runs the cases of an exercise and says what it saw, in plain data."""

import io
import json
import sys
from contextlib import redirect_stdout

import pytest

from labkit.checks import host, registry
from labkit.checks.exercise import SQL, Seen
from labkit.checks.host import Worlds, kind_of
from labkit.checks.judge import Jury
from labkit.checks.limits import Capped, quiet
from labkit.checks.run import run_check
from labkit.faults.runner import Runner
from labkit.faults.scenario import End, Scenario
from labkit.faults.world import World
from tests.checkout import ROOT

RIGHT = (ROOT / "tests/answers/resume/right/plain_function.py").read_text()


@pytest.fixture(autouse=True)
def unlimited(monkeypatch, tmp_path):
    """The limits are for a child; here the host runs in the test's own process."""
    monkeypatch.setattr(host, "limit_resources", lambda: None)
    monkeypatch.setattr(host, "hide", lambda: None)
    monkeypatch.chdir(tmp_path)


def serve(source, exercise="resume", database="sqlite", engine="", folder=None):
    said = []
    host.serve(
        said.append, exercise=exercise, source=source, database=database, url="", engine=engine, folder=str(folder)
    )
    return json.loads(json.dumps(said))


def test_host_says_plain_data(tmp_path):
    """What the host says goes to JSON and back: loaded, then for each case its name, what was seen and what was covered, then finished."""
    said = serve(RIGHT, folder=tmp_path)
    asked = registry.find("resume")
    assert {"loaded": "resume"} == said[0]
    assert {"finished": "sqlite", "output": ""} == said[-1]
    begun = [word["case"] for word in said if word.keys() == {"case", "database"}]
    assert (
        [case.name for case in asked.cases_on("sqlite")]
        == begun
        == [word["covered"] for word in said if "covered" in word]
    )
    jury = Jury(asked)
    for word in said:
        if "seen" in word:
            jury.hear(Seen(word["case"], word["seen"], End.from_data(word["end"])))
    assert not jury.broken


def test_single_runs_come_first():
    """What needs one run is run before any sweep or interleaving, and costly cases at the end; none is left out."""
    for asked in registry.every():
        cases = asked.cases_on("sqlite")
        ranks = [(case.costly, case.engine != "once") for case in cases]
        assert sorted(ranks) == ranks
        assert {case.name for case in asked.cases if "sqlite" in case.databases} == {case.name for case in cases}


def test_kinds_of_runs(tmp_path):
    """Ends, what a crash left and what Ctrl-C led to are told apart."""
    assert {"end", "left", "interrupted"} == {word["seen"] for word in serve(RIGHT, folder=tmp_path) if "seen" in word}


def test_same_answer_same_words(tmp_path):
    """The host says the same, to the byte, each time it is asked."""
    assert serve(RIGHT, folder=tmp_path / "a") == serve(RIGHT, folder=tmp_path / "b")


def test_cases_without_a_database(tmp_path):
    """Cases that need no database are run once, apart from those that do."""
    source = "def effect_key(task_id, step):\n    return task_id + step\n"
    assert ["keys", "many"] == [
        word["covered"] for word in serve(source, "warmup", "", folder=tmp_path / "a") if "covered" in word
    ]
    assert [] == [word for word in serve(source, "warmup", "sqlite", folder=tmp_path / "b") if "covered" in word]


def test_every_case_starts_empty(tmp_path):
    """The world of one case holds nothing of the case before it: just the tasks that its own set-up leaves in a new one."""
    found = {}
    for word in serve(RIGHT, folder=tmp_path):
        if "seen" in word:
            found.setdefault(word["case"], set()).update(word["end"]["tasks"])
    made = {}
    for case in registry.find("resume").cases_on("sqlite"):
        with World() as world:
            Runner(Scenario("alone", lambda process: None, setup=case.setup), world)
            made[case.name] = {row["id"] for row in world.rows().get("tasks", ())}
    assert made == found
    assert 5 < len({frozenset(ids) for ids in made.values()})


def test_answer_prints_into_the_report(tmp_path):
    """What an answer prints comes with the last word, up to a limit."""
    said = serve("print('hello')\n" + RIGHT, folder=tmp_path)
    assert said[-1]["output"].startswith("hello\nhello\n")


def test_refused_import_ends_the_job(tmp_path):
    """A refusal that the answer caught is told after the case in which it happened."""
    caught = RIGHT + "\ntry:\n    __import__('lab' + 'kit.execution')\nexcept Exception:\n    pass\n"
    said = serve(caught, folder=tmp_path)
    assert "labkit.execution" in said[-1]["forbidden"]
    assert 1 == len([word for word in said if "covered" in word])


@pytest.mark.parametrize("engine", ["interleave", "search"])
def test_engine_for_the_swept_cases(tmp_path, engine):
    """Another engine takes the place of the sweep where it is asked for."""
    said = serve(RIGHT, engine=engine, folder=tmp_path)
    assert {"finished": "sqlite", "output": ""} == said[-1]
    assert {word["crash_points"] for word in said if "crash_points" in word} == set()


SEARCHED = [
    pytest.param(path, id=f"{path.parts[-3]}-{path.stem}", marks=[] if path.stem == "plain_function" else pytest.mark.slow)
    for asked in ("idempotency", "resume")
    for path in (ROOT / "tests/answers" / asked / "right" / f"{style}.py" for style in ("plain_function", "by_keyword"))
]


@pytest.mark.parametrize("path", SEARCHED)
def test_right_answer_holds_in_a_search(path):
    """A search draws only from the faults that the case expects, so that a right answer holds, and its crashes are looked at too."""
    report = run_check(path.parts[-3], path.read_text(), databases=("sqlite",), engine="search")
    assert [] == [(one.name, one.verdict, one.message, one.token) for one in report.properties if one.verdict != "holds"]
    assert "holds" == report.verdict, report.message


def test_kind_of_world():
    """One actor runs in memory, several on a file, and on PostgreSQL all on PostgreSQL."""
    asked = registry.find("resume")
    assert ["memory", "sqlite"] == [kind_of(asked.case(name), "sqlite") for name in ("failed", "two_callers")]
    assert {"postgres"} == {kind_of(case, "postgres") for case in asked.cases}


def test_worlds_are_kept_and_put_back(tmp_path):
    """One world of each kind serves all cases, and is empty each time."""
    with Worlds(tmp_path) as worlds:
        first = worlds.empty("memory", database=True)
        (first.files_folder / "left.txt").write_text("x")
        first.clock.sleep(5)
        again = worlds.empty("memory", database=True)
        assert first is again
        assert ({}, 0.0, []) == (again.files(), again.clock.elapsed, again.rows()["tasks"])


def test_capped_output():
    """A flood is cut, said to be cut, and costs no more memory than the cap; a script may ask its stream for an encoding."""
    output = Capped(10)
    with redirect_stdout(io.StringIO()), quiet(output):
        sys.stdout.reconfigure(encoding="utf-8", errors="replace")
        print("x" * 1000)
        print("y" * 1000, file=sys.stderr)
    assert "x" * 10 + "\n... (more was printed)" == output.getvalue()
    assert output.write("abc") == 3


@pytest.mark.parametrize("exercise", registry.IDS)
def test_every_case_can_be_run(exercise):
    """Each case has a name of its own, schedules that parse and databases that exist; each property looks at cases that exist."""
    asked = registry.find(exercise)
    names = [case.name for case in asked.cases]
    assert sorted(set(names)) == sorted(names)
    assert set(SQL) >= {database for case in asked.cases for database in case.databases}
    assert [] == [(prop.name, name) for prop in asked.properties for name in prop.cases if name not in names]
    assert len({prop.name for prop in asked.properties}) == len(asked.properties)
    for case, _ in asked.to_show():
        asked.case(case)
