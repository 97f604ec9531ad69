# wrong: one step does all
# diagnosed: the steps are not the three
from labkit import SagaStep


def deploy_saga(cloud, app):
    def do(key):
        cloud.create_namespace(app, key=f"{key}:1")
        cloud.deploy_container(app, key=f"{key}:2")
        cloud.configure_route(app, key=f"{key}:3")

    def undo(key):
        cloud.delete_route(app, key=f"{key}:3")
        cloud.remove_container(app, key=f"{key}:2")
        cloud.delete_namespace(app, key=f"{key}:1")

    return [SagaStep("deploy", do, undo)]
