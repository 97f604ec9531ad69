"""Kernels in the box, heard from outside: every question is answered in bounded time, and no more is kept than one can look at."""

import os
import sys
from collections import deque
from contextlib import suppress
from queue import Empty

import pytest

from labkit.classroom import kernel, kernel_parent
from labkit.classroom.kernel import MOST_KEPT, Kernel, KernelDied
from labkit.classroom.kernels import Kernels, NoKernel
from tests.checkout import ROOT

pytestmark = pytest.mark.slow  # a kernel's parent loads all of labkit
SLEEPS = """
import signal, time
try:
    time.sleep(600)
except KeyboardInterrupt:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
"""


@pytest.fixture(scope="module")
def kernels(tmp_path_factory):
    folder = tmp_path_factory.mktemp("k")
    environment = {"PATH": os.environ["PATH"], "HOME": str(folder), "PYTHONPATH": str(ROOT)}
    started = Kernels([sys.executable, "-P", kernel_parent.__file__], environment, folder)
    yield started
    started.close()


@pytest.fixture
def one(kernels):
    """A kernel of the test's own."""
    started = Kernel(kernels, [""])
    yield started
    started.stop()


def run(one, source, timeout=30):
    """Run a cell to its end; returns what was heard of it."""
    asked = one.execute_cell_input(source, allow_stdin=False)
    one.await_reply(asked, timeout=timeout)
    heard = []
    while not heard or heard[-1]["content"].get("execution_state") != "idle":
        heard.append(one.get_message("iopub"))
    return heard


def printed(heard):
    return "".join(message["content"].get("text", "") for message in heard)


def test_a_cell_is_heard(one):
    """What a cell prints comes, and its reply is kept."""
    assert printed(run(one, "print(6 * 7)")) == "42\n"
    assert one.reply["status"] == "ok"


def test_an_error_that_is_not_shown_is_replied(one):
    """Where nothing is shown of an error the reply still tells it."""
    run(one, "get_ipython().showtraceback = lambda *args, **kwargs: None")
    heard = run(one, "1 / 0")
    assert "error" not in [message["msg_type"] for message in heard]
    assert (one.reply["status"], one.reply["ename"]) == ("error", "ZeroDivisionError")


def test_a_flood_is_capped(one):
    """A cell may print what it likes: it comes to its end, and little is kept."""
    heard = run(one, "import sys\nfor _ in range(30):\n    print('x' * 100_000)\n    sys.stdout.flush()")
    assert 0 < len(printed(heard)) <= MOST_KEPT
    assert one.reply["status"] == "ok"


def test_a_dead_kernel_is_noticed(one):
    """A kernel that ends is noticed when it does, not when the cell's time is over."""
    with pytest.raises(KernelDied):
        run(one, "import os\nos._exit(0)", timeout=600)
    assert not one.is_alive()


def test_a_late_cell(one):
    """A cell that takes too long is interrupted, and remembered as late even when it then ends well."""
    asked = one.execute_cell_input(SLEEPS)
    with pytest.raises(Empty):
        one.await_reply(asked, timeout=0.5)
    for _ in range(300):  # an interrupt that comes before the cell has begun is lost
        one.interrupt()
        with suppress(Empty):
            one.await_reply(asked, timeout=0.2)
            break
    assert (one.late, one.reply["status"]) == (True, "ok")


def test_what_never_comes_to_rest(one, monkeypatch):
    """A kernel that goes on talking after its time is not listened to for ever."""
    monkeypatch.setattr(kernel, "SETTLE", 0.2)
    asked = one.execute_cell_input("while True:\n    print('and')")
    with pytest.raises(Empty):
        one.await_reply(asked, timeout=0.2)
    with pytest.raises(Empty):
        deque(iter(lambda: one.get_message("iopub"), None), maxlen=0)


def test_nonsense_on_the_wire(one):
    """Messages that nobody understands, and those of other cells, are passed over."""
    heard = run(
        one,
        "socket = get_ipython().kernel.iopub_socket\n"
        "socket.send_multipart([b'<IDS|MSG>', b'', b'{', b'[]', b'1', b'[' * 100_000])\n"
        "socket.send_multipart([b'x'])\n"
        "print('still here')",
    )
    assert printed(heard) == "still here\n"


def test_a_check_needs_no_new_interpreter(one):
    """What a check in a kernel forks from was there before it."""
    run(
        one,
        "from labkit.checks.run import NURSERY\nfrom labkit.faults.nursery import Lent\nchild = NURSERY.start('labkit.faults.warming')\nchild.wait()",
    )
    assert one.reply["status"] == "ok"
    run(one, "assert isinstance(NURSERY._parent, Lent)")
    assert one.reply["status"] == "ok"


def test_a_new_parent_where_the_old_one_was_killed(kernels, one):
    """A parent that the answers have ended costs its kernels and nobody else's."""
    with pytest.raises(KernelDied):
        run(one, "import os, signal\nos.kill(os.getppid(), signal.SIGKILL)\nimport time\ntime.sleep(600)", timeout=600)
    another = Kernel(kernels, [])
    assert printed(run(another, "print('new')")) == "new\n"
    another.stop()


def test_a_folder_with_too_long_a_name(tmp_path):
    """A folder in which no socket can be made is refused, and why."""
    asked = Kernels(["/bin/sh", "-c", "echo '{\"ready\": true}'; cat"], {}, tmp_path / ("x" * 100))
    (tmp_path / ("x" * 100)).mkdir()
    with pytest.raises(NoKernel, match="too long a name"):
        asked.start([])
    asked.close()


@pytest.mark.parametrize("said", ["nonsense", "[1]", '{"ready": true', "[" * 10_000])
def test_a_parent_that_says_nonsense(tmp_path, said):
    """A parent that does not say what it must is given up at once."""
    (tmp_path / "said").write_text(f"{said}\n")
    with pytest.raises(NoKernel):
        Kernels(["/bin/cat", str(tmp_path / "said")], {}, tmp_path).start([])
