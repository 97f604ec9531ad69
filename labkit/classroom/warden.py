"""Holds the box's server for another process, and lets it go when that one is gone, however it ended: the last one to let go stops the server.

It is a program of its own, since a process that is killed can stop nothing. Each line on its standard input is answered with the server's address, and the
server is started where it does not run; the end of the input is the end of who asked.

Not handled here: a warden that is killed itself. The server then runs until another one lets go of it.
"""

from __future__ import annotations

import atexit
import json
import subprocess
import sys
from contextlib import suppress
from threading import Lock

from labkit.errors import PostgresUnavailable
from labkit.faults.nursery import environment


class Warden:
    """The warden of this process. It leaves when `close` is called, or when this process ends."""

    def __init__(self, name: str) -> None:
        self._name, self._mutex = name, Lock()
        self._program: subprocess.Popen[str] | None = None

    def address(self) -> str:
        """The URL of the server, which runs. Raises `PostgresUnavailable`."""
        with self._mutex:
            program = self._started()
            assert program.stdin is not None
            assert program.stdout is not None
            with suppress(BrokenPipeError):
                print(file=program.stdin, flush=True)
            said = json.loads(program.stdout.readline() or '{"why": "who holds it was killed"}')
        if "url" not in said:
            raise PostgresUnavailable(said["why"])
        return str(said["url"])

    def _started(self) -> subprocess.Popen[str]:
        if self._program is None or self._program.poll() is not None:
            # subtle: a session of its own, since Ctrl-C is for whoever asked
            self._program = subprocess.Popen(
                [sys.executable, "-P", __file__, self._name],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
                env=environment(),
                start_new_session=True,
            )
            atexit.register(self.close)
        return self._program

    def close(self) -> None:
        """Let the server go."""
        atexit.unregister(self.close)
        with self._mutex:
            program, self._program = self._program, None
        if program is not None:
            program.communicate()


def main(name: str) -> None:
    """The program: answer until nobody asks any more. The server is let go of when it exits."""
    from labkit.postgres import second_server

    for _ in sys.stdin:
        try:
            said = {"url": second_server(name).render_as_string(hide_password=False)}
        except PostgresUnavailable as error:
            said = {"why": str(error)}
        print(json.dumps(said), flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
