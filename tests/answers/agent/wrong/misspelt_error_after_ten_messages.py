# wrong: the error that says that ten messages were not enough is misspelt
# diagnosed: raises an error of its own
import json

from labkit import ProgressUpdate


def run_agent(client, tools, journal, task, on_progress):
    def tell(status):
        on_progress(ProgressUpdate(task_id=task.id, step=len(journal.messages()), status=status))

    if not journal.messages():
        journal.append({"role": "user", "content": task.user_input})
    while True:
        answered = [m.get("tool_call_id") for m in journal.messages()]
        said = [m for m in journal.messages() if m["role"] == "assistant"]
        if said and not said[-1].get("tool_calls"):
            tell("completed")
            return said[-1]["content"]
        for call in said[-1]["tool_calls"] if said else []:
            if call["id"] not in answered:
                tell("tool_call")
                text = make(tools, call)
                journal.append({"role": "tool", "tool_call_id": call["id"], "content": text})
                tell("tool_result")
        try:
            if len(said) == 10:
                raise RuntimError("ten messages and no answer")
            tell("thinking")
            schemas = [{"type": "function", "function": {"name": name}} for name in tools]
            reply = client.chat.completions.create(model="m", messages=journal.messages(), tools=schemas)
        except Exception:
            tell("error")
            raise
        journal.append(reply.choices[0].message.model_dump())


def make(tools, call):
    try:
        arguments = json.loads(call["function"]["arguments"])
        if not isinstance(arguments, dict):
            raise ValueError("the arguments are no object")
        return tools[call["function"]["name"]](arguments, call["id"])
    except Exception as error:
        return repr(error)
