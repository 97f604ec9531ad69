"""Drawn conversations of `agent`: other tasks, hosts and words, other numbers of turns and calls, and a call after which the process dies.

Not handled here: odd arguments and failures of the model (the fixed cases have them), and playing a talk (see `agent_play`).
"""

from __future__ import annotations

from random import Random

from labkit.checks.agent_talks import Talk, Turn, on
from labkit.checks.drawn.words import name, names, text


def talk(rng: Random) -> Talk:
    """Some turns in which disks are looked at and logs are cleaned, one call each."""
    hosts = names(rng, rng.randrange(2, 6))
    turns = [Turn(rng.choice((None, text(rng))), (on(rng.choice(("check_disk", "clean_logs")), host),)) for host in hosts]
    return _talk(rng, *turns)


def batch(rng: Random) -> tuple[Talk, tuple[str, ...]]:
    """Several calls in one message; and the schedules: undisturbed, and a death after one of them."""
    hosts = names(rng, rng.randrange(2, 6))
    died = rng.randrange(1, len(hosts) + 1)
    calls = tuple(on("clean_logs", host) for host in hosts)
    return _talk(rng, Turn(text(rng), calls)), ("none", f"p1@cloud{died}.after+crash")


def _talk(rng: Random, *turns: Turn) -> Talk:
    return Talk(name(rng), (*turns, Turn(text(rng))), user_input=text(rng).strip())
