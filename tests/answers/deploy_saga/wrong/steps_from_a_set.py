# wrong: the steps come out of a set, in an order that is another one in each process
# diagnosed: the steps are not the three that were asked for, in their order
from labkit import SagaStep

PARTS = {"namespace": ("create", "delete"), "container": ("deploy", "remove"), "route": ("configure", "delete")}


def deploy_saga(cloud, app):
    return [step(cloud, app, part) for part in set(PARTS)]


def step(cloud, app, part):
    do, undo = (getattr(cloud, f"{verb}_{part}") for verb in PARTS[part])
    return SagaStep(f"{PARTS[part][0]}_{part}", lambda key: do(app, key=key), lambda key: undo(app, key=key))
