# wrong: a key made of the application
# diagnosed: a key of its own
from labkit import SagaStep


def deploy_saga(cloud, app):
    return [
        SagaStep(
            "create_namespace",
            lambda key: cloud.create_namespace(app, key=f"{app}:create_namespace"),
            lambda key: cloud.delete_namespace(app, key=f"{app}:delete_namespace"),
        ),
        SagaStep(
            "deploy_container",
            lambda key: cloud.deploy_container(app, key=f"{app}:deploy_container"),
            lambda key: cloud.remove_container(app, key=f"{app}:remove_container"),
        ),
        SagaStep(
            "configure_route",
            lambda key: cloud.configure_route(app, key=f"{app}:configure_route"),
            lambda key: cloud.delete_route(app, key=f"{app}:delete_route"),
        ),
    ]
