# wrong: Ctrl-C is made a RuntimeError
# diagnosed: catches BaseException
from labkit import SagaStep


def loud(call, app):
    def act(key):
        try:
            return call(app, key=key)
        except KeyboardInterrupt:
            raise RuntimeError("interrupted") from None

    return act


def deploy_saga(cloud, app):
    return [
        SagaStep("create_namespace", loud(cloud.create_namespace, app), lambda key: cloud.delete_namespace(app, key=key)),
        SagaStep("deploy_container", loud(cloud.deploy_container, app), lambda key: cloud.remove_container(app, key=key)),
        SagaStep("configure_route", loud(cloud.configure_route, app), lambda key: cloud.delete_route(app, key=key)),
    ]
