# right: doubles step by step, and stops as soon as the cap is reached
import random


def window(attempt: int, base: float, cap: float) -> float:
    width = base
    while attempt > 0 and width < cap:
        width *= 2
        attempt -= 1
    return min(width, cap)


def backoff_delay(attempt: int, *, base: float, cap: float, rng: random.Random, retry_after: float | None = None) -> float:
    if attempt < 0:
        raise ValueError(attempt)
    delay = rng.uniform(0, window(attempt, base, cap))
    if retry_after is None:
        return delay
    return retry_after if delay < retry_after else delay
