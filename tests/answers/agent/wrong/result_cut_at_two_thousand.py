# wrong: a result is cut after two thousand characters
# diagnosed: a result is cut
import json

from labkit import ProgressUpdate


def run_agent(client, tools, journal, task, on_progress):
    def tell(status, message="", tool=""):
        step = sum(message["role"] == "assistant" for message in journal.messages())
        on_progress(ProgressUpdate(task_id=task.id, step=step, total_step=10, status=status, message=message, tool=tool))

    try:
        answer = converse(client, tools, journal, task, tell)
    except Exception as error:
        tell("error", str(error))
        raise
    tell("completed", answer)
    return answer


def converse(client, tools, journal, task, tell):
    schemas = [{"type": "function", "function": {"name": name}} for name in tools]
    if not journal.messages():
        journal.append({"role": "user", "content": task.user_input})
    while True:
        messages = journal.messages()
        spoken = [message for message in messages if message["role"] == "assistant"]
        answered = {message["tool_call_id"] for message in messages if message["role"] == "tool"}
        wanted = spoken[-1].get("tool_calls", []) if spoken else []
        if spoken and not wanted:
            return spoken[-1]["content"]
        for call in wanted:
            if call["id"] not in answered:
                settle(call, tools, journal, tell)
        if len(spoken) == 10:
            raise RuntimeError("ten messages and no answer")
        tell("thinking")
        reply = client.chat.completions.create(model="gpt-4o-mini", messages=journal.messages(), tools=schemas)
        journal.append(reply.choices[0].message.model_dump(exclude_none=True))


def settle(call, tools, journal, tell):
    name = call["function"]["name"]
    tell("tool_call", call["function"]["arguments"], name)
    text = journal.result(call["id"])
    if text is None:
        text = attempt(tools, name, call["function"]["arguments"], call["id"])
        journal.record(call["id"], text)
    journal.append({"role": "tool", "tool_call_id": call["id"], "content": text})
    tell("tool_result", text, name)


def attempt(tools, name, arguments, key):
    try:
        read = json.loads(arguments)
        if not isinstance(read, dict):
            raise ValueError("the arguments must be a JSON object")
        return tools[name](read, key)[:2000]
    except Exception as error:
        return f"{type(error).__name__}: {error}"
