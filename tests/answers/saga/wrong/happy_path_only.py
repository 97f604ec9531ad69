# wrong: runs the steps and lets the error out
# diagnosed: an error of a step comes out, and nothing is undone
def run_saga(steps, log):
    done = {name for event, name in log.entries() if event == "done"}
    if ("completed", "") in log.entries():
        return
    for step in steps:
        if step.name in done:
            continue
        log.append("started", step.name)
        step.execute(f"{log.saga_id}:{step.name}:do")
        log.append("done", step.name)
    log.append("completed")
