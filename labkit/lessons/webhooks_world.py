"""The world of the lesson on webhooks: a task whose end somebody wants to know, a customer who is told, and what must hold of that.

The customer counts as news what comes under an id that was not seen before, and writes one mail for it; what it knows outlives every process. `told`
makes a scenario of a way to tell it: a process that died is followed by another that calls the same way.

Not handled here: the ways themselves (see `webhooks`), and addresses (see `webhooks_names`).
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from labkit.cloud import Effect
from labkit.faults import End, Process, Scenario
from labkit.ids import counted_ids
from labkit.queue import Lease, TaskQueue
from labkit.task import FINAL, Task
from labkit.webhook import Answer, Sender, through, verify
from labkit.webhook.send import ID_HEADER, SIGNATURE_HEADER

if TYPE_CHECKING:
    import httpx

TASK, HOOK, SECRET, RESULT = "t-1", "http://customer.example/done", "between us two", "shop is up"
INSIDE = "169.254.169.254"  # where a cloud tells its machines their passwords
MAIL, SAME, CONTACT = "mail", "the same again", "contact"
Statuses = tuple[int, ...]


class Customer:
    """Checks the signature, and writes a mail for an id that is new. Answers with `statuses` in turn, then 200."""

    def __init__(self, process: Process, statuses: Statuses = ()) -> None:
        self._process, self._ledger, self._statuses = process, process.world.ledger, statuses

    def __call__(self, request: httpx.Request) -> httpx.Response:
        import httpx

        if request.url.host == INSIDE:
            self._keep(CONTACT, INSIDE, None)
            return httpx.Response(200, text="the password of the machine")
        delivery, signature = request.headers[ID_HEADER], request.headers[SIGNATURE_HEADER]
        if not verify(SECRET, delivery, request.content, signature):
            return httpx.Response(401)
        known = [effect for effect in self._ledger.entries() if effect.name in (MAIL, SAME)]
        status = self._statuses[len(known)] if len(known) < len(self._statuses) else 200
        news = all(effect.key != delivery for effect in known)
        self._keep(MAIL if news else SAME, hashlib.sha256(request.content).hexdigest()[:6], delivery)
        return httpx.Response(status, headers={"Location": f"http://{INSIDE}/"} if status == 302 else {})

    def _keep(self, name: str, target: str, key: str | None) -> None:
        self._ledger.append(Effect(name, target, key, "", "", self._process.gate.process))
        self._process.gate.tell("effect", f"{name}, id {key[:6]}, bytes {target}" if key else f"{name} {target}")


@dataclass(frozen=True)
class Shop:
    """What a way works with: the queue, and a way to the customer that signs what it sends."""

    process: Process
    queue: TaskQueue
    client: httpx.Client

    @property
    def send(self) -> Callable[[str, str, bytes], Answer]:
        return Sender(through(self.client), secret=SECRET)

    def new_id(self) -> str:
        """An id that nobody has had, drawn now."""
        return f"{self.process.random.getrandbits(128):032x}"

    def claimed(self) -> Task | None:
        """The task, as soon as nobody else holds it; None when it has ended."""
        while self.queue.get(TASK).state not in FINAL:
            if task := self.queue.claim("w1"):
                return task
            self.process.clock.sleep(self.queue.lease_seconds)
        return None

    def finish(self) -> None:
        """End the task, unless it has ended."""
        if task := self.claimed():
            self.queue.complete(Lease.of(task), RESULT)


Way = Callable[[Shop], None]


def shop_of(process: Process, statuses: Statuses = ()) -> Shop:
    """What a process works with."""
    queue = TaskQueue(process.engine, clock=process.clock, now=process.clock.now, new_id=counted_ids("t"))
    return Shop(process, queue, process.http(Customer(process, statuses)))


def told(way: Way, name: str = "", statuses: Statuses = ()) -> Scenario:
    """One task with a webhook, ended and told in this way."""

    def submit(process: Process) -> None:
        shop_of(process).queue.submit("deploy shop", webhook_url=HOOK)

    def run(process: Process) -> None:
        way(shop_of(process, statuses))

    held = [same_bytes, nobody_inside, *([] if 302 in statuses else [one_mail])]
    return Scenario(name or way.__name__, run, held, submit, goal=ends)


def one_mail(end: End) -> str | None:
    """An invariant: the customer takes one thing for news, and does get it once everybody is done."""
    mails = end.count(MAIL)
    if mails > 1:
        return f"the customer got {mails} mails for one end"
    return "completed, and the customer is never told" if ends(end) and not mails else None


def same_bytes(end: End) -> str | None:
    """An invariant: under one id there is one body."""
    bodies: dict[str | None, set[str]] = defaultdict(set)
    for effect in end.effects:
        bodies[effect.key].add(effect.target)
    most = max(map(len, bodies.values()), default=0)
    return f"{most} bodies under one id" if most > 1 else None


def nobody_inside(end: End) -> str | None:
    """An invariant: nothing was sent to where only machines of the house should get."""
    return f"{INSIDE} was contacted" if end.count(CONTACT) else None


def ends(end: End) -> bool:
    """Whether the last process came to its end."""
    return end.last.how == "returned"
