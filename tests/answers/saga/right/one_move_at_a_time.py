# right: a machine that reads the log, makes one move and starts over
from labkit import CompensationFailed, SagaFailed, TransientError


class Stop(Exception):
    pass


def run_saga(steps, log):
    memory = {"cause": None, "gone wrong": []}
    try:
        while True:
            move(steps, log, memory)
    except Stop:
        pass


def move(steps, log, memory):
    entries = log.entries()
    last = {name: event for event, name in entries if name}
    final = [event for event, name in entries if not name]
    broken = [name for event, name in entries if event in ("failed", "unknown")]
    standing = [s.name for s in reversed(steps) if last.get(s.name) in ("done", "unknown", "undoing")]
    match final, broken:
        case ["completed"], _:
            raise Stop
        case ["compensated"], [name, *_]:
            raise SagaFailed(step=name) from memory["cause"]
        case ["compensation_failed"], _:
            raise CompensationFailed(remaining=standing) from memory["cause"]
        case [], []:
            todo = [s for s in steps if last.get(s.name) != "done"]
            if not todo:
                log.append("completed")
            else:
                forward(todo[0], log, memory)
        case [], _:
            todo = [s for s in reversed(steps) if s.name in standing and s.name not in memory["gone wrong"]]
            if todo:
                backward(todo[0], log, memory)
            else:
                log.append("compensation_failed" if standing else "compensated")


def forward(step, log, memory):
    log.append(event="started", step=step.name)
    try:
        step.execute(f"{log.saga_id}:{step.name}:do")
        event = "done"
    except TimeoutError as error:
        memory["cause"], event = error, "unknown"
    except Exception as error:
        memory["cause"], event = error, {True: "failed", False: "unknown"}[getattr(error, "definite", True)]
    log.append(event=event, step=step.name)


def backward(step, log, memory, tries=1):
    if tries == 1:
        log.append("undoing", step.name)
    try:
        step.compensate(f"{log.saga_id}:{step.name}:undo")
    except Exception as error:
        if isinstance(error, (TransientError, TimeoutError)) and tries < 3:
            backward(step, log, memory, tries + 1)
        else:
            memory["gone wrong"].append(step.name)
        return
    log.append("undone", step.name)
