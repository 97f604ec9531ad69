# wrong: no answer in time is made a ValueError
# diagnosed: a lost answer is taken for a refusal
from labkit import SagaStep


def strict(call, app):
    def act(key):
        try:
            return call(app, key=key)
        except TimeoutError:
            raise ValueError("too slow") from None

    return act


def deploy_saga(cloud, app):
    return [
        SagaStep("create_namespace", strict(cloud.create_namespace, app), lambda key: cloud.delete_namespace(app, key=key)),
        SagaStep("deploy_container", strict(cloud.deploy_container, app), lambda key: cloud.remove_container(app, key=key)),
        SagaStep("configure_route", strict(cloud.configure_route, app), lambda key: cloud.delete_route(app, key=key)),
    ]
