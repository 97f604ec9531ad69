# wrong: no answer in time is taken for a success
# diagnosed: an error of a step is taken for a success
from labkit import SagaStep


def patient(call, app):
    def act(key):
        try:
            return call(app, key=key)
        except TimeoutError:
            return None

    return act


def deploy_saga(cloud, app):
    return [
        SagaStep("create_namespace", patient(cloud.create_namespace, app), lambda key: cloud.delete_namespace(app, key=key)),
        SagaStep("deploy_container", patient(cloud.deploy_container, app), lambda key: cloud.remove_container(app, key=key)),
        SagaStep("configure_route", patient(cloud.configure_route, app), lambda key: cloud.delete_route(app, key=key)),
    ]
