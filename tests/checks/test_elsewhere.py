"""A process that comes after another has another number and another day, and each way to ask agrees."""

import os
import random
import time
from datetime import UTC, date, datetime, timedelta

from labkit.checks.elsewhere import DAY, LATER, PID, elsewhere, pass_time, settled

DAYS = {
    "date.today": lambda: date.today(),
    "datetime.now": lambda: datetime.now().date(),
    "datetime.now in UTC": lambda: datetime.now(UTC).date(),
    "datetime.utcnow": lambda: datetime.utcnow().date(),
    "datetime.today": lambda: datetime.today().date(),
    "time.time": lambda: date.fromtimestamp(time.time()),
    "time.time_ns": lambda: date.fromtimestamp(time.time_ns() / 1e9),
    "time.localtime": lambda: date(*time.localtime()[:3]),
    "time.gmtime": lambda: date(*time.gmtime()[:3]),
    "time.ctime": lambda: datetime.strptime(time.ctime(), "%a %b %d %H:%M:%S %Y").date(),
    "time.asctime": lambda: datetime.strptime(time.asctime(), "%a %b %d %H:%M:%S %Y").date(),
    "time.strftime": lambda: date.fromisoformat(time.strftime("%Y-%m-%d")),
}


def told(process):
    with elsewhere(process):
        return {name: ask() for name, ask in DAYS.items()}


def test_every_way_to_ask_for_the_day():
    """Each tells another day in each process, and all of a process agree but for a midnight in between or between two zones."""
    for process in (1, 2):
        moved = told(process)
        for name, day in told(0).items():
            assert moved[name] - day in (process * LATER // timedelta(days=1) * timedelta(days=1) + timedelta(days=n) for n in (0, 1)), name


def test_the_number_of_a_process():
    """Three processes have three numbers; who is in none has its own again, and so has who comes back."""
    before, found = os.getpid(), []
    for process in (0, 1, 2):
        with elsewhere(process):
            found.append(os.getpid())
            with elsewhere(0):
                assert before == os.getpid()
    assert (before, 3) == (found[0], len(set(found)))
    assert before == os.getpid()


def test_what_is_told_stays_what_it_is():
    """A moved time is a `datetime` in its zone, one of a class of one's own too, and a time that is given is not moved."""

    class Mine(datetime):
        pass

    with elsewhere(1):
        assert (datetime, UTC) == (type(datetime.now(UTC)), datetime.now(UTC).tzinfo)
        assert Mine is type(Mine.now())
        assert 1970 == time.gmtime(0).tm_year == datetime.fromtimestamp(0, UTC).year


def test_the_settled_machine():
    """Every way to ask tells the fixed day, later in each process; the number is fixed; each reading is later; afterwards all is as before."""
    before = os.getpid()
    with settled("a"):
        assert {name: DAY.date() for name in DAYS} == told(0)
        assert {(DAY + LATER).date()} == set(told(1).values())
        assert PID == os.getpid() != before
        first = time.time_ns()
        assert first < time.time_ns() < first + 10**9
        pass_time(3600)
        assert time.time_ns() > first + 3600 * 10**9
    assert before == os.getpid()
    assert date.today() != DAY.date()


def test_the_settled_machine_is_the_same_again():
    """Two that ask the same see the same, and so does a process in each run; another process sees another machine."""
    seen = []
    for process in (0, 0, 1):
        with settled("a"), elsewhere(process):
            seen.append([time.time(), datetime.now(UTC), datetime.utcnow(), time.strftime("%c"), os.getpid(), random.random()])
    with settled("b"), elsewhere(0):
        assert time.time() == seen[0][0]
    assert seen[0] == seen[1]
    assert not {*map(str, seen[0])} & {*map(str, seen[2])}
