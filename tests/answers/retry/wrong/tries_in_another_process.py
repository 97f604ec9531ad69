# wrong: starts a process for the attempts
# diagnosed: starts a process, or ends another one
import os


def execute_with_retry(fn, max_attempts, clock):
    if os.fork() == 0:
        os._exit(bool(fn()))
