"""What the help of `labkit worker` and `labkit serve` shows of their other side: a module of jobs, and the addresses. Both are run by tests.

Under 80 columns, as it is typed. A word on the arguments stands with the arguments (see `cli`).

Not handled here: all that a job can do (see `queue.job`), and all that an address takes (see `server`).
"""

JOBS = """\
a module of jobs, shop/jobs.py (more: python -m pydoc labkit.queue.Job):
  def report(job):
      job.tell(1, "thinking", "looks into the shop", total_step=2)
      job.check()  # raises when the task is cancelled, or too late
      job.tell(2, "tool_result", "all is there", total_step=2)
      return f"done: {job.user_input}"

  handlers = {"report": report}  # by the first word; "*" takes the rest
"""
ADDRESSES = """\
addresses (JSON; a refusal is {"error": WHY}):
  POST /api/tasks               {"user_input": TEXT} -> {"task_id": ID}
  GET  /api/tasks/ID            the task, with its result once it has one
  GET  /api/progress?task_id=ID what it tells, as server-sent events
  WS   /api/tasks/ID/control    {"action": "cancel"} and others, a message each
with --token TEXT, each request has the header: Authorization: Bearer TEXT
"""
