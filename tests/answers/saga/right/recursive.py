# right: each step runs the rest of the saga inside itself, and what comes out of there says whether to undo it
from contextlib import suppress

from labkit import CompensationFailed, SagaFailed, TransientError


class Back(Exception):
    def __init__(self, step, cause=None):
        self.step, self.cause = step, cause


def run_saga(steps, log):
    told = list(log.entries())
    finals = [event for event, _ in told if event in {"completed", "compensated", "compensation_failed"}]
    remaining = []
    try:
        _go(tuple(steps), log, told, remaining, bool(finals))
    except Back as back:
        if not finals:
            log.append("compensation_failed" if remaining else "compensated")
        if remaining:
            raise CompensationFailed(remaining=remaining) from back.cause
        raise SagaFailed(step=back.step) from back.cause
    if not finals:
        log.append("completed")


def _go(steps, log, told, remaining, over):
    if not steps:
        return
    step, *rest = steps
    try:
        _do(step, log, told)
        _go(rest, log, told, remaining, over)
    except Back as back:
        if back.step != step.name or ("unknown", step.name) in told:
            _undo(step, log, told, remaining, over)
        raise


def _do(step, log, told):
    if ("failed", step.name) in told or ("unknown", step.name) in told:
        raise Back(step.name)
    if ("done", step.name) in told:
        return
    log.append("started", step.name)
    try:
        step.execute(f"{log.saga_id}:{step.name}:do")
    except Exception as error:
        lost = isinstance(error, TimeoutError) or getattr(error, "definite", True) is False
        told.append(("unknown" if lost else "failed", step.name))
        log.append(*told[-1])
        raise Back(step.name, error) from error
    log.append("done", step.name)


def _undo(step, log, told, remaining, over):
    if ("undone", step.name) in told:
        return
    if over:
        remaining.append(step.name)
        return
    if ("undoing", step.name) not in told:
        log.append("undoing", step.name)
    for attempt in (1, 2, 3):
        with suppress(*((TransientError, TimeoutError) if attempt < 3 else ())):
            try:
                step.compensate(f"{log.saga_id}:{step.name}:undo")
            except (TransientError, TimeoutError):
                if attempt < 3:
                    raise
                break
            except Exception:
                break
            log.append("undone", step.name)
            return
    remaining.append(step.name)
