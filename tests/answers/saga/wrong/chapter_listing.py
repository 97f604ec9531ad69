# wrong: the chapter's listing: what is done is a list of this process, and an undo that fails is only printed
# diagnosed: a lost answer is taken for a refusal
from labkit import SagaFailed


def run_saga(steps, log):
    done = []
    for number, step in enumerate(steps, 1):
        print(f"step {number}: {step.name}")
        log.append("started", step.name)
        try:
            step.execute(f"{log.saga_id}:{step.name}:do")
        except Exception as error:
            log.append("failed", step.name)
            print(f"step {number} failed: {error}")
            for one in reversed(done):
                log.append("undoing", one.name)
                try:
                    one.compensate(f"{log.saga_id}:{one.name}:undo")
                    log.append("undone", one.name)
                except Exception as again:
                    print(f"the undo of {one.name} failed: {again}")
            log.append("compensated")
            raise SagaFailed(step=step.name) from error
        done.append(step)
        log.append("done", step.name)
    log.append("completed")
