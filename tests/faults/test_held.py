"""A held world: its ledger and clock are the holder's, whatever a process does to its own copy."""

import json
import socket

import pytest

from labkit.cloud import Cloud, Effect
from labkit.faults.child import Child
from labkit.faults.held import HeldLedger, Holder
from labkit.faults.pipe import SelectedPipe
from labkit.faults.world import World


@pytest.fixture
def world():
    with World() as made:
        yield made


@pytest.fixture
def holder(world):
    made = Holder(world, world.folder / "held")
    made.expect("p1", None, lambda said: None)
    yield made
    made.close()


def test_effects_are_carried_out_by_the_holder(world, holder):
    """A call is in the holder's ledger, once for one key, under the name of the process that was expected."""
    ledger = HeldLedger(str(holder.path), dict)
    cloud = Cloud(ledger, world.clock, by="somebody else")
    answers = [cloud.deploy_container("shop", key="k") for _ in range(2)]
    assert (["container shop ready"] * 2, [("deploy_container", "p1")]) == (answers, [(one.name, one.by) for one in world.ledger.entries()])


def test_a_process_takes_nothing_back(world, holder):
    """What a process does to its copy of the ledger, and what it claims to have changed nothing, stays as it happened."""
    ledger = HeldLedger(str(holder.path), dict)
    Cloud(ledger, world.clock).deploy_container("shop")
    ledger.replace(())
    ledger.append(Effect("deploy_container", "shop", None, "no answer", "never", "nobody", changed=False))
    assert [True, True] == [one.changed for one in world.ledger.entries()]


def test_time_does_not_run_backwards(world, holder):
    """A process moves the clock on, and not back."""
    ledger = HeldLedger(str(holder.path), dict)
    ledger.move(60.0, 0.0)
    ledger.move(1.0, 0.0)
    assert 60.0 == world.clock.elapsed


NONSENSE = [b"no JSON", b"[]", b"{}", b'{"perform": {"name": 1}, "said": {}}', b'{"clock": ["late", 0]}', b'{"clock": [NaN, 0]}', b'{"clock": [1e300, 0]}']


@pytest.mark.parametrize("said", NONSENSE)
def test_nonsense_ends_the_talk_and_changes_nothing(world, holder, said):
    """Whatever else a process says is no question: it gets no answer, and the next one is served."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as line:
        line.settimeout(10)
        line.connect(str(holder.path))
        line.sendall(said + b"\n")
        assert b"" == line.recv(1)
    assert [] == HeldLedger(str(holder.path), dict).entries()


def test_holder_strikes_when_the_effect_has_happened(world, holder):
    """At the effect that kills, what the process told last is handed on, and it hears no answer any more."""
    struck = []
    holder.expect("p1", 2, struck.append)
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as line:
        line.settimeout(10)
        line.connect(str(holder.path))
        lines = line.makefile("rb")
        for number, key in enumerate(["one", "two"]):
            effect = vars(Effect("deploy_container", "shop", key, "", "", ""))
            line.sendall(json.dumps({"perform": effect, "said": {"number": number}}).encode() + b"\n")
            answer = lines.readline()
    assert (b"", [{"number": 1}], 2) == (answer, struck, len(world.ledger.entries()))


@pytest.mark.parametrize(("line", "fine"), [("sea0 1", True), ("1", False), ("sea1 1", False), ("se0 1", False)])
def test_line_without_its_seal_is_no_word(line, fine):
    """On a sealed pipe a line counts only with the seal and its own number before it."""
    import os

    read_end, write_end = os.pipe()
    os.write(write_end, f"{line}\n".encode())
    os.close(write_end)
    child = Child(0, SelectedPipe(read_end), lambda: 0, "sea")
    try:
        if fine:
            assert [1] == list(child.reports(5, 5))
        else:
            with pytest.raises(ValueError, match="without its seal"):
                list(child.reports(5, 5))
    finally:
        child.wait()
