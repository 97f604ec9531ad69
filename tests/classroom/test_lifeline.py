"""Whoever hangs on a lifeline ends when it is cut, and when whoever held it is gone."""

import subprocess
import sys

import pytest

from labkit.classroom.lifeline import Lifeline

HANGS_ON = "from labkit.classroom.lifeline import hang_on; hang_on(); print('here', flush=True); import threading; threading.Event().wait()"
HOLDS = f"""
import subprocess, sys
from labkit.classroom.lifeline import Lifeline
line = Lifeline()
subprocess.Popen([sys.executable, "-c", {HANGS_ON!r}], stdin=line.end)
sys.stdin.read()
"""


@pytest.mark.parametrize("ends", [Lifeline.cut, Lifeline.close])
def test_cut(ends):
    """Cut once or twice, or closed: the child ends, whatever it is at."""
    with Lifeline() as line, subprocess.Popen([sys.executable, "-c", HANGS_ON], stdin=line.end, stdout=subprocess.PIPE) as child:
        assert child.stdout.readline() == b"here\n"
        ends(line)
        ends(line)
        assert child.wait(60) == 1


def test_who_comes_late():
    """A child that is given a line which was cut already ends at once."""
    with Lifeline() as line:
        line.cut()
        assert subprocess.run([sys.executable, "-c", HANGS_ON], stdin=line.end, capture_output=True, timeout=60).returncode == 1


def test_the_holder_is_killed():
    """The child ends with it: nobody has its end of the output any more."""
    with subprocess.Popen([sys.executable, "-c", HOLDS], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        assert holder.stdout.readline() == b"here\n"
        holder.kill()
        assert holder.stdout.read() == b""
