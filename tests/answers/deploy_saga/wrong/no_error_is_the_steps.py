# wrong: says that no error is a failure of its steps
# diagnosed: an error does not make the saga fail
from labkit import SagaStep


def deploy_saga(cloud, app):
    return [
        SagaStep(
            "create_namespace",
            lambda key: cloud.create_namespace(app, key=key),
            lambda key: cloud.delete_namespace(app, key=key),
            fails=lambda error: False,
        ),
        SagaStep(
            "deploy_container",
            lambda key: cloud.deploy_container(app, key=key),
            lambda key: cloud.remove_container(app, key=key),
            fails=lambda error: False,
        ),
        SagaStep(
            "configure_route",
            lambda key: cloud.configure_route(app, key=key),
            lambda key: cloud.delete_route(app, key=key),
            fails=lambda error: False,
        ),
    ]
