"""The chapter's queue on channels: who hears the result, what hangs, what stays; and the library's queue beside it."""

import pytest

from labkit.clock import VirtualClock
from labkit.errors import WaitTimeout
from labkit.faults import run_once
from labkit.lessons import channels


def test_a_channel_gives_its_result_to_one():
    """Of three who wait the first hears, and two wait in vain, one of them since before the end."""
    assert "p3 and p4 waited in vain" == run_once(channels.on_a_channel()).broken


def test_a_row_tells_everybody():
    """The same three hear it from the library's queue, before the end and after it."""
    assert run_once(channels.on_a_row()).broken is None


def test_the_table_says_who_hears_when():
    """From the row at the end, or at once for whoever comes later."""
    rows = {row[0]: row[1:] for row in channels.who_hears().rows}
    assert ["who asked", "a second tab", "comes after the end"] == list(rows)
    assert ["holds", "broken", "broken"] == [channel.verdict for channel, _ in rows.values()]
    assert ["deployed, at 10 min", "deployed, at 10 min", "deployed, at 15 min"] == [row.text for _, row in rows.values()]


def test_a_full_channel_hangs():
    """Where there is no room and no worker, the third request never ends."""
    assert "p1 never ends" == run_once(channels.full_channel).broken


def test_channels_are_never_removed():
    """Common error 5: the line is empty and everybody has heard, and there is a channel for each task that ever was."""
    clock, server = VirtualClock(), channels.Channels()
    for _ in range(200):
        task_id = server.submit(clock)
        server.work(clock)
        assert "deployed" == server.wait(clock, task_id, 1.0)
    assert (0, 200) == (len(server.tasks), len(server.results))


def test_who_waits_on_a_channel_gives_up_in_time():
    """A wait without a result ends after its timeout."""
    clock, server = VirtualClock(), channels.Channels()
    task_id = server.submit(clock)
    with pytest.raises(WaitTimeout):
        server.wait(clock, task_id, 90.0)
    assert 90.0 == clock.monotonic()
