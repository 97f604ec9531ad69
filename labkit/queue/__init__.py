"""A queue of tasks in a database, and who works on it. Read in this order: claim, lease, complete, batch, submit,
control, dead, wait, park, queue; then job, worker, threads, pool, notify, process. `options`, `choose` and `change`
are what they share."""

from labkit.errors import TaskCancelled, WaitTimeout
from labkit.queue.job import Ask, GiveBack, Job
from labkit.queue.lease import Lease
from labkit.queue.pool import WorkerPool
from labkit.queue.queue import TaskQueue
from labkit.queue.worker import Worker

__all__ = ["Ask", "GiveBack", "Job", "Lease", "TaskCancelled", "TaskQueue", "WaitTimeout", "Worker", "WorkerPool"]
