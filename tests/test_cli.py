"""The command line: exit codes, one line for what cannot be used, and never a traceback."""

import json
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from labkit import cli
from labkit.errors import StoreBusy, UsageError
from tests.checkout import ROOT, labkit

COMMANDS = ["lab", "exercises", "check", "replay", "hint", "reset", "progress", "demo", "worker", "release"]


@pytest.mark.parametrize("command", COMMANDS)
def test_help_has_an_example(command, capsys):
    """`labkit COMMAND --help` ends with 0 and shows a call that its own parser accepts."""
    with pytest.raises(SystemExit) as ended:
        cli.main([command, "--help"])
    assert ended.value.code == 0
    example = " ".join(capsys.readouterr().out.split("example: ")[1].split()).replace("'", "")
    assert cli.build().parse_args(example.split()[1:]).command == command


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
        (PermissionError(13, "Permission denied", "x"), 2, "labkit: [Errno 13] Permission denied: 'x'\n"),
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
    source = "# labkit: a\n### BEGIN SOLUTION\nx = 1\n### END SOLUTION"
    about = {"labkit": {"id": "a", "role": "solution", "schema": 1}}
    cell = {"cell_type": "code", "source": source, "metadata": about, "outputs": [], "execution_count": 1}
    (tmp_path / "solutions").mkdir()
    (tmp_path / "solutions" / "a.ipynb").write_text(json.dumps({"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}))
    ends = [labkit("release", "solutions", *more, cwd=tmp_path).returncode for more in (["--check"], [], ["--check"])]
    assert ends == [1, 0, 0]
    assert "x = 1" not in (tmp_path / "exercises" / "a.ipynb").read_text()


def test_exercises_as_json():
    """`labkit exercises --json` prints a list that scripts can read."""
    run = labkit("exercises", "--json")
    assert (run.returncode, run.stderr) == (0, "")
    keys = {"id", "title", "chapter", "origin", "minutes", "difficulty", "points"}
    assert [one["id"] for one in json.loads(run.stdout) if not keys <= one.keys()] == []


def test_check_of_nonsense():
    """An unknown exercise, a missing file and a token that is none end with 2 and one line."""
    for arguments in (["check", "no-such", "a.py"], ["check", "retry", "no/such.py"], ["replay", "nonsense"], ["hint", "no-such"]):
        run = labkit(*arguments)
        assert (run.returncode, run.stderr.count("\n")) == (2, 1), (arguments, run.stderr)
