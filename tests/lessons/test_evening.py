"""The Friday evening: the numbers that the lesson tells, and the real queue that gives the same ones."""

import pytest

from labkit.lessons.evening import COUNT, EVERY, HOTFIX, PATIENCE, WORK, evening
from labkit.lessons.evening_charts import compared, hotfix, lengths, on_the_clock, waiting_times

URGENT = [HOTFIX]
BOUNDED = {"urgent": URGENT, "bound": 15}


def begins(**design):
    return on_the_clock(evening(**design).began[HOTFIX])


def test_the_handler_lets_thirty_time_out():
    """One after the other, 200 deployments take until Sunday, and 30 clients have waited for longer than a day."""
    handler = evening()
    assert (30, "Sun 02:20", 0) == (handler.timed_out, on_the_clock(handler.over), sum(handler.refusals))
    assert [number * (WORK - EVERY) for number in range(COUNT)] == handler.waits
    assert 30 == sum(wait > PATIENCE for wait in handler.waits)


@pytest.mark.parametrize(
    ("workers", "without", "with_priority"),
    [(1, "Sat 01:20", "Fri 18:20"), (3, "Fri 19:43", "Fri 18:20"), (10, "Fri 18:15", "Fri 18:15")],
)
def test_when_the_hotfix_begins(workers, without, with_priority):
    """One worker with priority is earlier than three without, and ten need none."""
    assert (without, with_priority) == (begins(workers=workers), begins(workers=workers, urgent=URGENT))
    row = next(row for row in hotfix([workers]).rows)
    assert (without, with_priority) == tuple(mark.text for mark in row[1:])


def test_priority_makes_nobody_faster():
    """With priority the evening ends when it did, and what the hotfix wins the others lose."""
    without, with_priority = evening(3), evening(3, urgent=URGENT)
    assert without.over == with_priority.over
    assert sum(without.waits) == pytest.approx(sum(with_priority.waits))


def test_where_all_are_urgent_nobody_is():
    """Priority for everybody is the order without priority."""
    assert evening(3) == evening(3, urgent=range(COUNT))


def test_no_worker_is_idle_while_somebody_waits():
    """At each start at most so many deployments run as there are workers, and all of them when there is a line."""
    one = evening(3, urgent=URGENT)
    for at in one.began:
        running = sum(began <= at < began + WORK for began in one.began)
        assert running <= 3
        assert running == 3 or one.length(at) == 0


def test_a_bound_refuses_the_hotfix_too():
    """A full queue looks at nobody's priority; with a reserve the hotfix comes in at once."""
    full, reserved = evening(3, **BOUNDED), evening(3, **BOUNDED, reserve=5)
    assert (4, "Fri 19:21") == (full.refusals[HOTFIX], on_the_clock(full.began[HOTFIX]))
    assert (0, "Fri 18:20") == (reserved.refusals[HOTFIX], on_the_clock(reserved.began[HOTFIX]))


def test_a_bound_keeps_the_line_short_and_nothing_else():
    """At most 15 are in line and begin within the hour; the evening ends when it did, and the longest wait of all grows."""
    free, full = evening(3, urgent=URGENT), evening(3, **BOUNDED)
    assert (110, 15) == (free.longest, full.longest)
    assert max(full.in_line) <= 3600 < max(free.in_line)
    assert free.over == full.over
    assert max(full.waits) > max(free.waits)
    assert all(wait >= line for wait, line in zip(full.waits, full.in_line, strict=True))


@pytest.mark.parametrize("design", [{"workers": 1}, {"workers": 3, "urgent": URGENT}, {"workers": 3, "urgent": range(100, COUNT)}])
def test_the_real_queue_claims_in_the_same_order(design):
    """Each of the 200 begins at the same second whether the line stands in memory or in labkit's queue."""
    assert evening(**design) == evening(**design, stored=True)


@pytest.mark.slow
def test_the_real_queue_refuses_the_same_ones():
    """With a bound and a reserve too: each is refused as often."""
    assert evening(3, **BOUNDED, reserve=5) == evening(3, **BOUNDED, reserve=5, stored=True)


def test_the_picture_shows_who_waited_too_long():
    """Bars above the day are red, those below are not; equal evenings give equal pictures."""
    drawn = waiting_times({"handler": evening(), "pool": evening(10)})
    page = drawn._repr_html_()
    assert 30 == page.count('class="lk-over"')
    assert COUNT - 30 - 1 == page.count('class="lk-bar"')  # the first one does not wait
    assert "up to 28 h 12 min, 30 longer than a day" in page
    assert "nobody waits" in repr(drawn)
    assert page == waiting_times({"handler": evening(), "pool": evening(10)})._repr_html_()


def test_the_picture_shows_the_line():
    """A line without a bound stands above it for hours, one with a bound never does."""
    free, full = (lengths({"line": one}, bound=15) for one in (evening(3), evening(3, **BOUNDED)))
    assert 'class="lk-over"' in free._repr_html_()
    assert 'class="lk-over"' not in full._repr_html_()
    assert "Fri 17:00" in full._repr_html_()


def test_the_table_marks_what_went_wrong():
    """A hotfix that waits for an hour and clients that have gone are marked."""
    bad, fine = compared({"handler": evening(), "pool": evening(10)}).rows
    assert ["broken", "broken"] == [cell.verdict for cell in (bad[1], bad[6])]
    assert ["holds", "holds"] == [cell.verdict for cell in (fine[1], fine[6])]
