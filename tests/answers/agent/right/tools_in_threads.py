# right: the open calls of a message run in a pool of threads, what they gave is written by one; ends by exceptions
import json
from concurrent.futures import ThreadPoolExecutor

from labkit import ProgressUpdate


class Answered(Exception):
    pass


def run_agent(client, tools, journal, task, on_progress):
    try:
        work(client, tools, journal, task, lambda **update: on_progress(ProgressUpdate(task_id=task.id, **update)))
    except Answered as last:
        on_progress(ProgressUpdate(task_id=task.id, step=99, status="completed"))
        return last.args[0]
    except Exception as error:
        on_progress(ProgressUpdate(task_id=task.id, step=99, status="error", message=str(error)))
        raise


def work(client, tools, journal, task, tell):
    if not journal.messages():
        journal.append({"role": "user", "content": task.user_input})
    while True:
        said = [m for m in journal.messages() if m["role"] == "assistant"]
        if said and not said[-1].get("tool_calls"):
            raise Answered(said[-1]["content"])
        if said:
            batch(said[-1]["tool_calls"], tools, journal, tell, len(said))
        if len(said) > 9:
            raise RuntimeError("no answer in ten messages")
        tell(step=len(said), status="thinking")
        reply = client.chat.completions.create(
            model="m",
            messages=journal.messages(),
            tools=[{"type": "function", "function": {"name": name, "parameters": {"type": "object"}}} for name in tools],
            parallel_tool_calls=True,
        )
        journal.append(reply.choices[0].message.to_dict())


def batch(calls, tools, journal, tell, step):
    answered = {m.get("tool_call_id") for m in journal.messages()}
    waiting = [call for call in calls if call["id"] not in answered]
    kept = {call["id"]: journal.result(call["id"]) for call in waiting}
    for call in waiting:
        tell(step=step, status="tool_call", tool=call["function"]["name"])
    with ThreadPoolExecutor(max_workers=2) as pool:
        new = {call["id"]: pool.submit(one, call, tools) for call in waiting if kept[call["id"]] is None}
    for call in waiting:
        if call["id"] in new:
            kept[call["id"]] = new[call["id"]].result()
            journal.record(call["id"], kept[call["id"]])
        journal.append({"role": "tool", "tool_call_id": call["id"], "content": kept[call["id"]]})
        tell(step=step, status="tool_result", tool=call["function"]["name"], message=kept[call["id"]])


def one(call, tools):
    name, text = call["function"]["name"], call["function"]["arguments"]
    try:
        arguments = json.loads(text)
        if not isinstance(arguments, dict):
            return f"arguments of {name} must be an object"
        return tools[name](arguments, call["id"])
    except Exception as error:
        return f"{name}: {error}"
