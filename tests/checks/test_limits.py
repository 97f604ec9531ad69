"""What keeps a wild answer from taking the machine with it, on each platform as far as it can."""

from types import SimpleNamespace

from labkit.checks.limits import CPU, FILE, GRACE, MEMORY, set_limits

INFINITY = -1


def platform(refused=(), hard=INFINITY, without=()):
    """A `resource` of its own, and what was set."""
    kinds = {name: name for name in ("RLIMIT_AS", "RLIMIT_CPU", "RLIMIT_FSIZE", "RLIMIT_CORE") if name not in without}
    done = {}

    def setrlimit(kind, limits):
        if kind in refused:
            raise ValueError("current limit exceeds maximum limit")
        done[kind] = limits

    made = SimpleNamespace(RLIM_INFINITY=INFINITY, getrlimit=lambda kind: (hard, hard), setrlimit=setrlimit, **kinds)
    return made, done


ALL = {"RLIMIT_AS": MEMORY, "RLIMIT_CPU": CPU, "RLIMIT_FSIZE": FILE, "RLIMIT_CORE": 0}


def test_every_limit_is_set():
    """Each limit is lowered; the hard one stays, but for processor time: there whoever ignores the signal is ended a little later."""
    resource, done = platform()
    set_limits(resource)
    assert {kind: (most, INFINITY) for kind, most in ALL.items()} | {"RLIMIT_CPU": (CPU, CPU + GRACE)} == done


def test_refused_limit_is_left_out():
    """A platform that refuses a limit, or has none of a kind, still gets all others."""
    for how in ({"refused": ("RLIMIT_AS",)}, {"without": ("RLIMIT_AS",)}):
        resource, done = platform(**how)
        set_limits(resource)
        assert ALL.keys() - {"RLIMIT_AS"} == done.keys()


def test_harder_limit_stays():
    """Where the machine allows less, less it is."""
    resource, done = platform(hard=5)
    set_limits(resource)
    assert {(5, 5), (0, 5)} == set(done.values())
