# right: a generator says what comes next from the entries so far, a driver does it
from functools import partial
from itertools import chain

from labkit import CompensationFailed, SagaFailed, TransientError


def _next(steps, entries):
    """Yields (what, step) until the saga has ended; `entries` grows meanwhile."""
    for step in steps:
        if any(event in ("failed", "unknown", "undoing", "undone") for event, _ in entries):
            break
        if ("done", step.name) not in entries:
            yield "do", step
    began = dict.fromkeys(name for event, name in entries if event == "started")
    broken = {name for event, name in entries if event == "failed"}
    if any(event in ("failed", "unknown") for event, _ in entries):
        for step in sorted(steps, key=lambda s: list(began).index(s.name) if s.name in began else -1, reverse=True):
            if step.name in began and step.name not in broken and ("undone", step.name) not in entries:
                yield "undo", step


def _do(step, key):
    try:
        step.execute(key)
    except Exception as error:
        definite = getattr(error, "definite", True) and not isinstance(error, TimeoutError)
        return ("failed" if definite else "unknown"), error
    return "done", None


def _undo(step, key):
    tries = chain([step.compensate] * 2, [None])
    for attempt in tries:
        try:
            (attempt or step.compensate)(key)
            return "undone", None
        except (TransientError, TimeoutError) as error:
            if attempt is None:
                return "", error
        except Exception as error:
            return "", error


def run_saga(steps, log):
    entries = list(log.entries())
    append = partial(_append, log, entries)
    errors = {}
    over = bool(entries) and not entries[-1][1]
    for what, step in () if over else _next(steps, entries):
        append("started" if what == "do" else "undoing", step.name)
        ended, error = (_do if what == "do" else _undo)(step, f"{log.saga_id}:{step.name}:{what}")
        if ended:
            append(ended, step.name)
        errors.setdefault(what, error)
        errors["do"] = error if what == "do" else errors.get("do")
    broken = [name for event, name in entries if event in ("failed", "unknown")]
    left = [step.name for what, step in _next(steps, [e for e in entries if e[1]]) if what == "undo"]
    if not over:
        append("completed" if not broken else "compensation_failed" if left else "compensated")
    if left:
        raise CompensationFailed(remaining=left)
    if broken:
        raise SagaFailed(step=broken[0]) from errors.get("do")


def _append(log, entries, event, step=""):
    log.append(event, step)
    entries.append((event, step))
