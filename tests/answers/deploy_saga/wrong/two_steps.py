# wrong: the route is forgotten
# diagnosed: the steps are not the three
from labkit import SagaStep


def deploy_saga(cloud, app):
    return [
        SagaStep(
            "create_namespace",
            lambda key: cloud.create_namespace(app, key=key),
            lambda key: cloud.delete_namespace(app, key=key),
        ),
        SagaStep(
            "deploy_container",
            lambda key: cloud.deploy_container(app, key=key),
            lambda key: cloud.remove_container(app, key=key),
        ),
    ]
