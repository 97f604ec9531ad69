"""Tables and strips of the lesson on events and webhooks: who hears what when, one fault at each place, attempts, signatures, and every error.

Each cell is a run, or a call, made now.

Not handled here: the ways themselves (see `webhooks` and `buses`), and names (see `webhooks_names`).
"""

from __future__ import annotations

from dataclasses import replace

from labkit.faults import Scenario, run_once
from labkit.faults.chart_table import Mark, Table, bad, good, judged, table
from labkit.faults.strip import Strip, strip
from labkit.faults.trace import Line, Trace
from labkit.lessons import buses
from labkit.lessons import webhooks_names as names
from labkit.lessons.buses import MAIL, MONITOR, Makes, day
from labkit.lessons.buses_bounds import BOUND, NO_BOUND, waits
from labkit.lessons.sagas_runs import places
from labkit.lessons.webhooks import BROKEN, durable, redirected
from labkit.lessons.webhooks_world import SAME, SECRET, Way, told
from labkit.webhook import verify
from labkit.webhook.send import sign
from labkit.webhook.wire import TIMEOUT_SECONDS

DAYS = (buses.one_thread, buses.thread_per_event, buses.library)


def day_of(*makes: Makes) -> Table:
    """When each mail has left, and when the monitor has heard, for each way."""
    rows = []
    for made in makes or DAYS:
        lines = [line for line in run_once(day(made), "none").lines if line.kind == "note"]
        mails = [(line.time, line.text) for line in lines if line.label == MAIL]
        heard = [(line.time, line.text) for line in lines if line.label == MONITOR]
        sent = (good if [name for _, name in mails] == list(buses.EVENTS) else bad)(_said(mails))
        late = max(at - buses.EVENTS.index(name) * buses.EVERY for at, name in heard) > buses.SOON
        rows.append([made.__name__.replace("_", " "), sent, (bad if late else good)(_said(heard))])
    return table(["", "the mails have left", "the monitor has heard"], rows)


def _said(moments: list[tuple[float, str]]) -> str:
    return ", ".join(f"{name} at {at:g} s" for at, name in moments)


def crashes(*ways: Way) -> Strip:
    """A strip for each way: one crash at each place."""
    rows = ((way.__name__.replace("_", " "), places(told(way))) for way in ways)
    return strip(rows, each="a cell is one crash, on one side of a call of p1")


def attempts(scenario: Scenario, schedule: str) -> Table:
    """Each request: when, by whom, under which id, with which bytes, and what it is to the customer."""
    trace = run_once(scenario, schedule)
    rows: list[list[str | Mark]] = []
    for line in trace.lines:
        if line.kind == "effect":
            what, *rest = line.label.split(", ")
            again = what == MAIL and any(row[-1] == good("a mail") for row in rows)
            words = bad("another mail") if again else good("a mail") if what == MAIL else what
            id_, body = (part.split()[-1] for part in rest) if rest else ("", "")
            if any(row[2] == id_ and row[3] != body for row in rows):
                words = bad("the same id, other bytes")
            rows.append([f"{line.time:g} s", line.process, id_, body, words if rest else bad(what)])
    return table(["at", "by", "id", "bytes", "to the customer"], rows)


def lanes(scenario: Scenario, schedule: str) -> Trace:
    """The run as lanes, with what concerns the delivery alone: requests, waits, writes to its row, and what the customer takes them for.

    The token is that of the whole run. The last lane is the customer's; under each request stands the delivery's id.
    """
    trace = run_once(scenario, schedule)
    return replace(trace, lines=tuple(_as_delivery(line) for line in trace.lines if _concerns_it(line)))


def _concerns_it(line: Line) -> bool:
    written = line.label.endswith(" webhook_deliveries") and not line.label.startswith("SELECT")
    return line.kind != "cross" or line.boundary in ("http", "clock") or written


def _as_delivery(line: Line) -> Line:
    """An effect under the delivery's id, as the picture shows a key; the same id again is nothing new."""
    if line.kind != "effect":
        return line
    what, id_, bytes_ = line.label.split(", ")
    return replace(line, label=f"{MAIL}, {bytes_}", text=f"{id_.split()[-1]}{' again' if what == SAME else ''}")


def signatures() -> Table:
    """What a receiver that verifies makes of a delivery, and of four others."""
    delivery, body = "5f0c", b'{"id":"t-1","state":"completed"}'
    signature = sign(SECRET, delivery, body)
    tries = {
        "as it was sent": (delivery, body, signature, True),
        "another body": (delivery, body.replace(b"completed", b"failed"), signature, False),
        "another id": ("60aa", body, signature, False),
        "signed with another secret": (delivery, body, sign("guessed", delivery, body), False),
        "no signature": (delivery, body, "", False),
    }
    rows = []
    for name, (id_, bytes_, signed, genuine) in tries.items():
        taken = verify(SECRET, id_, bytes_, signed)
        rows.append([name, (good if taken == genuine else bad)("genuine" if taken else "refused")])
    return table(["a delivery", "verify says"], rows)


def errors() -> Table:
    """Every way that is broken, and the library's under the same trouble."""
    rows = [[name, *(_judged(one, schedule) for one in (scenario, sound_for(scenario)))]
            for name, (scenario, schedule) in BROKEN.items()]  # fmt: skip
    days = {"one thread for all handlers": buses.one_thread, "a thread for each event": buses.thread_per_event}
    rows += [[name, _judged(day(made), "none"), _judged(day(buses.library), "none")] for name, made in days.items()]
    rows += [
        ["an unbounded queue", bad(f"{waits(NO_BOUND, 5)} events wait"), good(f"{waits(BOUND, 5)} wait, and the rest is told")],
        ["a host checked by its name", *(_name(sends, ("10.0.0.1",)) for sends in (names.by_its_name, names.pinned))],
        ["a name looked up twice", *(_name(sends, (names.PUBLIC,), ("10.0.0.1",)) for sends in (names.asks_twice, names.pinned))],
        ["a limit for each byte", *(_lasts(limit) for limit in (names.limit_per_byte, names.limit_in_all))],
    ]  # fmt: skip
    return table(["", "as one writes it first", "the library"], rows)


def _name(sends: names.Sends, *answers: tuple[str, ...]) -> Mark:
    """What is contacted when a name leads here, and then there."""
    address = names.contacted(sends, "turncoat.example", *answers)
    return bad(f"{address} was contacted") if address == "10.0.0.1" else good()


def _lasts(limit: names.Limit) -> Mark:
    seconds = names.lasts(limit)
    return bad(f"one attempt lasts {seconds:,.0f} s") if seconds > TIMEOUT_SECONDS else good()


def sound_for(scenario: Scenario) -> Scenario:
    """The same trouble for the library's way."""
    return redirected(durable) if scenario.name.startswith("redirected") else told(durable)


def _judged(scenario: Scenario, schedule: str) -> Mark:
    why = run_once(scenario, schedule).broken
    return judged(why)
