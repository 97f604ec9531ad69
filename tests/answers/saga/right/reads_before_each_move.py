# right: nothing is remembered; before each move the log is read again, and a list of closures holds the undos
import logging
from functools import partial
from time import sleep

from labkit import CompensationFailed, SagaFailed, TransientError
from labkit.saga import SagaStep

logger = logging.getLogger(__name__)


def has(log, event, name=""):
    return (event, name) in log.entries()


def key_of(log, step: SagaStep, what):
    return f"{log.saga_id}:{step.name}:{what}"


def take_back(step, log, remaining):
    if has(log, "undone", step.name):
        return
    if has(log, "compensation_failed"):
        remaining.append(step.name)
        return
    log.append("undoing", step.name)
    for wait in (0.1, 0.2, None):
        try:
            step.compensate(key=key_of(log, step, "undo"))
        except (TransientError, TimeoutError) as error:
            logger.warning("%s: %s", step.name, error)
            if wait:
                sleep(wait)
        except Exception:
            logger.exception("the undo of %s failed", step.name)
            break
        else:
            log.append("undone", step.name)
            return
    remaining.append(step.name)


def run_saga(steps, log):
    remaining, failed, cause, undos = [], None, None, []
    for step in steps:
        if not has(log, "done", step.name) and not has(log, "failed", step.name) and not has(log, "unknown", step.name):
            log.append("started", step.name)
            try:
                step.execute(key=key_of(log, step, "do"))
                log.append("done", step.name)
            except Exception as error:
                cause = error
                definite = error.definite if hasattr(error, "definite") else True
                log.append("failed" if definite and not isinstance(error, TimeoutError) else "unknown", step.name)
        if not has(log, "failed", step.name):
            undos.append(partial(take_back, step, log, remaining))
        if not has(log, "done", step.name):
            failed = step.name
            while undos:
                undos.pop()()
            break
    if not any(has(log, final) for final in ("completed", "compensated", "compensation_failed")):
        log.append("completed" if failed is None else "compensation_failed" if remaining else "compensated")
    if remaining:
        raise CompensationFailed(remaining=tuple(remaining)) from cause
    if failed is not None:
        raise SagaFailed(step=failed) from cause
