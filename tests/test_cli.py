"""The command line: exit codes, one line for what cannot be used, and never a traceback."""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import textwrap
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from labkit import cli, workfolder
from labkit.checks import registry, words
from labkit.checks.judge import HOLDS, NOT_EXERCISED, CheckReport
from labkit.classroom.release import command as release
from labkit.database import open_engine
from labkit.errors import CallTimeout, StoreBusy, StoreCorrupt, UsageError
from labkit.queue import TaskQueue, Worker
from labkit.server.app import make_app
from labkit.server.control import ACTIONS
from labkit.tables import create_tables
from tests.checkout import ROOT, environment, lab_server, labkit
from tests.queue.helpers import refuse_threads

COMMANDS = ["lab", "exercises", "check", "replay", "hint", "reset", "progress", "demo", "worker", "serve", "mcp", "release", "grade", "lint", "doctor"]


def master(answer):
    """A notebook with one exercise and its answer."""
    source = f"# labkit: a\n### BEGIN SOLUTION\n{answer}\n### END SOLUTION"
    about = {"labkit": {"id": "a", "role": "solution", "schema": 1}}
    cell = {"cell_type": "code", "source": source, "metadata": about, "outputs": [], "execution_count": 1}
    return json.dumps({"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 5})


def help_of(command, capsys):
    """What a command's help says."""
    with pytest.raises(SystemExit) as ended:
        cli.main([command, "--help"])
    assert ended.value.code == 0
    return capsys.readouterr().out


def example(command, capsys):
    """The words of the example in a command's help."""
    return shlex.split(help_of(command, capsys).split("example:")[1])


@pytest.fixture
def desk(tmp_path, monkeypatch):
    """A folder as a learner and an instructor have it: a work folder, an answer, handlers of a queue, a master, its release and what came back."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("JUPYTER_DATA_DIR", str(tmp_path / "jupyter"))
    workfolder.fill(tmp_path / "work")
    shutil.copy(ROOT / "tests/answers/retry/right/plain_loop.py", "answer.py")
    os.mkdir("shop")
    (tmp_path / "shop" / "jobs.py").write_text("def handlers(job):\n    return job.task.user_input\n")
    for folder in ("solutions", "returned/ann"):
        os.makedirs(folder)
        shutil.copy(ROOT / "solutions/11-state-management/backoff.ipynb", folder)
    release(tmp_path / "solutions")
    return tmp_path


@pytest.mark.parametrize("command", [command for command in COMMANDS if command not in ("lab", "worker", "serve", "mcp")])
def test_examples_run(command, capsys, desk):
    """`labkit COMMAND --help` ends with 0, and what it shows as an example runs and ends with 0 too."""
    name, *arguments = example(command, capsys)
    assert (name, arguments[0]) == ("labkit", command)
    assert cli.main(arguments) == 0
    assert capsys.readouterr().out


def test_example_of_the_worker_runs(capsys, desk):
    """The worker of the example starts, and ends with 0 when it is told to."""
    command = [sys.executable, "-m", *example("worker", capsys)]
    with subprocess.Popen(command, env=os.environ | {"PYTHONPATH": str(ROOT)}, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline().startswith("working: ")
        process.terminate()
        assert process.wait(timeout=30) == 0


def test_jobs_of_the_worker_run(capsys, tmp_path):
    """The module of jobs in the worker's help does a task, tells its steps and leaves a result."""
    module = textwrap.dedent(help_of("worker", capsys).partition("shop/jobs.py")[2].partition("\n")[2].partition("example:")[0])
    names = {}
    exec(module, names)
    queue = TaskQueue(engine := open_engine(f"sqlite:///{tmp_path}/tasks.db"))
    create_tables(engine)
    task_id = queue.submit("report 7")
    assert Worker(queue, names["handlers"], "w1").run_until_idle() == 1
    assert queue.get(task_id).result == "done: report 7"
    assert [told.status for _, told in queue.progress.history(task_id)] == ["thinking", "tool_result", "completed"]


def test_addresses_of_the_server_are_there(capsys, tmp_path):
    """Each address in the server's help is one that it answers at, and the message is one that it obeys."""
    said = help_of("serve", capsys)
    named = re.findall(r"^  (GET|POST|WS) +(/[\w/]+)", said, re.MULTILINE)
    routes = make_app(TaskQueue(open_engine(f"sqlite:///{tmp_path}/tasks.db"))).routes
    there = {(method, one.path.replace("{task_id}", "ID")) for one in routes for method in getattr(one, "methods", ["WS"])}
    assert (len(named), [one for one in named if one not in there]) == (4, [])
    assert json.loads(re.search(r"/control +(\{.*?\})", said)[1])["action"] in ACTIONS


@pytest.mark.parametrize("command", ["worker", "serve"])
def test_what_is_to_be_copied_is_not_wrapped(command, capsys, monkeypatch):
    """What help shows as it is typed fits 80 columns, and a narrower terminal shows the same lines."""
    shown = []
    for columns in ("80", "40"):
        monkeypatch.setenv("COLUMNS", columns)
        shown.append(re.search(r"^a(ddresses|\smodule of jobs).*", help_of(command, capsys), re.MULTILINE | re.DOTALL)[0])
    assert shown[0] == shown[1]
    assert max(map(len, shown[0].splitlines())) < 80


@pytest.mark.slow
def test_example_of_the_lab_runs(capsys, tmp_path):
    """The example of `labkit lab` fills its folder and starts a server."""
    pytest.importorskip("jupyterlab")
    with lab_server([*example("lab", capsys), "--no-browser"], tmp_path, environment(tmp_path / "home")):
        assert (tmp_path / "work" / workfolder.FIRST).is_file()


def test_help_names_every_command(capsys):
    """`labkit --help` is the list."""
    with pytest.raises(SystemExit):
        cli.main(["--help"])
    said = capsys.readouterr().out.split()
    assert [command for command in COMMANDS if command not in said] == []


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["nonsense"],
        ["check"],
        ["check", "retry", "a.py", "too many"],
        ["check", "retry", ""],
        ["check", "retry", "a\0.py"],
        ["check", "retry", "--database", "oracle"],
        ["check", "retry", "--engine", "steam"],
        ["hint", "retry", "much"],
        ["hint", "retry", "-1"],
        ["hint", "retry", "0"],
        ["progress"],
        ["check", "warmup"],
        ["check", "warmup", "a.py", "--engine", "kill"],
        ["check", "retry", "a.py", "--engine", "interleave"],
        ["replay", "reboot/memory:p1@cloud1.after+crash", "a.py"],
        ["lab", str(ROOT / "setup.py" / "below")],
        ["lab", str(ROOT / "notebooks" / "mine")],
        ["lab", "x" * 300],
        ["demo", "--kill-at", "x\ny"],
        ["demo", "--kill-at", "²"],
        ["lab", "--port", "9" * 5000],
        ["release"],
        ["release", "no/such/folder"],
        ["release", str(ROOT / "labkit")],
        ["release", str(ROOT / "setup.py")],
        ["lab", str(ROOT / "setup.py")],
        ["reset", "no-such-exercise"],
        ["--nonsense"],
    ],
)
def test_garbage_ends_in_two_with_one_line(arguments, capsys, tmp_path, monkeypatch):
    """What cannot be used is said in one line on stderr; the exit code is 2."""
    monkeypatch.chdir(tmp_path)
    assert cli.main(arguments) == 2
    out, err = capsys.readouterr()
    assert (out, err.count("\n"), err.startswith("labkit: ")) == ("", 1, True)
    assert list(tmp_path.iterdir()) == []


@given(st.lists(st.sampled_from([*COMMANDS[1:], "retry", "--json", "--check", "-1", "", "--", "-", "\ud800", "é"]), max_size=4))
def test_any_arguments_are_parsed_or_refused(arguments):
    """The parser takes the arguments, shows help, or raises the one error that becomes one line."""
    try:
        parsed = cli.build().parse_args(arguments)
    except UsageError as error:
        assert "\n" not in str(error)  # noqa: PT017 - either outcome is fine
    else:
        assert parsed.command in COMMANDS


@pytest.mark.parametrize(
    ("error", "code", "said"),
    [
        (KeyboardInterrupt(), 130, ""),
        (UsageError("no such\nthing"), 2, "labkit: no such thing\n"),
        (StoreBusy(), 2, "labkit: The store was locked for longer than we wait; nothing was written.\n"),
        (PermissionError(13, "Permission denied", "x"), 2, "labkit: x: Permission denied\n"),
        (OSError("nothing to be had"), 2, "labkit: nothing to be had\n"),
        (StoreCorrupt("torn"), 2, "labkit failed: StoreCorrupt: torn (what you typed is not to blame)\n"),
        (CallTimeout("late"), 2, "labkit failed: CallTimeout: late (what you typed is not to blame)\n"),
        (
            ModuleNotFoundError("No module", name="jupyterlab.labapp"),
            2,
            "labkit: jupyterlab.labapp is not installed here; in the checkout: python -m pip install '.[all]'\n",
        ),
    ],
)
def test_errors_become_exit_codes(error, code, said, monkeypatch, capsys):
    """Each kind of end has its exit code; nothing but one line is said."""

    def fail(_):
        raise error

    monkeypatch.setattr(cli, "progress", fail)
    assert cli.main(["progress"]) == code
    assert capsys.readouterr().err == said


def test_a_missing_part_of_labkit_is_our_bug(monkeypatch):
    """A module of labkit that cannot be found is not blamed on the installation."""

    def fail(_):
        raise ModuleNotFoundError("No module", name="labkit.nowhere")

    monkeypatch.setattr(cli, "progress", fail)
    with pytest.raises(ModuleNotFoundError):
        cli.main(["progress"])


def test_closed_pipe_is_quiet(tmp_path):
    """A reader that goes away ends the command without a word."""
    code = "from labkit import cli\ncli.progress = lambda _: print('x' * 10**6) or 0\nraise SystemExit(cli.main(['progress']))"
    command = [sys.executable, "-c", code]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        process.stdout.read(1)
        process.stdout.close()
        said = process.stderr.read()
    assert (said, process.returncode) == (b"", cli.PIPE_CLOSED)


def test_runs_as_a_module():
    """`python -m labkit` is the same command, with its version."""
    run = labkit("--version")
    assert (run.returncode, run.stderr, run.stdout.split()[0]) == (0, "", "labkit")


def test_release_and_back(tmp_path):
    """`labkit release` says what it writes and ends with 0; `--check` ends with 1 as long as something would change."""
    (tmp_path / "solutions").mkdir()
    (tmp_path / "solutions" / "a.ipynb").write_text(master("x = 1"))
    ends = [labkit("release", "solutions", *more, cwd=tmp_path).returncode for more in (["--check"], [], ["--check"])]
    assert ends == [1, 0, 0]
    assert "x = 1" not in (tmp_path / "exercises" / "a.ipynb").read_text()


def test_exercises_as_json():
    """`labkit exercises --json` prints a list of all exercises that scripts can read."""
    run = labkit("exercises", "--json")
    assert (run.returncode, run.stderr) == (0, "")
    keys = {"id", "title", "chapter", "origin", "minutes", "difficulty", "points", "passed"}
    listed = json.loads(run.stdout)
    assert [one["id"] for one in listed] == list(registry.IDS)
    assert [one["id"] for one in listed if one.keys() != keys] == []


def test_check_of_nonsense():
    """An unknown exercise, a missing file and a token that is none end with 2 and one line."""
    for arguments in (["check", "no-such", "a.py"], ["check", "retry", "no/such.py"], ["replay", "nonsense"], ["hint", "no-such"]):
        run = labkit(*arguments)
        assert (run.returncode, run.stderr.count("\n")) == (2, 1), (arguments, run.stderr)


@pytest.mark.parametrize(
    ("option", "text", "why"),
    [
        ("--kill-at", "-1", "-1 is negative"),
        ("--kill-at", "9" * 23, f"{'9' * 23} is too large"),
        ("--kill-at", "9" * 5000, f"{'9' * 27}... is too large"),
        ("--kill-at", "1.5", "'1.5' is not a whole number"),
        ("--port", "-5", "-5 is negative"),
        ("--port", "99999", "99999 is no port: there are 1 to 65535"),
        ("--port", "0", "0 is no port: there are 1 to 65535"),
    ],
)
def test_numbers_that_do_not_fit(option, text, why, capsys):
    """What is wrong with a number is what the line says."""
    command = "lab" if option == "--port" else "demo"
    assert cli.main([command, option, text]) == 2
    assert capsys.readouterr().err == f"labkit: argument {option}: {why} (see labkit {command} --help)\n"


@pytest.mark.parametrize("typed", ["warmup a.py --engine kill --json", "--json warmup --engine kill a.py", "--engine kill --json warmup a.py"])
def test_options_stand_anywhere(typed):
    """The file may come before, between and after options."""
    parsed = cli.build().parse_args(["check", *typed.split()])
    assert (parsed.id, str(parsed.file), parsed.engine, parsed.json) == ("warmup", "a.py", "kill", True)


def test_warmup_in_a_work_folder(desk, capsys):
    """The warm-up stands in a lesson: check, replay and reset find it there; progress and exercises count alike, in one order."""
    os.chdir("work")
    assert cli.main(["check", "warmup"]) == cli.main(["replay", "warmup.keys/memory:none"]) == 0
    assert cli.main(["reset", "warmup"]) == 0
    capsys.readouterr()
    assert cli.main(["progress"]) == 0
    *lines, total = capsys.readouterr().out.splitlines()
    assert [line.split()[:2] for line in lines] == [["passed" if one == "warmup" else "-", one] for one in registry.IDS]
    assert total == f"1 of {len(registry.IDS)} exercises passed"
    assert cli.main(["exercises", "--json"]) == 0
    assert [one["id"] for one in json.loads(capsys.readouterr().out) if one["passed"]] == ["warmup"]


def test_every_exercise_has_its_notebook(desk):
    """In a work folder each exercise is a stub that can be checked without a file's name."""
    assert [one for one in registry.IDS if one not in workfolder.exercises()] == []


def test_a_deleted_notebook_can_come_back(desk, capsys):
    """Who deleted a notebook is told how to get it back."""
    name = workfolder.exercises()["retry"]
    (desk / "work" / name).unlink()
    assert cli.main(["check", "retry"]) == 2
    assert capsys.readouterr().err == f"labkit: {name} is gone from the work folder: labkit reset retry brings it back\n"
    assert cli.main(["replay", "retry.third_time/memory:none"]) == 2
    assert cli.main(["reset", "retry"]) == 0
    assert cli.main(["check", "retry"]) == 1


def test_replay_line_of_a_check_runs_as_it_stands(tmp_path, capsys, monkeypatch):
    """Pasted from the report, also for a file with a blank in its name, the line shows the failure again: 1, as the check."""
    monkeypatch.chdir(tmp_path)
    shutil.copy(ROOT / "tests/answers/retry/wrong/attempts_left_out.py", "my answer.py")
    assert cli.main(["check", "retry", "my answer.py"]) == 1
    line = re.search(r"see it again: (.*)", capsys.readouterr().out)[1]
    assert cli.main(shlex.split(line)[1:]) == 1
    assert "broken" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("schedule", "why"),
    [
        ("p1@99.after+crash", "crossing not reached"),
        ("p9@1.after+crash", "crossing not reached"),
        ("p1@1.after+crash~123", "something else stands there"),
    ],
)
def test_token_that_does_not_fit_the_answer(schedule, why, desk, capsys):
    """A fault that strikes nothing shows no cure: the first line says so, and the end is 2."""
    assert cli.main(["replay", f"retry.third_time/memory:{schedule}", "answer.py"]) == 2
    first, second, *_ = capsys.readouterr().out.splitlines()
    assert first.startswith("labkit: not every fault of the token strikes here: p")
    assert (why in first, second) == (True, f"retry.third_time/memory:{schedule}")


def test_replay_says_how_it_ended(desk, capsys):
    """A run in which nothing broke ends with that word, and one that broke with what broke; the exit code says the same."""
    token = "retry.third_time/memory:p1@cloud1.after+timeout"
    assert cli.main(["replay", token, "answer.py"]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == "nothing broke in this run"
    wrong = str(ROOT / "tests/answers/retry/wrong/attempts_left_out.py")
    assert cli.main(["replay", "retry.a_single_attempt/memory:p1@cloud1.before+error", wrong]) == 1
    assert "nothing broke" not in capsys.readouterr().out


def test_replay_of_a_stub(desk, capsys):
    """What is not attempted yet is said in one line, the first one of a check, with its exit code; of a wrong token that it is wrong."""
    assert cli.main(["check", "retry"]) == 1
    first = capsys.readouterr().out.splitlines()[0]
    assert cli.main(["replay", "retry.third_time/memory:p1@cloud1.after+timeout"]) == 1
    assert capsys.readouterr().out.splitlines() == [first]
    assert cli.main(["replay", "retry.no_such_case/memory:none"]) == 2


def test_token_of_a_check_that_strikes_nothing(capsys):
    """An answer that calls nothing is broken by a schedule of the exercise's own all the same: 1, as the check said, and the first line tells."""
    answer = str(ROOT / "tests/answers/retry/wrong/do_nothing.py")
    assert cli.main(["replay", "retry.kinds/memory:p1@cloud1.after+timeout", answer]) == 1
    assert capsys.readouterr().out.startswith("labkit: not every fault of the token strikes here: p1@cloud1.after+timeout: ")


@pytest.mark.parametrize(
    ("verdict", "body", "said"),
    [
        ("not attempted", "...", "replace the `...`"),
        ("broken", "return task_id", "mend the line with XX"),
    ],
)
def test_next_step_is_named(verdict, body, said, tmp_path, capsys):
    """A verdict that leaves something to do ends with what to do now, and where help is."""
    (tmp_path / "a.py").write_text(f"def effect_key(task_id, step):\n    {body}\n")
    assert cli.main(["check", "warmup", str(tmp_path / "a.py")]) == 1
    first, *_, last = capsys.readouterr().out.splitlines()
    assert (f"warmup: {verdict} - " in first, said in last, last.endswith("stuck? labkit hint warmup")) == (True, True, True)


def test_nothing_is_left_to_do_for_what_holds():
    """An answer that holds is told no next step; one that was not put to the test is."""
    assert "hint" not in words.whole(CheckReport("retry", HOLDS))
    assert words.whole(CheckReport("retry", NOT_EXERCISED)).endswith("stuck? labkit hint retry")


def run_with(redirections, *arguments, **variables):
    """A command with its streams redirected by a shell, and with variables of its environment."""
    shell = ["sh", "-c", f'exec "$0" -m labkit "$@" {redirections}', sys.executable, *arguments]
    env = {**os.environ, "PYTHONPATH": str(ROOT), **variables}
    return subprocess.run(shell, cwd=ROOT, env=env, capture_output=True, stdin=subprocess.DEVNULL, timeout=120)


NARROW = [{"PYTHONIOENCODING": "cp1252"}, {"PYTHONIOENCODING": "ascii"}, {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}]


@pytest.mark.parametrize("variables", NARROW, ids=["cp1252", "ascii", "C"])
def test_a_terminal_with_few_characters(variables):
    """A picture is drawn where its signs cannot be written, with a ? for each of them, and the columns stay."""
    token, answer = "retry.a_single_attempt/memory:p1@cloud1.before+error", "tests/answers/retry/wrong/do_nothing.py"
    narrow, wide = run_with("", "replay", token, answer, **variables), run_with("", "replay", token, answer, PYTHONIOENCODING="utf-8")
    drawn = re.sub(r"[^\x00-\x7f]", "?", wide.stdout.decode())
    assert (narrow.returncode, narrow.stderr, narrow.stdout.decode("ascii")) == (wide.returncode, b"", drawn)
    assert drawn != wide.stdout.decode()


@pytest.mark.skipif(os.name == "nt", reason="no shell that closes streams")
@pytest.mark.parametrize("streams", [">&-", "2>&-", ">&- 2>&-", "<&- >&- 2>&-", ">/dev/full", "2>/dev/full"])
@pytest.mark.parametrize(
    ("arguments", "code"),
    [("exercises", 0), ("hint retry", 0), ("--help", 0), ("nonsense", 2), ("hint nonsense", 2), ("check warmup tests/answers/warmup/wrong/do_nothing.py", 1)],
)
def test_streams_that_take_nothing(streams, arguments, code):
    """With a stream closed or full each command ends as it would with it, or with 2 and one line; never with a traceback."""
    run = run_with(streams, *arguments.split())
    assert run.returncode in ((code, 2) if streams == ">/dev/full" else (code,))
    assert (b"Traceback" in run.stderr, b"Exception" in run.stderr) == (False, False)
    assert run.stderr.count(b"\n") <= 1


@pytest.mark.parametrize("command", COMMANDS)
def test_examples_fit_a_line(command, capsys, monkeypatch):
    """The example stands on one line of a terminal of 80 columns, also of a narrower one: it is there to be copied."""
    for columns in ("80", "40"):
        monkeypatch.setenv("COLUMNS", columns)
        with pytest.raises(SystemExit):
            cli.main([command, "--help"])
        line = capsys.readouterr().out.splitlines()[-1]
        assert (line.startswith(f"  labkit {command}"), len(line) < 78) == (True, True)


def test_a_pass_that_cannot_be_recorded(desk, capsys):
    """The verdict is there, its exit code too; one line on stderr says that it is not remembered, and why."""
    os.chdir("work")
    (desk / "work" / ".labkit" / "passed").touch()  # a file in its place: as little can be written there as into a folder of others
    answer = str(next((ROOT / "tests/answers/warmup/right").glob("*.py")))
    assert cli.main(["check", "warmup", answer]) == 0
    out, err = capsys.readouterr()
    assert (out.splitlines()[0].startswith("warmup: holds"), err.count("\n"), err.startswith("not recorded: ")) == (True, 1, True)
    assert cli.main(["exercises"]) == cli.main(["progress"]) == 0


@pytest.mark.parametrize("url", ["garbage", "sqlite:///x.db", "postgresql://u:secret@127.0.0.1:1/none"])
def test_a_named_server_that_is_of_no_use(url, monkeypatch, capsys):
    """What LABKIT_DATABASE_URL names is wanted: 2 and one line, before anything is run; it harms nobody who needs no PostgreSQL."""
    monkeypatch.setenv("LABKIT_DATABASE_URL", url)
    claim, retry = (str(next((ROOT / f"tests/answers/{exercise}/right").glob("*.py"))) for exercise in ("claim", "retry"))
    for more in ([], ["--database", "postgres"]):
        assert cli.main(["check", "claim", claim, *more]) == 2
        out, err = capsys.readouterr()
        assert (out, err.count("\n"), "LABKIT_DATABASE_URL" in err, "secret" in err) == ("", 1, True, False)
    assert cli.main(["check", "retry", retry]) == 0


@pytest.mark.parametrize("database", ["sqlite", "postgres"])
def test_a_database_where_none_is_used(database, capsys):
    """`--database` is refused for an exercise that has none."""
    assert cli.main(["check", "retry", "answer.py", "--database", database]) == 2
    assert capsys.readouterr().err == f"labkit: --database {database} is not for retry: nothing in it uses a database\n"


@pytest.mark.parametrize(("number", "why"), [("100000", "too many"), ("257", "too many"), ("0", "too few")])
def test_a_number_of_workers_that_makes_no_sense(number, why, capsys):
    """It is refused at the argument, with the numbers that there are."""
    assert cli.main(["worker", "--database-url", "sqlite:///t.db", "--app", "a:b", "--workers", number]) == 2
    assert f"--workers: {number} is {why}: a process has at least one worker and at most 256" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ("returned --out report --jobs 0", "--jobs: 0 is too few: leave it out for one per processor"),
        ("returned --out report --masters exercises", "was handed out and is no master"),
        (". --out ../report", "belongs to the course and is not what the learners returned: name the folder that holds <learner>/..."),
        ("empty --out report", "no learner has returned anything to empty: it is empty; name the folder that holds <learner>/..."),
        ("returned --out full/report", "no report can be written to full/report (Not a directory): name another folder with --out"),
    ],
)
def test_what_cannot_be_graded(arguments, said, desk, capsys):
    """One line that says what to do, 2, and nothing is written."""
    (desk / "empty").mkdir()
    (desk / "full").touch()
    before = sorted(desk.rglob("*"))
    capsys.readouterr()
    assert cli.main(["grade", *arguments.split(), "--database", "sqlite", "--isolation", "process"]) == 2
    out, err = capsys.readouterr()
    assert (out, err.count("\n"), said in err) == ("", 1, True), err
    assert sorted(desk.rglob("*")) == before


@pytest.mark.parametrize("what", ["listener", "worker", "heartbeat"])
def test_a_thread_that_cannot_start(what, desk, capsys, monkeypatch):
    """One line and 2, and none of the threads that did start goes on."""
    refuse_threads(monkeypatch, what)
    before = threading.active_count()
    command = ["worker", "--database-url", "sqlite:///t.db", "--app", "shop.jobs:handlers", "--workers", "3"]
    assert cli.main(command) == 2
    err = capsys.readouterr().err
    assert (err.count("\n"), f"labkit: labkit {what}" in err, "take fewer workers" in err) == (1, True, True)
    assert [one.name for one in threading.enumerate() if one.name.startswith("labkit worker") and one.is_alive()] == []
    assert threading.active_count() <= before + 3  # daemons that are about to hear that they are to end
