# right: every call out is made by a helper thread; retries by a decorator that raises
from concurrent.futures import ThreadPoolExecutor
from functools import wraps

from labkit import CompensationFailed, SagaFailed, TransientError

BACK = ("failed", "unknown")


def three_times(call):
    @wraps(call)
    def again(*args):
        for left in range(2, -1, -1):
            try:
                return call(*args)
            except (TransientError, TimeoutError):
                if not left:
                    raise

    return again


def run_saga(steps, log):
    with ThreadPoolExecutor(max_workers=1) as pool:
        def outside(call, *key):
            return pool.submit(call, ":".join((log.saga_id, *key))).result()

        return walk(steps, log, outside)


def walk(steps, log, outside):
    seen = {}
    for event, name in log.entries():
        seen.setdefault(name, []).append(event)
    final = seen.get("", [""])[0]
    broken = [name for name, events in seen.items() if any(event in BACK for event in events)]
    error = None
    for step in () if final or broken else steps:
        events = seen.setdefault(step.name, [])
        if "done" in events:
            continue
        log.append("started", step.name)
        events.append("started")
        try:
            outside(step.execute, step.name, "do")
        except Exception as caught:
            error, how = caught, "failed"
            if isinstance(caught, TimeoutError) or not getattr(caught, "definite", True):
                how = "unknown"
            log.append(how, step.name)
            events.append(how)
            broken.append(step.name)
            break
        log.append("done", step.name)
        events.append("done")
    if not broken:
        if not final:
            log.append("completed")
        return
    remaining = []
    for step in steps[::-1]:
        events = seen.get(step.name, [])
        if not events or "undone" in events or not {"done", "unknown"} & set(events):
            continue
        try:
            if final:
                raise LookupError
            log.append("undoing", step.name)
            three_times(outside)(step.compensate, step.name, "undo")
            log.append("undone", step.name)
        except Exception:
            remaining += [step.name]
    if not final:
        log.append("compensation_failed" if remaining else "compensated")
    if remaining:
        raise CompensationFailed(remaining=remaining) from error
    raise SagaFailed(step=broken[0]) from error
