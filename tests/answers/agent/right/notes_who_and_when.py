# right: the number of the process and the time go into the log and into updates, and into no key; what is kept beside the conversation is not sent
import json
import logging
import os
import time
from datetime import UTC, date, datetime

from labkit import ProgressUpdate

log = logging.getLogger("agent")
BORN = datetime.now(UTC)


def run_agent(client, tools, journal, task, on_progress):
    began, me = time.time(), os.getpid()

    def conversation():
        return [{k: v for k, v in m.items() if k != "turn"} for m in journal.messages() if m["role"] != "note"]

    def keep(message):
        journal.append({**message, "turn": sum(m["role"] == "assistant" for m in journal.messages())})

    def tell(status, tool=""):
        passed = time.time() - began
        update = ProgressUpdate(
            task_id=task.id, step=0, status=status, tool=tool, message=f"{me}: {passed:.3f} s", time=datetime.now(UTC)
        )
        on_progress(update)

    def fail(error):
        tell("error")
        raise error

    log.info("process %s, %s %s, loaded %s, works on %x", me, date.today(), time.strftime("%H:%M"), BORN, id(task))
    if not journal.messages():
        journal.append({"role": "note", "content": f"about task {task.id}"})
    if not conversation():
        keep({"role": "user", "content": task.user_input})
    while True:
        messages = conversation()
        said = [m for m in messages if m["role"] == "assistant"]
        if said and "tool_calls" not in said[-1]:
            tell("completed")
            return said[-1]["content"]
        done = {m["tool_call_id"] for m in messages if m["role"] == "tool"}
        for call in said[-1]["tool_calls"] if said else ():
            if call["id"] not in done:
                tell("tool_call", call["function"]["name"])
                keep({"role": "tool", "tool_call_id": call["id"], "content": answer(call, tools, journal)})
                tell("tool_result", call["function"]["name"])
        if len(said) >= 10:
            fail(RuntimeError("ten messages"))
        tell("thinking")
        schemas = [{"type": "function", "function": {"name": name}} for name in tools]
        try:
            reply = client.chat.completions.create(model="m", messages=conversation(), tools=schemas)
        except Exception as error:
            fail(error)
        keep(reply.choices[0].message.model_dump(exclude_none=True))


def answer(call, tools, journal):
    kept = journal.result(call["id"])
    if kept is None:
        try:
            arguments = json.loads(call["function"]["arguments"])
            if not isinstance(arguments, dict):
                raise ValueError("no object")
            kept = tools[call["function"]["name"]](arguments, call["id"])
        except Exception as error:
            log.info("%s: call %s failed at %s", os.getpid(), call["id"], datetime.now(), exc_info=True)
            kept = f"failed: {error!r}"
        journal.record(call["id"], kept)
    return kept
