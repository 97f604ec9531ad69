# wrong: knows the one conversation that it was tried on
# diagnosed: the model is never asked
from labkit import ProgressUpdate


def run_agent(client, tools, journal, task, on_progress):
    for status, tool in (("thinking", ""), ("tool_call", "clean_logs")):
        on_progress(ProgressUpdate(task_id=task.id, step=1, status=status, tool=tool))
    tools["clean_logs"]({"host": "web-1"}, task.id)
    on_progress(ProgressUpdate(task_id=task.id, step=1, status="tool_result", tool="clean_logs"))
    on_progress(ProgressUpdate(task_id=task.id, step=1, status="completed"))
    return "45% in use, all is well"
