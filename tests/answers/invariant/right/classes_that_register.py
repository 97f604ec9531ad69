# right: a class for each rule, found by a registry; exceptions are asserted
import logging

RULES = []
log = logging.getLogger("rules")


class Rule:
    def __init_subclass__(cls, **more):
        super().__init_subclass__(**more)
        RULES.append(cls)

    def __init__(self, trace):
        self.trace = trace

    def tasks(self):
        return dict.fromkeys(e.task_id for e in self.trace.events if e.kind == "submitted")

    def of(self, task, *kinds):
        return (e for e in self.trace.events if e.task_id == task and e.kind in kinds)

    def __call__(self):
        for task in self.tasks():
            assert self.holds(task), f"{type(self).__name__} does not hold of {task}"


class NothingIsLost(Rule):
    def holds(self, task):
        return task in self.trace.tasks and self.trace.tasks[task].state not in ("pending", "running", "waiting")


class EachEffectOnce(Rule):
    def holds(self, task):
        names = [e.name for e in self.of(task, "effect")]
        return len(names) == len(set(names))


class OnlyTheHolderWrites(Rule):
    def holds(self, task):
        holder = None
        for e in self.of(task, "claimed", "written"):
            me = (e.worker, e.attempt)
            if e.kind == "claimed":
                holder = me
            elif holder not in (None, me):
                return False
        return True


class LastInFirstOut(Rule):
    def holds(self, task):
        when = {e.name: place for place, e in enumerate(self.of(task, "done"))}
        places = [when[e.name] for e in self.of(task, "undone") if e.name in when]
        return all(a > b for a, b in zip(places, places[1:]))


class OneEnd(Rule):
    def holds(self, task):
        return sum(e.name in ("completed", "error") for e in self.of(task, "progress")) == 1


def invariant(trace):
    for rule in RULES:
        try:
            rule(trace)()
        except AssertionError as error:
            log.info("broken: %s", error)
            return str(error)
