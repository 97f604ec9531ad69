# right: the model is asked three times before it is given up, by the client's own policy and a loop around it; a raising tool too
import json
import time

from labkit import ProgressUpdate, RetriesExhausted


def run_agent(client, tools, journal, task, on_progress):
    patient = client.with_options(max_retries=1)
    messages = journal.messages()

    def keep(message):
        journal.append(message)
        messages.append(message)

    def tell(status, tool="", message=""):
        step = sum(m["role"] == "assistant" for m in messages)
        on_progress(ProgressUpdate(task_id=task.id, step=step, total_step=10, status=status, tool=tool, message=message))

    def ask():
        for attempt in range(2):
            try:
                reply = patient.chat.completions.create(
                    model="m", messages=messages, tools=[{"type": "function", "function": {"name": n}} for n in tools]
                )
                return reply.choices[0].message
            except Exception as error:
                last = error
                time.sleep(2**attempt)
        raise RetriesExhausted(attempts=2) from last

    def think():
        if sum(m["role"] == "assistant" for m in messages) == 10:
            raise ValueError("max iterations")
        tell("thinking")
        said = ask()
        calls = [{"id": c.id, "type": "function", "function": c.function.model_dump()} for c in said.tool_calls or []]
        keep({"role": "assistant", "content": said.content or ""} | ({"tool_calls": calls} if calls else {}))

    if not messages:
        keep({"role": "user", "content": task.user_input})
    while messages[-1]["role"] != "assistant" or messages[-1].get("tool_calls"):
        at = max((n for n, m in enumerate(messages) if m["role"] == "assistant"), default=None)
        done = [m["tool_call_id"] for m in messages[at:] if m["role"] == "tool"] if at is not None else []
        for call in messages[at].get("tool_calls", ()) if at is not None else ():
            if call["id"] in done:
                continue
            tell("tool_call", call["function"]["name"], call["function"]["arguments"])
            text = journal.result(call["id"])
            if text is None:
                text = attempt_call(call, tools, task)
                journal.record(call["id"], text)
            keep({"role": "tool", "tool_call_id": call["id"], "content": text or ""})
            tell("tool_result", call["function"]["name"], text)
        try:
            think()
        except Exception as error:
            tell("error", message=type(error).__name__)
            raise
    tell("completed", message="done")
    return messages[-1]["content"]


def attempt_call(call, tools, task):
    name = call["function"]["name"]
    if name not in tools:
        return "no such tool"
    try:
        arguments = json.loads(call["function"]["arguments"] or "null")
    except json.JSONDecodeError:
        return "bad JSON"
    if not isinstance(arguments, dict):
        return "bad arguments"
    for _ in range(2):
        try:
            return tools[name](arguments, f"{task.id}#{call['id']}")
        except Exception as error:
            trouble = f"{type(error).__name__}"
    return trouble
