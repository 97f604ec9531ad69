"""What is drawn without a seed comes from one stream, and afterwards from nowhere again."""

import os
import random
import secrets
import uuid

import pytest

from labkit.checks.luck import begin_anew, drawn_from

WAYS = {
    "random.random": lambda: random.random(),
    "Random()": lambda: random.Random().random(),
    "Random(None)": lambda: random.Random(None).random(),
    "seed()": lambda: (random.seed(), random.random())[1],
    "SystemRandom": lambda: random.SystemRandom().random(),
    "secrets": lambda: secrets.token_hex(),
    "uuid4": lambda: uuid.uuid4(),
    "urandom": lambda: os.urandom(8),
}


@pytest.mark.parametrize("way", WAYS)
def test_equal_seeds_draw_equal_things(way):
    """Twice from one seed is the same, one after the other is not, and neither is another seed; who draws outside draws as ever."""
    drawn = []
    for seed in ("a", "a", "b"):
        with drawn_from(seed):
            drawn.append((WAYS[way](), WAYS[way]()))
    drawn.append((WAYS[way](), WAYS[way]()))
    assert drawn[0] == drawn[1]
    assert 6 == len({*drawn[0], *drawn[2], *drawn[3]})


def test_who_gives_a_seed_has_it():
    """A seed that is given is the seed, here and outside."""
    outside = random.Random(7).random()
    with drawn_from("a"):
        assert outside == random.Random(7).random()
        random.seed(7)
        assert outside == random.random()


def test_a_stream_begins_anew():
    """With the same seed it gives the same again; where nothing is drawn from a stream nothing is begun."""
    with drawn_from("a"):
        drawn = []
        for _ in range(2):
            begin_anew("b")
            drawn.append((random.random(), uuid.uuid4()))
    begin_anew("b")
    assert drawn[0] == drawn[1] != (random.random(), uuid.uuid4())
