# wrong: no call carries a key
# diagnosed: the key is not passed on
from labkit import SagaStep


def deploy_saga(cloud, app):
    return [
        SagaStep(
            "create_namespace",
            lambda key: cloud.create_namespace(app),
            lambda key: cloud.delete_namespace(app),
        ),
        SagaStep(
            "deploy_container",
            lambda key: cloud.deploy_container(app),
            lambda key: cloud.remove_container(app),
        ),
        SagaStep(
            "configure_route",
            lambda key: cloud.configure_route(app),
            lambda key: cloud.delete_route(app),
        ),
    ]
