"""Where a webhook really goes: names that lead inside, names that are looked up twice, and a receiver that drips.

There is no network here. A resolver is a function, a connection is a line in a list, and an answer comes in byte by byte of virtual time.
`by_its_name`, `asks_twice` and `limit_per_byte` are broken on purpose.

Not handled here: what is sent (see `webhooks`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from ipaddress import ip_address

from labkit.clock import VirtualClock
from labkit.errors import CallTimeout, LabkitError
from labkit.faults.chart_table import Mark, Table, bad, good, table
from labkit.webhook.address import Resolve, addresses_of, read_url
from labkit.webhook.public import is_public
from labkit.webhook.wire import TIMEOUT_SECONDS, PinnedPost, _exchange

PUBLIC = "93.184.216.34"
HOSTS: dict[str, tuple[str, ...]] = {  # a host in the address, and where it leads
    "customer.example": (PUBLIC,),
    "127.0.0.1": ("127.0.0.1",),
    "inside.example": ("127.0.0.1",),
    "intranet.example": ("10.0.0.1",),
    "mapped.example": ("::ffff:10.0.0.1",),
    "six.example": ("::1",),
    "cloud.example": ("169.254.169.254",),
    "both.example": (PUBLIC, "10.0.0.1"),
}
FORBIDDEN = ("localhost", "127.0.0.1", "::1", "10.", "192.168.", "169.254.")
DRIPS = b"HTTP/1.1 200 OK\r\nContent-Length: 3600\r\n\r\n" + b"z" * 3_600

Connect = Callable[[str], None]
Sends = Callable[[str, Resolve, Connect], None]
Limit = Callable[[VirtualClock], Callable[[], float]]


def by_its_name(host: str, resolve: Resolve, connect: Connect) -> None:
    """The host is compared with a list. Breaks on any name that leads inside."""
    if host.startswith(FORBIDDEN):
        raise LabkitError("forbidden")
    connect(resolve(host)[0])


def asks_twice(host: str, resolve: Resolve, connect: Connect) -> None:
    """What the name leads to is checked, and the client looks it up again. Breaks on a name that changes its mind."""
    addresses_of(read_url(f"http://{host}/"), resolve, [])
    # subtle: the check was of another answer than this one
    connect(resolve(host)[0])


def pinned(host: str, resolve: Resolve, connect: Connect) -> None:
    """The library's: looked up once, all of it checked, and connected to what was checked."""
    connect(str(addresses_of(read_url(f"http://{host}/"), resolve, [])[0]))


def contacted(sends: Sends, host: str, *answers: Sequence[str]) -> str | None:
    """The address that is contacted when the resolver gives these answers in turn, the last one for ever; None if it is refused."""
    left, found = list(answers), list[str]()
    try:
        sends(host, lambda name: left.pop(0) if len(left) > 1 else left[0], found.append)
    except LabkitError:
        return None
    return found[0]


def names() -> Table:
    """Each host, and what becomes of it by its name, and by where it leads."""
    rows = [[host, ", ".join(leads), *(_mark(contacted(sends, host, leads), leads) for sends in (by_its_name, pinned))]
            for host, leads in HOSTS.items()]  # fmt: skip
    return table(["host", "leads to", "by its name", "by where it leads"], rows)


def twice() -> Table:
    """A name that is public when it is checked, and inside a moment later."""
    answers = ((PUBLIC,), ("127.0.0.1",))
    rows = [[sends.__name__.replace("_", " "), _mark(contacted(sends, "turncoat.example", *answers), (PUBLIC,))]
            for sends in (asks_twice, pinned)]  # fmt: skip
    return table(["", "connects to"], rows)


def _mark(address: str | None, leads: Sequence[str]) -> Mark:
    if address is None:
        return good("refused") if not all(is_public(ip_address(one)) for one in leads) else bad("refused")
    inside = not all(is_public(ip_address(one)) for one in (address, *leads))
    return (bad if inside else good)(f"{address} is contacted")


class Drip:
    """A connection on which one byte comes each second, for ever nearly."""

    def __init__(self, clock: VirtualClock) -> None:
        self._clock, self._limit, self._left = clock, 0.0, list(DRIPS)

    def settimeout(self, seconds: float) -> None:
        self._limit = seconds

    def send(self, data: bytes) -> int:
        return len(data)

    def recv_into(self, buffer: memoryview) -> int:
        """A byte, in a second, where the limit is not shorter."""
        self._clock.sleep(min(1.0, self._limit))
        if self._limit < 1.0:
            raise TimeoutError
        if not self._left:
            return 0
        buffer[0] = self._left.pop(0)
        return 1


def limit_per_byte(clock: VirtualClock) -> Callable[[], float]:
    """As a socket's own limit counts: anew for each byte. Breaks on whoever drips."""
    return lambda: TIMEOUT_SECONDS


def limit_in_all(clock: VirtualClock) -> Callable[[], float]:
    """The library's: what is left of one limit."""
    return PinnedPost(clock=clock)._time_left()


def lasts(limit: Limit) -> float:
    """Seconds for which one attempt occupies whoever makes it."""
    clock = VirtualClock()
    with suppress(CallTimeout, TimeoutError):
        _exchange(Drip(clock), "/done", {}, b"{}", limit(clock))  # type: ignore[arg-type]
    return clock.elapsed


def drip() -> Table:
    """How long one attempt lasts at a receiver that drips."""
    rows = [[limit.__name__.replace("_", " "), (bad if seconds > TIMEOUT_SECONDS + 1 else good)(f"{seconds:,.0f} s")]
            for limit in (limit_per_byte, limit_in_all) for seconds in (lasts(limit),)]  # fmt: skip
    return table([f"a limit of {TIMEOUT_SECONDS:g} s", "one attempt lasts"], rows)
