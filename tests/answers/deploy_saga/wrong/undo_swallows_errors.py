# wrong: errors of the undos are printed
# diagnosed: errors of an undo are swallowed
from labkit import SagaStep


def quietly(call, app):
    def undo(key):
        try:
            call(app, key=key)
        except Exception as error:
            print(f"could not undo: {error}")

    return undo


def deploy_saga(cloud, app):
    return [
        SagaStep("create_namespace", lambda key: cloud.create_namespace(app, key=key), quietly(cloud.delete_namespace, app)),
        SagaStep("deploy_container", lambda key: cloud.deploy_container(app, key=key), quietly(cloud.remove_container, app)),
        SagaStep("configure_route", lambda key: cloud.configure_route(app, key=key), quietly(cloud.delete_route, app)),
    ]
