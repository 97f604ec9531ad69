"""One attempt to tell somebody: the same id, the same bytes and the same signature each time, and a plain verdict on what came back.

A receiver knows a repeated delivery by its id, and a genuine one by its signature: HMAC-SHA256 over the id and the body, in which there is no time, so a
retry looks like the first attempt to the last byte. Only 2xx says that it was received. A redirect is a failure and is not followed, and like
410 (gone) it will not get better by itself; everything else may.

Not handled here: old deliveries that somebody records and sends again. They are genuine; the receiver knows their ids.
"""

from __future__ import annotations

import hashlib
import hmac
import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from labkit.errors import UsageError
from labkit.webhook.wire import PinnedPost, Post, Reply

if TYPE_CHECKING:
    import httpx

SECRET = "LABKIT_WEBHOOK_SECRET"
ID_HEADER, SIGNATURE_HEADER = "Labkit-Delivery", "Labkit-Signature"
_HEADERS = {"Content-Type": "application/json", "User-Agent": "labkit-webhook", "Connection": "close"}
_GONE = 410


@dataclass(frozen=True)
class Answer:
    """What a receiver said. `received`: it has it. `final`: another attempt is of no use."""

    status: int
    retry_after: str | None = None

    @property
    def received(self) -> bool:
        return 200 <= self.status < 300

    @property
    def final(self) -> bool:
        return self.received or 300 <= self.status < 400 or self.status == _GONE

    def __str__(self) -> str:
        redirect = ", and redirects are not followed" if 300 <= self.status < 400 else ""
        return f"the receiver answered {self.status}{redirect}"


class Sender:
    """Makes one attempt. The secret is `secret`, or what LABKIT_WEBHOOK_SECRET holds; with an empty one nothing is signed."""

    def __init__(self, post: Post | None = None, *, secret: str | None = None, environ: Mapping[str, str] = os.environ) -> None:
        self._post = post or PinnedPost()
        self._secret = environ.get(SECRET, "").strip() if secret is None else secret

    def __call__(self, delivery_id: str, url: str, body: bytes) -> Answer:
        """What the receiver said; `UsageError` when the address may not be reached, and any other error when there was no answer."""
        headers = {**_HEADERS, ID_HEADER: delivery_id}
        if self._secret:
            headers[SIGNATURE_HEADER] = sign(self._secret, delivery_id, body)
        reply = self._post(url, headers, body)
        return Answer(reply.status, reply.retry_after)

    def __repr__(self) -> str:
        return f"<Sender {'signing' if self._secret else 'without a signature'} over {self._post!r}>"


def sign(secret: str, delivery_id: str, body: bytes) -> str:
    """The signature of a delivery, as its header holds it."""
    if "\n" in delivery_id:  # subtle: or a part of the body could be passed off as a part of the id
        raise UsageError("the id of a delivery is one line")
    signed = delivery_id.encode() + b"\n" + body
    return "sha256=" + hmac.new(secret.encode(), signed, hashlib.sha256).hexdigest()


def verify(secret: str, delivery_id: str, body: bytes, signature: str) -> bool:
    """Whether the holder of `secret` sent this, for receivers. It takes as long for a nearly right signature as for a wrong one."""
    if not secret or "\n" in delivery_id:
        return False
    expected = sign(secret, delivery_id, body).encode()
    return hmac.compare_digest(expected, signature.encode("utf-8", "replace"))


def through(client: httpx.Client) -> Post:
    """A `Post` over an `httpx` client, such as one of the simulator. It checks no addresses: that is the client's business then."""

    def post(url: str, headers: Mapping[str, str], body: bytes) -> Reply:
        response = client.post(url, headers=dict(headers), content=body, follow_redirects=False)
        return Reply(response.status_code, response.headers.get("retry-after"))

    return post
