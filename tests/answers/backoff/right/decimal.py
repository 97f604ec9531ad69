# right: decimal numbers that go very far, and a draw of 53 bits
from decimal import Decimal, getcontext

getcontext().Emax = 10**12


def backoff_delay(attempt, *, base, cap, rng, retry_after=None):
    if attempt < 0:
        raise ValueError("attempt < 0")
    top = min(Decimal(cap), Decimal(base) * Decimal(2) ** attempt)
    wait = float(top) * rng.getrandbits(53) / 2**53
    return max(wait, retry_after) if retry_after else wait
