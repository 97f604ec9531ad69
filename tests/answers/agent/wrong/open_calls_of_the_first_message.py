# wrong: a new process looks for open calls in the first message that has any
# diagnosed: of a later message are not
import json

from labkit import ProgressUpdate


def run_agent(client, tools, journal, task, on_progress):
    def tell(status, message="", tool=""):
        turn = sum(m["role"] == "assistant" for m in journal.messages())
        on_progress(ProgressUpdate(task_id=task.id, step=turn, status=status, message=message, tool=tool))

    if not journal.messages():
        journal.append({"role": "user", "content": task.user_input})
    fresh = True
    while True:
        messages = journal.messages()
        answered = {m["tool_call_id"] for m in messages if m["role"] == "tool"}
        said = [m for m in messages if m["role"] == "assistant"]
        asking = [m for m in said if m.get("tool_calls")]
        chosen = asking[:1] if fresh else said[-1:]
        fresh = False
        for call in chosen[0].get("tool_calls", []) if chosen else []:
            if call["id"] not in answered:
                name = call["function"]["name"]
                tell("tool_call", call["function"]["arguments"], name)
                text = journal.result(call["id"])
                if text is None:
                    text = make(tools, call)
                    journal.record(call["id"], text)
                journal.append({"role": "tool", "tool_call_id": call["id"], "content": text})
                tell("tool_result", text, name)
        if said and not said[-1].get("tool_calls"):
            tell("completed")
            return said[-1]["content"]
        try:
            if len(said) == 10:
                raise RuntimeError("ten messages and no answer")
            tell("thinking")
            schemas = [{"type": "function", "function": {"name": name}} for name in tools]
            reply = client.chat.completions.create(model="gpt-4o-mini", messages=journal.messages(), tools=schemas)
        except Exception as error:
            tell("error", str(error))
            raise
        journal.append(reply.choices[0].message.model_dump(exclude_none=True))


def make(tools, call):
    try:
        arguments = json.loads(call["function"]["arguments"])
        if not isinstance(arguments, dict):
            raise ValueError("the arguments are no object")
        return tools[call["function"]["name"]](arguments, call["id"])
    except Exception as error:
        return f"{type(error).__name__}: {error}"
