"""Mutants that are still right, by exercise and what was changed, each with the reason.

Not handled here: making them (see `mutants`).
"""

APART = "the two ask for different states, so their order does not matter"
STRAIGHT = "a failed task may go straight to running"
FIELDS = "two fields that do not look at each other, in another order"
GUARD = "nothing happens between the two lines that the guard would have stopped"

EQUIVALENT = {
    "resume plain_function": {
        "7: swaps if task.state in (TaskState.COMPLETED, TaskState.CANCELLED): with the next": APART,
        "7: drops if task.state == TaskState.FAILED:": STRAIGHT,
        "7: swaps if task.state == TaskState.FAILED: with the next": STRAIGHT,
        "13: drops task = store.save(replace(task, state=TaskState.PENDING, ...": STRAIGHT,
        "13: FAILED -> CANCELLED": STRAIGHT,
        "14: PENDING -> RUNNING": STRAIGHT,
    },
    "retry plain_loop": {
        "5: swaps if max_attempts < 1: with the next": GUARD,
    },
    "retry recursive": {
        "20: _go: argument 2 is 1.0": "the first attempt is number 1 also as 1.0",
        "20: _go: argument 4 is 1": "the first wait is one second also as 1",
    },
    "backoff clamps_the_exponent": {
        "2: swaps if attempt < 0: with the next": GUARD,
        "5: 1000 -> 1001": "any clamp between the cap and the largest float will do",
    },
    "deadline budget_object": {
        "6: swaps self.left = seconds with the next": FIELDS,
        "6: swaps self._clock = clock with the next": FIELDS,
        "19: swaps self.budget = budget with the next": FIELDS,
    },
    "idempotency execute_step": {
        "27: removes except StaleTask": "a caller that was beaten may hear it as StaleTask",
    },
    "idempotency class_with_steps": {
        "10: swaps self.store = store with the next": FIELDS,
        "24: self.write without error": "an old error may stay",
    },
}
