# right: a budget that pays for each step and says when it is overdrawn
from labkit.errors import DeadlineExceeded


class Budget:
    def __init__(self, seconds, clock):
        self.left = seconds
        self._clock = clock
        self._seen = clock.monotonic()

    def pay(self):
        now = self._clock.monotonic()
        self.left -= now - self._seen
        self._seen = now
        return self.left


class Run:
    def __init__(self, budget):
        self.budget = budget
        self.done = []

    def give_up(self):
        raise DeadlineExceeded("out of time", completed=list(self.done))

    def one(self, step):
        if self.budget.pay() <= 0:
            self.give_up()
        text = step(self.budget.left)
        if self.budget.pay() < 0:
            self.give_up()
        self.done.append(text)


def run_with_deadline(steps, deadline, clock):
    run = Run(Budget((deadline - clock.now()).total_seconds(), clock))
    for step in steps:
        run.one(step)
    return run.done
