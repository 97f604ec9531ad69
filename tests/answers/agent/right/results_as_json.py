# right: names of types are imported for who reads them only; the model is told results as JSON; a call that failed is made again, under its key
from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from labkit import ProgressUpdate, Task, ToolJournal

if TYPE_CHECKING:
    import openai
    from openai.types.chat import ChatCompletionMessage

Tools = Mapping[str, Callable[[dict[str, Any], str], str]]
TRIES = 3


def run_agent(
    client: openai.OpenAI, tools: Tools, journal: ToolJournal, task: Task, on_progress: Callable[[ProgressUpdate], None]
) -> str:
    def tell(status: str, **more: Any) -> None:
        on_progress(ProgressUpdate(task_id=task.id, step=len(journal.messages()), status=status, **more))

    try:
        word = go(client, tools, journal, task, tell)
    except Exception as error:
        tell("error", message=type(error).__name__)
        raise
    tell("completed", message=word.strip())
    return word


def go(client: openai.OpenAI, tools: Tools, journal: ToolJournal, task: Task, tell: Callable[..., None]) -> str:
    if not journal.messages():
        journal.append({"role": "user", "content": task.user_input})
    spoken = [m for m in journal.messages() if m["role"] == "assistant"]
    for left in range(10 - len(spoken), -1, -1):
        if spoken:
            calls = spoken[-1].get("tool_calls")
            if not calls:
                return spoken[-1]["content"]
            settle(calls, tools, journal, tell)
        if left:
            tell("thinking")
            spoken.append(as_message(ask(client, tools, journal)))
            journal.append(spoken[-1])
    raise RuntimeError("ten messages")


def ask(client: openai.OpenAI, tools: Tools, journal: ToolJournal) -> ChatCompletionMessage:
    made = client.chat.completions.create(
        model="m",
        messages=journal.messages(),
        tools=[{"type": "function", "function": {"name": name}} for name in tools],
    )
    return made.choices[0].message


def as_message(said: ChatCompletionMessage) -> dict[str, Any]:
    return {name: value for name, value in said.model_dump().items() if value is not None}


def settle(calls: list[dict[str, Any]], tools: Tools, journal: ToolJournal, tell: Callable[..., None]) -> None:
    answered = {m["tool_call_id"] for m in journal.messages() if m["role"] == "tool"}
    for call in calls:
        if call["id"] not in answered:
            name = call["function"]["name"]
            tell("tool_call", tool=name)
            known = journal.result(call["id"])
            if known is None:
                known = json.dumps(attempt(name, call["function"]["arguments"], call["id"], tools), indent=1)
                journal.record(call["id"], known)
            journal.append({"role": "tool", "tool_call_id": call["id"], "name": name, "content": known})
            tell("tool_result", tool=name)


def attempt(name: str, text: str, key: str, tools: Tools) -> dict[str, Any]:
    try:
        arguments = json.loads(text)
    except ValueError as error:
        return {"tool": name, "error": str(error)}
    if not isinstance(arguments, dict) or name not in tools:
        return {"tool": name, "error": "no such tool, or no object"}
    failures = []
    for _ in range(TRIES):
        try:
            return {"tool": name, "given": arguments, "result": tools[name](arguments, key)}
        except Exception as error:
            failures.append(repr(error))
    return {"tool": name, "error": failures}
