"""A process that comes after another has another number and another day, and each way to ask agrees."""

import os
import time
from datetime import UTC, date, datetime, timedelta

from labkit.checks.elsewhere import LATER, elsewhere

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
