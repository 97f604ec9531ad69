"""A box is what its level promises: what was asked for and cannot be had is an error, and what is inside sees and changes nothing that it should not."""

import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from labkit.classroom import box as boxes
from labkit.classroom import rights, walls
from labkit.classroom.box import LEVELS, Box, IsolationUnavailable, promises, strongest, why_not
from labkit.errors import UsageError
from labkit.faults.nursery import NurseryDied
from tests.checkout import ROOT

HAD = [level for level in LEVELS if not why_not(level)]
AS_ANOTHER = [level for level in HAD if level != "process"]
LOOK = """
import json, os, socket, sys
def tried(act):
    try:
        return [True, str(act())]
    except OSError as error:
        return [False, type(error).__name__]
print(json.dumps({
    "user": os.getuid(), "here": os.getcwd(), "names": sorted(os.environ),
    "mine": tried(lambda: open("mine", "w").write("x")),
    "checkout": tried(lambda: os.listdir(sys.argv[1])),
    "outside": tried(lambda: open(sys.argv[2], "w").write("x")),
    "system": tried(lambda: open(os.path.join(sys.prefix, "labkit-was-here"), "w").write("x")),
    "grader": tried(lambda: os.kill(int(sys.argv[3]), 0)),
    "network": tried(lambda: socket.create_connection(("192.0.2.1", 9), 0.2)),
    "special": tried(lambda: os.setuid(0)) if os.getuid() else tried(lambda: os.sethostname("x") if hasattr(os, "sethostname") else os.chroot("/")),
}))
"""


@pytest.fixture(scope="module", params=HAD)
def inside(request, tmp_path_factory):
    """The level, and what a program that looks around in a box of it tells."""
    outside = tmp_path_factory.mktemp("graders") / "report.csv"
    outside.write_text("before")
    with Box(request.param) as box, box.folder() as folder:
        command = box.wrap([sys.executable, "-c", LOOK, str(ROOT / "tests"), str(outside), str(os.getpid())])
        done = subprocess.run(command, env=box.environment, capture_output=True, text=True, timeout=60, check=True)
        return request.param, folder, outside, json.loads(done.stdout)


def test_inside_is_a_folder_of_its_own_and_an_empty_environment(inside):
    """What runs in a box is in its own folder, may write there, and inherits nothing of the grader's environment."""
    _, folder, _, told = inside
    assert (str(folder), True) == (told["here"], told["mine"][0])
    assert {"HOME", "LANG", "PATH", "TMPDIR"} == set(told["names"]) - {"LC_CTYPE", "__CF_USER_TEXT_ENCODING"}
    assert not folder.exists()


def test_another_user_changes_nothing_outside(inside):
    """Under another user, or in namespaces, no file of the grader's changes and no process of the grader's can be signalled."""
    level, _, outside, told = inside
    if level == "process":
        assert "could read what the grader may read" in promises(level)
        return
    assert [False, False, False, False] == [told[what][0] for what in ("outside", "system", "grader", "special")]
    assert "before" == outside.read_text()


def test_a_namespace_shows_nothing_of_the_grader(inside):
    """In namespaces the checkout, the report and the network are not there at all."""
    level, _, _, told = inside
    seen = {what: told[what][1] for what in ("checkout", "outside", "network") if level == "namespace"}
    hidden = {"checkout": "FileNotFoundError", "outside": "FileNotFoundError", "network": "OSError"}
    assert (hidden if level == "namespace" else {}) == seen


def test_strongest_level_is_the_default():
    """A box without a level is of the strongest that there is, and each level says what it is worth in one sentence."""
    with Box() as box:
        assert (strongest(), HAD[-1]) == (box.level, box.level)
    assert len(LEVELS) == len({promises(level) for level in LEVELS})


@pytest.mark.parametrize("level", ["user", "namespace"])
def test_level_that_cannot_be_had_is_an_error(level, monkeypatch):
    """What was asked for and cannot be had stops the grader: it never falls back to less."""
    monkeypatch.setattr(boxes, "why_not", lambda asked: "the system says no" if asked == level else "")
    with pytest.raises(IsolationUnavailable, match=f"isolation {level} cannot be had here: the system says no"):
        Box(level)
    with pytest.raises(UsageError, match="there is no isolation 'jail'; there are process, user, namespace"):
        Box("jail")


def test_system_that_refuses_is_asked_for_its_reason(monkeypatch):
    """Whether a level can be had is found out by going in; the system's reason is told."""
    monkeypatch.setattr(walls.Walls, "probe", lambda self: "unshare: Operation not permitted")
    monkeypatch.setattr(rights, "known_machine", lambda: True)
    assert "unshare: Operation not permitted" == why_not.__wrapped__("namespace")
    monkeypatch.setattr(rights, "known_machine", lambda: False)
    assert why_not.__wrapped__("namespace").startswith("new processes cannot be refused on a ")


def test_private_folder_is_hidden_within_what_is_shown(tmp_path):
    """A folder that nobody may see is not seen either where it lies within Python's own."""
    if "namespace" not in HAD:
        assert why_not("namespace")
        return
    private = Path(sys.prefix) / "share"
    with Box("namespace", private=[private]) as box, box.folder():
        look = "import os, sys; print(os.listdir(sys.argv[1]), os.path.exists(sys.argv[2]))"
        command = box.wrap([sys.executable, "-c", look, str(private), str(tmp_path)])
        done = subprocess.run(command, env=box.environment, capture_output=True, text=True, timeout=60, check=True)
    assert "[] False" == done.stdout.strip()


def test_exit_status_comes_out_and_the_dead_leave_nothing(tmp_path):
    """A program's exit status is the command's, and what it leaves running ends with it."""
    level = strongest()
    leave = "import os, sys, time\nif os.fork() == 0:\n    os.setsid()\n    time.sleep(60)\nsys.exit(7)"
    with Box(level) as box, box.folder():
        done = subprocess.run(box.wrap([sys.executable, "-c", leave]), env=box.environment, capture_output=True, timeout=30)
        base = box.walls.base
    assert (7, False) == (done.returncode, base.exists())
    left = [one for one in Path("/proc").glob("[0-9]*/cmdline") if str(base).encode() in _read(one)]
    assert [] == left


def _read(path):
    try:
        return path.read_bytes()
    except OSError:
        return b""


def test_a_box_that_is_stopped():
    """What runs in it ends, whoever waits for it, and nothing can be started there any more, by no thread."""
    with Box("process") as box:
        child = box.nursery.start("tests.faults.nursery_jobs:wait_for_ever")
        next(child.reports(60, 60))
        box.stop()
        assert list(child.reports(60, 60)) == []
        with pytest.raises(NurseryDied, match="stopped"):
            box.nursery.start("no.job")
        with pytest.raises(NurseryDied, match="stopped"), box.kernels({}):
            pass
        with ThreadPoolExecutor() as pool, pytest.raises(NurseryDied, match="stopped"):
            pool.submit(lambda: box.walls).result()


def test_threads_never_share_a_box():
    """Each thread has a user, a warm parent and rooms of its own, so that two learners never meet."""
    import threading

    with Box("process") as box:
        mine, others = box.walls, []
        thread = threading.Thread(target=lambda: others.append(box.walls))
        thread.start()
        thread.join()
        assert mine is box.walls
        assert mine.base != others[0].base
    assert not mine.base.exists()
    assert not others[0].base.exists()
