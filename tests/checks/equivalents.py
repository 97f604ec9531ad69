"""Mutants that are still right, by exercise and what was changed, each with the reason.

Not handled here: making them (see `mutants`).
"""

APART = "the two ask for different states, so their order does not matter"
STRAIGHT = "a failed task may go straight to running"
GUARD = "nothing happens between the two lines that the guard would have stopped"
WAITS = "who waits for a row instead of skipping it goes on with the next one: slower, and right"
STILL = "two lines that do not look at each other, in another order"
ANY_WAIT = "any positive number of seconds will do, and QueueFull has one of its own"
SHARED = "what no patch speaks of may be the old state's own, as long as nobody changes it"
TRUE = "whatever is true will do"
DATED = "only a claim must date the row"
BEFORE_ALL = "a position below 0 is before everything, as 0 is"
UNSETTLED = "no run shows it, since nothing settles whether it is broken"
WORDS = "any words will do, as long as they are JSON"

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
    "backoff clamps_the_exponent": {
        "2: swaps if attempt < 0: with the next": GUARD,
        "5: 1000 -> 1001": "any clamp between the cap and the largest float will do",
    },
    "checkpoint plain_class": {
        "23: swaps if state == TaskState.COMPLETED: with the next": APART,
        "41: max: argument 2 is self.max_count": "the newest is not among those that are asked, so one or none to keep is the same",
        "44: swaps self.store.delete(task_id, checkpoint.seq) with the next": "a delete that raises ends the call, and its count with it",
    },
    "claim core_one_statement": {
        "9: select(tasks.c.id).where(tasks.c.state == 'pending', task... without skip_locked": WAITS,
        "13: True -> False": WAITS,
    },
    "patch joins_by_key": {
        "6: swaps known.add(key(item)) with the next": STILL,
        "12: swaps after.known_facts = joined(state.known_facts, patch.facts... with the next": STILL,
        "12: swaps if patch.plan is not None: with the next": STILL,
        "13: state.model_copy without deep": SHARED,
        "13: True -> False": SHARED,
    },
    "context adds_up_the_parts": {
        "13: swaps if left < 0: with the next": GUARD,
        "26: swaps kept.append(item) with the next": STILL,
    },
    "lease core_fence": {
        "14: select(tasks.c.id).where(or_(waiting, left)).order_by(tas... without skip_locked": WAITS,
        "18: True -> False": WAITS,
        "43: write without updated_at": DATED,
        "48: write without updated_at": DATED,
    },
    "backpressure write_lock_first": {
        "11: swaps if idempotency_key is not None: with the next": STILL,
        "11: swaps if pending >= max_pending: with the next": STILL,
        "20: QueueFull without retry_after": ANY_WAIT,
        "20: 1.0 -> 2.0": ANY_WAIT,
    },
    "saga plain_function": {
        "5: swaps if failed is None: with the next": STILL,
        "11: swaps log.append(event, name) with the next": "who dies between the two forgets the one that is in memory",
        "22: swaps note('unknown' if unknown else 'failed', step.name) with the next": STILL,
        "23: getattr: argument 3 is error": TRUE,
        "23: getattr: argument 3 is 'definite'": TRUE,
        "53: drops return False": "no value is as false as False",
    },
    "endpoint plain_function": {
        "15: swaps if not isinstance(text, str) or not text or type(priority... with the next": GUARD,
        "19: 'not JSON' -> 'mutant'": WORDS,
        "21: 'not an object' -> 'mutant'": WORDS,
        "25: 'a field is missing or of another type' -> 'mutant'": WORDS,
        "31: answer without error": WORDS,
        "31: 'full' -> 'mutant'": WORDS,
    },
    "sse closing_generator": {
        "8: except ValueError -> BaseException": "nothing else comes out of int() of a text",
        "9: max: argument 1 is int(text or 0)": BEFORE_ALL,
        "20: swaps log = request.app.state.progress with the next": STILL,
        "20: swaps if not log.exists(task_id): with the next": GUARD,
    },
    "agent short_loop": {
        "7: swaps def tell(status): with the next": STILL,
        "20: swaps journal.append({'role': 'tool', 'tool_call_id': call['id'... with the next": STILL,
        "25: swaps if len(said) == 10: with the next": STILL,
        "25: swaps tell('thinking') with the next": "an answer may tell what it thought once it has",
        "30: 'm' -> 'mutant'": "any name of a model will do",
    },
    "invariant plain_rules": {
        "27: swaps if event.kind == 'claimed': with the next": STILL,
        "31: holder.get: argument 2 is event.task_id": UNSETTLED,
        "40: first < second: Lt -> LtE": UNSETTLED,
        "52: drops return None": "a function returns None by itself",
    },
}
