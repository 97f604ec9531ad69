"""The errors: message, attributes, and whether the thing may have happened."""

from __future__ import annotations

import inspect
import pickle

import pytest

from labkit import errors
from labkit.errors import CallTimeout, LabkitError, RetriesExhausted, TransientError

EVERY = [kind for _, kind in inspect.getmembers(errors, inspect.isclass) if issubclass(kind, LabkitError)]
WITH_DATA = {
    "RetriesExhausted": {"attempts": 3},
    "DeadlineExceeded": {"completed": ["a"]},
    "QueueFull": {"retry_after": 2.5},
    "SagaFailed": {"step": "x"},
    "CompensationFailed": {"remaining": ["x"]},
    "UnstorableValue": {"path": "result"},
    "StoreCorrupt": {"kept_at": "x.corrupt"},
    "StaleState": {"version": 4},
    "TransientError": {"retry_after": 7.0},
    "BudgetExhausted": {"budget": "max_steps"},
}


@pytest.mark.parametrize("kind", EVERY)
def test_message(kind: type[LabkitError]) -> None:
    """Without a message an error says the first line of its docstring, with one it says that."""
    assert str(kind()) == (kind.__doc__ or "").splitlines()[0]
    assert "mine" == str(kind("mine"))


@pytest.mark.parametrize("kind", EVERY)
def test_definite(kind: type[LabkitError]) -> None:
    """Every error says whether it is definite; only a call without an answer is not."""
    assert kind().definite is not issubclass(kind, CallTimeout)


@pytest.mark.parametrize(("name", "data"), WITH_DATA.items())
def test_data(name: str, data: dict[str, object]) -> None:
    """Data are keywords, then attributes, and part of the default message; they survive pickling."""
    kind = getattr(errors, name)
    for error in (kind(**data), kind("mine", **data)):
        for copy in (error, pickle.loads(pickle.dumps(error))):
            assert data == {key: getattr(copy, key) for key in data}
            assert str(error) == str(copy)
    assert next(iter(data)) in str(kind(**data))


def test_unknown_data() -> None:
    """A keyword that is no attribute of the error is a TypeError."""
    with pytest.raises(TypeError):
        RetriesExhausted(tries=3)


def test_families() -> None:
    """A timeout is a TimeoutError and transient; what is full or busy is transient too."""
    assert issubclass(CallTimeout, TimeoutError)
    assert {"CallTimeout", "QueueFull", "StoreBusy", "StoreFull", "ModelUnavailable"} == {
        kind.__name__ for kind in EVERY if issubclass(kind, TransientError) and kind is not TransientError
    }
