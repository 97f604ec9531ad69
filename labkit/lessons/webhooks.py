"""Ways to tell a customer that a task has ended, each sound at first sight, and the library's.

A way ends the task if nobody has, and tells it. `durable` is the library's: an outbox and a deliverer. Every other way is broken on purpose, under what its
docstring says: `BROKEN` holds each with the schedule that breaks it.

Not handled here: whom one may send anything to (see `webhooks_names`), and subscribers in the house (see `buses`).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping

from sqlalchemy import select

from labkit.faults import Scenario
from labkit.lessons.webhooks_world import HOOK, SECRET, Shop, Statuses, Way, told
from labkit.progress.ends import Ended
from labkit.queue import Lease
from labkit.tables import webhook_deliveries
from labkit.webhook import Answer, Deliverer, Sender, outbox
from labkit.webhook.deliver import LEASE_SECONDS
from labkit.webhook.outbox import DELIVERED, PENDING, body_of
from labkit.webhook.wire import Reply

SENT_AND_DEAD = "p1@http1.after+crash"  # the schedule: the customer has it, and the process dies
UNSENT_AND_DEAD = "p1@http1.before+crash"
UNHEARD = "p1@http1.after+timeout"  # the customer has it, and its answer is lost
REDIRECTS: Statuses = (302,)


def before_the_end(shop: Shop) -> None:
    """Sent by the handler, before the end is stored. Breaks on a crash in between: the work is done again, and told again as news."""
    while task := shop.claimed():
        body = body_of(Ended(0, 0, task))
        shop.send(shop.new_id(), HOOK, body)
        # crash here: the customer knows of an end that the table does not know
        shop.queue.complete(Lease.of(task), "shop is up")


def after_the_end(shop: Shop) -> None:
    """Sent when the end is stored. Breaks on a crash in between: whoever comes sees an end, and has nothing to do."""
    if task := shop.claimed():
        ended = shop.queue.complete(Lease.of(task), "shop is up")
        # crash here: the table knows of an end, and nobody knows that it is to be told
        shop.send(shop.new_id(), HOOK, body_of(Ended(0, 0, ended)))


def recorded_first(shop: Shop) -> None:
    """An outbox whose rows are marked as delivered, then sent. Breaks on a crash in between."""
    shop.finish()
    now = shop.process.clock.now
    outbox.collect(shop.queue.engine, now())
    while held := outbox.claim(shop.queue.engine, LEASE_SECONDS, now()):
        outbox.settle(shop.queue.engine, held, DELIVERED, now=now())
        shop.send(held.id, held.url, held.body)


def id_per_attempt(shop: Shop) -> None:
    """The library's outbox, and each attempt draws an id. Breaks when the customer has it and nobody knows."""
    send = shop.send
    deliver(shop, lambda delivery, url, body: send(shop.new_id(), url, body))


def body_per_attempt(shop: Shop) -> None:
    """The library's outbox, and each attempt writes into the body when it is sent. Breaks when there are two."""
    send = shop.send

    def stamped(delivery: str, url: str, body: bytes) -> Answer:
        sent = json.loads(body) | {"sent_at": shop.process.clock.now().isoformat()}
        return send(delivery, url, json.dumps(sent).encode())

    deliver(shop, stamped)


def follows(shop: Shop) -> None:
    """The library's outbox over a client that goes where it is sent. Breaks on a customer who answers 302."""

    def post(url: str, headers: Mapping[str, str], body: bytes) -> Reply:
        answer = shop.client.post(url, headers=dict(headers), content=body, follow_redirects=True)
        return Reply(answer.status_code)

    deliver(shop, Sender(post, secret=SECRET))


def durable(shop: Shop) -> None:
    """The library's: the id and the bytes are in the row."""
    deliver(shop, shop.send)


def deliver(shop: Shop, send: Callable[[str, str, bytes], Answer]) -> None:
    """End the task if nobody has, and deliver until nothing is left to deliver."""
    shop.finish()
    deliverer = Deliverer(shop.queue.engine, shop.process.clock, send, now=shop.process.clock.now)
    deliverer.run_once()
    while _any_pending(shop):
        shop.process.clock.sleep(LEASE_SECONDS)
        deliverer.run_once()


def _any_pending(shop: Shop) -> bool:
    left = select(webhook_deliveries.c.id).where(webhook_deliveries.c.state == PENDING).limit(1)
    with shop.queue.engine.connect() as connection:
        return connection.execute(left).first() is not None


def redirected(way: Way) -> Scenario:
    """The customer answers 302, and names an address inside."""
    return told(way, f"redirected.{way.__name__}", REDIRECTS)


BROKEN: dict[str, tuple[Scenario, str]] = {
    "sent before the end is stored": (told(before_the_end), SENT_AND_DEAD),
    "sent after the end is stored": (told(after_the_end), UNSENT_AND_DEAD),
    "recorded, then sent": (told(recorded_first), UNSENT_AND_DEAD),
    "an id for each attempt": (told(id_per_attempt), UNHEARD),
    "a body for each attempt": (told(body_per_attempt), UNHEARD),
    "redirects are followed": (redirected(follows), "none"),
}
