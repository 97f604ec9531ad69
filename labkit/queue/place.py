"""Where the code of a job failed: one file and one line, for a log that shows no tracebacks.

It is the innermost frame of the job's own files: neither of labkit, nor of what was installed, nor of Python itself, since an error that json or a client
raises is mended where they were called. Where there is none, nothing is said. The lines of the files are not read.

Not handled here: what is logged (see `worker`).
"""

from __future__ import annotations

import os
import traceback

import labkit

_LIBRARIES = tuple(f"{os.path.dirname(path)}{os.sep}" for path in (labkit.__file__, os.__file__))
_INSTALLED = ("site-packages", "dist-packages")


def place(error: BaseException) -> str:
    """`jobs.py:7`, or "" where the error comes from no file of the job."""
    own = [(frame.f_code.co_filename, line) for frame, line in traceback.walk_tb(error.__traceback__) if _is_own(frame.f_code.co_filename)]
    return f"{os.path.basename(own[-1][0])}:{own[-1][1]}" if own else ""


def _is_own(file: str) -> bool:
    return not (file.startswith((*_LIBRARIES, "<frozen ")) or any(part in _INSTALLED for part in file.split(os.sep)))
