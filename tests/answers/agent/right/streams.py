# right: the model's words are taken in pieces and put together; calls get ids of the run's own; logging on the way
import json
import logging

from labkit import ProgressUpdate

log = logging.getLogger(__name__)
LIMIT = 10


def run_agent(client, tools, journal, task, on_progress):
    history = list(journal.messages())
    turns = [m for m in history if m["role"] == "assistant"]

    def push(**message):
        log.info("message %s", message)
        journal.append(message)
        history.append(message)
        return message

    def tell(status, **more):
        on_progress(ProgressUpdate(task_id=task.id, step=len(turns), status=status, **more))

    try:
        if not history:
            push(role="user", content=task.user_input)
        while True:
            if turns:
                for call in turns[-1].get("tool_calls", []):
                    if not any(m.get("tool_call_id") == call["id"] for m in history):
                        settle(call, tools, journal, push, tell)
                if "tool_calls" not in turns[-1]:
                    break
            if len(turns) >= LIMIT:
                raise RuntimeError(f"{LIMIT} turns")
            tell("thinking")
            turns.append(push(**collect(client, history, tools, len(turns))))
    except Exception as error:
        tell("error", message=str(error))
        raise
    tell("completed")
    return turns[-1]["content"]


def collect(client, history, tools, turn):
    schemas = [{"type": "function", "function": {"name": name}} for name in tools]
    text, calls = "", {}
    with client.chat.completions.create(model="m", messages=history, tools=schemas, stream=True) as pieces:
        for piece in pieces:
            for choice in piece.choices:
                text += choice.delta.content or ""
                for part in choice.delta.tool_calls or ():
                    call = calls.setdefault(part.index, {"name": "", "arguments": ""})
                    call["name"] += part.function.name or ""
                    call["arguments"] += part.function.arguments or ""
    made = [{"id": f"t{turn}c{at}", "type": "function", "function": call} for at, call in sorted(calls.items())]
    return {"role": "assistant", "content": text, **({"tool_calls": made} if made else {})}


def settle(call, tools, journal, push, tell):
    name = call["function"]["name"]
    tell("tool_call", tool=name, message=call["function"]["arguments"])
    text = journal.result(call["id"])
    if text is None:
        try:
            arguments = json.loads(call["function"]["arguments"])
            if not isinstance(arguments, dict):
                raise TypeError("no object")
            text = tools[name](arguments, f"{journal.task_id}.{call['id']}")
        except Exception as error:
            log.warning("call %s", call, exc_info=True)
            text = f"error: {error}"
        journal.record(call["id"], text)
    push(role="tool", tool_call_id=call["id"], content=text)
    tell("tool_result", tool=name, message=text)
