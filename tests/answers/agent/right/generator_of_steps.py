# right: a generator yields what is told and returns the answer; the caller drives it
import json
from dataclasses import dataclass, field

from labkit import ProgressUpdate


@dataclass
class Desk:
    client: object
    tools: dict
    journal: object
    task: object
    limit: int = 10
    schemas: list = field(init=False)

    def __post_init__(self):
        self.schemas = [{"type": "function", "function": {"name": name, "parameters": {}}} for name in self.tools]

    def spoken(self):
        return sum(1 for message in self.journal.messages() if message.get("role") == "assistant")

    def steps(self):
        if not self.journal.messages():
            self.journal.append({"role": "user", "content": self.task.user_input})
        while True:
            last = next((m for m in reversed(self.journal.messages()) if m["role"] != "tool"), None)
            if last["role"] == "assistant":
                if not last.get("tool_calls"):
                    return last["content"]
                yield from self.settle(last["tool_calls"])
            if self.spoken() >= self.limit:
                raise RuntimeError("too many steps")
            yield "thinking", ""
            yield from self.think()

    def settle(self, calls):
        told = {m["tool_call_id"] for m in self.journal.messages() if m["role"] == "tool"}
        for call in calls:
            if call["id"] in told:
                continue
            yield "tool_call", call["function"]["name"]
            self.journal.append({"role": "tool", "tool_call_id": call["id"], "content": self.result(call)})
            yield "tool_result", call["function"]["name"]

    def result(self, call):
        kept = self.journal.result(call["id"])
        if kept is not None:
            return kept
        try:
            match json.loads(call["function"]["arguments"]):
                case dict() as arguments:
                    kept = self.tools[call["function"]["name"]](arguments, "key of " + call["id"])
                case other:
                    kept = f"an object is wanted, not {other!r}"
        except KeyError:
            kept = "no such tool, or no such thing"
        except Exception as error:
            kept = f"{error!r}"
        self.journal.record(call["id"], kept)
        return kept

    def think(self):
        made = self.client.chat.completions.create(model="x", messages=self.journal.messages(), tools=self.schemas)
        self.journal.append(json.loads(made.choices[0].message.model_dump_json(exclude_none=True)))
        yield from ()


def run_agent(client, tools, journal, task, on_progress):
    desk = Desk(client, tools, journal, task)
    walk = desk.steps()
    try:
        while True:
            status, tool = next(walk)
            on_progress(ProgressUpdate(task_id=task.id, step=desk.spoken(), status=status, tool=tool))
    except StopIteration as ended:
        result = ended.value
    except Exception as error:
        on_progress(ProgressUpdate(task_id=task.id, step=desk.spoken(), status="error", message=str(error)))
        raise
    on_progress(ProgressUpdate(task_id=task.id, step=desk.spoken(), status="completed", message=result))
    return result
