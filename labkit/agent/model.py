"""The one place where a client for a model is made: always the official one, always over an `httpx` client that can be replaced.

`OPENAI_API_KEY` and `OPENAI_BASE_URL` lead to an endpoint; a base URL alone is asked with a key that means nothing, since local servers want none.
With neither, a scripted model answers over the same client, so a lesson needs no key. The client itself never tries again: that is
the agent's policy, which the journal must see. Keys stand in no message, no `repr` and no trace of ours.

Not handled here: what to ask, and what to do with an answer (see `loop`).
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from labkit.agent.script import Reply, ScriptedModel
from labkit.errors import UsageError

if TYPE_CHECKING:
    import httpx
    import openai

NO_KEY = "no-key"  # what an endpoint is told that asks for none
OPENAI = "https://api.openai.com/v1"
NOWHERE = "http://scripted.invalid/v1"  # no machine has this name, so nothing leaves this one
SECONDS = 60.0  # without a word from the model


def open_client(
    script: Reply | None = None, *, http: httpx.Client | None = None, environ: Mapping[str, str] = os.environ
) -> openai.OpenAI:
    """A client for the endpoint of the environment, or for `script` where none is set.

    `http` is the `httpx` client that it speaks through, and answers where no endpoint is set. `UsageError` when there is nobody to answer.
    """
    import httpx as httpx_  # only where somebody speaks to a model
    import openai as openai_

    key, url = environ.get("OPENAI_API_KEY", ""), environ.get("OPENAI_BASE_URL", "")
    if http is not None or key or url:
        # subtle: never the client's own choice, which is another HTTP library that no test could answer for
        wire: Any = http or httpx_.Client()
    elif script is not None:
        wire = httpx_.Client(transport=httpx_.MockTransport(ScriptedModel(script)))
    else:
        raise UsageError("set OPENAI_API_KEY, or OPENAI_BASE_URL for a server of your own, or give a script to answer instead")
    # subtle: the address is said, or the client would look for one in another environment than this
    address = url or (OPENAI if key else NOWHERE)
    return openai_.OpenAI(api_key=key or NO_KEY, base_url=address, max_retries=0, timeout=SECONDS, http_client=wire)


def model_name(environ: Mapping[str, str] = os.environ) -> str:
    """The model to ask for: `LABKIT_MODEL`, or a small one."""
    return environ.get("LABKIT_MODEL", "") or "gpt-4o-mini"
