# wrong: the steps have other names
# diagnosed: the steps are not the three
from labkit import SagaStep


def deploy_saga(cloud, app):
    return [
        SagaStep(
            "namespace",
            lambda key: cloud.create_namespace(app, key=key),
            lambda key: cloud.delete_namespace(app, key=key),
        ),
        SagaStep(
            "container",
            lambda key: cloud.deploy_container(app, key=key),
            lambda key: cloud.remove_container(app, key=key),
        ),
        SagaStep(
            "route",
            lambda key: cloud.configure_route(app, key=key),
            lambda key: cloud.delete_route(app, key=key),
        ),
    ]
