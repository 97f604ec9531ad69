# right: a coroutine that gives each call to a thread, run to its end
import asyncio

from labkit import CompensationFailed, SagaFailed, TransientError


async def forward(steps, log, done):
    for step in steps:
        if step.name in done:
            continue
        log.append("started", step.name)
        try:
            await asyncio.to_thread(step.execute, f"{log.saga_id}:{step.name}:do")
        except Exception as error:
            lost = isinstance(error, TimeoutError) or not getattr(error, "definite", True)
            log.append("unknown" if lost else "failed", step.name)
            return error
        log.append("done", step.name)


async def undo(step, log):
    for _ in range(3):
        try:
            await asyncio.to_thread(step.compensate, f"{log.saga_id}:{step.name}:undo")
            return True
        except (TransientError, TimeoutError):
            await asyncio.sleep(0)
        except Exception:
            return False
    return False


async def saga(steps, log):
    told = log.entries()
    final = told[-1][0] if told and not told[-1][1] else None
    if final == "completed":
        return
    cause = None
    if not any(event in ("failed", "unknown") for event, _ in told):
        cause = await forward(steps, log, {name for event, name in told if event == "done"})
        if cause is None:
            return log.append("completed")
    told = log.entries()
    names = [name for event, name in told if event in ("done", "unknown") and ("undone", name) not in told]
    if final is None:
        by_name = {step.name: step for step in steps}
        for name in reversed(names):
            log.append("undoing", name)
            if await undo(by_name[name], log):
                log.append("undone", name)
        told = log.entries()
    left = [name for name in reversed(names) if ("undone", name) not in told]
    if final is None:
        log.append("compensation_failed" if left else "compensated")
    if left:
        raise CompensationFailed(remaining=left) from cause
    raise SagaFailed(step=next(name for event, name in told if event in ("failed", "unknown"))) from cause


def run_saga(steps, log):
    asyncio.run(saga(steps, log))
