"""The README: every block of commands in it is run, or, where it would install, compared with what make runs."""

import os
import re
import shlex
import shutil
import subprocess
import urllib.request

import pytest

from tests.checkout import ROOT, TOKEN, environment, lab_server

README = (ROOT / "README.md").read_text()
BLOCKS = re.findall(r"(?:<!-- readme: ([^\n]*) -->\n)?```(\w*)\n(.*?)```", README, re.DOTALL)


def blocks(kind):
    """The blocks whose mark begins with this word, as (rest of the mark, text)."""
    return [(mark.removeprefix(kind).strip(" ,"), text) for mark, _, text in BLOCKS if mark.split(",")[0].split(" ")[0] == kind]


def recipe(target):
    """What make would run for a target in a fresh checkout, as lists of words."""
    run = subprocess.run(["make", "--no-print-directory", "-n", "-B", target], cwd=ROOT, capture_output=True, text=True, check=True)
    lines = [shlex.split(line) for line in run.stdout.splitlines()]
    return [words for line in lines for words in (map(shlex.split, line[2:]) if line[:2] == ["sh", ".ci/beside"] else [line])]


def only_saves_time(words):
    """Whether a line of a recipe prepares or cleans up after the install; a stamp, a word to the reader and the look for a browser are no work either."""
    return words[0] in ("touch", "echo", "sh") or ({"pip", "compileall"} & {*words} and "--editable" not in words)


def test_every_block_is_marked():
    """No block of commands is forgotten by the tests below."""
    known = {"make", "plain", "windows", "run", "server"}
    assert [text for mark, _, text in BLOCKS if mark.split(",")[0].split(" ")[0] not in known] == []
    assert {kind for kind in known if blocks(kind)} == known


def test_make_lines_name_targets():
    """Each make line in a block is one that make knows."""
    for _, text in blocks("make"):
        assert [line for line in text.splitlines() if not recipe(line.removeprefix("make "))] == []


def test_plain_form_is_what_make_runs():
    """The form without make is make's own recipe, less its stamp, its quiet, the look for a browser and what only saves time."""
    for target, text in blocks("plain"):
        work = [words for words in recipe(target) if not only_saves_time(words)]
        own = [[word for word in words if word not in ("--quiet", "--no-compile")] for words in work]
        assert [shlex.split(line) for line in text.splitlines()] == own


def test_windows_form_is_the_plain_form():
    """On Windows the same is run, spelt for that shell."""
    plain = dict(blocks("plain"))
    for target, text in blocks("windows"):
        spelt = text.replace(".venv\\Scripts\\", ".venv/bin/").replace("py -3", "python3").replace('"', "'")
        assert spelt == plain[target]


@pytest.fixture
def place(tmp_path):
    """An empty folder to work in, and an environment where `labkit` is found and no proxy stands before this machine."""
    (tmp_path / "here").mkdir()
    direct = dict.fromkeys(("no_proxy", "NO_PROXY"), "127.0.0.1")
    return tmp_path / "here", environment(tmp_path / "home") | direct


@pytest.mark.slow
@pytest.mark.parametrize(("mark", "text"), blocks("run"))
def test_blocks_run(mark, text, place):
    """A block runs as it stands and ends as it says."""
    cwd, env = place
    run = subprocess.run(["bash", "-e", "-c", text], cwd=cwd, env=env, capture_output=True, text=True, timeout=120)
    assert run.returncode == int(mark.removeprefix("exit ") or 0), run.stderr
    assert "Traceback" not in run.stderr
    assert run.stdout


@pytest.mark.slow
@pytest.mark.parametrize(("mark", "text"), blocks("server"))
def test_servers_answer(mark, text, place):
    """A block that starts a server starts one that answers, and stops when it is told to."""
    pytest.importorskip("jupyterlab")
    cwd, env = place
    with lab_server(shlex.split(text), cwd, env) as address, urllib.request.urlopen(f"{address}/lab?token={TOKEN}") as answer:
        assert answer.status == 200


@pytest.mark.parametrize("command", sorted(set(re.findall(r"`labkit (\w+)", README))))
def test_every_named_command_exists(command, place):
    """Each command that the text names has its help."""
    cwd, env = place
    assert shutil.which("labkit", path=env["PATH"])
    run = subprocess.run(["labkit", command, "--help"], cwd=cwd, env=env, capture_output=True, text=True)
    assert (run.returncode, run.stderr) == (0, "")


def test_named_files_exist():
    """Each link to a file of the checkout leads somewhere."""
    links = re.findall(r"\]\((?!http)([^)]+)\)", README)
    assert [link for link in links if not os.path.exists(ROOT / link)] == []
