# right: no `record`, the tool messages in the journal are the results; the task is put before the journal and not into it
import json

from labkit import ProgressUpdate


def run_agent(client, tools, journal, task, on_progress):
    def report(status, step, **more):
        on_progress(ProgressUpdate(task_id=task.id, status=status, step=step, **more))

    user = {"role": "user", "content": task.user_input}
    spoken = [m for m in journal.messages() if m["role"] == "assistant"]
    for step in range(len(spoken), 11):
        if spoken:
            message = spoken[-1]
            calls = message.get("tool_calls")
            if not calls:
                report("completed", step)
                return message["content"]
            done = [m["tool_call_id"] for m in journal.messages() if m["role"] == "tool"]
            for call in (c for c in calls if c["id"] not in done):
                report("tool_call", step, tool=call["function"]["name"])
                journal.append({"role": "tool", "tool_call_id": call["id"], "content": answer(call, tools, task)})
                report("tool_result", step, tool=call["function"]["name"])
        if step == 10:
            break
        report("thinking", step)
        try:
            reply = client.chat.completions.create(
                model="m",
                messages=[user, *journal.messages()],
                tools=[{"type": "function", "function": {"name": n}} for n in tools],
            )
        except Exception as error:
            report("error", step, message=str(error))
            raise RuntimeError("the model does not answer") from error
        spoken.append(reply.choices[0].message.model_dump())
        journal.append(spoken[-1])
    report("error", 10, message="ten rounds")
    raise TimeoutError("ten rounds without an answer")


def answer(call, tools, task):
    name, text = call["function"]["name"], call["function"]["arguments"]
    try:
        arguments = json.loads(text)
    except ValueError as error:
        return f"not JSON: {error}"
    if type(arguments) is not dict:
        return "not an object"
    tool = tools.get(name)
    if tool is None:
        return f"unknown tool {name}; there are {', '.join(tools)}"
    try:
        return tool(arguments, ":".join((task.id, call["id"])))
    except Exception as error:
        return f"failed: {error}"
