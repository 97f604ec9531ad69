# wrong: all steps share the last pair of the loop
# diagnosed: a step calls something else than it is named for
from labkit import SagaStep

PAIRS = [
    ("create_namespace", "delete_namespace"),
    ("deploy_container", "remove_container"),
    ("configure_route", "delete_route"),
]


def deploy_saga(cloud, app):
    steps = []
    for do, undo in PAIRS:
        steps.append(
            SagaStep(do, lambda key: getattr(cloud, do)(app, key=key), lambda key: getattr(cloud, undo)(app, key=key))  # noqa: B023
        )
    return steps
