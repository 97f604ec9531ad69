# right: a class that folds the log into one state for each step, and goes back over the states
from dataclasses import dataclass, field

from labkit import CompensationFailed, SagaFailed, SagaLog, TransientError


@dataclass
class Run:
    log: SagaLog
    state: dict = field(default_factory=dict)
    failed: str = ""
    end: str = ""

    def __post_init__(self):
        for event, name in self.log.entries():
            self.see(event, name)

    def see(self, event, name):
        if not name:
            self.end = event
            return
        self.state[name] = event
        if event in ("failed", "unknown"):
            self.failed = name

    def tell(self, event, name=""):
        self.log.append(event, step=name)
        self.see(event, name)

    def key(self, step, what):
        return ":".join((self.log.saga_id, step.name, what))


def forward(run, steps):
    for step in steps:
        if run.state.get(step.name) == "done":
            continue
        run.tell("started", step.name)
        try:
            step.execute(run.key(step, "do"))
        except TimeoutError as error:
            run.tell("unknown", step.name)
            return error
        except Exception as error:
            run.tell("failed" if getattr(error, "definite", True) else "unknown", step.name)
            return error
        run.tell("done", step.name)
    run.tell("completed")
    return None


def backward(run, steps):
    by_name = {step.name: step for step in steps}
    for name in standing(run):
        run.tell("undoing", name)
        if tried(by_name[name].compensate, run.key(by_name[name], "undo")):
            run.tell("undone", name)
    run.tell("compensation_failed" if standing(run) else "compensated")


def standing(run):
    return [name for name, event in reversed(run.state.items()) if event not in ("failed", "undone")]


def tried(compensate, key, left=3):
    try:
        compensate(key)
    except (TransientError, TimeoutError):
        return left > 1 and tried(compensate, key, left - 1)
    except Exception:
        return False
    return True


def run_saga(steps, log):
    run, error = Run(log), None
    if not run.end and not run.failed:
        error = forward(run, steps)
    if not run.end:
        backward(run, steps)
    if run.end == "compensation_failed":
        raise CompensationFailed("something stays", remaining=standing(run)) from error
    if run.end == "compensated":
        raise SagaFailed(f"{run.failed} failed", step=run.failed) from error
