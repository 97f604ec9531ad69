"""One question to the model: what comes back is a message that can be kept, or an error that says whether asking again may help.

Asking has no effect outside, so a lost answer is asked for again. An answer without a choice, or with nothing in it, counts as none, and so does one that
was cut at its longest length (`finish_reason` is `length`): half an answer is none, and half a list of calls is another list. Refusals that will never
change (a wrong key, a request that the endpoint does not take, an answer that its filter has struck) are raised at once. What an answer of no use
has cost stands in its error. No error of ours holds a word of the conversation, of the answer or of a key: endpoints like to echo what they were sent.

Not handled here: how often to ask again (see `loop`).
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any

from labkit.agent.conversation import Message, cleaned
from labkit.agent.script import CHARS_PER_TOKEN
from labkit.errors import LabkitError, ModelRefused, ModelUnavailable
from labkit.retry import seconds_asked

if TYPE_CHECKING:
    import openai

WORTH_ASKING_AGAIN = frozenset({408, 409, 429})  # and whatever is the endpoint's own fault, from 500
MOST_TOKENS = 1_000_000_000  # of one turn


@dataclass(frozen=True)
class Turn:
    """What the model said, and how many tokens it cost, question and answer together."""

    message: Message = field(repr=False)
    tokens: int


def ask_model(
    client: openai.OpenAI, model: str, sent: Sequence[Message], schemas: Sequence[Message], *, number: int, seconds: float
) -> Turn:
    """The model's answer to these messages as turn `number`. `ModelUnavailable` (`retry_after`), `ModelRefused`."""
    import openai as openai_  # only where somebody speaks to a model

    tools: dict[str, Any] = {"tools": list(schemas)} if schemas else {}
    asked: Any = list(sent)
    trouble: LabkitError
    try:
        return _turn(client.chat.completions.create(model=model, messages=asked, timeout=seconds, **tools), asked, number)
    except LabkitError as error:
        trouble = error
    except openai_.APIStatusError as error:
        trouble = _refused(error.status_code, error.response.headers)
    except Exception as error:  # no connection, no answer in time, an answer that is none
        trouble = ModelUnavailable(f"the model's endpoint did not answer: {type(error).__name__}")
    trouble.__context__ = None  # subtle: what the client raised holds the question and the answer, and stays behind
    raise trouble


def _refused(status: int, headers: Mapping[str, str]) -> LabkitError:
    told = f"the model's endpoint answered {status}"
    if status in WORTH_ASKING_AGAIN or status >= 500:
        return ModelUnavailable(told, retry_after=_wait(headers.get("retry-after"), headers.get("date")))
    return ModelRefused(told)


def _wait(retry_after: str | None, date: str | None) -> float:
    """Seconds that the endpoint asks for; an instant counts from the time on its own clock."""
    try:
        return seconds_asked(retry_after, parsedate_to_datetime(date or ""))
    except ValueError:
        return seconds_asked(retry_after)


def _turn(answer: Any, asked: Sequence[Message], number: int) -> Turn:
    spent = getattr(getattr(answer, "usage", None), "total_tokens", None)
    if not isinstance(spent, int) or not 0 < spent < MOST_TOKENS:
        spent = 0  # it does not say
    try:
        choice = answer.choices[0]
        said, end = choice.message, getattr(choice, "finish_reason", None)
        calls = [(str(one.function.name), _text(one.function.arguments)) for one in said.tool_calls or ()]
        text = _text(_joined(said.content) or getattr(said, "refusal", None) or "")
    except (AttributeError, LookupError, TypeError, ValueError) as error:
        told = f"the model's endpoint gave an answer without a message: {type(error).__name__}"
        raise ModelUnavailable(told, tokens=spent) from None
    message = cleaned(text, calls, number)
    spent = spent or sum(len(str(one)) for one in [*asked, message]) // CHARS_PER_TOKEN
    if end == "content_filter":
        raise ModelRefused("the model's endpoint has filtered the answer out (content_filter)", tokens=spent)
    if end == "length":
        raise ModelUnavailable("the model's answer was cut at its longest length (length)", tokens=spent)
    if not text.strip() and not calls:
        raise ModelUnavailable("the model said nothing", tokens=spent)
    return Turn(message, spent)


def _joined(content: object) -> object:
    """The texts of an answer that comes in parts, one after the other; other parts, such as what a model thought on the way, are no answer."""
    if not isinstance(content, list):
        return content
    texts = [part if isinstance(part, str) else _part(part) for part in content]
    return "".join(text for text in texts if isinstance(text, str))


def _part(part: object) -> object:
    return part.get({"text": "text", "refusal": "refusal"}.get(str(part.get("type")), "")) if isinstance(part, Mapping) else None


def _text(said: object) -> str:
    """What an endpoint gives as text; what it gives as something else, as JSON."""
    return said if isinstance(said, str) else "" if said is None else json.dumps(said)
