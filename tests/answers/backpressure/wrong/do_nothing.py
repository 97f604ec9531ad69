# wrong: accepts nothing and refuses nothing
# diagnosed: does nothing
def submit(engine, user_input, *, max_pending, now, idempotency_key=None):
    return None
