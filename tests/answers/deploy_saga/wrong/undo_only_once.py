# wrong: an undo that was called before does nothing
# diagnosed: errors of an undo are swallowed
from labkit import SagaStep


def once(call, app):
    called = []

    def undo(key):
        if not called:
            called.append(key)
            call(app, key=key)

    return undo


def deploy_saga(cloud, app):
    return [
        SagaStep("create_namespace", lambda key: cloud.create_namespace(app, key=key), once(cloud.delete_namespace, app)),
        SagaStep("deploy_container", lambda key: cloud.deploy_container(app, key=key), once(cloud.remove_container, app)),
        SagaStep("configure_route", lambda key: cloud.configure_route(app, key=key), once(cloud.delete_route, app)),
    ]
