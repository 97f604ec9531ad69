"""One question to the model: what comes back is a message that can be kept, or an error that says whether asking again may help.

Asking has no effect outside, so a lost answer is asked for again. An answer without a choice, or with nothing in it, counts as none. Refusals that will
never change (a wrong key, a request that the endpoint does not take) are raised at once. No error of ours holds a word of the conversation, of the
answer or of a key: endpoints like to echo what they were sent.

Not handled here: how often to ask again (see `loop`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from labkit.agent.conversation import Message, cleaned
from labkit.errors import LabkitError, ModelRefused, ModelUnavailable
from labkit.retry import seconds_asked

if TYPE_CHECKING:
    import openai

WORTH_ASKING_AGAIN = frozenset({408, 409, 429})  # and whatever is the endpoint's own fault, from 500
CHARS_PER_TOKEN = 4  # where the endpoint does not count


@dataclass(frozen=True)
class Turn:
    """What the model said, and how many tokens it cost, question and answer together."""

    message: Message
    tokens: int


def ask_model(
    client: openai.OpenAI, model: str, sent: Sequence[Message], schemas: Sequence[Message], *, number: int, seconds: float
) -> Turn:
    """The model's answer to these messages as turn `number`. `ModelUnavailable` (`retry_after`), `ModelRefused`."""
    import openai as openai_  # only where somebody speaks to a model

    tools: dict[str, Any] = {"tools": list(schemas)} if schemas else {}
    asked: Any = list(sent)
    try:
        answer = client.chat.completions.create(model=model, messages=asked, timeout=seconds, **tools)
    except openai_.APIStatusError as error:
        raise _refused(error.status_code, error.response.headers.get("retry-after")) from None
    except (openai_.OpenAIError, ValueError) as error:  # no connection, no answer in time, an answer that is none
        raise ModelUnavailable(f"the model's endpoint did not answer: {type(error).__name__}") from None
    return _turn(answer, asked, number)


def _refused(status: int, retry_after: str | None) -> LabkitError:
    told = f"the model's endpoint answered {status}"
    if status in WORTH_ASKING_AGAIN or status >= 500:
        return ModelUnavailable(told, retry_after=seconds_asked(retry_after))
    return ModelRefused(told)


def _turn(answer: Any, asked: Sequence[Message], number: int) -> Turn:
    try:
        said = answer.choices[0].message
        calls = [(str(one.function.name), one.function.arguments) for one in said.tool_calls or ()]
        text = said.content or getattr(said, "refusal", None) or ""
        text = text if isinstance(text, str) else str(text)
        spent = getattr(answer.usage, "total_tokens", None)
    except (AttributeError, IndexError, TypeError):
        raise ModelUnavailable("the model's endpoint gave an answer without a message") from None
    if not text and not calls:
        raise ModelUnavailable("the model said nothing")
    message = cleaned(text, calls, number)
    if not isinstance(spent, int) or spent <= 0:
        spent = sum(len(str(one)) for one in [*asked, message]) // CHARS_PER_TOKEN
    return Turn(message, spent)
