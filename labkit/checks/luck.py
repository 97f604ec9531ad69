"""What is drawn without a seed, from one stream: two processes that do the same draw the same.

A wrong answer that draws for itself must break in the same way each time it is checked, with the same numbers in its picture. Each draw is still another one
than the last, so two keys differ; and each process of a run has a stream of its own.

Not handled here: `/dev/urandom`, and the order of a set (see `hashes`).
"""

from __future__ import annotations

import os
import random
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

_urandom, _seed = os.urandom, random.Random.seed
_stream = random.Random()


@contextmanager
def drawn_from(seed: str) -> Iterator[None]:
    """While this lasts `random`, `secrets`, `uuid4` and `os.urandom` draw from the stream with this seed."""
    _seed(_stream, seed)
    _let(_stream_of_bytes, _seed_from_stream)
    try:
        yield
    finally:
        _let(_urandom, _seed)


def begin_anew(seed: str) -> None:
    """Draw from the begin of the stream with this seed. Outside of `drawn_from` it changes nothing."""
    if os.urandom is _stream_of_bytes:
        _seed(_stream, seed)
        random.seed()


def _stream_of_bytes(size: int, /) -> bytes:
    return _stream.randbytes(size)


def _seed_from_stream(self: random.Random, a: Any = None, version: int = 2) -> None:
    _seed(self, _stream.getrandbits(256) if a is None else a, version)


def _let(urandom: Any, seed: Any) -> None:
    """Let these be what everybody draws from, and what gives a generator its seed; those that have none get one anew."""
    shared: Any = random
    os.urandom = shared._urandom = urandom  # `SystemRandom` and `secrets` know it by its second name
    shared.Random.seed = seed
    shared.seed = shared._inst.seed
    shared.seed()
