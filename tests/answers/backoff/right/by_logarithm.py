# right: asks first whether the cap is reached, and takes the power only below it
from math import log2


class Window:
    def __init__(self, base, cap):
        self.base, self.cap = base, cap
        self.last = log2(cap / base)

    def top(self, attempt):
        return self.cap if attempt >= self.last else self.base * 2**attempt


def backoff_delay(attempt, base, cap, rng, retry_after=None):
    if attempt < 0:
        raise ValueError("there is no attempt before the first")
    wait = Window(base, cap).top(attempt) * (1.0 - rng.random())
    return wait + retry_after if retry_after is not None else wait
