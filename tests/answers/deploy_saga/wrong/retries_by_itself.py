# wrong: each action is tried again under a key of its own
# diagnosed: a key of its own
from labkit import SagaStep


def stubborn(call, app):
    def act(key):
        try:
            return call(app, key=key)
        except Exception:
            return call(app, key=f"{key}:again")

    return act


def deploy_saga(cloud, app):
    return [
        SagaStep("create_namespace", stubborn(cloud.create_namespace, app), lambda key: cloud.delete_namespace(app, key=key)),
        SagaStep("deploy_container", stubborn(cloud.deploy_container, app), lambda key: cloud.remove_container(app, key=key)),
        SagaStep("configure_route", stubborn(cloud.configure_route, app), lambda key: cloud.delete_route(app, key=key)),
    ]
