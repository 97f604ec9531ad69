# wrong: knows one application
# diagnosed: acts on another application
from labkit import SagaStep


def deploy_saga(cloud, app):
    return [
        SagaStep(
            "create_namespace",
            lambda key: cloud.create_namespace("shop", key=key),
            lambda key: cloud.delete_namespace("shop", key=key),
        ),
        SagaStep(
            "deploy_container",
            lambda key: cloud.deploy_container("shop", key=key),
            lambda key: cloud.remove_container("shop", key=key),
        ),
        SagaStep(
            "configure_route",
            lambda key: cloud.configure_route("shop", key=key),
            lambda key: cloud.delete_route("shop", key=key),
        ),
    ]
