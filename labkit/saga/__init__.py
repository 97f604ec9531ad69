"""Work of several steps that ends whole or not at all, however often its process dies.

Read in this order: step, story, log, forward, undo, run, nested."""

from labkit.saga.log import SagaLog, SagaRecord
from labkit.saga.nested import saga_step
from labkit.saga.run import Saga, run_saga
from labkit.saga.step import SagaStep

__all__ = ["Saga", "SagaLog", "SagaRecord", "SagaStep", "run_saga", "saga_step"]
