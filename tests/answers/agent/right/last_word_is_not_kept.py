# right: the last word is not kept, since whoever comes next can ask for it again; the limit is told before the tenth message is worked off
import hashlib
import json
from collections import deque
from contextlib import contextmanager
from types import SimpleNamespace

from labkit import ProgressUpdate


def run_agent(client, tools, journal, task, on_progress):
    me = SimpleNamespace(step=0)

    @contextmanager
    def ending():
        try:
            yield
        except Exception as e:
            on_progress(ProgressUpdate(task_id=task.id, step=me.step, status="error", message=f"{e}"))
            raise

    def digest(cid):
        return hashlib.sha256(f"{task.id}{cid}".encode()).hexdigest()

    with ending():
        state = {"messages": deque(journal.messages())}
        if not state["messages"]:
            first = {"role": "user", "content": task.user_input}
            journal.append(first)
            state["messages"].append(first)
        while True:
            msgs = list(state["messages"])
            spoken = [m for m in msgs if m["role"] == "assistant"]
            me.step = len(spoken)
            if spoken:
                have = {m["tool_call_id"] for m in msgs if m["role"] == "tool"}
                for c in spoken[-1]["tool_calls"]:
                    if c["id"] in have:
                        continue
                    on_progress(
                        ProgressUpdate(task_id=task.id, step=me.step, status="tool_call", tool=c["function"]["name"])
                    )
                    text = journal.result(c["id"])
                    if text is None:
                        fn = tools.get(c["function"]["name"], lambda a, k: "unknown tool")
                        try:
                            args = json.loads(c["function"]["arguments"])
                        except json.JSONDecodeError:
                            text = "bad json"
                        else:
                            if isinstance(args, dict):
                                try:
                                    text = fn(args, digest(c["id"]))
                                except Exception as e:
                                    text = str(e)
                            else:
                                text = "bad type"
                        journal.record(c["id"], text)
                    m = {"role": "tool", "tool_call_id": c["id"], "content": text}
                    journal.append(m)
                    state["messages"].append(m)
                    on_progress(
                        ProgressUpdate(task_id=task.id, step=me.step, status="tool_result", tool=c["function"]["name"])
                    )
            if len(spoken) == 10:
                raise RuntimeError("limit")
            on_progress(ProgressUpdate(task_id=task.id, step=me.step + 1, status="thinking"))
            raw = client.chat.completions.with_raw_response.create(
                model="m",
                messages=list(state["messages"]),
                tools=[{"type": "function", "function": {"name": n, "strict": True}} for n in tools],
            )
            said = json.loads(raw.text)["choices"][0]["message"]
            if not said.get("tool_calls"):
                break
            journal.append(said)
            state["messages"].append(said)
            if len(spoken) == 9:
                raise RuntimeError("limit, and the last calls are left alone")
    on_progress(ProgressUpdate(task_id=task.id, step=me.step, status="completed"))
    return said["content"]
