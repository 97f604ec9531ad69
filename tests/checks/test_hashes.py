"""A hash of a text and an identity are others in each process, and equal values still have equal hashes."""

import pytest

from labkit.checks.hashes import hash_in, id_in


@pytest.mark.parametrize("value", ["t1", b"t1", ("t1", 1), (1, ("t1",)), frozenset({"t1"})], ids=repr)
def test_seeded_hashes_differ_between_processes(value):
    """What Python seeds differs from process to process, and is steady within one."""
    assert 3 == len({hash_in(process)(value) for process in range(3)})
    assert hash_in(2)(value) == hash_in(2)(value)
    assert hash(value) == hash_in(0)(value)


@pytest.mark.parametrize("value", [1, 2.5, None, (1, 2), frozenset({1})], ids=repr)
def test_other_hashes_stay(value):
    """The hash of numbers is the same everywhere."""
    assert {hash(value)} == {hash_in(process)(value) for process in range(3)}


def test_identities_differ_between_processes():
    """No process tells an object by the number that another one tells it by; within one process it is steady, and no two share it."""
    one, other = object(), object()
    assert 3 == len({id_in(process)(one) for process in range(3)})
    mine = id_in(2)
    assert mine(one) == mine(one) != mine(other)
    assert id(one) != id_in(0)(one)
