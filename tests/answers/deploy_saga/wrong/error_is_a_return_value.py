# wrong: an error is returned instead of raised
# diagnosed: an error of a step is taken for a success
from labkit import SagaStep


def safely(call, app):
    def act(key):
        try:
            return call(app, key=key)
        except Exception as error:
            return str(error)

    return act


def deploy_saga(cloud, app):
    return [
        SagaStep("create_namespace", safely(cloud.create_namespace, app), lambda key: cloud.delete_namespace(app, key=key)),
        SagaStep("deploy_container", safely(cloud.deploy_container, app), lambda key: cloud.remove_container(app, key=key)),
        SagaStep("configure_route", safely(cloud.configure_route, app), lambda key: cloud.delete_route(app, key=key)),
    ]
