"""Parents of kernels that are forked from a warm one: in the box, alone, and gone when they are not wanted any more."""

import json
import os
import sys

import pytest

from labkit.classroom import warm_kernels
from labkit.classroom.box import Box
from labkit.classroom.kernels import Kernels, NoKernel
from labkit.classroom.lifeline import Lifeline
from labkit.classroom.warm_kernels import WarmKernels

pytestmark = pytest.mark.slow
LEVEL = pytest.mark.parametrize("level", ["process", ""], ids=["process", "strongest"])


def heard(wire):
    """What comes next, a line of JSON; None at the end."""
    with wire.makefile("rb") as lines:
        line = lines.readline()
    return json.loads(line) if line else None


@LEVEL
def test_two_learners(level):
    """Each gets a parent of its own, which serves until the wire is closed and ends with it."""
    with Box(level) as box, box.folder():
        for _ in range(2):
            with box.kernels({"WHO": "a learner"}) as wire:
                assert {"ready": True} == heard(wire)
                wire.shutdown(1)
                assert heard(wire) is None


def test_who_is_sent_is_killed():
    """Whatever a parent is at, it has ended when nobody wants it any more."""
    with Box() as box, box.folder():
        with box.kernels({}) as wire:
            assert {"ready": True} == heard(wire)
            kept = wire.dup()
        with kept:
            assert heard(kept) is None


def test_nobody_is_waited_for_when_the_lifeline_is_cut(tmp_path, monkeypatch):
    """Who is on the way when all is to end does not come, and whoever waits at the door is let go at once."""
    lifeline = Lifeline()
    warm = WarmKernels(lifeline)
    monkeypatch.setattr(warm_kernels, "SECONDS", None)  # for ever
    monkeypatch.setattr(warm._nursery, "start", lambda *job, **more: lifeline.cut() or Nobody())
    with warm.sent({}, {}) as wire:
        assert wire is None


class Nobody:
    """A child that was killed before it came to the door."""

    def kill(self):
        pass

    wait = kill


def test_a_box_that_cannot_be_entered(tmp_path):
    """Nobody is ready at the other end, and the command that is asked next says why."""
    warm = WarmKernels(Lifeline())
    complains = [sys.executable, "-c", "import sys; sys.exit('no way in')"]
    with warm.sent({"view": None, "user": None, "folder": str(tmp_path / "missing")}, {}) as wire:
        kernels = Kernels(complains, dict(os.environ), tmp_path, wire.dup())
        with pytest.raises(NoKernel, match="no way in"):
            kernels.start([])
    warm.close()
