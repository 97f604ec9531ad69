# right: an ExitStack holds the undos, and what it raises derives from SagaFailed
"""The undos sit on an ExitStack; a crash takes them off it unrun."""
import contextlib
import functools
import itertools
import labkit
from labkit import TransientError


class _Failed(labkit.SagaFailed):
    pass


class _Stuck(labkit.CompensationFailed):
    pass


def _undo(log, step, left):
    key = ":".join((log.saga_id, step.name, "undo"))
    if left and left[0] is None:
        return
    for tries in itertools.count(1):
        log.append(event="undoing", step=step.name)
        try:
            step.compensate(key)
        except Exception as e:
            if isinstance(e, (TransientError, TimeoutError)) and tries < 3:
                continue
            left.append(step.name)
            return
        except BaseException:
            left.clear()
            left.append(None)
            raise
        log.append(event="undone", step=step.name)
        return


def run_saga(steps, log):
    steps = tuple(steps)
    pairs = log.entries()
    last, broken = {}, None
    final = None
    for event, name in pairs:
        if event in {"completed", "compensated", "compensation_failed"}:
            final = event
        elif event in {"failed", "unknown"}:
            broken = broken or name
            last[name] = event
        else:
            last[name] = event
    if final == "completed":
        return None
    if final == "compensated":
        raise _Failed(step=broken)
    if final == "compensation_failed":
        raise _Stuck(remaining=[s.name for s in steps[::-1] if last.get(s.name) == "undoing"])
    left, why = [], None
    with contextlib.ExitStack() as stack:
        try:
            for s in steps:
                if last.get(s.name) in ("done", "unknown", "undoing"):
                    stack.callback(_undo, log, s, left)
                    continue
                if broken is not None:
                    continue
                log.append("started", s.name)
                try:
                    s.execute(":".join((log.saga_id, s.name, "do")))
                except Exception as e:
                    why, broken = e, s.name
                    sure = getattr(e, "definite", True) and not isinstance(e, TimeoutError)
                    log.append("failed" if sure else "unknown", s.name)
                    if not sure:
                        stack.callback(_undo, log, s, left)
                else:
                    log.append("done", s.name)
                    stack.callback(_undo, log, s, left)
        except BaseException:
            stack.pop_all()
            raise
        if broken is None:
            stack.pop_all()
            log.append("completed")
            return
        saved = stack.pop_all()
    saved.close()
    if left:
        log.append("compensation_failed")
        raise _Stuck("some undos failed", remaining=left) from why
    log.append("compensated")
    raise _Failed(f"step {broken} failed", step=broken) from why
