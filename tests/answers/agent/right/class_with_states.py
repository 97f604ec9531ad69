# right: a class whose method looks at the last message and says what is next; a system message goes before the task
import json
from contextlib import suppress
from uuid import uuid4

from labkit import ProgressUpdate, Task, ToolJournal
from labkit.errors import TerminalError


class GaveUp(TerminalError):
    """The model never came to an answer."""


class Run:
    ROUNDS = 10

    def __init__(self, client, tools, journal: ToolJournal, task: Task, on_progress):
        self.client, self.tools, self.journal, self.task = client, tools, journal, task
        self.listener = on_progress
        self.trace = uuid4().hex

    @property
    def messages(self):
        return self.journal.messages()

    def emit(self, status, **more):
        rounds = len([m for m in self.messages if m["role"] == "assistant"])
        self.listener(ProgressUpdate(task_id=self.task.id, step=rounds, total_step=self.ROUNDS, status=status, **more))

    def open(self):
        found, closed = [], set()
        for message in reversed(self.messages):
            if message["role"] == "tool":
                closed.add(message["tool_call_id"])
            elif message["role"] == "assistant":
                found = [c for c in message.get("tool_calls") or [] if c["id"] not in closed]
                break
            else:
                break
        return found

    def start(self):
        if len(self.messages) == 0:
            self.journal.append({"role": "system", "content": "You keep servers clean."})
        if len(self.messages) == 1:
            self.journal.append({"role": "user", "content": self.task.user_input})

    def perform(self, call):
        function = call["function"]
        arguments = None
        with suppress(json.JSONDecodeError):
            arguments = json.loads(function["arguments"])
        if not isinstance(arguments, dict):
            return json.dumps({"error": "the arguments must be a JSON object"})
        if function["name"] not in self.tools:
            return json.dumps({"error": "there is no such tool"})
        try:
            return self.tools[function["name"]](arguments, f"{self.task.id}/{call['id']}")
        except Exception as why:
            return json.dumps({"error": repr(why)})

    def close(self, call):
        known = self.journal.result(call["id"])
        self.emit("tool_call", tool=call["function"]["name"])
        if known is None:
            known = self.perform(call)
            self.journal.record(call["id"], known)
        self.journal.append({"role": "tool", "tool_call_id": call["id"], "name": call["function"]["name"], "content": known})
        self.emit("tool_result", tool=call["function"]["name"], message=known[:80])

    def ask(self):
        rounds = sum(m["role"] == "assistant" for m in self.messages)
        if rounds >= self.ROUNDS:
            raise GaveUp(f"no answer after {rounds} rounds")
        self.emit("thinking")
        answer = self.client.chat.completions.create(
            model="any",
            messages=self.messages,
            tools=[
                {
                    "type": "function",
                    "function": {"name": name, "description": tool.__doc__ or "", "parameters": {"type": "object", "properties": {}}},
                }
                for name, tool in self.tools.items()
            ],
        )
        said = answer.choices[0].message
        kept = {"role": "assistant", "content": said.content}
        if said.tool_calls:
            kept["tool_calls"] = [call.model_dump() for call in said.tool_calls]
        self.journal.append(kept)

    def go(self):
        self.start()
        while True:
            if calls := self.open():
                self.close(calls[0])
            elif self.messages[-1]["role"] == "assistant":
                return self.messages[-1]["content"]
            else:
                self.ask()


def run_agent(client, tools, journal, task, on_progress):
    run = Run(client, tools, journal, task, on_progress)
    try:
        result = run.go()
    except Exception as why:
        run.emit("error", message=f"{why}")
        raise
    run.emit("completed", message=result)
    return result
