"""Mutants that are still right, by exercise and what was changed, each with the reason.

Not handled here: making them (see `mutants`).
"""

APART = "the two ask for different states, so their order does not matter"
STRAIGHT = "a failed task may go straight to running"
FIELDS = "two fields that do not look at each other, in another order"
GUARD = "nothing happens between the two lines that the guard would have stopped"
WAITS = "who waits for a row instead of skipping it goes on with the next one: slower, and right"
STILL = "two lines that do not look at each other, in another order"
ANY_WAIT = "any positive number of seconds will do, and QueueFull has one of its own"
DATED = "only a claim must date the row"

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
    "claim core_one_statement": {
        "9: select(tasks.c.id).where(tasks.c.state == 'pending', task... without skip_locked": WAITS,
        "13: True -> False": WAITS,
    },
    "lease core_fence": {
        "10: swaps waiting = and_(tasks.c.state == 'pending', tasks.c.availa... with the next": STILL,
        "10: swaps best = select(tasks.c.id).where(or_(waiting, left)).order... with the next": STILL,
        "10: swaps ends = now + timedelta(seconds=lease_seconds) with the next": STILL,
        "10: swaps new = {'state': 'running', 'worker_id': worker_id, 'attem... with the next": STILL,
        "14: select(tasks.c.id).where(or_(waiting, left)).order_by(tas... without skip_locked": WAITS,
        "18: True -> False": WAITS,
        "43: write without updated_at": DATED,
        "48: write without updated_at": DATED,
    },
    "backpressure write_lock_first": {
        "11: swaps if idempotency_key is not None: with the next": STILL,
        "11: swaps if pending >= max_pending: with the next": STILL,
        "11: swaps times = {'created_at': now, 'available_at': now, 'updated... with the next": STILL,
        "20: QueueFull without retry_after": ANY_WAIT,
        "20: 1.0 -> 2.0": ANY_WAIT,
    },
}
