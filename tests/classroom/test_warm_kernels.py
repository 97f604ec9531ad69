"""Parents of kernels that are forked from a warm one: in the box, alone, and gone when they are not wanted any more."""

import json
import os
import sys

import pytest

from labkit.classroom.box import Box
from labkit.classroom.kernels import Kernels, NoKernel
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


def test_a_box_that_cannot_be_entered(tmp_path):
    """Nobody is ready at the other end, and the command that is asked next says why."""
    warm = WarmKernels()
    complains = [sys.executable, "-c", "import sys; sys.exit('no way in')"]
    with warm.sent({"view": None, "user": None, "folder": str(tmp_path / "missing")}, {}) as wire:
        kernels = Kernels(complains, dict(os.environ), tmp_path, wire.dup())
        with pytest.raises(NoKernel, match="no way in"):
            kernels.start([])
    warm.close()
