# wrong: an undo asks whether this process has done the step
# diagnosed: an undo that does not take back
from labkit import SagaStep


def deploy_saga(cloud, app):
    done = set()

    def step(name, undo):
        def execute(key):
            getattr(cloud, name)(app, key=key)
            done.add(name)

        def compensate(key):
            if name in done:
                undo(app, key=key)

        return SagaStep(name, execute, compensate)

    return [
        step("create_namespace", cloud.delete_namespace),
        step("deploy_container", cloud.remove_container),
        step("configure_route", cloud.delete_route),
    ]
