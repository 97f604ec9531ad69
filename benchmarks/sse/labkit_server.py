"""labkit's server on a SQLite file, with a task whose worker tells the events. Says its port and the task; `go` on stdin starts it."""

from __future__ import annotations

import socket
import sys
import tempfile
import threading

import uvicorn

from labkit.database import open_engine
from labkit.progress.update import ProgressUpdate
from labkit.queue import Lease, TaskQueue
from labkit.server.app import make_app
from labkit.tables import create_tables

EVENTS = int(sys.argv[1])


def tell(queue: TaskQueue, lease: Lease) -> None:
    sys.stdin.readline()
    for step in range(1, EVENTS):
        queue.progress.append(ProgressUpdate(task_id=lease.task_id, step=step, status="thinking", total_step=EVENTS), lease)
    queue.complete(lease, "done")


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        engine = open_engine(f"sqlite:///{folder}/tasks.db")
        create_tables(engine)
        queue = TaskQueue(engine)
        task_id = queue.submit("tell")
        task = queue.claim("w1")
        assert task is not None
        threading.Thread(target=tell, args=(queue, Lease.of(task)), daemon=True).start()
        listening = socket.socket()
        listening.bind(("127.0.0.1", 0))
        listening.listen(2_048)
        print(listening.getsockname()[1], task_id, flush=True)
        config = uvicorn.Config(make_app(queue), log_level="warning", loop="asyncio")
        uvicorn.Server(config).run(sockets=[listening])


if __name__ == "__main__":
    main()
