# wrong: a StopIteration of a step ends the way forward as if all steps were done
# diagnosed: an error of a step is taken for a success
from labkit import SagaStep, SagaLog, TransientError, SagaFailed, CompensationFailed


def unsure(e):
    return isinstance(e, TimeoutError) or not getattr(e, "definite", True)


def run_saga(steps, log):
    entries = list(log.entries())
    seen = lambda event: [s for ev, s in entries if ev == event]
    done = set(seen("done"))
    unknown = set(seen("unknown"))
    undone = set(seen("undone"))
    bad = next((s for ev, s in entries if ev in ("failed", "unknown")), None)
    if seen("completed"):
        return
    if seen("compensated"):
        raise SagaFailed("saga failed", step=bad)
    cause = None
    if not seen("compensation_failed"):
        if bad is None:
            for step in steps:
                if step.name in done:
                    continue
                log.append("started", step.name)
                try:
                    step.execute(f"{log.saga_id}:{step.name}:do")
                except StopIteration:
                    log.append('done', step.name)
                    log.append('completed')
                    return
                except Exception as e:
                    cause = e
                    bad = step.name
                    if unsure(e):
                        unknown.add(step.name)
                        log.append("unknown", step.name)
                    else:
                        log.append("failed", step.name)
                    break
                log.append("done", step.name)
                done.add(step.name)
            else:
                log.append("completed")
                return
    todo = [s for s in reversed(steps) if s.name in done | unknown and s.name not in undone]
    if seen("compensation_failed"):
        raise CompensationFailed(remaining=[s.name for s in todo])
    remaining = []
    for step in todo:
        log.append("undoing", step.name)
        for n in range(3):
            try:
                step.compensate(f"{log.saga_id}:{step.name}:undo")
            except (TransientError, TimeoutError):
                continue
            except Exception:
                remaining.append(step.name)
                break
            log.append("undone", step.name)
            break
        else:
            remaining.append(step.name)
    if remaining:
        log.append("compensation_failed")
        raise CompensationFailed(remaining=remaining) from cause
    log.append("compensated")
    raise SagaFailed("saga failed", step=bad) from cause
