"""The one place where a client for a model is made: always the official one, always over an `httpx` client that can be replaced.

`OPENAI_API_KEY` and `OPENAI_BASE_URL` lead to an endpoint; a base URL alone is asked with a key that means nothing, since local servers want none.
With neither, a scripted model answers over the same client, so a lesson needs no key. The client itself never tries again: that is
the agent's policy, which the journal must see. Keys stand in no message, no `repr`, no log line and no trace: one that a server repeats in its
refusal is blotted out, and an address with a password in it is refused, since `httpx` logs addresses.

Not handled here: what to ask, and what to do with an answer (see `loop`).
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from labkit.agent.script import Reply, ScriptedModel
from labkit.errors import UsageError

if TYPE_CHECKING:
    import httpx
    import openai

NO_KEY = "no-key"  # what an endpoint is told that asks for none
OPENAI = "https://api.openai.com/v1"
NOWHERE = "http://scripted.invalid/v1"  # no machine has this name, so nothing leaves this one
SECONDS = 60.0  # without a word from the model
BLOT = b"[key]"
SECRET = 4  # characters from which on a key is one; a shorter one would be found in other words


def open_client(
    script: Reply | None = None, *, http: httpx.Client | None = None, environ: Mapping[str, str] = os.environ
) -> openai.OpenAI:
    """A client for the endpoint of the environment, or for `script` where none is set.

    `http` is the `httpx` client that it speaks through, and answers where no endpoint is set. `UsageError` when there is nobody to answer, or when
    the key or the address cannot be used.
    """
    import httpx as httpx_  # only where somebody speaks to a model
    import openai as openai_

    key, url = _key(environ), _address(environ)
    if http is not None or key or url:
        # subtle: never the client's own choice, which is another HTTP library that no test could answer for
        wire: Any = http or httpx_.Client()
    elif script is not None:
        wire = httpx_.Client(transport=httpx_.MockTransport(ScriptedModel(script)))
    else:
        raise UsageError("set OPENAI_API_KEY, or OPENAI_BASE_URL for a server of your own, or give a script to answer instead")
    if len(key) >= SECRET:
        _blot_out(key, wire)
    # subtle: address and key are said, or the client would look for them in another environment than this
    address, bearer = url or (OPENAI if key else NOWHERE), key or NO_KEY
    client = openai_.OpenAI(
        api_key=bearer, base_url=address, max_retries=0, timeout=SECONDS, http_client=wire,
        default_headers={"Authorization": f"Bearer {bearer}"},
    )  # fmt: skip
    client.organization, client.project = environ.get("OPENAI_ORG_ID"), environ.get("OPENAI_PROJECT_ID")
    client.admin_api_key = client.webhook_secret = None
    return client


def _key(environ: Mapping[str, str]) -> str:
    """The key; what a line of a file left around it is no part of it."""
    key = environ.get("OPENAI_API_KEY", "").strip()
    if not (key.isascii() and key.isprintable()) or " " in key:
        # subtle: else it would fail on its way, in an error that shows it
        raise UsageError("OPENAI_API_KEY holds a character that no key can hold: a space, a line end or a letter outside of ASCII")
    return key


def _address(environ: Mapping[str, str]) -> str:
    """The base URL. Whatever is wrong with it, the error does not show it: perhaps it is a key."""
    url = environ.get("OPENAI_BASE_URL", "").strip()
    if not url:
        return ""
    try:
        parts = urlsplit(url)
        plain = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0 and url.isprintable() and " " not in url
    except ValueError:
        plain = False
    if not plain:
        raise UsageError("OPENAI_BASE_URL must be an address such as http://127.0.0.1:8000/v1")
    if "@" in parts.netloc or "?" in url or "#" in url:
        raise UsageError("OPENAI_BASE_URL must hold no password and no query, since addresses are logged: a key goes into OPENAI_API_KEY")
    return url


@dataclass(frozen=True)
class _Blot:
    """Lets no refusal repeat the key, since the client makes its error message of it."""

    key: str = field(repr=False)

    def __call__(self, response: httpx.Response) -> None:
        if response.is_error:
            body = response.read()
            for form in (body, _plain(body)):
                for told in (json.dumps(self.key)[1:-1].encode(), self.key.encode()):
                    if told in form:
                        response._content = form = form.replace(told, BLOT)  # httpx offers no other way


def _plain(body: bytes) -> bytes:
    """JSON in which nothing is escaped that need not be: the client reads a key also where it is written with signs for its letters."""
    try:
        return json.dumps(json.loads(body)).encode()
    except (ValueError, RecursionError):
        return b""


def _blot_out(key: str, wire: httpx.Client) -> None:
    """Once for each key, however many clients speak over this wire."""
    blot, there = _Blot(key), wire.event_hooks["response"]
    if blot not in there:
        wire.event_hooks = {**wire.event_hooks, "response": [*there, blot]}


def model_name(environ: Mapping[str, str] = os.environ) -> str:
    """The model to ask for: `LABKIT_MODEL`, or a small one."""
    return environ.get("LABKIT_MODEL", "") or "gpt-4o-mini"
