# wrong: the key is made longer
# diagnosed: a key of its own
from labkit import SagaStep


def deploy_saga(cloud, app):
    return [
        SagaStep(
            "create_namespace",
            lambda key: cloud.create_namespace(app, key=f"{key}:1"),
            lambda key: cloud.delete_namespace(app, key=f"{key}:1"),
        ),
        SagaStep(
            "deploy_container",
            lambda key: cloud.deploy_container(app, key=f"{key}:1"),
            lambda key: cloud.remove_container(app, key=f"{key}:1"),
        ),
        SagaStep(
            "configure_route",
            lambda key: cloud.configure_route(app, key=f"{key}:1"),
            lambda key: cloud.delete_route(app, key=f"{key}:1"),
        ),
    ]
