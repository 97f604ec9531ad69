"""The demo: whatever the place of the kill, nothing is lost or doubled; without keys and records it shows what is."""

import dataclasses
import random
import subprocess
import sys
from collections import Counter

import pytest

from labkit import cli, demo
from labkit.cloud import Effect
from labkit.demo_text import tell
from labkit.deployment import STEPS
from labkit.errors import UsageError
from labkit.faults.process import Outcome
from labkit.faults.world import World
from tests.checkout import ROOT, labkit


@pytest.fixture(scope="module")
def stage():
    """A world for many stories of the deployment."""
    with World("sqlite", durable=True) as world:
        yield demo.Stage(world)


@pytest.fixture(scope="module")
def naive():
    """The same for the naive one."""
    with World("sqlite", durable=True) as world:
        yield demo.Stage(world, naive=True)


def happened(story):
    """Effect -> how many times."""
    return Counter(effect.name for effect in story.end.effects)


@pytest.mark.slow
def test_a_kill_anywhere_does_no_harm(stage):
    """Killed at every place, on both sides of every call, the deployment is resumed and each effect is there once."""
    lines = stage.places
    assert {line.side for line in lines} == {"before", "after"}
    assert {line.boundary for line in lines} == {"sql", "cloud", "clock"}
    for place in range(1, len(lines) + 1):
        story = stage.play([place])
        assert max(map(len, tell(story, colour=False).splitlines())) < 100
        assert [life.outcome.how for life in story.lives] == ["crashed", "returned"], place
        assert (story.wrong, happened(story)) == ([], Counter(step.effect for step in STEPS)), place


@pytest.mark.slow
def test_a_second_kill_in_the_recovery_does_no_harm(stage):
    """The process that takes over may die as well, anywhere; a third one ends it."""
    first = next(
        n for n, line in enumerate(stage.places, 1) if (line.label, line.side) == ("create_dns_record shop", "after")
    )
    for second in range(1, stage.play([first, 1]).lives[1].places + 1, 3):
        story = stage.play([first, second])
        assert [life.outcome.how for life in story.lives] == ["crashed", "crashed", "returned"], second
        assert story.wrong == [], second


def test_naive_deployment_doubles_what_was_done(naive):
    """Without keys and records each effect that was there at the kill happens again, though the task ends as completed."""
    for place, line in enumerate(naive.places, 1):
        if line.boundary == "cloud":
            story = naive.play([place])
            assert sum(happened(story).values()) == len(STEPS) + story.lives[0].effects
            assert (story.lives[-1].state, bool(story.wrong)) == ("completed", story.lives[0].effects > 0)


def test_the_machine_dies_at_its_minute(stage):
    """Time is virtual: the kill in minute eight comes after eight minutes, the new process a minute later."""
    place = next(n for n, line in enumerate(stage.places, 1) if line.time == 480)
    killed, resumed = stage.play([place]).lives
    assert (killed.began, killed.ended, resumed.began) == (0, 480, 540)


def test_verdict_is_read_from_what_is_left(stage):
    """A missing effect, one too many, a task that is not completed, a missing record, a kill that missed: each is wrong."""
    story = stage.play([1])
    more = [*story.end.effects, Effect("create_alert", "shop", None, "", story.end.effects[0].time, "p2")]
    rows = {"step_log": [row for row in story.end.rows["step_log"] if row["step"] != "dns"]}
    unharmed = dataclasses.replace(story.lives[0], outcome=Outcome("p1", "returned", "completed"))
    found = [
        dataclasses.replace(story, **changes).wrong
        for changes in (
            {"end": dataclasses.replace(story.end, effects=story.end.effects[1:])},
            {"end": dataclasses.replace(story.end, effects=tuple(more))},
            {"end": dataclasses.replace(story.end, tasks={demo.TASK: {"state": "running"}})},
            {"end": dataclasses.replace(story.end, tasks={})},
            {"end": dataclasses.replace(story.end, rows=rows)},
            {"lives": (unharmed, story.lives[1])},
        )
    ]
    assert found == [
        ["lost: create_namespace"],
        ["doubled: create_alert"],
        ["lost: the task is running, not completed"],
        ["lost: the task is gone, not completed"],
        ["lost: no record says that these are done: dns"],
        ["a process that was to be killed returned 'completed'"],
    ]


def test_a_place_that_is_none_says_the_range(stage):
    """A place out of range is unusable input, and the message says what is in range; the last place and a list work."""
    most = len(stage.places)
    assert stage.play([most, 3]).wrong == []
    for places in ([0], [most + 1], [most, 0], [most, most]):
        with pytest.raises(UsageError, match=rf"^p{len(places)} has no place {places[-1]} to die in, only 1 to \d+$"):
            stage.play(places)


def test_through_the_command_line(stage):
    """`python -m labkit demo --kill-at 7` ends with 0; its output is plain and narrow, and the same in every run."""
    first, second = labkit("demo", "--kill-at", "7"), labkit("demo", "--kill-at", "7")
    assert (first.returncode, first.stderr, first.stdout) == (0, "", second.stdout)
    assert f"p1 gets SIGKILL at place 7 of {len(stage.places)}" in first.stdout
    assert "Nothing lost, nothing doubled: 6 steps, 6 effects" in first.stdout
    assert (first.stdout.isascii(), "\x1b" in first.stdout) == (True, False)


def test_out_of_range_on_the_command_line(stage, capsys):
    """A place out of range ends with 2, one line and no output."""
    assert cli.main(["demo", "--kill-at", "999"]) == 2
    said = f"labkit: p1 has no place 999 to die in, only 1 to {len(stage.places)}\n"
    assert capsys.readouterr() == ("", said)


def test_naive_on_the_command_line(capsys):
    """`labkit demo --naive` shows doubled effects and ends with 1."""
    assert cli.main(["demo", "--naive"]) == 1
    out = capsys.readouterr().out
    assert (out.count("doubled\n") > 0, "Doubled: create_namespace, " in out, "p2 says: completed" in out) == (
        True,
        True,
        True,
    )


def test_two_kills_on_the_command_line(capsys):
    """A list kills one process after the other; three of them are told."""
    assert cli.main(["demo", "--kill-at", "86,9"]) == 0
    out = capsys.readouterr().out
    assert (out.count("SIGKILL"), "p3, a new process" in out, "started 2 times, done once" in out) == (2, True, True)


def test_the_seed_draws_the_place(stage, capsys):
    """A seed always draws the same place, and the output names it."""
    assert cli.main(["demo", "--seed", "4"]) == 0
    most = len(stage.places)
    assert f"at place {random.Random(4).randint(1, most)} of {most}" in capsys.readouterr().out


@pytest.mark.parametrize(("no_color", "painted"), [("", True), ("1", False)])
def test_colour_only_on_a_terminal(no_color, painted, monkeypatch, capsys):
    """A terminal gets colour unless NO_COLOR is set; the words are the same."""
    assert cli.main(["demo", "--kill-at", "86"]) == 0
    plain = capsys.readouterr().out
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.setenv("NO_COLOR", no_color)
    assert cli.main(["demo", "--kill-at", "86"]) == 0
    out = capsys.readouterr().out
    assert ("\x1b[" in out, out == plain) == (painted, not painted)


def test_the_deployment_does_not_know_that_it_is_tested():
    """What is deployed loads nothing of the simulator."""
    code = "import labkit.deployment, sys; print(*[name for name in sys.modules if name.startswith(('labkit.faults', 'labkit.demo'))])"
    run = subprocess.run([sys.executable, "-c", code], cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True)
    assert run.stdout.split() == []
