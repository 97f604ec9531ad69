# wrong: no step has an undo that does anything
# diagnosed: an undo that does not take back what its step did
from labkit import SagaStep


def deploy_saga(cloud, app):
    return [
        SagaStep(
            "create_namespace",
            lambda key: cloud.create_namespace(app, key=key),
            lambda key: None,
        ),
        SagaStep(
            "deploy_container",
            lambda key: cloud.deploy_container(app, key=key),
            lambda key: None,
        ),
        SagaStep(
            "configure_route",
            lambda key: cloud.configure_route(app, key=key),
            lambda key: None,
        ),
    ]
