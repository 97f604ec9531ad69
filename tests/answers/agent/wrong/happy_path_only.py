# wrong: the loop as one first writes it: the conversation in a list, no error expected, ten rounds of whoever is alive
# diagnosed: malformed arguments end the run
import json

from labkit import ProgressUpdate


def run_agent(client, tools, journal, task, on_progress):
    messages = [{"role": "user", "content": task.user_input}]
    schemas = [{"type": "function", "function": {"name": name}} for name in tools]
    for step in range(10):
        on_progress(ProgressUpdate(task_id=task.id, step=step, status="thinking"))
        reply = client.chat.completions.create(model="m", messages=messages, tools=schemas).choices[0].message
        messages.append(reply.model_dump(exclude_none=True))
        if not reply.tool_calls:
            on_progress(ProgressUpdate(task_id=task.id, step=step, status="completed", message=reply.content))
            return reply.content
        for call in reply.tool_calls:
            name = call.function.name
            on_progress(ProgressUpdate(task_id=task.id, step=step, status="tool_call", tool=name))
            result = tools[name](json.loads(call.function.arguments), call.id)
            messages.append({"role": "tool", "tool_call_id": call.id, "content": result})
            on_progress(ProgressUpdate(task_id=task.id, step=step, status="tool_result", tool=name))
    return "Max iterations reached"
