# right: one machine for each task, fed with events; errors as control flow
from dataclasses import dataclass, field


class Wrong(Exception):
    pass


@dataclass
class Machine:
    id: str
    holder: tuple = ()
    effects: set = field(default_factory=set)
    stack: list = field(default_factory=list)
    ended: bool = False

    def submitted(self, event):
        pass

    refused = submitted

    def claimed(self, event):
        self.holder = (event.worker, event.attempt)

    def written(self, event):
        if self.holder and self.holder != (event.worker, event.attempt):
            raise Wrong(f"{event.worker} no longer holds {self.id} and writes it")

    def effect(self, event):
        if event.name in self.effects:
            raise Wrong(f"{event.name} twice in {self.id}")
        self.effects.add(event.name)

    def done(self, event):
        self.stack.append(event.name)

    def undone(self, event):
        if event.name in self.stack:  # what lies above could not be undone
            del self.stack[self.stack.index(event.name):]
        else:
            raise Wrong(f"{self.id} undoes {event.name} too late")

    def progress(self, event):
        if event.name in ("completed", "error"):
            if self.ended:
                raise Wrong(f"{self.id} ends again")
            self.ended = True

    def close(self, task):
        if task is None or task.state.value in ("pending", "running", "waiting"):
            raise Wrong(f"{self.id} never came to an end")
        if not self.ended:
            raise Wrong(f"nobody heard of the end of {self.id}")


def invariant(trace):
    machines = {}
    try:
        for event in trace.events:
            getattr(machines.setdefault(event.task_id, Machine(event.task_id)), event.kind)(event)
        for name, machine in machines.items():
            machine.close(trace.tasks.get(name))
    except Wrong as wrong:
        return str(wrong)
    return None
