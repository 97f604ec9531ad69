# wrong: does nothing
# diagnosed: nothing is saved
class CheckpointManager:
    def __init__(self, store, clock, *, strategy, max_age, max_count):
        pass

    def maybe_save(self, task, trigger):
        return None

    def validate_and_resume(self, task_id):
        return None

    def cleanup(self, task_id):
        return None
